"""What the driver makes sure of before the first job goes to Slurm: jobs that hang otherwise.

Snakemake's Slurm plugin (as of 2.8) asks ``sacct`` for the state of jobs wherever that program is installed, even
where it answers nothing because jobs are not accounted for: it would wait forever
(https://github.com/snakemake/snakemake-executor-plugin-slurm/issues/38, closed since ``squeue`` can be chosen by
hand). ``tests/workflow/test_upstream.py`` tells when it looks for itself.
"""

import contextlib
import getpass
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from cbo_pipeline.workflow import cluster, driver_lock

PLUGIN = "snakemake_executor_plugin_slurm"
ANSWER_SECONDS = 30
CANCEL_SECONDS = 120  # a cancelled job has 30 seconds to end, unless the cluster says otherwise


def prepare(workflow, warn: Callable[[str], None]) -> None:
    """Refuse what cannot work on a cluster, choose sacct or squeue, and let SIGTERM end the driver.

    ``workflow`` is Snakemake's object, as it is when ``onstart`` runs.
    """
    if workflow.local_exec:
        return
    cluster.refuse_python(sys.executable)
    if type(workflow.executor_settings).__module__.split(".")[0] != PLUGIN:
        return
    for what, path in (("the checkout", workflow.basedir), ("the working directory", Path.cwd())):
        cluster.refuse_path(what, str(path))
    if workflow.executor_settings.status_command == "sacct":
        silent = sacct_is_silent()
        if silent:
            warn(f"sacct does not answer ({silent}): squeue is asked for the state of jobs.")
            workflow.executor_settings.status_command = "squeue"
    remember_jobs(workflow)
    cluster.end_on_sigterm()


def sacct_is_silent(command: str = "sacct") -> str:
    """Why ``sacct`` cannot tell the state of jobs, or nothing if it can."""
    if shutil.which(command) is None:
        return "it is not installed"
    asked = [command, "--noheader", "--allocations", "--format=JobIdRaw", "--starttime=now-1minutes"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=ANSWER_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"no answer within {ANSWER_SECONDS} seconds"
    except OSError as error:
        return error.strerror or str(error)
    if done.returncode == 0:
        return ""
    return " ".join(done.stderr.split()) or f"exit code {done.returncode}"


def remember_jobs(workflow) -> None:
    """Note the name that the plugin gives to all jobs of this driver, for the next one, should this one be killed.

    The plugin (as of 2.8) keeps it as ``run_uuid`` and tells it in the log alone; without it no job is cancelled.
    """
    job = next((job for job in workflow.dag.needrun_jobs() if not job.is_local), None)
    name = getattr(workflow.scheduler.get_executor(job), "run_uuid", None) if job is not None else None
    if name:
        driver_lock.remember(name)


def cancel_jobs(names: Iterable[str]) -> None:
    """Cancel the jobs that killed drivers left behind, and wait until they have ended.

    Their runs will be submitted again. A job that started later would delete the finished file of its run first, as
    Snakemake does, and might not come to write it again.
    """
    names = list(names)
    if not names or shutil.which("scancel") is None:
        return
    with contextlib.suppress(OSError, KeyError, subprocess.SubprocessError):
        chosen = [f"--name={','.join(names)}", f"--user={getpass.getuser()}"]
        subprocess.run(["scancel", *chosen], capture_output=True, timeout=ANSWER_SECONDS, check=False)
        until = time.monotonic() + CANCEL_SECONDS
        while time.monotonic() < until:
            asked = ["squeue", "--noheader", "--format=%i", *chosen]
            left = subprocess.run(asked, capture_output=True, text=True, timeout=ANSWER_SECONDS, check=False)
            if left.returncode or not left.stdout.split():
                return
            time.sleep(1)
