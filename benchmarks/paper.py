"""What the whole paper costs, and ten and a hundred times as much of it: jobs, hours, gigabytes.

    python benchmarks/paper.py

Every curve of config.yaml is trained for some epochs, records included; times the epochs and the seeds, that is the
paper. (The first epochs of optimal-transport CBO are its slowest, so that is on the safe side.) Memory is what the
workflow asks for a run (``cbo_pipeline.config.memory``), files are counted from what a trajectory holds.

Ten and a hundred times the seeds are ten and a hundred times the runs. Ten and a hundred times N or M take time by
the exponents that ``growth.py`` finds.

The workflow's own cost is all of a job that is not training: the start of Python, libraries and kernels, and
Snakemake's share. It is measured on workflows of tiny jobs, a small one and a larger one: their difference is the
cost of a job, the rest that of Snakemake's start.
"""

import json
import math
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import timing
from timing import Row, emit, have_mnist

ROOT = Path(__file__).parents[1]
FEW, MANY = 10, 40  # tiny jobs
SECONDS = 0.4  # training of each curve, at least
CORES, CLUSTER = 8, 1000
FACTORS = (10, 100)
# The series of growth.py that say how a problem's iteration grows: (problem, what grows) -> series.
SERIES = {
    ("sine", "N"): "sine CBO, N", ("sine", "M"): "sine CBO, M",
    ("one_neuron", "N"): "sine CBO, N", ("one_neuron", "M"): "sine CBO, M",
    ("multi_task", "N"): "sine CBO, N", ("multi_task", "M"): "sine CBO, M",
    ("square", "N"): "OT-CBO, N", ("square", "M"): "OT-CBO, M",
    ("mnist", "N"): "MNIST CBO, N", ("mnist", "M"): "MNIST CBO, M",
}  # fmt: skip


def seconds_per_epoch(run) -> float:
    """Train for some epochs; the mean of all but the first, which also loads libraries and kernels."""
    from cbo_pipeline.training.loop import Training

    ends = []
    for step in Training.start(run).steps():
        if step.ends_epoch:
            ends.append(time.process_time())
            if len(ends) > 2 and ends[-1] - ends[0] > SECONDS:
                break
    return (ends[-1] - ends[0]) / (len(ends) - 1)


def parameters(run) -> int:
    """The parameters of one network."""
    from cbo_pipeline import problems
    from cbo_pipeline.numerics import network

    problem = problems.find(run.problem)
    shapes = network.shapes(run.name.M, problem.features, problem.outputs, problem.outer_bias)
    return sum(math.prod(shape) for shape in shapes.values())


def file_bytes(run) -> int:
    """The numbers of a trajectory: records of every epoch, networks at the snapshots, a header."""
    tasks, kept = run.settings.get("tasks", 1), len(run.settings["snapshots"]) + 1
    return 20_000 + 8 * (run.settings["epochs"] + 1) * (8 + tasks) + 4 * kept * tasks * parameters(run)


def curves() -> list[dict]:
    """Every curve of the paper with its runs, seconds per run, bytes of memory and of files."""
    from cbo_pipeline.config import load_config, memory, resolve, runs

    config, seeds = load_config(), defaultdict(list)
    for name in runs(config):
        seeds[name.experiment, name.variant, name.M, name.N].append(name)
    found = []
    for names in seeds.values():
        run = resolve(config, names[0])
        seconds = run.settings["epochs"] * seconds_per_epoch(run)
        curve = {"experiment": run.name.experiment, "method": run.name.variant, "problem": run.problem}
        curve |= {"M": run.name.M, "N": run.name.N, "runs": len(names), "seconds": seconds}
        curve |= {"memory": memory.estimate(run), "files": file_bytes(run), "fixed": memory.LIBRARIES}
        found.append(curve)
        print(f"{names[0]}: {seconds:.0f} s per run", file=sys.stderr)
    return found


def grown(curve: dict, what: str, factor: int, exponents: dict[str, float]) -> dict:
    """The curve with that many times N, M or seeds."""
    if what == "seeds":
        return {**curve, "runs": curve["runs"] * factor}
    if what == "N" and curve["N"] == 1:
        return curve  # Adam has one network, whatever N is
    order = 1.0 if curve["N"] == 1 else exponents[SERIES[curve["problem"], what]]
    larger = {**curve, "seconds": curve["seconds"] * factor**order}
    larger["memory"] = curve["fixed"] + (curve["memory"] - curve["fixed"]) * factor
    if what == "M":
        larger["files"] = curve["files"] * factor
        if curve["problem"] == "square":  # the costs of one matching at least
            larger["memory"] += 16 * (curve["M"] * factor) ** 2
    return larger


def total(curves: list[dict]) -> dict[str, float]:
    """Jobs, core hours, hours on one machine and on a cluster, gigabytes."""
    seconds = sum(c["runs"] * c["seconds"] for c in curves)
    longest = max(c["seconds"] for c in curves)
    largest = sorted((c["memory"] for c in curves for _ in range(min(c["runs"], CORES))), reverse=True)
    return {
        "jobs": sum(c["runs"] for c in curves),
        "core_hours": seconds / 3600,
        "longest_job_hours": longest / 3600,
        "machine_hours": max(seconds / CORES, longest) / 3600,
        "cluster_hours": max(seconds / CLUSTER, longest) / 3600,
        "largest_job_gb": largest[0] / 1e9,
        "machine_gb": sum(largest[:CORES]) / 1e9,
        "files_gb": sum(c["runs"] * c["files"] for c in curves) / 1e9,
    }


def snakemake(folder: Path, *options: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "snakemake", *options, "--snakefile", str(ROOT / "Snakefile"), "--cores", "1"]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)


def workflow_cost() -> tuple[float, float, float]:
    """Seconds of Snakemake's start, of a job of the workflow, and of the same command by itself."""
    wall, tiny = {}, "epochs: 1, points: 80, batch_size: 40, M: 5, snapshots: [], methods: {cbo: {N: 8}}"
    for jobs in (FEW, FEW, MANY):  # the first one compiles
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "tiny.yaml").write_text(f"experiments: {{sine: {{seeds: {jobs}, {tiny}}}}}\n")
            targets = [f"results/runs/sine/cbo/M5_N8_seed{seed}.nc" for seed in range(jobs)]
            start = time.perf_counter()
            snakemake(folder, *targets, "--configfile", "tiny.yaml")
            wall[jobs] = time.perf_counter() - start
    a_job = (wall[MANY] - wall[FEW]) / (MANY - FEW)
    with tempfile.TemporaryDirectory() as name:
        import bench_startup

        alone = bench_startup.best(bench_startup.train("cbo", "a.nc"), Path(name), repeats=5)
    return max(0.0, wall[FEW] - FEW * a_job), a_job, alone


def count_jobs(*options: str) -> int:
    """All jobs of the paper with these options of Snakemake: runs, summaries, costs, figures."""
    with tempfile.TemporaryDirectory() as name:
        told = snakemake(Path(name), "--dry-run", "--quiet", "rules", *options)
    return int(re.search(r"^total\s+(\d+)", told.stdout + told.stderr, re.MULTILINE).group(1))


def report_workflow(curves: list[dict]) -> None:
    """The workflow's own cost against the training time of the paper, on one core."""
    start, a_job, alone = workflow_cost()
    shared = re.search(r"^SHARED := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
    jobs, alone_jobs = count_jobs(*shared), count_jobs()
    small = [c for c in curves if c["problem"] != "mnist"]
    long_jobs = sum(c["runs"] for c in curves if c["problem"] == "mnist")
    what = f"workflow of tiny jobs ({FEW} and {MANY}), time per job"
    rows = [Row(what, "the same command alone", a_job, alone, "s", None, "at most")]
    for what, chosen, count, goal in (
        (f"the workflow's own cost over the whole paper ({jobs} jobs, as in `make paper`)", curves, jobs, 0.15),
        ("the same without MNIST", small, jobs - long_jobs, None),
        (f"the workflow's own cost over the whole paper (one run per job: {alone_jobs})", curves, alone_jobs, None),
    ):
        training = sum(c["runs"] * c["seconds"] for c in chosen)
        rows.append(Row(what, "training time", start + count * a_job, training, "s", goal, "at most"))
    timing.report(rows)


def report_estimates(curves: list[dict], exponents: dict[str, float]) -> None:
    emit("estimate", what="the paper", **total(curves))
    for what in ("seeds", "N", "M"):
        for factor in FACTORS:
            larger = [grown(curve, what, factor, exponents) for curve in curves]
            emit("estimate", what=f"{factor} times {what}", **total(larger))


def main() -> None:
    """With ``--exponents JSON``, the exponents by the names of their series; else linear growth, OT's M squared."""
    have_mnist()
    found = curves()
    report_workflow(found)
    for experiment in dict.fromkeys(curve["experiment"] for curve in found):
        own = [curve for curve in found if curve["experiment"] == experiment]
        emit("experiment", experiment=experiment, **total(own))
    given = Path(sys.argv[sys.argv.index("--exponents") + 1]) if "--exponents" in sys.argv else None
    exponents = defaultdict(lambda: 1.0, json.loads(given.read_text()) if given else {"OT-CBO, M": 2.0})
    report_estimates(found, exponents)


if __name__ == "__main__":
    main()
