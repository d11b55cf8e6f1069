"""The sine at a scale of seconds (tiny.yaml), as the real processes that the tests of faults start and kill."""

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import warm
from cbo_pipeline.config import Run, RunName, load_config, resolve

ROOT = Path(__file__).parents[1]
OVERLAY = ROOT / "tests" / "tiny.yaml"
SUMMARY = "results/summary/sine.nc"


def run_of(method: str = "cbo", seed: int = 0, N: int | None = None, **changes) -> Run:
    """One run of the sine of about that size, with other settings if given."""
    small = {"epochs": 3, "points": 80, "batch_size": 40, "snapshots": [0, 1]}
    name = RunName("sine", method, 5, N or (1 if method == "adam" else 8), seed)
    return resolve(load_config(), name, {**small, **changes})


def environment(**more: str) -> dict[str, str]:
    """The environment of a user who has installed the package and nothing else special."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "CBO_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    return {**kept, "PATH": path, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", **more}


def train_command(run: Run, output: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "cbo_pipeline", "train", "--settings", run.json, "--output", str(output), *options]


def snakemake_command(*options: str, cores: int = 2, root: Path = ROOT) -> list[str]:
    """The command of the README at this scale; targets come first among the options."""
    snakefile = ["--snakefile", str(root / "Snakefile"), "--configfile", str(root / "tests" / "tiny.yaml")]
    return [sys.executable, "-m", "snakemake", *options, *snakefile, "--cores", str(cores), "--rerun-incomplete"]


def finish(
    command: list[str], folder: Path, timeout: float = 600, *, cold: bool = False, **more: str
) -> subprocess.CompletedProcess:
    """Run a command to its end, whatever that is.

    Snakemake and this package have their libraries already (``warm``), unless the start itself matters (``cold``).
    """
    if not cold and command[:2] == [sys.executable, "-m"]:
        return warm.run(command, folder, environment(**more), timeout)
    return subprocess.run(
        command, cwd=folder, env=environment(**more), capture_output=True, text=True, timeout=timeout, check=False
    )


def start(command: list[str], folder: Path, **more: str) -> subprocess.Popen:
    """Start a command in a process group of its own."""
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment(**more),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end(process: subprocess.Popen) -> None:
    """End a process and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def wait_until(condition, seconds: float = 60, every: float = 0.02) -> None:
    """Wait until something is so; a test fails if it never is."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"not so after {seconds} s: {condition}"
        time.sleep(every)


def digests(folder: Path, pattern: str = "*.nc") -> dict[str, str]:
    """A hash of every file of results, by its path."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob(pattern))
    }


def clean_error(stderr: str) -> str:
    """The one line with which a user's mistake is answered; anything like a traceback fails the test."""
    lines = [line for line in stderr.splitlines() if line.strip() and "warning" not in line.lower()]
    assert "Traceback" not in stderr, stderr
    assert lines, "no message at all"
    assert lines[-1].startswith("cbo-pipeline: "), stderr
    return lines[-1].removeprefix("cbo-pipeline: ")
