"""How long each stage takes to start: a fresh process that does next to nothing.

python benchmarks/bench_startup.py
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from timing import Row, report

TINY = {"epochs": 1, "points": 80, "batch_size": 40, "snapshots": "[]"}


def once(command: list[str], folder: Path) -> None:
    """Run a command that keeps its compiled code in this folder, as in a cache that serves one checkout alone."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "compiled")}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)


def best(command: list[str], folder: Path, repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        once(command, folder)
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
    for method in ("cbo", "adam"):  # compiles
        once(train(method, "a.nc"), folder)
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


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        report(starts(Path(name)))


if __name__ == "__main__":
    main()
