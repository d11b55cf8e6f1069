"""What every stage of the workflow took, from the files that Snakemake's ``benchmark`` leaves behind.

Core hours are processor time: on a busy machine a job waits, and that costs nothing. Snakemake looks at a job every
second at first, then every half minute: what a job did since the last look is missing. A file is written when its
job ends; the wall time of a stage is the time in which at least one of its jobs was running, so that a night
between two parts of an interrupted workflow does not count. Of a run that was killed and resumed, the last part is
known.
"""

import csv
import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cbo_pipeline.config.names import seeds_of, short_list

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
    "article": "write the article",
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
    """All jobs of which there is a benchmark below the folder; one that a full disk cut short is left out."""
    jobs = []
    for path in sorted(folder.rglob("*.tsv")):
        with path.open(newline="") as file:
            row = next(csv.DictReader(file, delimiter="\t"), {})
        if None in (row.get(name) for name in ("s", "cpu_time", "max_rss")):
            continue
        # A job that ended before the first look has neither.
        processor, memory = (
            None if row[name] in ("-", "NA") else float(row[name]) for name in ("cpu_time", "max_rss")
        )
        parts = path.relative_to(folder).with_suffix("").parts
        seconds = float(row["s"])
        jobs.append(Job(parts, path.stat().st_mtime, seconds, processor or seconds, memory))
    return jobs


def typical_seconds(jobs: Iterable[Job]) -> dict[str, float]:
    """By curve, such as sine/cbo_M100_N200: the median over its jobs of the processor seconds that a run took.

    >>> jobs = [Job(("sine", "cbo", f"M5_N8_{seeds}"), 0, 20, 20, None) for seeds in ("seed3", "seeds_0to9")]
    >>> typical_seconds(jobs[:1]), typical_seconds(jobs[1:])
    ({'sine/cbo_M5_N8': 20.0}, {'sine/cbo_M5_N8': 2.0})
    """
    found: dict[str, list[float]] = {}
    for job in jobs:
        named = re.fullmatch(r"(M\d+_N\d+)_(?:seed\d+|seeds_(\w+))", job.parts[-1])
        if len(job.parts) == 3 and named and job.parts[0] not in STAGES:
            runs = len(seeds_in_name(named[2])) if named[2] else 1
            found.setdefault(f"{job.parts[0]}/{job.parts[1]}_{named[1]}", []).append(job.processor / runs)
    return {curve: statistics.median(seconds) for curve, seconds in found.items()}


def name_of_seeds(seeds: Iterable[int]) -> str:
    """Seeds as the name of a job of several runs has them.

    >>> name_of_seeds([0, 1, 2, 7]), seeds_in_name("0to2_7")
    ('0to2_7', [0, 1, 2, 7])
    """
    return short_list(seeds).replace("-", "to").replace(",", "_")


def seeds_in_name(text: str) -> list[int]:
    """The inverse of ``name_of_seeds``."""
    return seeds_of(text.replace("_", ",").replace("to", "-"))


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
