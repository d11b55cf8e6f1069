"""What the rules of the readings ask for. Nothing is planned before a target needs it: the readings are many."""

import functools
import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from cbo_pipeline import figures
from cbo_pipeline.config import Curve, Run, RunName, memory
from cbo_pipeline.config.names import short_list
from cbo_pipeline.results import code, ledger
from cbo_pipeline.workflow.plan import MNIST_FILE, curve_of, figure_files, gpus_of, iteration_minutes

FOUND = Path("results/readings.json")
EXPERIMENTS = ("sine", "mnist", "multi_task", "square")  # those of the paper


class Readings:
    """The plan of the readings over a config; wildcards also have the attribute ``reading``."""

    def __init__(self, overlays: Iterable[str | Path], adopted: ledger.Ledger = ()):
        self.overlays = tuple(overlays)
        self.adopted = adopted

    @functools.cached_property
    def _plan(self):
        from cbo_pipeline.claims.reading_plan import ReadingPlan

        plan = ReadingPlan.of(self.overlays)
        plan.check()
        return plan

    @functools.cached_property
    def _sources(self) -> dict:
        return {(owner, s.curve): s for owner, sources in self._plan.trained().items() for s in sources}

    @functools.cached_property
    def parts(self) -> "dict[str, ReadingRuns]":
        """The runs of each reading that trains some."""
        return {
            owner: ReadingRuns(owner, self._plan, sources, self.adopted)
            for owner, sources in self._plan.trained().items()
        }

    def runs_like(self, wildcards) -> "ReadingRuns":
        """The runs of the reading that these wildcards name."""
        return self.parts[wildcards.reading]

    def _run(self, wildcards) -> Run:
        """A run of the reading; the seed matters only where there is one."""
        return self.runs_like(wildcards).run(wildcards)

    def code_of_run(self, wildcards) -> str:
        return self.runs_like(wildcards).code_of_run(wildcards)

    def code_of_summary(self, wildcards) -> str:
        return code.summary_digest(self._run(wildcards).problem)

    def data_of(self, wildcards) -> list[str]:
        return [MNIST_FILE] if self._run(wildcards).problem == "mnist" else []

    def megabytes(self, wildcards, attempt: int = 1) -> int:
        return attempt * memory.megabytes(self._run(wildcards))

    def gpus(self, wildcards) -> int:
        return gpus_of(self._run(wildcards))

    def minutes(self, wildcards) -> int:
        run = self._run(wildcards)
        return iteration_minutes(run) if run.problem == "mnist" else 60

    def runs_of(self, wildcards) -> list[str]:
        return self._sources[wildcards.reading, curve_of(wildcards)].run_files()

    def seeds_of(self, wildcards) -> str:
        return short_list(self._sources[wildcards.reading, curve_of(wildcards)].seeds)

    def summaries(self, wildcards) -> list[str]:
        """The summaries that the readings are judged by, beside the base's own."""
        return self._plan.summary_files()

    def summaries_of(self, experiment: str) -> Callable[[Any], list[str]]:
        """Those that the readings train of one experiment; asked for only when a target needs them."""
        return lambda wildcards: [
            source.summary_file for (_, curve), source in self._sources.items() if curve.experiment == experiment
        ]


class ReadingRuns:
    """The runs that one reading trains."""

    def __init__(self, reading: str, plan, sources: Iterable, adopted: ledger.Ledger):
        self.reading, self._plan, self._adopted = reading, plan, adopted
        self._seeds = {source.curve: source.seeds for source in sources}

    @property
    def short_curves(self) -> list[Curve]:
        """The curves whose runs are short."""
        return [curve for curve in self._seeds if self.curve_run(curve).problem != "mnist"]

    def names_of(self, curve: Curve) -> list[RunName]:
        return [curve.run(seed) for seed in self._seeds[curve]]

    def run(self, wildcards) -> Run:
        return self._plan.run(self.reading, curve_of(wildcards).run(int(getattr(wildcards, "seed", 0))))

    def curve_run(self, curve: Curve) -> Run:
        """A run that stands for all of its curve except for the seed."""
        return self._plan.run(self.reading, curve.run(0))

    def code_of_run(self, wildcards) -> str:
        """The digest of the code that decides a run, or of older code that was shown to give the same numbers."""
        run = self.run(wildcards)
        curve = f"{self.reading}/{run.name.curve}"
        return ledger.effective_digest(curve, code.run_digest(run.method, run.problem), self._adopted)


def asked_for(names: Iterable[str]) -> bool:
    """Whether one of the names on Snakemake's command line asks for readings, which are planned only then.

    >>> asked_for(["fig2", "results/readings.json"]), asked_for(["readings_sine"]), asked_for(["all"])
    (True, True, False)
    """
    drawn = {name for label in figures.OF_READINGS for name in (label, f"draw_{label}", *figure_files(label))}
    starts = ("readings", "results/readings", "judge_readings")
    return any(name.startswith(starts) or name in drawn for name in names)


def found() -> dict[str, list[str] | str]:
    """What judges and pages are told of readings that were made before: the option, and a digest of its file."""
    if not FOUND.is_file():
        return {"option": [], "digest": ""}
    return {"option": ["--readings", str(FOUND)], "digest": hashlib.sha256(FOUND.read_bytes()).hexdigest()[:16]}
