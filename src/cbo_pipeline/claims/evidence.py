"""What claims are judged by: the summaries of the experiments, the measured costs, the numerical checks."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr


class NotTested(Exception):
    """The results cannot decide a claim: they are missing, or smaller than the paper's."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A method at one M and N: its settings and its series, one row a seed."""

    experiment: str
    name: str
    method: str
    M: int
    N: int
    settings: Mapping[str, Any]
    seeds: tuple[int, ...]
    data: xr.Dataset

    @property
    def epochs(self) -> int:
        return int(self.settings["epochs"])

    def series(self, name: str = "risk", seeds: tuple[int, ...] | None = None) -> np.ndarray:
        """The series (seed, epoch) up to the last epoch. What diverged counts as infinite, not as missing."""
        values = self.data[name].sel(seed=list(seeds or self.seeds)).transpose("seed", "epoch")
        values = values.values[:, : self.epochs + 1]
        return np.where(np.isfinite(values), values, np.inf)


@dataclass(frozen=True)
class Scale:
    """The least that a claim needs: curves of an experiment at the paper's size. None: any."""

    experiment: str
    method: str
    epochs: int | None = None
    seeds: int | None = None
    M: int | None = None
    N: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)  # other settings that the curve must have

    def __str__(self) -> str:
        parts = [f"{self.experiment}/{self.method}"]
        parts += [f"{key} = {value}" for key, value in self.settings.items() if key != "points"]
        return ", ".join(parts)

    def shortage(self, curve: Curve) -> str | None:
        """What the curve lacks, in words."""
        have = {"epochs": curve.epochs, "seeds": len(curve.seeds), "M": curve.M, "N": curve.N}
        points = curve.settings.get("points"), self.settings.get("points")
        for key, value in have.items():
            wanted = getattr(self, key)
            if wanted is not None and value < wanted:
                return f"{self}: {key} is {value}, the paper's scale is {wanted}"
        if None not in points and points[0] < points[1]:
            return f"{self}: points is {points[0]}, the paper's scale is {points[1]}"
        return None


@dataclass(frozen=True)
class Evidence:
    """Everything that there is to judge by."""

    summaries: Mapping[str, xr.Dataset] = field(default_factory=dict)
    costs: tuple[Mapping[str, Any], ...] = ()
    checks: Mapping[str, Any] = field(default_factory=dict)

    def curves(self, experiment: str, method: str | None = None, **settings) -> list[Curve]:
        """The curves of an experiment, by the method behind the name and by its settings."""
        if experiment not in self.summaries:
            return []
        found = [_curve(experiment, part) for part in _parts(self.summaries[experiment])]
        return [
            curve
            for curve in found
            if method in (None, curve.method)
            and all(_equal(curve.settings.get(key), value) for key, value in settings.items())
        ]

    def one(self, scale: Scale) -> Curve:
        """The curve of that scale; of several, the longest of the largest M and N."""
        chosen = {key: value for key, value in scale.settings.items() if key != "points"}
        found = self.curves(scale.experiment, scale.method, **chosen)
        if not found:
            raise NotTested(f"no results of {scale}")
        best = max(found, key=lambda curve: (scale.shortage(curve) is None, curve.M, curve.N, curve.epochs))
        shortage = scale.shortage(best)
        if shortage:
            raise NotTested(shortage)
        return best

    def sweep(self, scale: Scale, along: str) -> list[Curve]:
        """The curves along M (at the largest N) or along N (at the largest M), in ascending order."""
        top = self.one(scale)
        other = "N" if along == "M" else "M"
        same = [c for c in self.curves(scale.experiment, scale.method) if getattr(c, other) == getattr(top, other)]
        for curve in same:
            if curve.epochs < (scale.epochs or 0) or len(curve.seeds) < (scale.seeds or 0):
                raise NotTested(
                    f"{scale}: the curve of {along} = {getattr(curve, along)} is smaller than the paper's"
                )
        return sorted(same, key=lambda curve: getattr(curve, along))

    def cost(self, curve: Curve) -> Mapping[str, Any] | None:
        """The measured cost of a curve's iterations, if it was measured."""
        wanted = (curve.experiment, curve.name, curve.M, curve.N)
        return next((c for c in self.costs if (c["experiment"], c["variant"], c["M"], c["N"]) == wanted), None)

    def seconds_per_epoch(self, curve: Curve) -> float | None:
        found = self.cost(curve)
        return None if found is None else float(found["seconds_per_epoch"])

    def check(self, name: str) -> Mapping[str, Any]:
        if name not in self.checks:
            raise NotTested(f"the numerical check {name} was not made")
        return self.checks[name]


def shared_seeds(*curves: Curve) -> tuple[int, ...]:
    """The seeds that all of these curves have: their runs saw the same data."""
    first, *others = curves
    return tuple(seed for seed in first.seeds if all(seed in curve.seeds for curve in others))


def _parts(data: xr.Dataset):
    return (data.isel(curve=index) for index in range(data.sizes["curve"]))


def _curve(experiment: str, data: xr.Dataset) -> Curve:
    described = json.loads(str(data["settings"].item()))
    has_run = np.isfinite(data["risk"].transpose("seed", "epoch").values[:, 0])
    seeds = tuple(int(seed) for seed in data["seed"].values[has_run])
    name = str(data["variant"].item())
    M, N = int(data["M"].item()), int(data["N"].item())
    return Curve(experiment, name, described["method"], M, N, described["settings"], seeds, data)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float):
        return bool(np.isclose(a, b, rtol=1e-9, atol=0))
    return a == b
