"""The claims judged under other readings: one row per reading, all combinations on one experiment, what turns what.

No vote is taken: readings are shown beside the base, not averaged into a verdict.
"""

import dataclasses
import functools
import itertools
from collections.abc import Mapping, Sequence
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from cbo_pipeline.claims import CLAIMS, files, judge_all, mnist
from cbo_pipeline.claims.evidence import Choices, Evidence
from cbo_pipeline.claims.reading_plan import BASE, ReadingPlan, Source, Specification
from cbo_pipeline.claims.readings import POSSIBLE, USUAL_SEEDS
from cbo_pipeline.claims.rule import NOT_TESTED, UNDECIDED
from cbo_pipeline.config import Curve
from cbo_pipeline.results import summaries as summary_files

HORIZONS = dict.fromkeys((mnist.HORIZON, mnist.FLOOR), mnist.EXPERIMENT)  # experiments that continue another one
KEPT = ("verdict", "value", "spread", "line", "seeds", "seen")


def judge_readings(plan: ReadingPlan, results: Path) -> dict[str, Any]:
    """Everything that results/readings.json holds; readings that were not run say so."""
    judge = Judge(plan, Path(results))
    rows = [judge.row(specification) for specification in plan.specifications if specification.experiments is None]
    return {
        "most_seeds": max(map(plan.readings.seeds_of, judge.published.summaries), default=USUAL_SEEDS),
        "choices": {name: dataclasses.asdict(choice) for name, choice in plan.readings.choices.items()},
        "claims": {str(claim.id): claim.claim for claim in CLAIMS},
        "statistics": {str(claim.id): claim.statistic for claim in CLAIMS},
        "base": judge.published_verdicts,
        "compared": judge.base_verdicts(),
        "readings": rows,
        "crossed": crossed(judge),
        "robustness": {str(c.id): robustness(c.id, rows, judge.published_verdicts[str(c.id)]) for c in CLAIMS},
    }


class Judge:
    """Reads the summaries that a plan names, each once, and judges specifications by them."""

    def __init__(self, plan: ReadingPlan, results: Path):
        self.plan, self.results = plan, results
        self.published = files.read_folder(results)
        self._summaries: dict[str, xr.Dataset | None] = {}
        self._joins: dict[tuple, dict[str, xr.Dataset]] = {}
        self._base_verdicts: dict[tuple, dict[str, Any]] = {}

    def row(self, specification: Specification) -> dict[str, Any]:
        """The verdicts under a specification, each beside that of the base on the same seeds and epochs.

        A reading turns a verdict if its own is neither the published one nor that of the base on the same seeds.
        """
        base = self.base_verdicts(self._without(specification), self._seeds(specification))
        verdicts = self.verdicts(specification)
        for number, one in verdicts.items():
            one["base"] = base[number]["verdict"]
            others = (one["base"], self.published_verdicts[number]["verdict"])
            one["moved"] = NOT_TESTED not in (one["base"], one["verdict"]) and one["verdict"] not in others
        return {
            "name": specification.name,
            "choices": {reading.choice: reading.value for reading in specification.readings},
            "words": " and ".join(
                f"{self.plan.readings.choices[reading.choice].what}: {reading.value}"
                for reading in specification.readings
            ),
            "grade": _grade(specification),
            "runs": sum(self._runs_of(s, specification) for s in self._own_sources(specification)),
            "same": not self._own_sources(specification) and specification.choices == Choices(),
            "claims": verdicts,
        }

    def _own_sources(self, specification: Specification) -> list[Source]:
        """The curves of a specification that are not those of the base."""
        return [source for source in self.plan.sources(specification).values() if source.owner != BASE]

    def _runs_of(self, source: Source, specification: Specification) -> int:
        """How many runs of a curve a specification is judged by, or would be if they were made."""
        data, most = self.summary(source), self.plan.most_seeds(specification, source.curve.experiment)
        return len(source.seeds) if data is None else min(most, data.sizes["seed"])

    @functools.cached_property
    def published_verdicts(self) -> dict[str, Any]:
        """The verdicts on all seeds."""
        return _by_claim(judge_all(self.published))

    def verdicts(self, specification: Specification) -> dict[str, Any]:
        """The verdicts on the claims of a specification."""
        claims = [claim for claim in CLAIMS if claim.id in specification.claims]
        return _by_claim(judge_all(self.evidence(specification), claims))

    def evidence(self, specification: Specification) -> Evidence:
        """What a specification is judged by: its own curves, and those of the base that it leaves as they are."""
        joined = dict(self._joined(specification))
        for horizon in HORIZONS.keys() - self._without(specification):
            if horizon in self.published.summaries:
                joined[horizon] = self.published.summaries[horizon]
        return Evidence(
            joined,
            self.published.costs,
            self.published.checks,
            specification.choices,
            self.plan.wanted(specification),
        )

    def _joined(self, specification: Specification) -> dict[str, xr.Dataset]:
        """The curves by experiment; specifications that only read them otherwise share them."""
        sources = tuple(self.plan.sources(specification).values())
        key = sources, specification.experiments
        if key not in self._joins:
            by_experiment: dict[str, list[xr.Dataset]] = {}
            for source in sources:
                data = self.summary(source)
                if data is not None:
                    few = _few_seeds(data, self.plan.most_seeds(specification, source.curve.experiment))
                    by_experiment.setdefault(source.curve.experiment, []).append(few)
            self._joins[key] = {name: summary_files.join(_alike(parts)) for name, parts in by_experiment.items()}
        return self._joins[key]

    def base_verdicts(self, without: frozenset = frozenset(), seeds: frozenset = frozenset()) -> dict[str, Any]:
        """The verdicts of the base without some experiments, on the seeds that readings have.

        ``seeds`` are pairs of an experiment and a number of seeds, where it is not the usual one.
        """
        key = without, seeds
        if key not in self._base_verdicts:
            kept = {name: data for name, data in self.published.summaries.items() if name not in without}
            own = dict(seeds)
            few = {n: _few_seeds(data, own.get(n, self.plan.readings.seeds_of(n))) for n, data in kept.items()}
            wanted = self.plan.wanted(self.plan.base)
            evidence = dataclasses.replace(self.published, summaries=few, wanted=wanted)
            self._base_verdicts[key] = _by_claim(judge_all(evidence))
        return self._base_verdicts[key]

    def _seeds(self, specification: Specification) -> frozenset:
        """The experiments of which a specification has fewer seeds than usual, and how many."""
        found: dict[str, int] = {}
        for source in self.plan.sources(specification).values():
            data = self.summary(source) if source.owner != BASE else None
            if data is not None:
                name = source.curve.experiment
                found[name] = min(found.get(name, self.plan.readings.seeds_of(name)), data.sizes["seed"])
        return frozenset((name, most) for name, most in found.items() if most < self.plan.readings.seeds_of(name))

    def summary(self, source: Source) -> xr.Dataset | None:
        """The summary of a curve; None if it was not made."""
        key = source.summary_file
        if key not in self._summaries:
            self._summaries[key] = self._of_base(source.curve) if source.owner == BASE else self._of_reading(source)
        return self._summaries[key]

    def _of_base(self, curve: Curve) -> xr.Dataset | None:
        """A curve of the base's own summaries, which hold all curves of an experiment in one file."""
        data = self.published.summaries.get(curve.experiment)
        if data is None or curve.stem not in data["curve"]:
            return None
        return data.sel(curve=[curve.stem])

    def _of_reading(self, source: Source) -> xr.Dataset | None:
        path = self.results / Path(source.summary_file).relative_to("results")
        return summary_files.read(path) if path.is_file() else None

    def _without(self, specification: Specification) -> frozenset:
        """Long runs of an experiment say nothing about a reading that changes it and has only short ones."""
        changed = self.plan.changed_experiments(specification)
        return frozenset(name for name, of in HORIZONS.items() if of in changed)


def _few_seeds(data: xr.Dataset, most: int) -> xr.Dataset:
    """The first seeds of a summary."""
    return data.isel(seed=np.argsort(data["seed"].values)[:most])


def _alike(parts: Sequence[xr.Dataset]) -> list[xr.Dataset]:
    """Summaries with the dimensions that all have: a published reading has no example, the base has one."""
    shared = set.intersection(*(set(part.dims) for part in parts))
    return [part.drop_dims(set(part.dims) - shared) for part in parts]


def _by_claim(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {str(row["id"]): {key: row[key] for key in KEPT} for row in rows}


def _grade(specification: Specification) -> str:
    grades = {reading.grade for reading in specification.readings}
    return POSSIBLE if POSSIBLE in grades else grades.pop()


def robustness(claim: int, rows: Sequence[Mapping[str, Any]], published: Mapping[str, Any]) -> str:
    """Whether a claim keeps its verdict under all other readings, in words.

    Readings have fewer seeds than what is published. One that is undecided says nothing against a verdict that more
    seeds have decided: only another verdict turns it. One that makes the same runs as ours says nothing at all.
    """
    others = [row for row in rows if str(claim) in row["claims"] and not row["same"]]
    tried = [(row["words"], row["claims"][str(claim)]) for row in others]
    judged = [(words, one) for words, one in tried if one["verdict"] != NOT_TESTED]
    if not tried:
        return "robust: no other reading touches it"
    if not judged:
        return "other readings were not run"
    left = len(tried) - len(judged)
    missing = f" ({left} reading{'s were' if left > 1 else ' was'} not judged)" if left else ""
    turning = [f"{words} ({one['verdict']})" for words, one in judged if one["moved"] and one["verdict"] != UNDECIDED]
    unsure = [words for words, one in judged if one["moved"] and one["verdict"] == UNDECIDED]
    like_ours = [one["verdict"] for _, one in judged if one["verdict"] != published["verdict"] and not one["moved"]]
    same = len(judged) - len(turning) - len(unsure) - len(like_ours)
    told = [f"undecided with: {'; '.join(unsure)}"] if unsure else []
    if turning:
        return "; ".join(["turns with: " + turning[0], *turning[1:], *told]) + missing
    if like_ours:
        verdicts = " or ".join(dict.fromkeys(like_ours))
        told.insert(0, f"{verdicts} under {_readings(len(like_ours))}, like ours on as few seeds and epochs")
    if same and published["verdict"] == UNDECIDED:
        return f"open: undecided under {_readings(same)}, too" + missing
    if same:
        return "; ".join([f"robust: the same under {_readings(same)}", *told]) + missing
    return "open: " + "; ".join(told) + missing


def _readings(count: int) -> str:
    return f"{count} other reading{'s' if count > 1 else ''}"


def moving(found: Mapping[str, Any]) -> list[str]:
    """The claims whose verdict some reading changes, by number."""
    moved = {c for row in found["readings"] for c, one in row["claims"].items() if one["moved"]}
    return sorted(moved, key=int)


def crossed(judge: Judge) -> dict[str, Any] | None:
    """All combinations: the verdicts of each, and the share of each choice in the spread of a claim's number."""
    plan = judge.plan
    options = plan.readings.crossed()
    specifications = plan.crossed()
    if not specifications:
        return None
    levels = {
        choice: [plan.readings.choices[choice].base, *(reading.value for reading in readings)]
        for choice, readings in options.items()
    }
    rows = []
    for specification in specifications:
        taken = {reading.choice: reading.value for reading in specification.readings}
        rows.append(
            {
                "choices": {choice: taken.get(choice, values[0]) for choice, values in levels.items()},
                "claims": {
                    number: {key: one[key] for key in ("verdict", "value", "spread", "line")}
                    for number, one in judge.verdicts(specification).items()
                },
            }
        )
    numbers = [str(number) for number in plan.readings.crossed_claims]
    return {
        "experiment": plan.readings.crossed_experiment,
        "levels": levels,
        "method": SHAPLEY,
        "shares": {number: shares(levels, rows, number) for number in numbers},
        "rows": rows,
    }


def specifications(found: Mapping[str, Any], claim: str) -> list[tuple[dict[str, str], Mapping[str, Any]]]:
    """Every way to read the paper under which a claim was judged: the value of each choice, and what came of it.

    That is the base and one reading at a time and, where choices were crossed, all their combinations.
    """
    crossed = found["crossed"] if found.get("crossed") and claim in found["crossed"]["shares"] else None
    rows = [row for row in found["readings"] if claim in row["claims"]]
    given = [({}, found["compared"][claim]), *((row["choices"], row["claims"][claim]) for row in rows)]
    if crossed:
        others = [(taken, one) for taken, one in given if not _among(taken, crossed["levels"])]
        given = [*((row["choices"], row["claims"][claim]) for row in crossed["rows"]), *others]
    names = dict.fromkeys(choice for taken, _ in given for choice in taken)
    base = {choice: found["choices"][choice]["base"] for choice in names}
    return [({**base, **taken}, one) for taken, one in given if one.get("value") is not None]


def _among(taken: Mapping[str, str], levels: Mapping[str, Sequence[str]]) -> bool:
    """Whether these values are one of the combinations."""
    return all(value in levels.get(choice, ()) for choice, value in taken.items())


SHAPLEY = (
    "Shapley shares of the variance of the claim's number over all combinations: what a choice explains alone goes to"
    " it, what several explain only together is divided equally among them; the shares add up to one"
)


def shares(levels: Mapping[str, Sequence[str]], rows: Sequence[Mapping[str, Any]], claim: str) -> dict | None:
    """The share of each choice in the spread of a claim's number over all combinations; None if one is missing."""
    table = np.full([len(values) for values in levels.values()], np.nan)
    for row in rows:
        value = row["claims"][claim]["value"]
        place = tuple(values.index(row["choices"][choice]) for choice, values in levels.items())
        table[place] = np.nan if value is None else value
    if not np.all(np.isfinite(table)):
        return None
    return {
        "standard_deviation": float(np.std(table)),
        "shares": dict(zip(levels, shapley(table).tolist(), strict=True)),
    }


def shapley(table: np.ndarray) -> np.ndarray:
    """Shapley shares of the variance of a full table with one axis per choice, every cell equally likely.

    The worth of a set of choices is the variance of the mean over all others: what they explain together.

    >>> shapley(np.array([[0.0, 0.0], [1.0, 1.0]])).tolist()  # the second choice changes nothing
    [1.0, 0.0]
    """
    axes = range(table.ndim)
    total = float(np.var(table))
    if total == 0:
        return np.zeros(table.ndim)
    worth = {
        chosen: float(np.var(table.mean(axis=tuple(a for a in axes if a not in chosen))))
        for size in range(table.ndim + 1)
        for chosen in itertools.combinations(axes, size)
    }
    result = np.zeros(table.ndim)
    for chosen, value in worth.items():
        for axis in set(axes) - set(chosen):
            weight = factorial(len(chosen)) * factorial(table.ndim - len(chosen) - 1) / factorial(table.ndim)
            result[axis] += weight * (worth[tuple(sorted((*chosen, axis)))] - value)
    return result / total
