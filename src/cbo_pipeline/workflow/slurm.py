"""What the driver makes sure of before the first job goes to a cluster: jobs that die or hang otherwise.

Snakemake puts the path of Python into the command of a job without quotes
(https://github.com/snakemake/snakemake/issues/2981), and its Slurm plugin puts that command between double quotes, in
which a shell still reads ``$``, backticks and quotes. And it asks ``sacct`` for the state of jobs wherever that
program is installed, also where it answers nothing because jobs are not accounted for: it would wait for ever.
"""

import contextlib
import getpass
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from cbo_pipeline.errors import UserError
from cbo_pipeline.workflow import driver_lock

PLUGIN = "snakemake_executor_plugin_slurm"
PLAIN = re.compile(r"[\w./+=:,@-]*")  # characters that no shell minds
QUOTED = re.compile(r"[^\"'$`\\%\n]*")  # those that survive single quotes between double quotes, and sbatch
ANSWER_SECONDS = 30
END_SECONDS = 10
CANCEL_SECONDS = (
    120  # a job that is cancelled has 30 seconds to leave a checkpoint, unless the cluster says otherwise
)


def prepare(workflow, warn: Callable[[str], None]) -> None:
    """Refuse what cannot work on a cluster, choose who tells the state of jobs, and let SIGTERM end the driver.

    ``workflow`` is Snakemake's object, as it is when ``onstart`` runs.
    """
    if workflow.local_exec:
        return
    refuse_python(sys.executable)
    if type(workflow.executor_settings).__module__.split(".")[0] != PLUGIN:
        return
    for what, path in (("the checkout", workflow.basedir), ("the working directory", Path.cwd())):
        refuse_path(what, str(path))
    if workflow.executor_settings.status_command == "sacct":
        silent = sacct_is_silent()
        if silent:
            warn(f"sacct does not answer ({silent}): squeue is asked for the state of jobs.")
            workflow.executor_settings.status_command = "squeue"
    remember_jobs(workflow)
    end_on_sigterm()


def refuse_python(path: str) -> None:
    """Refuse a Python that no job could start.

    >>> refuse_python("/home/me/.venv/bin/python")
    """
    if not PLAIN.fullmatch(path):
        words = (
            f"{path}: jobs on a cluster cannot start a Python whose path has spaces or other special characters"
            " (Snakemake does not quote it); make the environment elsewhere: python3 -m venv ~/cbo"
        )
        raise UserError(words, code="bad-path", key="python", file=path)


def refuse_path(what: str, path: str) -> None:
    """Refuse a folder whose name a shell would read as a command on the way to Slurm.

    >>> refuse_path("the checkout", "/home/me/a folder/cbo_pipeline")
    """
    if not QUOTED.fullmatch(path):
        words = f"{path}: on Slurm the path of {what} must not hold quotes, $, %, ` or \\; move it elsewhere"
        raise UserError(words, code="bad-path", key=what, file=path)


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
    """Note the name that the plugin gives to all jobs of this driver, for the next one, should this one be killed."""
    name = getattr(getattr(workflow.scheduler, "_executor", None), "run_uuid", None)
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


def end_on_sigterm() -> None:
    """Let SIGTERM do what Ctrl-C does: the jobs are cancelled (they leave checkpoints), and Snakemake ends.

    By itself Snakemake would wait for all running jobs, hours perhaps. It also waits for the next look at the state
    of jobs, up to three minutes; after some seconds that is cut short.
    """

    def give_up_waiting(number, frame):
        raise SystemExit(128 + signal.SIGTERM)

    def end(number, frame):
        signal.signal(signal.SIGALRM, give_up_waiting)
        signal.alarm(END_SECONDS)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
