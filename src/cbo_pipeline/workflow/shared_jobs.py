"""Jobs that train several runs of one curve in one process: ``runs_per_job`` of the config.

A job takes runs whose files are missing, or that Snakemake makes again since it was killed while it made them. A run
that is there keeps the rule ``train``, or ``train_reading``, whoever made it. So the number of runs per job can
change at any time, and nothing is trained again. The runs of a job share what Snakemake remembers of it: the settings
of their curve, without the seed, where those rules have the settings of one run. ``Records`` tells the two apart.

The name of a job's rule says all about it. On a cluster Snakemake reads the rules again for every job, when other
files are missing than before: there the rule is made from its name.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from cbo_pipeline.config import Curve, Run, RunName, memory
from cbo_pipeline.config.names import short_list
from cbo_pipeline.results.job_times import name_of_seeds, seeds_in_name
from cbo_pipeline.workflow import doubted_runs
from cbo_pipeline.workflow.plan import curve_of, gpus_of

READING = "reading_"  # in the names of rules of other readings
LONGEST = 150  # characters of a rule's name: it is part of the names of files
MINUTES = 60  # that a job of one run asks for, as the rule train does
MORE_MINUTES = 5  # for every other run: those that share a job are short


class Runs(Protocol):
    """Runs that may share jobs: of the config (``Plan``), or of another reading of the paper (``ReadingRuns``)."""

    reading: str  # its name; "" for the config itself

    @property
    def short_curves(self) -> Iterable[Curve]: ...

    def names_of(self, curve: Curve) -> list[RunName]: ...

    def run(self, wildcards) -> Run: ...

    def curve_run(self, curve: Curve) -> Run: ...

    def code_of_run(self, wildcards) -> str: ...


@dataclass(frozen=True)
class SharedJob:
    """A job that trains these seeds of a curve. ``run`` stands for all its runs but for the seed."""

    curve: Curve
    seeds: tuple[int, ...]
    run: Run
    code: str
    reading: str = ""

    @property
    def name(self) -> str:
        """The name of the rule.

        >>> SharedJob(Curve("sine", "cbo", 5, 8), (0, 1, 2, 7), None, "").name
        'train_sine_cbo_M5_N8_seeds_0to2_7'
        """
        return _prefix(self.curve, self.reading) + name_of_seeds(self.seeds)

    @property
    def outputs(self) -> list[str]:
        return [_run_file(self.curve.run(seed), self.reading) for seed in self.seeds]

    @property
    def stem(self) -> str:
        """The path of its log and its benchmark in the folders of these."""
        curve = self.curve
        seeds = self.name.removeprefix(_prefix(curve, self.reading))
        return f"{_below(self.reading)}{curve.experiment}/{curve.variant}/M{curve.M}_N{curve.N}_seeds_{seeds}"

    @property
    def told(self) -> str:
        """What it trains, in words."""
        curve, readings = self.curve, f", as {self.reading} reads it" if self.reading else ""
        sizes = f"M = {curve.M}, N = {curve.N}"
        return f"train {curve.experiment}/{curve.variant}, {sizes}, {len(self.seeds)} seeds{readings}"

    @property
    def remembered(self) -> str:
        return remembered(self.run)

    def megabytes(self, wildcards, attempt: int) -> int:
        return attempt * memory.megabytes(self.run)

    @property
    def gpus(self) -> int:
        return gpus_of(self.run)

    def minutes(self, wildcards, attempt: int) -> int:
        return attempt * (MINUTES + MORE_MINUTES * (len(self.seeds) - 1))

    # Snakemake does not compare parameters that are told of the output: these are what changes with the seeds.

    def settings(self, wildcards, output) -> list[str]:
        """The settings of one run, and the seeds."""
        return [self.run.json, "--seeds", short_list(self.seeds)]

    def checkpoint(self, wildcards, output) -> str:
        curve = self.curve
        place = f"{_below(self.reading)}{curve.experiment}/{curve.variant}"
        return f"results/checkpoints/{place}/M{curve.M}_N{curve.N}_seed{{seed}}.npz"


def jobs(all_runs: Iterable[Runs], runs_per_job: int, folder: str | Path = ".") -> list[SharedJob]:
    """The jobs of missing runs. A run that is alone in its job is left to the rule ``train`` or ``train_reading``."""
    if runs_per_job == 1:
        return []
    found, doubted = [], doubted_runs.named(folder)
    for prefix, (runs, curve) in _curves(all_runs).items():
        place = Path(_run_file(curve.run(0), runs.reading)).parent
        there = {str(place / name) for name in _names_in(Path(folder, place))} - doubted
        names = runs.names_of(curve)
        for first in range(0, len(names), runs_per_job):
            several = names[first : first + runs_per_job]
            seeds = [name.seed for name in several if _run_file(name, runs.reading) not in there]
            found += [_job(runs, curve, part) for part in _named_shortly(prefix, seeds) if len(part) > 1]
    return found


def jobs_of_names(all_runs: Iterable[Runs], words: Iterable[str]) -> list[SharedJob]:
    """The jobs whose rules are named on the command line of a job's own Snakemake."""
    found, curves = {}, _curves(all_runs)
    for name in (word.partition(":")[0] for word in words):
        for prefix, (runs, curve) in curves.items():
            seeds = name.removeprefix(prefix)
            if seeds != name and re.fullmatch(r"\d+(to\d+)?(_\d+(to\d+)?)*", seeds):
                found[name] = _job(runs, curve, seeds_in_name(seeds))
    return list(found.values())


def _job(runs: Runs, curve: Curve, seeds: Sequence[int]) -> SharedJob:
    run = runs.curve_run(curve).with_seed(seeds[0])
    return SharedJob(curve, tuple(seeds), run, runs.code_of_run(curve), runs.reading)


def _prefix(curve: Curve, reading: str) -> str:
    """What the names of a curve's rules begin with.

    >>> _prefix(Curve("sine", "cbo", 5, 8), "float64--one_factor")
    'train_reading_float64__one_factor_sine_cbo_M5_N8_seeds_'
    """
    whose = f"{READING}{reading.replace('-', '_')}_" if reading else ""
    return f"train_{whose}{curve.experiment}_{curve.variant}_M{curve.M}_N{curve.N}_seeds_"


def _below(reading: str) -> str:
    return f"readings/{reading}/" if reading else ""


def _run_file(name: RunName, reading: str) -> str:
    return f"results/{_below(reading)}runs/{name}.nc"


def _curves(all_runs: Iterable[Runs]) -> dict[str, tuple[Runs, Curve]]:
    """The curves of short runs by what their rules' names begin with; those that would share one are left out."""
    found = [(_prefix(curve, runs.reading), (runs, curve)) for runs in all_runs for curve in runs.short_curves]
    times = Counter(prefix for prefix, _ in found)
    return {prefix: one for prefix, one in found if times[prefix] == 1}


def _names_in(folder: Path) -> set[str]:
    try:
        return {path.name for path in folder.iterdir()}
    except FileNotFoundError:
        return set()


def _named_shortly(prefix: str, seeds: list[int]) -> list[list[int]]:
    """The seeds, halved until the names of their rules are short enough."""
    if len(seeds) < 2 or len(prefix) + len(name_of_seeds(seeds)) <= LONGEST:
        return [seeds] if seeds else []
    half = len(seeds) // 2
    return [*_named_shortly(prefix, seeds[:half]), *_named_shortly(prefix, seeds[half:])]


# --- What Snakemake remembers --------------------------------------------------------------------------------------


def remembered(run: Run) -> str:
    """The settings of a run without its seed, by which Snakemake remembers a job of several runs."""
    content = json.loads(run.json)
    del content["name"]["seed"]
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


class RememberedAs(str):
    """A parameter of a rule that Snakemake remembers, and compares, as another text: it takes the ``repr``.

    So it is as of 9.27; no option says what is compared. If another version takes something else, runs that shared a
    job would be trained again: ``tests/workflow/test_shared_jobs.py`` fails then.
    """

    def __new__(cls, text: str, memory: str):
        self = super().__new__(cls, text)
        self.memory = memory
        return self

    def __repr__(self) -> str:
        return repr(self.memory)


class Records:
    """What a rule that trains one run tells Snakemake of it: as it would remember the run, or the job that made it.

    ``runs_of`` finds, by wildcards, the runs that it is one of. ``workflow`` is Snakemake's object. Its records are
    read, never written.
    """

    def __init__(self, runs_of: Callable[[Any], Runs], workflow):
        self.runs_of, self.workflow = runs_of, workflow
        self._shared: dict[tuple[str, Curve], str] = {}

    def settings(self, wildcards) -> str:
        return self._told(wildcards, self.runs_of(wildcards).run(wildcards).json)

    def checkpoint(self, wildcards) -> str:
        name = curve_of(wildcards).run(int(wildcards.seed))
        return self._told(wildcards, f"results/checkpoints/{_below(self.runs_of(wildcards).reading)}{name}.npz")

    def _told(self, wildcards, text: str) -> str:
        runs, curve = self.runs_of(wildcards), curve_of(wildcards)
        params = self._params(_run_file(curve.run(int(wildcards.seed)), runs.reading))
        if not params:
            return text
        if (runs.reading, curve) not in self._shared:
            self._shared[runs.reading, curve] = remembered(runs.curve_run(curve))
        shared = self._shared[runs.reading, curve]
        return RememberedAs(text, shared) if repr(shared) in params else text

    def _params(self, path: str) -> Sequence[str]:
        from snakemake.io import IOFile

        records = self.workflow.persistence
        return (records.params(IOFile(path)) or ()) if records is not None else ()
