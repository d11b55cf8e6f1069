"""Where results come from: commit, machine, what they cost, how many runs."""

import dataclasses
import json
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import xarray as xr

from cbo_pipeline.claims.reading_plan import JOINT
from cbo_pipeline.config import memory
from cbo_pipeline.files import whole_file
from cbo_pipeline.results import job_times, json_files
from cbo_pipeline.results.ledger import READINGS
from cbo_pipeline.results.stage_code import digest_of

NAME = "provenance.json"
OWN_KEYS = ("kind", "code")  # what the file says about itself
ROOT = Path(__file__).parents[3]  # of the checkout, where there is one


@dataclass(frozen=True)
class Part:
    """What one folder of results gave to a publication: what it held, where it was made and what its jobs took."""

    what: str
    runs: int
    commit: str
    machine: str
    core_hours: float
    wall_seconds: float
    stages: Sequence[Sequence[str]] = ()  # lines of tables under job_times.COLUMNS: all jobs by stage,
    curves: Sequence[Sequence[str]] = ()  # ... and those that train by what they train


@dataclass(frozen=True)
class Made:
    """What a folder of results says about how it was made; None is unknown."""

    commit: str
    machine: str
    core_hours: float | None
    wall_seconds: float | None
    runs: int
    curves: int
    seeds: Mapping[str, int] = field(default_factory=dict)  # the most that a curve of each experiment has
    versions: Mapping[str, str] = field(default_factory=dict)
    reading_runs: int = 0  # those of other readings, beside ``runs``
    parts: Sequence[Part] = ()  # of a publication, in the order in which they were published

    @property
    def commits(self) -> str:
        """The commit in words; of several the first and the last, since ``parts`` tells them all.

        >>> made = Made("a1, b2, c3", "a machine", 1.0, 60.0, 4, 2)
        >>> made.commits, dataclasses.replace(made, commit="a1").commits
        ('commits a1 to c3', 'commit a1')
        """
        first, *later = self.commit.split(", ")
        return f"commits {first} to {later[-1]}" if later else f"commit {first}"


def read(folder: Path, summaries: Mapping[str, xr.Dataset]) -> Made:
    """As it was published, or else of this machine and this checkout."""
    path = folder / NAME
    if not path.is_file():
        return gather(folder, summaries)
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        parts = tuple(Part(**part) for part in told.get("parts", ()))
        return Made(**{key: value for key, value in told.items() if key not in OWN_KEYS} | {"parts": parts})
    except (ValueError, TypeError, AttributeError):
        raise json_files.refused(
            path, f"not a provenance of this pipeline; {json_files.AGAIN}", "other-kind"
        ) from None


def write(made: Made, folder: Path) -> None:
    """Store it, with its kind and the digest of the code that found it out."""
    told = {**asdict(made), **dict(zip(OWN_KEYS, ("provenance", digest_of("provenance")), strict=True))}
    with whole_file(folder / NAME) as partial:
        partial.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def part_of(what: str, runs: int, jobs: Sequence[job_times.Job]) -> Part:
    """What these jobs, made on this machine by this checkout, give to a publication."""
    trained = [job for job in jobs if _trained(job)]
    return Part(
        what,
        runs,
        commit(),
        machine(),
        job_times.core_hours(jobs),
        job_times.wall_seconds(jobs),
        job_times.table(jobs, _stage),
        job_times.table(trained, _trained) if trained else [],
    )


def _stage(job: job_times.Job) -> str:
    of_reading = job.parts[0] == READINGS and _trained(job)
    return f"train {job.parts[2]}, other readings" if of_reading else job.stage


def _trained(job: job_times.Job) -> str:
    """What a job trains, such as sine/cbo; of other readings, the reading and the experiment; else nothing."""
    if job.parts[0] != READINGS:
        return job.curve if job.stage.startswith("train ") else ""
    if len(job.parts) != 5 or job.parts[2] == "summary":
        return ""
    reading, experiment = job.parts[1:3]
    return f"{experiment}, {'combinations' if JOINT in reading else reading}"


def published(parts: Sequence[Part], summaries: Mapping[str, xr.Dataset], readings: Sequence[xr.Dataset]) -> Made:
    """What a publication says that consists of these parts and holds these summaries."""
    return dataclasses.replace(
        _counted(summaries),
        commit=", ".join(dict.fromkeys(part.commit for part in parts)),
        machine="; ".join(dict.fromkeys(part.machine for part in parts)),
        core_hours=sum(part.core_hours for part in parts),
        wall_seconds=sum(part.wall_seconds for part in parts),
        reading_runs=runs_in(readings),
        parts=tuple(parts),
    )


def gather(folder: Path, summaries: Mapping[str, xr.Dataset]) -> Made:
    """What this checkout, this machine and the benchmarks of the jobs say."""
    jobs = job_times.read(folder / "benchmarks")
    return dataclasses.replace(
        _counted(summaries),
        core_hours=job_times.core_hours(jobs) if jobs else None,
        wall_seconds=job_times.wall_seconds(jobs) if jobs else None,
    )


def _counted(summaries: Mapping[str, xr.Dataset]) -> Made:
    """How many runs these summaries hold, with this checkout and this machine; what they took is not known."""
    has_run = {name: _has_run(data) for name, data in summaries.items()}
    return Made(
        commit=commit(),
        machine=machine(),
        core_hours=None,
        wall_seconds=None,
        runs=runs_in(summaries.values()),
        curves=sum(data.sizes["curve"] for data in summaries.values()),
        seeds={name: int(found.sum("seed").max()) for name, found in has_run.items()},
        versions=versions(summaries),
    )


def runs_in(summaries: Iterable[xr.Dataset]) -> int:
    """How many runs these summaries hold."""
    return sum(int(_has_run(data).sum()) for data in summaries)


def _has_run(data: xr.Dataset) -> xr.DataArray:
    """Which seeds of which curves there are."""
    return np.isfinite(data["risk"].isel(epoch=0))


def versions(summaries: Mapping[str, xr.Dataset]) -> dict[str, str]:
    """The versions that the results name; several if they differ."""
    found: dict[str, list[str]] = {}
    for data in summaries.values():
        for name, version in json.loads(data.attrs.get("versions", "{}")).items():
            found.setdefault(name, [])
            found[name] += [version] if version not in found[name] else []
    return {name: ", ".join(values) for name, values in found.items()}


def machine() -> str:
    cores = os.cpu_count() or 1
    size = f"{cores} core{'s' if cores > 1 else ''}, {memory.available() / 1e9:.0f} GB"
    return f"{processor()}, {size}, {platform.system()}"


def commit() -> str:
    """The commit of the code, and whether what decides the results was edited since."""
    found = git(ROOT, "rev-parse", "--short=12", "HEAD")
    if not found:
        return "unknown"
    edited = git(ROOT, "status", "--porcelain", "--", "src", "workflow", "Snakefile", "config.yaml")
    return found + (" with local changes" if edited else "")


def git(folder: Path, *arguments: str) -> str:
    """What git says of a folder; nothing without git or without a history."""
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip()


def processor() -> str:
    """The name of the processor, where the system tells it."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", info.read_text() if info.exists() else "", re.MULTILINE)
    return found.group(1) if found else platform.processor() or platform.machine()
