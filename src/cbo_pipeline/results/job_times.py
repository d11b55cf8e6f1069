"""What every stage of the workflow took, from the files that Snakemake's ``benchmark`` leaves behind.

Core hours are processor time: on a busy machine a job waits, and that costs nothing. Snakemake looks at a job every
second at first, then every half minute: what a job did since the last look is missing. A file is written when its
job ends; the wall time of a stage is the time in which at least one of its jobs was running, so that a night
between two parts of an interrupted workflow does not count. Of a run that was killed and resumed, the last part is
known.
"""

import csv
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

# Stages other than training, by what their files are called below results/benchmarks.
STAGES = {
    "data": "get MNIST",
    "cost": "measure costs",
    "summary": "summarise",
    "figures": "draw the figures",
    "checks": "check by numbers",
    "claims": "judge the claims",
    "settings": "record the settings",
    "readings": "other readings",
    "index": "write the page",
}
COLUMNS = ("stage", "jobs", "wall time", "core hours", "longest job", "most memory")


@dataclass(frozen=True)
class Job:
    """One job: what it was, when it ended, how long it took, its processor time and peak of memory, if known."""

    parts: tuple[str, ...]
    end: float
    seconds: float
    processor: float
    megabytes: float | None

    @property
    def stage(self) -> str:
        return STAGES.get(self.parts[0], f"train {self.parts[0]}")

    @property
    def curve(self) -> str:
        return "/".join(self.parts[:2])


def read(folder: Path) -> list[Job]:
    """All jobs of which there is a benchmark below the folder."""
    jobs = []
    for path in sorted(folder.rglob("*.tsv")):
        with path.open(newline="") as file:
            row = next(csv.DictReader(file, delimiter="\t"))
        # A job that ended before the first look has neither.
        processor, memory = (
            None if row[name] in ("-", "NA") else float(row[name]) for name in ("cpu_time", "max_rss")
        )
        parts = path.relative_to(folder).with_suffix("").parts
        seconds = float(row["s"])
        jobs.append(Job(parts, path.stat().st_mtime, seconds, processor or seconds, memory))
    return jobs


def typical_seconds(jobs: Iterable[Job]) -> dict[str, float]:
    """By curve, such as sine/cbo_M100_N200: the median over its runs of the processor seconds that one took."""
    found: dict[str, list[float]] = {}
    for job in jobs:
        sizes, seed, _ = job.parts[-1].partition("_seed")
        if len(job.parts) == 3 and seed and job.parts[0] not in STAGES:
            found.setdefault(f"{job.parts[0]}/{job.parts[1]}_{sizes}", []).append(job.processor)
    return {curve: statistics.median(seconds) for curve, seconds in found.items()}


def wall_seconds(jobs: Iterable[Job]) -> float:
    """The time in which at least one of the jobs was running."""
    total, until = 0.0, float("-inf")
    for job in sorted(jobs, key=lambda job: job.end - job.seconds):
        total += max(0.0, job.end - max(until, job.end - job.seconds))
        until = max(until, job.end)
    return total


def core_hours(jobs: Iterable[Job]) -> float:
    return sum(job.processor for job in jobs) / 3600


def table(jobs: Sequence[Job], name: Callable[[Job], str]) -> list[list[str]]:
    """One line for every group of jobs that share a name, under COLUMNS; training comes first, then all together."""
    order = list(STAGES)
    groups: dict[str, list[Job]] = {}
    for job in sorted(jobs, key=lambda job: order.index(job.parts[0]) if job.parts[0] in order else -1):
        groups.setdefault(name(job), []).append(job)
    return [_line(group, members) for group, members in [*groups.items(), ("all", list(jobs))]]


def _line(name: str, jobs: Sequence[Job]) -> list[str]:
    memory = [job.megabytes for job in jobs if job.megabytes is not None]
    return [
        name,
        str(len(jobs)),
        span(wall_seconds(jobs)),
        f"{core_hours(jobs):.3f}",
        span(max(job.seconds for job in jobs)),
        f"{max(memory):.0f} MB" if memory else "unknown",
    ]


def span(seconds: float) -> str:
    """A time in words.

    >>> span(4.2), span(200), span(8000)
    ('4.2 s', '3 min 20 s', '2 h 13 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds) // 60
    return f"{minutes} min {round(seconds) % 60} s" if seconds < 3600 else f"{minutes // 60} h {minutes % 60} min"
