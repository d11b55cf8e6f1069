"""Why we work around other people's programs: each reason, without the workaround.

A test that fails here says that a newer version of the program no longer needs it: take the workaround out. The
reasons for the rate limit and for the lock of a killed driver are in test_driver.py, for torchvision's operators in
test_mnist_data.py.
"""

import inspect
import shlex
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from cbo_pipeline.workflow import driver_lock, grid_engine, slurm
from tiny import end, finish, start, wait_until

ONE_RULE = "rule all:\n    output: 'done'\n    shell: 'touch done'\n"
SNAKEMAKE = ("-m", "snakemake", "--cores", "1")
# A cluster of one: the script of a job is run where it would be submitted.
CLUSTER = ("-m", "snakemake", "--executor", "cluster-generic", "--cluster-generic-submit-cmd", "sh", "--jobs", "1")


def submitted(folder: Path, *options: str, python: str = sys.executable):
    """One job, by the cluster-generic executor."""
    folder.mkdir(exist_ok=True)
    (folder / "Snakefile").write_text(ONE_RULE)
    quickly = ("--latency-wait", "2", "--seconds-between-status-checks", "1")
    return finish([python, *CLUSTER, *quickly, *options], folder)


# --- The driver ----------------------------------------------------------------------------------------------------

# Both look for a lock before either writes its own.
LOCKING = """
import os, time
from pathlib import Path
from snakemake.persistence import file
write = file.FilePersistence._write_locks
def write_together(self, *arguments):
    Path(f"looked.{os.getpid()}").touch()
    until = time.monotonic() + 300
    while len(list(Path().glob("looked.*"))) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    write(self, *arguments)
file.FilePersistence._write_locks = write_together
rule all:
    output: touch("done")
    shell: "echo made >> count; sleep 5"
"""


@pytest.mark.workflow
def test_two_snakemakes_may_lock_the_same_files(tmp_path):
    """The reason for the gate of ``driver_lock``: a lock is looked for, and then written."""
    (tmp_path / "Snakefile").write_text(LOCKING)
    both = [start([sys.executable, *SNAKEMAKE], tmp_path) for _ in range(2)]
    try:
        wait_until(lambda: len(list(tmp_path.glob("looked.*"))) == 2, seconds=300)
        count = tmp_path / "count"
        wait_until(lambda: count.exists() and count.read_text() == "made\nmade\n", seconds=300)
    finally:
        for process in both:
            end(process)


@pytest.mark.workflow
def test_snakemake_waits_for_its_jobs_when_it_is_told_to_end(tmp_path):
    """The reason for ``cluster.end_on_sigterm``: a job of an hour would keep the driver for an hour."""
    shell = "touch running; until [ -e go ]; do sleep 0.1; done"
    (tmp_path / "Snakefile").write_text(f"rule all:\n    output: touch('done')\n    shell: '{shell}'\n")
    driver = start([sys.executable, *SNAKEMAKE], tmp_path)
    try:
        wait_until((tmp_path / "running").exists, seconds=300)
        driver.send_signal(signal.SIGTERM)
        said = ""
        while "Will exit after finishing currently running jobs" not in said:
            said = driver.stderr.readline()
            assert said, "Snakemake has ended without a word"
        assert driver.poll() is None
        (tmp_path / "go").touch()
        driver.communicate(timeout=300)
        assert (tmp_path / "done").exists()
    finally:
        end(driver)


# The scheduler holds this lock whenever it chooses jobs or looks for those that have ended.
HELD = """
import os, signal
from pathlib import Path
onstart:
    with workflow.scheduler._lock:
        Path("held").touch()
        os.kill(os.getpid(), signal.SIGTERM)
    Path("released").touch()
rule all:
    output: touch("done")
"""


@pytest.mark.workflow
def test_sigterm_may_hang_a_snakemake_for_ever(tmp_path):
    """The reason for ``end_strays`` of the soak: SIGTERM waits for a lock that its own thread holds."""
    (tmp_path / "Snakefile").write_text(HELD)
    driver = start([sys.executable, *SNAKEMAKE], tmp_path)
    try:
        wait_until((tmp_path / "held").exists, seconds=300)
        time.sleep(3)
        assert driver.poll() is None
        assert not (tmp_path / "released").exists()
    finally:
        end(driver)


# --- Clusters ------------------------------------------------------------------------------------------------------


@pytest.mark.workflow
def test_the_path_of_python_is_not_quoted(tmp_path):
    """The reason for ``cluster.refuse_python``."""
    assert submitted(tmp_path / "plain").returncode == 0
    (tmp_path / "a b").symlink_to(sys.prefix)
    done = submitted(tmp_path / "other", python=str(tmp_path / "a b" / "bin" / "python"))
    assert done.returncode != 0
    assert f"{tmp_path}/a: " in done.stderr


@pytest.mark.workflow
def test_the_path_of_a_script_is_read_by_a_shell(tmp_path):
    """The reason for ``cluster.refuse_path``, on Grid Engine; that for Slurm follows."""
    done = submitted(tmp_path / "a$HOME")
    assert done.returncode != 0
    assert "Error submitting jobscript" in done.stdout + done.stderr


def test_commands_for_slurm_are_read_by_a_shell():
    """The reason for ``cluster.refuse_path``: between double quotes ``$`` and backticks are read."""
    plugin = pytest.importorskip(slurm.PLUGIN)
    assert '--wrap="{' in inspect.getsource(plugin.Executor)


@pytest.mark.workflow
def test_the_path_of_the_status_script_is_not_quoted(tmp_path):
    """The reason for the quotes of ``grid_engine.prepare``."""
    script = tmp_path / "a status.sh"
    script.write_text("#!/bin/sh\necho success\n")
    script.chmod(0o755)
    bare = submitted(tmp_path / "bare", "--cluster-generic-status-cmd", str(script))
    assert bare.returncode != 0
    assert "Failed to obtain job status" in bare.stdout + bare.stderr
    quoted = submitted(tmp_path / "quoted", "--cluster-generic-status-cmd", shlex.quote(str(script)))
    assert quoted.returncode == 0, quoted.stderr


def test_sacct_is_asked_wherever_it_is_installed(tmp_path, monkeypatch):
    """The reason for ``slurm.sacct_is_silent``: that jobs are not accounted for is not noticed."""
    plugin = pytest.importorskip(slurm.PLUGIN)
    for name in ("sinfo", "squeue", "scontrol", "sacct"):
        (tmp_path / name).write_text("#!/bin/sh\necho 'Slurm accounting storage is disabled' >&2\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert slurm.sacct_is_silent() == "Slurm accounting storage is disabled"
    assert plugin.ExecutorSettings().status_command == "sacct"


def test_the_name_of_all_jobs_is_found_at_their_executor(tmp_path, monkeypatch):
    """What ``slurm.remember_jobs`` reads is where Snakemake and its plugin keep it."""
    from snakemake.scheduling.job_scheduler import JobScheduler

    plugin = pytest.importorskip(slurm.PLUGIN)
    assert '"run_uuid": self.run_uuid' in inspect.getsource(plugin.Executor)
    executors = SimpleNamespace(_local_executor=None, _executor=SimpleNamespace(run_uuid="run-7"))
    scheduler = SimpleNamespace(get_executor=lambda job: JobScheduler.get_executor(executors, job))
    jobs = [SimpleNamespace(is_local=True), SimpleNamespace(is_local=False)]
    noted = []
    monkeypatch.setattr(driver_lock, "remember", noted.append)
    slurm.remember_jobs(SimpleNamespace(scheduler=scheduler, dag=SimpleNamespace(needrun_jobs=lambda: jobs)))
    slurm.remember_jobs(SimpleNamespace(scheduler=scheduler, dag=SimpleNamespace(needrun_jobs=lambda: jobs[:1])))
    assert noted == ["run-7"]


def test_the_plugins_are_the_ones_that_are_meant():
    """Their settings are known by the module that they come from."""
    for module in (slurm.PLUGIN, grid_engine.PLUGIN):
        plugin = pytest.importorskip(module)
        assert plugin.ExecutorSettings.__module__.split(".")[0] == module
