"""The whole: a quiet run, the same under fire, and what must be true at the end."""

import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from soak import monkey as monkeys
from soak.disk import SmallDisk
from soak.place import Driver, Machine, Slurm
from soak.processes import Meter, working_in
from soak.workload import Workload
from tiny import digests, finish, wait_until

GRACE = 15.0  # seconds in which cancelled jobs may end by themselves


@dataclass(frozen=True)
class Quiet:
    """An undisturbed run on this machine: a hash of every file, and the core time of the pipeline's processes."""

    files: dict[str, str]
    core_seconds: float
    trained: int
    minutes: float


@dataclass(frozen=True)
class Outcome:
    """What was done, and what came of it. ``wrong`` is empty if all is well.

    ``minutes`` leave the quiet run out; ``arrays`` are the sizes of Slurm's arrays of training jobs.
    """

    place: str
    seed: int
    runs: int
    minutes: float
    faults: Counter
    starts: int  # of drivers
    quiet: Quiet
    core_seconds: float
    trained: int
    arrays: tuple[int, ...]
    wrong: tuple[str, ...]

    @property
    def lost(self) -> float:
        """Work that was done in vain or twice, as a share of the quiet run's core time."""
        return max(0.0, self.core_seconds / self.quiet.core_seconds - 1)


def quiet_run(workload: Workload, folder: Path, *options: str) -> Quiet:
    """The same command, undisturbed, with further options if given."""
    folder.mkdir()
    began = time.monotonic()
    with Meter(folder) as meter:
        driver = Machine().start(workload, folder, folder.parent / "quiet.log", *options)
        assert driver.process.wait() == 0, driver.log.read_text()
    minutes = (time.monotonic() - began) / 60
    return Quiet(_results(folder), meter.seconds, meter.trained, minutes)


def under_fire(
    workload: Workload, place: Machine | Slurm, quiet: Quiet, folder: Path, seed: int, faults: int, hours: float = 2.0
) -> Outcome:
    """Make the workload while the monkey is at work, and look at what is left. ``folder`` must not exist."""
    began = time.monotonic()
    work, logs = folder / "work", folder / "logs"
    logs.mkdir(parents=True)
    with SmallDisk(work, _megabytes(workload)) as disk, place:
        fleet = Fleet(place, workload, work, logs, random.Random(seed + 2))
        plan = monkeys.schedule(seed, faults, workload.runs, bool(place.nodes))
        monkey = monkeys.Monkey(seed, plan, disk, fleet.running, getattr(place, "cluster", None))
        with Meter(work) as meter:
            try:
                while not (monkey.has_finished and fleet.succeeded_after(monkey.last)):
                    assert time.monotonic() - began < 3600 * hours, f"not done after {hours} hours: {logs}"
                    fleet.keep_going()
                    monkey.visit(sum(1 for _ in work.glob("results/runs/*/*/*.nc")))
                    time.sleep(0.3)
                fleet.wait()
                place.cancel_all()
                time.sleep(GRACE)
                place.end_strays(work)
                wait_until(lambda: not working_in(work), seconds=300, every=0.5)  # those of drivers that were killed
                fleet.once_more()
            finally:
                fleet.end()
            wrong = (*_differences(_results(work), quiet.files), *left_over(work))
        return Outcome(
            place.name, seed, workload.runs, (time.monotonic() - began) / 60, monkey.done, fleet.starts, quiet,
            meter.seconds, meter.trained, place.arrays(), wrong,
        )  # fmt: skip


class Fleet:
    """The drivers of a place. One that has ended is started again, as a user would: the same command."""

    def __init__(self, place: Machine | Slurm, workload: Workload, folder: Path, logs: Path, rng: random.Random):
        self.place, self.workload, self.folder, self.logs, self.rng = place, workload, folder, logs, rng
        self.drivers: list[Driver] = []
        self.when: dict[Driver, float] = {}  # when each was started
        self.starts, self.next_start, self.next_look, self.success = 0, 0.0, 0.0, -1.0

    def running(self) -> list[Driver]:
        return [driver for driver in self.drivers if driver.process.poll() is None]

    def keep_going(self) -> None:
        """Note who has succeeded, and start another driver if there are too few and it is time."""
        if time.monotonic() > self.next_look:
            self.place.look_after()
            self.next_look = time.monotonic() + 5
        for driver in [d for d in self.drivers if d.process.poll() is not None]:
            self.drivers.remove(driver)
            if driver.process.returncode == 0:
                self.success = max(self.success, self.when[driver])
        if len(self.drivers) < self.place.drivers and time.monotonic() >= self.next_start:
            self._start()
            self.next_start = time.monotonic() + (self.rng.uniform(1, 15) if self.place.drivers > 1 else 0.5)

    def succeeded_after(self, moment: float) -> bool:
        """Whether a driver that was started after this moment has made everything."""
        return self.success > moment

    def _start(self) -> Driver:
        driver = self.place.start(self.workload, self.folder, self.logs / f"driver{self.starts:03d}.log")
        self.starts += 1
        self.drivers.append(driver)
        self.when[driver] = time.monotonic()
        return driver

    def wait(self) -> None:
        for driver in self.drivers:
            driver.process.wait()

    def once_more(self) -> None:
        """The same command a last time: whatever the others left when they ended is cleared away."""
        driver = self._start()
        assert driver.process.wait() == 0, driver.log.read_text()

    def end(self) -> None:
        for driver in self.running():
            driver.process.kill()


def left_over(folder: Path) -> list[str]:
    """What should not be there when all is done: partial files, checkpoints, locks, notes, damaged files."""
    patterns = ("**/.*.partial", "results/checkpoints/**/*.npz*", ".snakemake/locks/*", ".snakemake/drivers/*")
    patterns += (".snakemake/incomplete/**/*",)
    found = [path for pattern in patterns for path in folder.glob(pattern) if path.is_file()]
    told = [f"left over: {path.relative_to(folder)}" for path in found]
    told += [f"still works here: {' '.join(process.command[:5])}" for process in working_in(folder)]
    verified = finish([sys.executable, "-m", "cbo_pipeline", "verify", "results"], folder)
    damaged = [line for line in verified.stdout.splitlines() if "refused" in line]
    return [*told, *(f"verify: {line}" for line in damaged)]


def _results(folder: Path) -> dict[str, str]:
    return {**digests(folder / "results" / "runs"), **digests(folder / "results" / "summary")}


def _differences(found: dict[str, str], wanted: dict[str, str]) -> list[str]:
    names = sorted({*found, *wanted})
    return [f"not as in the quiet run: {name}" for name in names if found.get(name) != wanted.get(name)]


def _megabytes(workload: Workload) -> int:
    """Room for results, logs and Snakemake's notes, and not much more."""
    return 64 + workload.runs // 4


def commit() -> str:
    """The commit of the checkout, for the record."""
    asked = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
