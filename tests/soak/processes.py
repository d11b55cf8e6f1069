"""The processes that work in a folder: found in /proc, whoever started them, and the core time that they take."""

import contextlib
import os
import threading
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Process:
    """A process by its id and its start (an id may be used again), with its command."""

    pid: int
    start: int
    command: tuple[str, ...]

    @property
    def stage(self) -> str:
        """The command of the pipeline that it runs, such as train; nothing if it runs another program."""
        words = self.command
        at = words.index("cbo_pipeline") if "cbo_pipeline" in words else len(words)
        return words[at + 1] if words[at - 1 : at] == ("-m",) and at + 1 < len(words) else ""

    def signal(self, number: int) -> bool:
        """Send a signal; whether there was still somebody to get it."""
        try:
            if _stat(self.pid)[0] != self.start:
                return False
            os.kill(self.pid, number)
        except (OSError, IndexError):
            return False
        return True


def _stat(pid: int) -> tuple[int, int]:
    """The start of a process and its core time so far, in ticks."""
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(words[19]), int(words[11]) + int(words[12])


def working_in(folder: Path) -> list[Process]:
    """All processes whose working directory is this folder."""
    place, found = os.path.realpath(folder), []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                if os.readlink(f"/proc/{entry.name}/cwd") == place:  # noqa: PTH115  # of all processes, often: be quick
                    words = Path(f"/proc/{entry.name}/cmdline").read_bytes().decode(errors="replace").split("\0")
                    found.append(Process(int(entry.name), _stat(int(entry.name))[0], tuple(words)))
    return found


class Meter:
    """Measures the core time of the pipeline's own processes in a folder, of those too that are killed.

    It looks several times per second and keeps what it saw last, so the last moments of each process are missed; in
    every folder alike.
    """

    def __init__(self, folder: Path, every: float = 0.2):
        self.folder, self.every = folder, every
        self.ticks: dict[tuple[int, int], int] = {}
        self.stages: dict[tuple[int, int], str] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True)

    def __enter__(self) -> "Meter":
        self._thread.start()
        return self

    def __exit__(self, *error) -> None:
        self._end.set()
        self._thread.join()

    def _look_on(self) -> None:
        while not self._end.wait(self.every):
            self.look()

    def look(self) -> None:
        for process in working_in(self.folder):
            if process.stage:
                with contextlib.suppress(OSError, IndexError):
                    start, ticks = _stat(process.pid)
                    self.ticks[process.pid, start] = ticks
                    self.stages[process.pid, start] = process.stage

    @property
    def seconds(self) -> float:
        """Core time of all of them."""
        return sum(self.ticks.values()) / TICKS

    @property
    def trained(self) -> int:
        """How many processes trained."""
        return sum(stage == "train" for stage in self.stages.values())
