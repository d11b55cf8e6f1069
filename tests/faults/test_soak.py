"""A hundred runs under fire (tests/soak) on a throwaway Slurm, and a few with four drivers on one machine."""

import random
import subprocess

import pytest

from soak import campaign, workload
from soak.monkey import schedule
from soak.place import Machine, Slurm
from throwaway_slurm import missing

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where it is done, if it can be: the small disk is mounted."""
    if missing():
        pytest.skip(missing())
    folder = tmp_path_factory.mktemp("soak")
    (folder / "trial").mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder / "trial"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk is not allowed here")
    subprocess.run(["umount", folder / "trial"], check=True)
    return folder


@pytest.mark.parametrize(
    ("name", "runs", "runs_per_job", "faults"),
    [("slurm", 100, 13, 20), ("machine", 16, 1, 8)],
    ids=["slurm", "machine"],
)
def test_runs_under_fire_end_as_a_quiet_run_does(folder, name, runs, runs_per_job, faults, record_property):
    """A new monkey each time; what it did can be done again by its seed (python -m soak --seed)."""
    here = folder / name
    here.mkdir()
    seed = random.randrange(10**6)
    work = workload.make(here, runs, runs_per_job)
    # Here nobody asks how much work was lost: all runs of a curve share a process, and are the same bytes.
    quiet = campaign.quiet_run(work, here / "quiet", "--config", f"runs_per_job={runs}")
    assert len(quiet.files) == len(work.targets)
    place = Slurm(here / "cluster") if name == "slurm" else Machine()
    outcome = campaign.under_fire(work, place, quiet, here / "fire", seed, faults)
    assert not outcome.wrong, (seed, outcome.wrong)
    assert sum(outcome.faults.values()) >= faults
    for what, count in outcome.faults.items():
        record_property("fault", [f"under fire, {outcome.place}: {what}", count, count, True])


def test_a_schedule_is_decided_by_its_seed_and_has_every_kind():
    first, again, other = (schedule(seed, 40, 100, True) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert len(first) == 40
    assert len({what for _, what in first}) == 10
    assert all(0 <= runs < 95 for runs, _ in first)
    assert "scancel of a job" not in {what for _, what in schedule(1, 40, 100, False)}
