"""What claims are judged by: the summaries of the experiments, the measured costs, the numerical checks."""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from cbo_pipeline.claims.statistics import Series
from cbo_pipeline.config import Curve, load_config, resolve, runs
from cbo_pipeline.training.history import stored_epochs

# Settings that say how much there is of a data set or of tasks: fewer than the paper's do not test a claim.
SIZES = ("points", "images", "tasks")


class NotTested(Exception):
    """The results cannot decide a claim: they are missing, or smaller than the paper's."""


@dataclass(frozen=True)
class Choices:
    """How stored series are read: what a reading of the paper can choose without training anything."""

    risk: str = "risk"  # the series that is taken for the risk; risk_loop is what a training loop prints
    epochs: Mapping[str, int] = field(default_factory=dict)  # by experiment: the last epoch that is looked at
    ends: str = "pairs"  # two methods are compared by pairs of runs, or by their curves of medians (curves)
    over_seeds: str = "mean"  # of the risks on the square: mean or median
    tail: int = 1  # the number of last epochs whose median is the end of a run on the square
    adam: str = "adam"  # the variant that stands for Adam on MNIST
    hybrid: str = "hybrid"  # the variant that stands for the hybrid method on MNIST


@dataclass(frozen=True)
class Scale:
    """What the config has of a variant, the largest of its curves: the least that a claim on it needs.

    Seeds are not part of it: with few of them the intervals are wide, and the rule of evidence decides nothing.
    """

    epochs: int
    M: int
    N: int
    widths: int  # how many M at the largest N
    ensembles: int  # how many N at the largest M
    sizes: Mapping[str, int] = field(default_factory=dict)


def scales(config: dict) -> dict[tuple[str, str], Scale]:
    """The scale of every (experiment, variant) of a config."""
    names: dict[tuple[str, str], list] = {}
    for name in runs(config):
        names.setdefault((name.experiment, name.variant), []).append(name)
    return {key: _scale(config, found) for key, found in names.items()}


def _scale(config: dict, names: list) -> Scale:
    settings = resolve(config, names[0]).settings
    M, N = max(name.M for name in names), max(name.N for name in names)
    return Scale(
        settings["epochs"],
        M,
        N,
        len({name.M for name in names if name.N == N}),
        len({name.N for name in names if name.M == M}),
        {key: settings[key] for key in SIZES if key in settings},
    )


@functools.cache
def paper_scales() -> dict[tuple[str, str], Scale]:
    """The scales of config.yaml."""
    return scales(load_config())


@dataclass(frozen=True, eq=False)
class CurveResults:
    """What was stored of a curve: its settings, its seeds, its series."""

    curve: Curve
    method: str
    settings: Mapping[str, Any]
    seeds: tuple[int, ...]
    data: xr.Dataset
    choices: Choices = Choices()

    def __str__(self) -> str:
        return f"{self.curve.experiment}/{self.curve.variant}"

    @property
    def M(self) -> int:
        return self.curve.M

    @property
    def N(self) -> int:
        return self.curve.N

    @property
    def epochs(self) -> int:
        """The last epoch that is looked at."""
        return min(self.settings["epochs"], self.choices.epochs.get(self.curve.experiment, np.inf))

    def series(self, name: str = "risk") -> Series:
        """A series over all seeds; the risk is the one that is chosen. What diverged counts as infinite."""
        name = self._chosen(name)
        epochs = own_epochs(self.data["epoch"].values, self.settings)
        epochs = epochs[epochs <= self.epochs]
        here = self.data.sel(seed=list(self.seeds), epoch=epochs)

        def rows(key: str) -> np.ndarray | None:
            return here[key].transpose("seed", "epoch").values if key in here else None

        extremes = (rows(f"{name}_{side}") for side in ("smallest", "largest"))
        return Series.of(rows(name), epochs, self.seeds, *extremes)

    def per_task(self, tasks: tuple[int, ...]) -> np.ndarray:
        """The risks of some tasks at the last epoch, (seed, task)."""
        final = self.data[self._chosen("risk_task_final")].sel(seed=list(self.seeds), task=list(tasks))
        values = final.transpose("seed", "task").values
        return np.where(np.isfinite(values), values, np.inf)

    def _chosen(self, name: str) -> str:
        """The stored name of a series, with the chosen risk in place of ``risk``."""
        if name == "risk" or name.startswith("risk_task"):
            name = self.choices.risk + name.removeprefix("risk")
        if name not in self.data or not np.isfinite(self.data[name].values).any():
            raise NotTested(f"{self}: {name} was not stored")
        return name

    def shortage(self, scale: Scale | None) -> str | None:
        """What the curve lacks of a scale, in words."""
        if scale is None:
            return None
        wanted_epochs = min(scale.epochs, self.choices.epochs.get(self.curve.experiment, np.inf))
        have = {"epochs": (self.epochs, wanted_epochs), "M": (self.M, scale.M), "N": (self.N, scale.N)}
        have |= {key: (self.settings.get(key, np.inf), value) for key, value in scale.sizes.items()}
        for key, (has, wanted) in have.items():
            if has < wanted:
                return f"{self}: {key} is {has}, the paper's scale is {wanted}"
        return None


_RECORDS = {"epochs": 0, "record_first": 0, "record_every": 1}


def own_epochs(known: np.ndarray, settings: Mapping[str, Any]) -> np.ndarray:
    """The epochs of a summary that runs with these settings store: others of its curves may store more."""
    length, first, every = (settings.get(k, d) for k, d in _RECORDS.items())
    return np.intersect1d(known, stored_epochs(length, first, every))


@dataclass(frozen=True)
class Evidence:
    """Everything that there is to judge by, and how it is read.

    ``wanted`` holds the scale that a claim needs, by experiment and variant: the paper's, or that of another reading.
    """

    summaries: Mapping[str, xr.Dataset] = field(default_factory=dict)
    costs: tuple[Mapping[str, Any], ...] = ()
    checks: Mapping[str, Any] = field(default_factory=dict)
    choices: Choices = Choices()
    wanted: Mapping[tuple[str, str], Scale] = field(default_factory=paper_scales)

    def curves(self, experiment: str, method: str | None = None) -> list[CurveResults]:
        """The curves of an experiment, or those of one method in it."""
        if experiment not in self.summaries:
            return []
        data = self.summaries[experiment]
        found = [_results(experiment, data.isel(curve=i), self.choices) for i in range(data.sizes["curve"])]
        return [one for one in found if method in (None, one.method)]

    def variant(self, experiment: str, variant: str) -> CurveResults:
        """The curve of a variant; of several, that of the largest M and N. Refused below the wanted scale."""
        found = [one for one in self.curves(experiment) if one.curve.variant == variant]
        if not found:
            raise NotTested(f"no results of {experiment}/{variant}")
        best = max(found, key=lambda one: (one.M, one.N))
        shortage = best.shortage(self.wanted.get((experiment, variant)))
        if shortage:
            raise NotTested(shortage)
        return best

    def sweep(self, experiment: str, variant: str, along: str) -> list[CurveResults]:
        """The curves along M (at the largest N) or along N (at the largest M), in ascending order."""
        top, scale = self.variant(experiment, variant), self.wanted.get((experiment, variant))
        other = {"M": "N", "N": "M"}[along]
        found = [
            one
            for one in self.curves(experiment)
            if one.curve.variant == variant and getattr(one, other) == getattr(top, other)
        ]
        found.sort(key=lambda one: getattr(one, along))
        if scale is not None:
            sizes = scale.widths if along == "M" else scale.ensembles
            if len(found) < sizes:
                raise NotTested(f"{top}: {len(found)} values of {along}, the paper's scale is {sizes}")
            for one in found:
                if one.epochs < top.epochs:
                    raise NotTested(
                        f"{one}: the curve of {along} = {getattr(one, along)} is shorter than the paper's"
                    )
        return found

    def cost(self, results: CurveResults) -> Mapping[str, Any] | None:
        """The measured cost of a curve's iterations, if it was measured."""
        curve = results.curve
        wanted = (curve.experiment, curve.variant, curve.M, curve.N)
        return next((c for c in self.costs if (c["experiment"], c["variant"], c["M"], c["N"]) == wanted), None)

    def seconds_per_epoch(self, results: CurveResults) -> float | None:
        cost = self.cost(results)
        return None if cost is None else float(cost["seconds_per_epoch"])

    def check(self, name: str) -> Mapping[str, Any]:
        if name not in self.checks:
            raise NotTested(f"the numerical check {name} was not made")
        return self.checks[name]


def shared_seeds(*several: CurveResults | Series) -> tuple[int, ...]:
    """The seeds that all of these have: their runs saw the same data."""
    first, *others = several
    return tuple(seed for seed in first.seeds if all(seed in other.seeds for other in others))


def _results(experiment: str, data: xr.Dataset, choices: Choices) -> CurveResults:
    described = json.loads(str(data["settings"].item()))
    has_run = np.isfinite(data["risk"].transpose("seed", "epoch").values[:, 0])
    seeds = tuple(int(seed) for seed in data["seed"].values[has_run])
    curve = Curve(experiment, str(data["variant"].item()), int(data["M"].item()), int(data["N"].item()))
    return CurveResults(curve, described["method"], described["settings"], seeds, data, choices)
