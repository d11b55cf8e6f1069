"""The runs that each reading of the paper needs, and where they are found.

A reading whose runs have the numbers of the base, or of a reading before it, trains nothing.
"""

import contextlib
import copy
import dataclasses
import functools
import itertools
import json
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cbo_pipeline.claims import CLAIMS
from cbo_pipeline.claims.evidence import Choices, Scale, scales
from cbo_pipeline.claims.readings import FILE, Reading, Readings, load
from cbo_pipeline.config import Curve, Run, RunName, check_config, loading, messages, resolve, runs, yaml_files
from cbo_pipeline.config.schema import project_file
from cbo_pipeline.errors import ConfigError

BASE = "base"
JOINT = "--"  # between the names of readings that are taken together
COMBINED = "combinations"  # of several readings, where they are counted together


@dataclass(frozen=True)
class Specification:
    """One way to read the paper: the base with some readings, and the claims that it is judged by."""

    readings: tuple[Reading, ...]
    claims: tuple[int, ...]
    experiments: tuple[str, ...] | None = None  # whose keys are laid over; all if None
    same: frozenset[str] = frozenset()  # choices that make no difference beside the others: no keys are laid over

    @property
    def name(self) -> str:
        """The name of the folder of its runs."""
        return JOINT.join(reading.name for reading in self.readings) or BASE

    @property
    def key(self) -> tuple:
        """What tells it from others: one of a single reading may be restricted to the crossed experiment."""
        return self.name, self.experiments

    @functools.cached_property
    def choices(self) -> Choices:
        """How stored series are read."""
        given: dict[str, Any] = {}
        for reading in self.readings:
            given |= copy.deepcopy(reading.judge)
        return Choices(**given)

    def looks_at(self, curve: Curve) -> bool:
        """Whether one of its claims needs a curve."""
        return _looked_at(curve, self.claims, self.choices.adam, self.choices.hybrid)

    def overlay(self) -> dict:
        """The keys that are laid over the config."""
        merged: dict = {}
        for reading in self.readings:
            if reading.choice not in self.same:
                loading.lay_over(merged, reading.config)
        if self.experiments is not None and "experiments" in merged:
            merged["experiments"] = {e: c for e, c in merged["experiments"].items() if e in self.experiments}
        return merged

    @functools.cached_property
    def overlay_text(self) -> str:
        """The same as text: equal texts mean equal configs."""
        return json.dumps(self.overlay(), sort_keys=True)


@dataclass(frozen=True)
class Source:
    """Where the runs of a curve are: those of the base, or of the reading that first needs them."""

    owner: str
    curve: Curve
    seeds: tuple[int, ...]

    @property
    def folder(self) -> str:
        """The folder of results that they belong to."""
        return "results" if self.owner == BASE else f"results/readings/{self.owner}"

    @property
    def summary_file(self) -> str:
        return f"{self.folder}/summary/{self.curve}.nc"

    def run_files(self) -> list[str]:
        return [f"{self.folder}/runs/{self.curve.run(seed)}.nc" for seed in self.seeds]


class ReadingPlan:
    """Which runs the readings of a config need beyond its own, and where each specification finds its curves.

    ``contents`` are config.yaml and what is laid over it, each with the folder that its relative paths start from.
    Runs whose numbers are those of the base, or of a reading before, are not trained again.
    """

    def __init__(self, readings: Readings, contents: Sequence[tuple[dict, Path]] | None = None):
        self.readings = readings
        self.paper = [_content(project_file("config.yaml"))]
        self.contents = self.paper if contents is None else list(contents)
        self.specifications = tuple(self._specifications())
        self._owners: dict[str, str] = {}
        self._runs: dict[tuple[str, Curve], Run] = {}
        self._wanted: dict[str, dict[tuple[str, str], Scale]] = {}
        self._known_curves: dict[str, dict[Curve, tuple[Run, tuple[int, ...]]]] = {}
        self._sources: dict[tuple, dict[Curve, Source]] = {}
        self._changed: dict[tuple, set[Curve]] = {}
        self.base = Specification((), tuple(claim.id for claim in CLAIMS))
        self.experiments = set(self.config(self.base)["experiments"])
        self._assign(self.base)
        for specification in self.specifications:
            self._assign(specification)
        for specification in self.specifications[: len(readings.entries)]:
            self._refuse_if_nothing_changes(specification)

    @classmethod
    def of(cls, overlays: Iterable[str | Path] = (), readings: str | Path | None = None) -> "ReadingPlan":
        """The plan of config.yaml with these files laid over it."""
        return cls(load(readings), [_content(path) for path in (project_file("config.yaml"), *map(Path, overlays))])

    def _specifications(self) -> Iterator[Specification]:
        """One reading at a time, those that are tried together, and all combinations that are crossed."""
        entries = self.readings.entries
        for reading in entries.values():
            yield Specification((reading,), reading.claims)
        for names in self.readings.together:
            several = tuple(entries[name] for name in names)
            claims = set.intersection(*(set(reading.claims) for reading in several))
            yield Specification(several, tuple(sorted(claims)))
        yield from self.crossed()

    def crossed(self) -> list[Specification]:
        """All combinations of the crossed choices, the base among them, small ones first."""
        options = [[None, *readings] for readings in self.readings.crossed().values()]
        experiment = self.readings.crossed_experiment
        if experiment is None or not options:
            return []
        chosen = (tuple(reading for reading in each if reading) for each in itertools.product(*options))
        return [
            Specification(several, self.readings.crossed_claims, (experiment,), self._same(several))
            for several in sorted(chosen, key=len)
        ]

    def _same(self, several: tuple[Reading, ...]) -> frozenset[str]:
        """The choices that make no difference beside some of these readings."""
        return frozenset(c for reading in several for c in self.readings.crossed_same.get(reading.name, ()))

    # --- Configs ------------------------------------------------------------------------------------------------

    def config(self, specification: Specification, contents: Sequence[tuple[dict, Path]] | None = None) -> dict:
        """The experiments that a specification changes, with its keys laid over them."""
        overlay, contents = specification.overlay(), self.contents if contents is None else contents
        experiments = set(overlay.get("experiments", ()))
        if specification.readings and not experiments:
            return {"experiments": {}}
        if experiments:
            contents = [(_reduced(content, experiments, contents), folder) for content, folder in contents]
        with _named(specification.name):
            return loading.assembled([*contents, (overlay, Path())] if overlay else list(contents))

    def wanted(self, specification: Specification) -> dict[tuple[str, str], Scale]:
        """The scale that claims need under a specification: config.yaml's with its keys laid over it.

        Of an experiment that it changes only the variants that it has count: it may leave some out.
        """
        key = specification.overlay_text
        if key not in self._wanted:
            own = scales(self.config(specification, self.paper)) if specification.readings else {}
            changed = {experiment for experiment, _ in own}
            kept = {name: scale for name, scale in self._paper_scales.items() if name[0] not in changed}
            self._wanted[key] = {**kept, **own}
        return self._wanted[key]

    @functools.cached_property
    def _paper_scales(self) -> dict[tuple[str, str], Scale]:
        return scales(loading.assembled(self.paper))

    def check(self) -> None:
        """Refuse readings with keys that nothing takes, each by itself; nothing has started by then."""
        for specification in self.specifications[: len(self.readings.entries)]:
            config = self.config(specification)
            with _named(specification.name), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that consensus is not guaranteed is said of the base
                if config["experiments"]:
                    check_config(config)

    # --- Runs ---------------------------------------------------------------------------------------------------

    def _assign(self, specification: Specification) -> None:
        """Find the curves that a specification's claims look at, and who trains them."""
        found = self._curves(specification)
        own = {c: one for c, one in found.items() if specification.looks_at(c)}
        changed = {curve.experiment for curve in found}
        sources = {
            curve: source
            for curve, source in self._sources.get(self.base.key, {}).items()
            if curve.experiment not in changed and specification.looks_at(curve)
        }
        for curve, (run, seeds) in own.items():
            owner = self._owners.setdefault(_deciding(run), specification.name)
            self._runs.setdefault((owner, curve), run)
            sources[curve] = Source(owner, curve, seeds[: self.most_seeds(specification, curve.experiment)])
        self._sources[specification.key] = sources
        base = self._curves(self.base)
        self._changed[specification.key] = {
            curve for curve, (run, _) in own.items() if curve not in base or run.json != base[curve][0].json
        }

    def most_seeds(self, specification: Specification, experiment: str) -> int:
        """How many seeds a specification is judged by at most: combinations are many, and have fewer."""
        combined = specification.experiments is not None
        return self.readings.crossed_seeds if combined else self.readings.seeds_of(experiment)

    def _curves(self, specification: Specification) -> dict[Curve, tuple[Run, tuple[int, ...]]]:
        """The curves of the experiments that a specification changes: a run that stands for all, and their seeds."""
        key = specification.overlay_text
        if key not in self._known_curves:
            config = self.config(specification)
            seeds: dict[Curve, list[int]] = {}
            for name in runs(config):
                seeds.setdefault(name.curve, []).append(name.seed)
            self._known_curves[key] = {
                curve: (_resolved(config, curve, specification.name), tuple(sorted(own)))
                for curve, own in seeds.items()
                if curve.experiment in self.experiments
                and _looked_at(curve, self.base.claims, specification.choices.adam, specification.choices.hybrid)
            }
        return self._known_curves[key]

    def _refuse_if_nothing_changes(self, specification: Specification) -> None:
        given = specification.overlay().get("experiments", {})
        if given and not self.experiments & set(given):
            return  # the config leaves out all that it changes
        if not self._changed[specification.key] and specification.choices == Choices():
            words = f"changes nothing that claims {', '.join(map(str, specification.claims))} look at"
            raise messages.refuse(f"readings.{specification.name}", words, "changes-nothing")

    def sources(self, specification: Specification) -> dict[Curve, Source]:
        """The curves that a specification's claims look at, and where they are."""
        return self._sources[specification.key]

    def trained(self) -> dict[str, list[Source]]:
        """By reading: the curves that it has to train, with all seeds that anybody looks at."""
        found: dict[str, dict[Curve, Source]] = {}
        for sources in self._sources.values():
            for source in sources.values():
                if source.owner != BASE:
                    known = found.setdefault(source.owner, {})
                    known[source.curve] = max(known.get(source.curve, source), source, key=lambda s: len(s.seeds))
        return {owner: list(curves.values()) for owner, curves in found.items()}

    def run(self, owner: str, name: RunName) -> Run:
        """A run of a reading with all its settings."""
        return self._runs[owner, name.curve].with_seed(name.seed)

    def settings(self) -> dict[str, dict[RunName, str]]:
        """By reading: the runs that it has to train, with the settings of their curves as text."""
        return {
            owner: {s.curve.run(seed): self.run(owner, s.curve.run(0)).json for s in sources for seed in s.seeds}
            for owner, sources in self.trained().items()
        }

    def run_files(self) -> list[str]:
        """Every run that the readings have to train."""
        return [path for sources in self.trained().values() for source in sources for path in source.run_files()]

    def summary_files(self) -> list[str]:
        """The summaries of the curves that the readings train."""
        return sorted(source.summary_file for sources in self.trained().values() for source in sources)

    def changed_experiments(self, specification: Specification) -> set[str]:
        """The experiments of which a specification changes a curve that the base has too."""
        base = self.sources(self.base)
        return {curve.experiment for curve in self._changed[specification.key] if curve in base}

    def counted(self) -> dict[str, Counter[Curve]]:
        """How many runs of which curves each reading has to train; all combinations together under ``COMBINED``."""
        found: dict[str, Counter[Curve]] = {name: Counter() for name in self.readings.entries}
        for owner, sources in self.trained().items():
            name = COMBINED if JOINT in owner else owner
            found.setdefault(name, Counter()).update({source.curve: len(source.seeds) for source in sources})
        return found


def _content(path: Path) -> tuple[dict, Path]:
    return yaml_files.read(path), Path(path).parent


@contextlib.contextmanager
def _named(name: str):
    """Let a complaint about a config say which reading it is about."""
    try:
        yield
    except ConfigError as error:
        if name == BASE:
            raise
        words = f"{FILE}, reading {name}: {error}"
        raise ConfigError(words, code=error.code, key=error.key, file=FILE) from None


def _resolved(config: dict, curve: Curve, name: str) -> Run:
    with _named(name):
        return resolve(config, curve.run(0))


def _deciding(run: Run) -> str:
    """What decides the numbers of a run: a growth of alpha that would begin after its last epoch does not."""
    own = run.settings
    if own.get("alpha_unit") == "epochs" and own.get("alpha_every", 0) >= own["epochs"]:
        run = dataclasses.replace(run, settings={**own, "alpha_factor": 1.0})
    return run.json


@functools.cache
def _looked_at(curve: Curve, claims: tuple[int, ...], adam: str, hybrid: str) -> bool:
    choices = Choices(adam=adam, hybrid=hybrid)
    return any(claim.looks_at(curve, choices) for claim in CLAIMS if claim.id in claims)


def _reduced(content: dict, experiments: set[str], contents: Sequence[tuple[dict, Path]]) -> dict:
    """A config without the experiments that are not asked for and that none of these starts from."""
    kept, waiting = set(), set(experiments)
    while waiting:
        name = waiting.pop()
        kept.add(name)
        for whole, _ in contents:
            own = (whole.get("experiments") or {}).get(name)
            for variant in ((own or {}).get("methods") or {}).values():
                other = str((variant or {}).get("from", "")).rpartition("/")[0]
                waiting |= {other} - kept - {""}
    given = content.get("experiments") or {}
    return {
        **{key: value for key, value in content.items() if key != "only_experiments"},
        "experiments": {name: own for name, own in given.items() if name in kept},
    }
