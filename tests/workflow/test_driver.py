"""What the driver does beside planning, where it touches Snakemake: patches that are no longer needed fail here."""

import re
import sys
from pathlib import Path

import pytest

from cbo_pipeline.workflow import driver_lock
from tiny import ROOT, end, finish, start, wait_until

pytestmark = pytest.mark.workflow
SNAKEMAKE = [sys.executable, "-m", "snakemake", "--cores", "2"]

# A long job on one core, eight short ones on the other, and a wide one that waits for both cores.
JOBS = """
import sys
sys.path.insert(0, "{root}/src")
from cbo_pipeline.workflow import driver
rule all:
    input: "long", "wide", expand("short{{i}}", i=range(8))
rule long:
    output: touch("long")
    priority: 9
    shell: "sleep 8"
rule short:
    output: touch("short{{i}}")
    priority: 5
rule wide:
    output: touch("wide")
    threads: 2
onstart:
    {onstart}
"""


def looks(folder: Path, onstart: str) -> int:
    """How often the scheduler looks at all waiting jobs."""
    folder.mkdir()
    (folder / "Snakefile").write_text(JOBS.format(root=ROOT, onstart=onstart))
    done = finish([*SNAKEMAKE, "--verbose"], folder)
    assert done.returncode == 0, done.stderr
    return len(re.findall("Resources before job selection", done.stdout + done.stderr))


def test_the_scheduler_looks_again_and_again_unless_told_otherwise(tmp_path):
    """The reason for ``driver.drop_rate_limit``; if the two are alike, Snakemake no longer needs it: take it out."""
    plain, ours = looks(tmp_path / "plain", "pass"), looks(tmp_path / "ours", "driver.drop_rate_limit(workflow)")
    assert plain > 2 * ours, (plain, ours)


def test_a_limit_that_the_user_sets_is_kept(tmp_path):
    onstart = "driver.drop_rate_limit(workflow); print('limited:', workflow.scheduler.job_rate_limiter is not None)"
    (tmp_path / "Snakefile").write_text(
        f"import sys\nsys.path.insert(0, '{ROOT}/src')\nfrom cbo_pipeline.workflow import driver\n"
        f"rule all:\n    output: touch('done')\nonstart:\n    {onstart}\n"
    )
    done = finish([*SNAKEMAKE, "--max-jobs-per-timespan", "50/1s"], tmp_path)
    assert "limited: True" in done.stdout, done.stderr


def test_snakemake_keeps_the_lock_of_a_driver_that_was_killed(tmp_path):
    """The reason for ``driver_lock``; if the second Snakemake continues by itself, take that out."""
    (tmp_path / "Snakefile").write_text("rule all:\n    output: touch('done')\n    shell: 'sleep 600'\n")
    killed = start(SNAKEMAKE, tmp_path)
    try:
        wait_until(lambda: list(tmp_path.glob(".snakemake/locks/*.lock")), seconds=300)
    finally:
        end(killed)
    (tmp_path / "Snakefile").write_text("rule all:\n    output: touch('done')\n")
    again = finish([*SNAKEMAKE, "--rerun-incomplete"], tmp_path)
    assert again.returncode != 0
    assert "cannot be locked" in again.stdout + again.stderr
    driver_lock.unlock(tmp_path)
    assert finish([*SNAKEMAKE, "--rerun-incomplete"], tmp_path).returncode == 0


def test_unlocking_is_left_to_snakemake(tmp_path):
    """``snakemake --unlock`` removes a real lock of a workflow that it does not know."""
    locks = tmp_path / ".snakemake" / "locks"
    locks.mkdir(parents=True)
    (locks / "0.input.lock").write_text("results/runs/x.nc\n")
    (locks / "0.output.lock").write_text("results/runs/x.nc\n")
    driver_lock.unlock(tmp_path)
    assert not list(locks.glob("*.lock"))
