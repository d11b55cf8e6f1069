"""What the driver makes sure of before the first job goes to Slurm: jobs that hang otherwise.

Snakemake's Slurm plugin (as of 2.8) asks ``sacct`` for the state of jobs wherever that program is installed, even
where it answers nothing because jobs are not accounted for: it would wait forever.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from cbo_pipeline.workflow import cluster

PLUGIN = "snakemake_executor_plugin_slurm"
ANSWER_SECONDS = 30


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
