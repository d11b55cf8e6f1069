"""A Snakemake that was killed leaves its lock behind, and the same command again would be refused.

Snakemake does not note whose lock it is (as of 9.27), and leaves ``--unlock`` to the user
(https://github.com/snakemake/snakemake/issues/2919). ``tests/workflow/test_driver.py`` tells when it no longer does.
Every driver therefore notes its host and process beside the lock. If all drivers that were noted are dead, the lock
is removed by ``snakemake --unlock``; the lock of one that lives, or of another host, is left to Snakemake and the
user. Where no note can be written, Snakemake works without.
"""

import atexit
import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

# Unlocking needs a workflow and takes any: this one has no rules.
NO_RULES = Path(__file__).parent / "no_rules.smk"


def started(process) -> str:
    """When a process started, in the kernel's ticks: a process id alone may be used again."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except (OSError, IndexError):
        return "unknown"


def lives(note: Path) -> bool:
    """Whether the driver of a note may still be running."""
    host, _, process = note.name.rpartition(".")
    if host != socket.gethostname():
        return True
    try:
        os.kill(int(process), 0)
        return note.read_text() == started(process)
    except PermissionError:
        return True
    except (OSError, ValueError, OverflowError):
        return False


def clear_dead_lock(warn: Callable[[str], None]) -> None:
    """Remove the lock of dead drivers from the working directory, and note this driver until it ends."""
    folder = Path(".snakemake").absolute()  # Snakemake changes its directory before it ends
    notes = folder / "drivers"
    try:
        notes.mkdir(parents=True, exist_ok=True)
        dead = [note for note in notes.iterdir() if not lives(note)]
        all_dead = dead and len(dead) == len(list(notes.iterdir()))
        own = notes / f"{socket.gethostname()}.{os.getpid()}"
        own.write_text(started(os.getpid()))
        atexit.register(_forget, own)
        for note in dead:
            note.unlink(missing_ok=True)
    except OSError as error:
        warn(f"{notes}: {error.strerror or error}; should this Snakemake be killed, its lock stays.")
        return
    if all_dead and any(folder.glob("locks/*.lock")):
        warn(f"Removing the lock in {folder}: the Snakemake that made it was killed.")
        unlock(folder.parent)


def unlock(folder: Path) -> None:
    """Remove Snakemake's lock from a working directory."""
    command = [sys.executable, "-m", "snakemake", "--unlock", "--snakefile", NO_RULES, "--directory", folder]
    subprocess.run([*map(str, command), "--quiet", "all"], cwd=folder, capture_output=True, check=False)


def _forget(note: Path) -> None:
    with contextlib.suppress(OSError):
        note.unlink(missing_ok=True)
        note.parent.rmdir()  # if it was the last one
