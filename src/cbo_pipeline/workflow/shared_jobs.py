"""Jobs that train several runs of one curve in one process: ``runs_per_job`` of the config.

A job takes runs whose files are missing, or that Snakemake makes again since it was killed while it made them. A run
that is there keeps the rule ``train``, whoever made it. So the number of runs per job can change at any time, and
nothing is trained again. The runs of a job share what Snakemake remembers of it: the settings of their curve, without
the seed, where ``train`` has those of one run. ``Records`` tells the two apart.

The name of a job's rule says all about it. On a cluster Snakemake reads the rules again for every job, when other
files are missing than before: there the rule is made from its name.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cbo_pipeline.config import Curve, Run
from cbo_pipeline.config.names import seeds_of, short_list
from cbo_pipeline.workflow import doubted_runs
from cbo_pipeline.workflow.plan import Plan, curve_of, run_file

LONGEST = 150  # characters of a rule's name: it is part of the names of files
MINUTES = 60  # that a job of one run asks for, as the rule train does
MORE_MINUTES = 5  # for every other run: those that share a job are short


@dataclass(frozen=True)
class SharedJob:
    """A job that trains these seeds of a curve. ``run`` stands for all its runs but for the seed."""

    curve: Curve
    seeds: tuple[int, ...]
    run: Run
    code: str

    @property
    def name(self) -> str:
        """The name of the rule.

        >>> SharedJob(Curve("sine", "cbo", 5, 8), (0, 1, 2, 7), None, "").name
        'train_sine_cbo_M5_N8_seeds_0to2_7'
        """
        return _prefix(self.curve) + short_list(self.seeds).replace("-", "to").replace(",", "_")

    @property
    def outputs(self) -> list[str]:
        return [run_file(self.curve.run(seed)) for seed in self.seeds]

    @property
    def stem(self) -> str:
        """The path of its log and its benchmark in the folder of its experiment."""
        curve = self.curve
        seeds = self.name.removeprefix(_prefix(curve))
        return f"{curve.variant}/M{curve.M}_N{curve.N}_seeds_{seeds}"

    @property
    def remembered(self) -> str:
        return remembered(self.run)

    def minutes(self, wildcards, attempt: int) -> int:
        return attempt * (MINUTES + MORE_MINUTES * (len(self.seeds) - 1))

    # Snakemake does not compare parameters that are told of the output: these are what changes with the seeds.

    def settings(self, wildcards, output) -> list[str]:
        """The settings of one run, and the seeds."""
        return [self.run.json, "--seeds", short_list(self.seeds)]

    def checkpoint(self, wildcards, output) -> str:
        curve = self.curve
        return f"results/checkpoints/{curve.experiment}/{curve.variant}/M{curve.M}_N{curve.N}_seed{{seed}}.npz"


def jobs(plan: Plan, runs_per_job: int, folder: str | Path = ".") -> list[SharedJob]:
    """The jobs of the plan's missing runs. A run that is alone in its job is left to the rule ``train``."""
    if runs_per_job == 1:
        return []
    found, doubted = [], doubted_runs.named(folder)
    for curve in _curves(plan).values():
        place = Path(run_file(curve.run(0))).parent
        there = {str(place / name) for name in _names_in(Path(folder, place))} - doubted
        names = plan.names_of(curve)
        for first in range(0, len(names), runs_per_job):
            seeds = [name.seed for name in names[first : first + runs_per_job] if run_file(name) not in there]
            found += [_job(plan, curve, part) for part in _named_shortly(curve, seeds) if len(part) > 1]
    return found


def jobs_of_names(plan: Plan, words: Iterable[str]) -> list[SharedJob]:
    """The jobs whose rules are named on the command line of a job's own Snakemake."""
    found = {}
    for name in (word.partition(":")[0] for word in words):
        for prefix, curve in _curves(plan).items():
            seeds = name.removeprefix(prefix)
            if seeds != name and re.fullmatch(r"\d+(to\d+)?(_\d+(to\d+)?)*", seeds):
                numbers = seeds_of(seeds.replace("_", ",").replace("to", "-"))
                found[name] = _job(plan, curve, numbers)
    return list(found.values())


def _job(plan: Plan, curve: Curve, seeds: Sequence[int]) -> SharedJob:
    return SharedJob(curve, tuple(seeds), plan.curve_run(curve).with_seed(seeds[0]), plan.code_of_run(curve))


def _prefix(curve: Curve) -> str:
    return f"train_{curve.experiment}_{curve.variant}_M{curve.M}_N{curve.N}_seeds_"


def _curves(plan: Plan) -> dict[str, Curve]:
    """The curves of short runs by what their rules' names begin with; those that would share one are left out."""
    chosen = set(plan.without_mnist)
    curves = [curve for curve in plan.curves if curve.experiment in chosen]
    times = Counter(map(_prefix, curves))
    return {_prefix(curve): curve for curve in curves if times[_prefix(curve)] == 1}


def _names_in(folder: Path) -> set[str]:
    try:
        return {path.name for path in folder.iterdir()}
    except FileNotFoundError:
        return set()


def _named_shortly(curve: Curve, seeds: list[int]) -> list[list[int]]:
    """The seeds, halved until the names of their rules are short enough."""
    if len(seeds) < 2 or len(_prefix(curve)) + len(short_list(seeds).replace("-", "to")) <= LONGEST:
        return [seeds] if seeds else []
    half = len(seeds) // 2
    return [*_named_shortly(curve, seeds[:half]), *_named_shortly(curve, seeds[half:])]


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
    """What the rule ``train`` tells Snakemake of a run: as it would remember the run, or the job that made it.

    ``workflow`` is Snakemake's object. Its records are read, never written.
    """

    def __init__(self, plan: Plan, workflow):
        self.plan, self.workflow = plan, workflow
        self._shared: dict[Curve, str] = {}

    def settings(self, wildcards) -> str:
        return self._told(wildcards, self.plan.run(wildcards).json)

    def checkpoint(self, wildcards) -> str:
        name = curve_of(wildcards).run(int(wildcards.seed))
        return self._told(wildcards, f"results/checkpoints/{name}.npz")

    def _told(self, wildcards, text: str) -> str:
        curve = curve_of(wildcards)
        params = self._params(run_file(curve.run(int(wildcards.seed))))
        if not params:
            return text
        if curve not in self._shared:
            self._shared[curve] = remembered(self.plan.curve_run(curve))
        shared = self._shared[curve]
        return RememberedAs(text, shared) if repr(shared) in params else text

    def _params(self, path: str) -> Sequence[str]:
        from snakemake.io import IOFile

        records = self.workflow.persistence
        return (records.params(IOFile(path)) or ()) if records is not None else ()
