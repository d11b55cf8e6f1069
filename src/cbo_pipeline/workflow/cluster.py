"""What the driver makes sure of on any cluster: paths that reach the jobs unharmed, an end that leaves no job behind.

Snakemake puts the path of Python into the command of a job without quotes (as of 9.27,
https://github.com/snakemake/snakemake/issues/2981), and its plugins put other paths between double quotes, in which
a shell still reads ``$``, backticks and quotes (as of Slurm 2.8 and cluster-generic 1.0.9; no issue is known).
``tests/workflow/test_upstream.py`` tells when that has changed.
"""

import re
import signal

from cbo_pipeline.errors import UserError

PLAIN = re.compile(r"[\w./+=:,@-]*")  # characters that no shell minds
QUOTED = re.compile(r"[^\"'$`\\%\n]*")  # those that survive single quotes between double quotes, and sbatch
END_SECONDS = 10


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


def refuse_path(what: str, path: str, scheduler: str = "Slurm") -> None:
    """Refuse a folder whose name a shell would read as a command on the way to the scheduler.

    >>> refuse_path("the checkout", "/home/me/a folder/cbo_pipeline")
    """
    if not QUOTED.fullmatch(path):
        words = f"{path}: on {scheduler} the path of {what} must not hold quotes, $, %, ` or \\; move it elsewhere"
        raise UserError(words, code="bad-path", key=what, file=path)


def end_on_sigterm() -> None:
    """Let SIGTERM do what Ctrl-C does: the jobs are cancelled (they leave checkpoints), and Snakemake ends.

    By itself Snakemake waits for all running jobs, hours perhaps (as of 9.27, as it means to: no issue is known, and
    no option; ``tests/workflow/test_upstream.py`` tells when that has changed). It also waits for the next look at
    the state of jobs, up to three minutes; after some seconds that is cut short.
    """

    def give_up_waiting(number, frame):
        raise SystemExit(128 + signal.SIGTERM)

    def end(number, frame):
        signal.signal(signal.SIGALRM, give_up_waiting)
        signal.alarm(END_SECONDS)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
