"""What Snakemake itself costs, by the number of runs: a dry run, and jobs that do nothing.

    python benchmarks/bench_driver.py                    1000, 10 000 and 100 000 runs, one run per job and twenty
    python benchmarks/bench_driver.py 1000 20000         other numbers of runs
    python benchmarks/bench_driver.py --jobs 100 10000   other numbers of jobs that do nothing (100, 1000, 3000)

The workflow is the project's own: one experiment of that many seeds, a hundred to a curve. Time is processor
time, which other work on the machine disturbs little; memory is the peak of the process. The exponent is that of
the time beyond an empty dry run, between the smallest and the largest number.

Jobs that do nothing: in their shell `python` is a function that only makes the output files, so all that remains is
Snakemake, its shells and its records. They are measured in numbers that take a few minutes on one machine.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from timing import emit

ROOT = Path(__file__).parents[1]
SEEDS_OF_A_CURVE = 100
SIZES, TWENTY, INSTANT = (1000, 10_000, 100_000), 20, (100, 1000, 3000)
SUMMARY = "results/summary/sine.nc"
# In place of the jobs' Python: every word after --output is a file to make.
NOTHING = """\
python() {
    while [ "$1" != --output ]; do shift; done
    shift
    for file; do : > "$file"; done
}
"""


def overlay(runs: int) -> dict:
    """A config of that many runs of the sine, a hundred seeds to a curve."""
    curves = max(1, runs // SEEDS_OF_A_CURVE)
    sine = {
        "seeds": min(runs, SEEDS_OF_A_CURVE),
        "epochs": 1,
        "points": 80,
        "batch_size": 40,
        "M": list(range(1, curves + 1)),
        "snapshots": [],
        "methods": {"cbo": {"N": 8}, "adam": None, "cbo_float64": None, "hybrid": None},
    }
    return {"only_experiments": ["sine"], "experiments": {"sine": sine}}


def snakemake(folder: Path, runs: int, runs_per_job: int, *options: str, **environment: str) -> dict:
    """Run Snakemake on the summary of so many runs; its processor seconds, wall seconds and peak memory."""
    file = folder / f"{runs}.yaml"
    file.write_text(json.dumps(overlay(runs)))
    work = folder / f"work_{runs}_{runs_per_job}_{len(options)}"
    work.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "snakemake", *options, "--snakefile", str(ROOT / "Snakefile")]
    command += ["--configfile", str(file), "--config", f"runs_per_job={runs_per_job}", "--quiet", "all"]
    started = time.monotonic()
    said = work / "said.log"  # a line for each of the empty files, among others
    with said.open("wb") as log:
        process = subprocess.Popen(
            command, cwd=work, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=log
        )
        _, code, used = os.wait4(process.pid, 0)
    if code:
        print(said.read_text(encoding="utf-8")[-5000:], file=sys.stderr)
        sys.exit(f"snakemake ended with {os.waitstatus_to_exitcode(code)}: {' '.join(command)}")
    return {
        "seconds": used.ru_utime + used.ru_stime,
        "wall": time.monotonic() - started,
        "megabytes": used.ru_maxrss * 1024 / 1e6,
    }


def plan(folder: Path, runs: int, runs_per_job: int) -> dict:
    """A dry run."""
    return snakemake(folder, runs, runs_per_job, SUMMARY, "--cores", "1", "--dry-run")


def jobs_that_do_nothing(folder: Path, jobs: int) -> dict:
    """Planning, starting and recording so many jobs; none of them summarises."""
    setup = folder / "setup.sh"
    setup.write_text(NOTHING)
    used = snakemake(folder, jobs, 1, SUMMARY, "--until", "train", "--cores", "2", BASH_ENV=str(setup))
    # The empty files themselves are gone: at its end the workflow deletes what has no seal.
    done = sum(1 for _ in folder.glob(f"work_{jobs}_*/results/benchmarks/sine/cbo/*.tsv"))
    if done != jobs:
        sys.exit(f"{done} of {jobs} jobs were done")
    return used


def exponent(rows: list[dict], base: float, size: str = "runs") -> float:
    """The slope of time against the size in logarithms, beyond what no run costs."""
    first, last = min(rows, key=lambda row: row[size]), max(rows, key=lambda row: row[size])
    growth = (last["seconds"] - base) / (first["seconds"] - base)
    return math.log(growth) / math.log(last[size] / first[size])


def number_of_runs(text: str) -> int:
    """A number of runs or jobs: so many seeds of one curve, or whole curves."""
    number = int(text)
    if number < 1 or (number > SEEDS_OF_A_CURVE and number % SEEDS_OF_A_CURVE):
        raise argparse.ArgumentTypeError(f"{text} is not a multiple of {SEEDS_OF_A_CURVE}")
    return number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    numbers = f"numbers of runs (default {' '.join(map(str, SIZES))})"
    parser.add_argument("runs", nargs="*", type=number_of_runs, help=numbers)
    numbers = f"numbers of jobs that do nothing (default {' '.join(map(str, INSTANT))})"
    parser.add_argument("--jobs", nargs="+", type=number_of_runs, default=INSTANT, help=numbers)
    parser.add_argument("--json", action="store_true", help="one line of JSON for each row")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        base = plan(folder, 1, 1)
        instant = []
        for jobs in sorted(options.jobs):
            instant.append({"jobs": jobs, **jobs_that_do_nothing(folder, jobs)})
            emit("instant jobs", **instant[-1])
        if len(instant) > 1:
            emit("instant exponent", exponent=exponent(instant, base["seconds"], "jobs"))
        emit("plan", runs=1, runs_per_job=1, **base)
        for runs_per_job in (1, TWENTY):
            rows = []
            for runs in sorted(options.runs or SIZES):
                rows.append({"runs": runs, **plan(folder, runs, runs_per_job)})
                emit("plan", runs_per_job=runs_per_job, **rows[-1])
            if len(rows) > 1:
                emit("plan exponent", runs_per_job=runs_per_job, exponent=exponent(rows, base["seconds"]))


if __name__ == "__main__":
    main()
