"""The monkey: a list of faults, drawn from a seed, each done when so many runs are finished.

What is done, in which order and for how long is decided by the seed; whom it hits is decided by the moment.
"""

import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from soak.disk import SmallDisk
from soak.place import ENDS, Driver
from soak.processes import Process, working_in

VICTIM_SECONDS = 60.0  # to wait for a process that can be hit
# What is done how often, relative to the others; those of a cluster need one.
JOBS = {"SIGKILL to a job's process": 5, "SIGTERM to a job's process": 4, "stop and continue of a process": 4}
CLUSTER = {"scancel of a job": 4, "kill -9 and restart of a node's daemon": 2}
DRIVER = {ENDS[signal.SIGKILL]: 1, ENDS[signal.SIGTERM]: 1}
DISK = {"the disk is full for a moment": 2, "the results are read-only for a moment": 2}
FLIP = "a bit flips in a finished file"
FILES = {FLIP: 3}


def schedule(seed: int, faults: int, runs: int, on_cluster: bool) -> list[tuple[int, str]]:
    """So many faults, every kind among them: after how many finished runs, and what."""
    rng = random.Random(seed)
    weights = {**JOBS, **(CLUSTER if on_cluster else {}), **DRIVER, **DISK, **FILES}
    kinds = list(weights)
    kinds += rng.choices(list(weights), list(weights.values()), k=max(0, faults - len(kinds)))
    rng.shuffle(kinds)
    return list(zip(sorted(rng.randrange(int(0.95 * runs)) for _ in kinds), kinds, strict=True))


@dataclass
class Monkey:
    """Does the faults of its schedule to a folder and to those who work in it."""

    seed: int
    plan: list[tuple[int, str]]
    disk: SmallDisk
    drivers: Callable[[], list[Driver]]  # those that run at the moment
    cluster: object | None = None
    done: Counter = field(default_factory=Counter)
    last: float = 0.0  # when the last fault ended
    since: float = 0.0  # since when the next fault is due

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed + 1)
        self.waiting = list(self.plan)
        self.folder: Path = self.disk.folder

    @property
    def has_finished(self) -> bool:
        return not self.waiting

    def visit(self, finished: int) -> None:
        """Try the next fault, if so many runs are finished that it is due.

        Where nobody can be hit for long, a bit is flipped instead, which makes new work.
        """
        if not self.waiting or self.waiting[0][0] > finished:
            return
        what, self.since = self.waiting[0][1], self.since or time.monotonic()
        done = what if self._acts()[what]() else ""
        if not done and time.monotonic() - self.since > VICTIM_SECONDS and self._flip():
            done = FLIP
        if done:
            self.done[done] += 1
            self.waiting.pop(0)
            self.last, self.since = time.monotonic(), 0.0

    def _acts(self) -> dict[str, Callable[[], bool]]:
        """What is done for each kind of fault; it tells whether it could be done."""
        return {
            "SIGKILL to a job's process": lambda: self._hit(signal.SIGKILL),
            "SIGTERM to a job's process": lambda: self._hit(signal.SIGTERM),
            "stop and continue of a process": self._stop_and_continue,
            "scancel of a job": self._cancel,
            "kill -9 and restart of a node's daemon": self._lose_node,
            ENDS[signal.SIGKILL]: lambda: self._end_driver(signal.SIGKILL),
            ENDS[signal.SIGTERM]: lambda: self._end_driver(signal.SIGTERM),
            "the disk is full for a moment": self._fill,
            "the results are read-only for a moment": self._protect,
            FLIP: self._flip,
        }

    def _victims(self) -> list[Process]:
        return [process for process in working_in(self.folder) if process.stage]

    def _hit(self, number: int) -> bool:
        victims = self._victims()
        time.sleep(self.rng.uniform(0.0, 0.5))  # not always just after its start
        return bool(victims) and self.rng.choice(victims).signal(number)

    def _stop_and_continue(self) -> bool:
        victims = self._victims()
        if not victims:
            return False
        victim = self.rng.choice(victims)
        stopped = victim.signal(signal.SIGSTOP)
        time.sleep(self.rng.uniform(0.5, 3.0))
        return victim.signal(signal.SIGCONT) and stopped

    def _cancel(self) -> bool:
        running = self.cluster.running()
        if not running:
            return False
        self.cluster.run("scancel", self.rng.choice(running)[0], check=False)
        return True

    def _lose_node(self) -> bool:
        node = self.rng.choice(self.cluster.nodes)
        self.cluster.kill_node(node)
        time.sleep(self.rng.uniform(0.5, 3.0))
        self.cluster.restart_node(node)
        return True

    def _end_driver(self, number: int) -> bool:
        drivers = self.drivers()
        return bool(drivers) and self.rng.choice(drivers).signal(number)

    def _fill(self) -> bool:
        try:
            self.disk.fill()
            time.sleep(self.rng.uniform(0.5, 3.0))
        finally:
            self.disk.empty()
        return True

    def _protect(self) -> bool:
        if not (self.folder / "results").is_dir():
            return False
        with self.disk.read_only("results"):
            time.sleep(self.rng.uniform(0.5, 3.0))
        return True

    def _flip(self) -> bool:
        finished = sorted([*self.folder.glob("results/runs/**/*.nc"), *self.folder.glob("results/summary/**/*.nc")])
        if not finished:
            return False
        try:
            flip_a_bit(self.rng.choice(finished), self.rng)
        except OSError:  # gone, or just being replaced
            return False
        return True


def flip_a_bit(path: Path, rng: random.Random) -> None:
    """Flip one bit of a file, anywhere, in place."""
    with path.open("rb+") as file:
        place = rng.randrange(path.stat().st_size)
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ (1 << rng.randrange(8))]))
