"""A Snakemake that was killed leaves its lock behind, and the same command again would be refused.

Every driver therefore notes its host and process beside the lock. A lock is removed when all drivers that were
noted are dead; the lock of one that lives, or of another host, is left to Snakemake and to the user (--unlock).
"""

import atexit
import os
import socket
from collections.abc import Callable
from pathlib import Path


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
    except (OSError, ValueError):
        return False


def clear_dead_lock(warn: Callable[[str], None]) -> None:
    """Remove the lock of dead drivers from the working directory, and note this driver until it ends."""
    notes = Path(".snakemake/drivers")
    notes.mkdir(parents=True, exist_ok=True)
    dead = [note for note in notes.iterdir() if not lives(note)]
    if dead and len(dead) == len(list(notes.iterdir())):
        for lock in Path(".snakemake/locks").glob("*.lock"):
            warn(f"Removing {lock}: the Snakemake that made it was killed.")
            lock.unlink(missing_ok=True)
    for note in dead:
        note.unlink(missing_ok=True)
    own = notes / f"{socket.gethostname()}.{os.getpid()}"
    own.write_text(started(os.getpid()))
    atexit.register(own.unlink, missing_ok=True)
