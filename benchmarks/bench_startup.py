"""How long each stage takes to start, and what the workflow costs beside the training: many tiny jobs.

    python benchmarks/bench_startup.py

A start is a fresh process that does next to nothing. The workflow's own cost is what Snakemake adds to each
job: the time of a workflow of many tiny runs on one core, less the time of the same commands one after another.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from timing import Row, report

ROOT = Path(__file__).parents[1]
TINY = {"epochs": 1, "points": 80, "batch_size": 40, "snapshots": "[]"}
JOBS = 20


def best(command: list[str], folder: Path, repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


def package(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "cbo_pipeline", *arguments]


def train(method: str, output: str, seed: int = 0) -> list[str]:
    sizes = ["--width", "5", *(["--particles", "8"] if method != "adam" else [])]
    settings = ["--set", *(f"{key}={value}" for key, value in TINY.items())]
    named = ["--experiment", "sine", "--method", method, "--seed", str(seed), "--output", output]
    return package("train", *named, *sizes, *settings)


def starts(folder: Path) -> list[Row]:
    """Each stage at its smallest, against a Python that only starts."""
    bare = best([sys.executable, "-c", "pass"], folder)
    subprocess.run(train("cbo", "a.nc"), cwd=folder, check=True, capture_output=True)
    stages = {
        "cbo-pipeline --help": package("--help"),
        "a CBO run on the sine": train("cbo", "a.nc"),
        "an Adam run on the sine": train("adam", "b.nc"),
        "a summary": package("summarise", "a.nc", "--output", "s.nc"),
        "a figure": package("figure", "meanfield_diagram", "--output", "f.png"),
    }
    return [
        Row(f"start: {name}", "python -c pass", best(command, folder), bare, "s", None, "at most")
        for name, command in stages.items()
    ]


def workflow(folder: Path) -> Row:
    """Snakemake's time a job beyond the job's own."""
    config = folder / "tiny.yaml"
    config.write_text(
        f"experiments: {{sine: {{seeds: {JOBS}, epochs: 1, points: 80, batch_size: 40, M: 5, snapshots: [],"
        " methods: {cbo: {N: 8}}}}\n"
    )
    targets = [f"results/runs/sine/cbo/M5_N8_seed{seed}.nc" for seed in range(JOBS)]
    common = ["--snakefile", str(ROOT / "Snakefile"), "--configfile", str(config), "--cores", "1", "--quiet", "all"]
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "snakemake", *targets, *common], cwd=folder, check=True, capture_output=True
    )
    whole = time.perf_counter() - start
    start = time.perf_counter()
    for seed in range(JOBS):
        subprocess.run(train("cbo", f"by_hand_{seed}.nc", seed), cwd=folder, check=True, capture_output=True)
    alone = time.perf_counter() - start
    return Row(
        f"workflow of {JOBS} tiny jobs, time a job",
        "the same commands alone",
        whole / JOBS,
        alone / JOBS,
        "s",
        None,
        "at most",
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        report([*starts(Path(name)), workflow(Path(name))])


if __name__ == "__main__":
    main()
