"""One Snakemake at a time makes the same files of a folder, and one that was killed does not keep the next from it.

Snakemake plans, which takes seconds or minutes, looks for a lock, and then writes its own: of two that start together
both may find none, and one that planned while the other worked makes again what is there (as of 9.27; no issue is
known; ``tests/workflow/test_upstream.py`` tells when a lock is taken in one step). So drivers pass a gate, one by
one: each holds it (``enter``) until its lock is written (``leave``), or until it ends, in whatever way. And when it
ends it removes the folder of locks, with what others may have written or are about to write there: so an ending one
passes the gate once more, and keeps it.

A Snakemake that was killed leaves its lock behind, and jobs on a cluster. It does not note whose lock it is (as of
9.27), and leaves ``--unlock`` to the user (https://github.com/snakemake/snakemake/issues/2919).
``tests/workflow/test_driver.py`` tells when it no longer does. Every driver therefore notes its host and process
beside the lock. If all drivers that were noted are dead, their jobs are cancelled, and the lock is removed by
``snakemake --unlock``; the lock of one that lives, or of another host, is left to Snakemake and the user. Where no
note can be written, Snakemake works without.
"""

import atexit
import contextlib
import fcntl
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

# Unlocking needs a workflow and takes any: this one has no rules.
NO_RULES = Path(__file__).parent / "no_rules.smk"
GATE = "driver_gate"
EXITING = 0x4  # the kernel's flag of a process that is ending (PF_EXITING)

_held: list[int] = []  # the open gate, while this driver holds it
_noted: list[Path] = []  # the note of this driver


def started(process) -> str:
    """When a process started, in the kernel's ticks: a process id alone may be used again.

    A process that is ending has let go of the gate before its id is gone, so that the next driver may meet it: it
    counts as ended.
    """
    try:
        facts = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        ending = facts[0] in "ZX" or int(facts[6]) & EXITING
        return "ended" if ending else facts[19]
    except (OSError, IndexError, ValueError):
        return "unknown"


def lives(note: Path) -> bool:
    """Whether the driver of a note may still be running. A full disk may have left a note empty."""
    host, _, process = note.name.rpartition(".")
    if host != socket.gethostname():
        return True
    try:
        os.kill(int(process), 0)
        told, now = note.read_text().partition("\n")[0], started(process)
        return now != "ended" and told in ("", now)
    except PermissionError:
        return True
    except (OSError, ValueError, OverflowError):
        return False


def enter(warn: Callable[[str], None]) -> None:
    """Wait until no other driver of this folder starts or ends. Until ``leave`` all others wait for this one."""
    gate = Path(".snakemake", GATE).absolute()
    if _held:
        return
    try:
        gate.parent.mkdir(exist_ok=True)
        held = os.open(gate, os.O_RDWR | os.O_CREAT, 0o644)
        _held.append(held)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            warn(f"Another Snakemake is starting or ending in {gate.parent.parent}: waiting until it has.")
            fcntl.flock(held, fcntl.LOCK_EX)
    except OSError as error:
        warn(f"{gate}: {error.strerror or error}; do not start another Snakemake here at the same moment.")


def leave() -> None:
    """Let the next driver plan: it finds the lock of this one, if their files overlap."""
    while _held:
        os.close(_held.pop())


def clear_dead_lock(
    warn: Callable[[str], None], cancel: Callable[[Iterable[str]], None] = lambda names: None
) -> None:
    """Remove the lock of dead drivers from the working directory, and note this driver until it ends.

    ``cancel`` gets the names of what dead drivers left on a cluster (``remember``).
    """
    folder = Path(".snakemake").absolute()  # Snakemake changes its directory before it ends
    notes = folder / "drivers"
    own = notes / f"{socket.gethostname()}.{os.getpid()}"
    try:
        notes.mkdir(parents=True, exist_ok=True)
        others = [note for note in notes.iterdir() if note != own]
        dead = [note for note in others if not lives(note)]
        atexit.register(_forget, own)
        own.write_text(f"{started(os.getpid())}\n")
        _noted[:] = [own]
        if not dead:
            return
        locked = is_locked(folder)
        if locked and len(dead) < len(others):
            return  # whose lock it is cannot be told; the notes stay for the driver that can
        cancel([name for note in dead for name in note.read_text().splitlines()[1:]])
    except OSError as error:
        warn(f"{notes}: {error.strerror or error}; if this Snakemake is killed, its lock will stay.")
        return
    if locked:
        warn(f"Removing the lock in {folder}: the Snakemake that made it was killed.")
        unlock(folder.parent)
    for note in dead:
        _forget(note)


def is_locked(folder: Path = Path(".snakemake")) -> bool:
    """Whether a Snakemake has its lock in the working directory."""
    return any(folder.glob("locks/*.lock"))


def remember(name: str) -> None:
    """Note what is to be cancelled on the cluster should this driver be killed."""
    for note in _noted:
        with contextlib.suppress(OSError), note.open("a") as file:
            file.write(f"{name}\n")


def unlock(folder: Path) -> None:
    """Remove Snakemake's lock from a working directory."""
    command = [sys.executable, "-m", "snakemake", "--unlock", "--snakefile", NO_RULES, "--directory", folder]
    subprocess.run([*map(str, command), "--quiet", "all"], cwd=folder, capture_output=True, check=False)


def _forget(note: Path) -> None:
    with contextlib.suppress(OSError):
        note.unlink(missing_ok=True)
        note.parent.rmdir()  # if it was the last one
