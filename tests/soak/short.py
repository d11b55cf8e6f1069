"""A short soak, as a test: at its end everything is as a quiet run leaves it."""

import random
import subprocess
from pathlib import Path

import pytest

from soak import campaign, workload
from soak.place import Machine, Slurm
from throwaway_slurm import missing


def place_for_it(tmp_path_factory) -> Path:
    """A folder, if it can be done there: the small disk is mounted. Its name is short: Slurm opens sockets in it."""
    if missing():
        pytest.skip(missing())
    folder = tmp_path_factory.mktemp("soak")
    (folder / "trial").mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder / "trial"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk is not allowed here")
    subprocess.run(["umount", folder / "trial"], check=True)
    return folder


def soak(folder: Path, place: Machine | Slurm, runs: int, runs_per_job: int, faults: int, record_property) -> None:
    """A new monkey each time; what it did can be done again by its seed (python -m soak --seed)."""
    seed = random.randrange(10**6)
    work = workload.make(folder, runs, runs_per_job)
    # Here nobody asks how much work was lost: all runs of a curve share a process, and are the same bytes.
    quiet = campaign.quiet_run(work, folder / "quiet", "--config", f"runs_per_job={runs}")
    assert len(quiet.files) == len(work.targets)
    outcome = campaign.under_fire(work, place, quiet, folder / "fire", seed, faults)
    assert not outcome.wrong, (seed, outcome.wrong)
    assert sum(outcome.faults.values()) >= faults
    if runs_per_job > 1:  # on Slurm; all curves' runs that share no job are ready at once, so they are one array
        assert max(outcome.arrays, default=0) > 1, outcome.arrays
    for what, count in outcome.faults.items():
        record_property("fault", [f"under fire, {outcome.place}: {what}", count, count, True])
