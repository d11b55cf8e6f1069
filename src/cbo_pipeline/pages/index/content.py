"""What the page is made of, read from a folder of results. Nothing else on this floor opens a file of results.

Every part may be missing: a demo has fewer experiments than the paper, a published folder no runs.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from cbo_pipeline.errors import FileRefused, UserError
from cbo_pipeline.pages import provenance
from cbo_pipeline.results import playback, trajectory

VERDICTS = ("holds", "holds in part", "undecided", "does not hold", "not tested at this scale")


@dataclass(frozen=True)
class Claim:
    """A row of claims.json. What older or smaller results do not tell is None."""

    id: int
    section: str
    claim: str
    verdict: str
    statistic: str = ""
    threshold: str = ""
    why: str = ""
    value: float | None = None
    spread: tuple[float | None, float | None] | None = None
    line: tuple[float, ...] = ()
    seen: str = ""
    seeds: Any = None
    epochs: Any = None
    robustness: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Curve:
    """One curve of a summary: a variant at one M and N, one row per seed."""

    experiment: str
    variant: str
    method: str
    M: int
    N: int
    settings: Mapping[str, Any]
    data: xr.Dataset

    @cached_property
    def _has_run(self) -> np.ndarray:
        return np.isfinite(self.data["risk"].transpose("seed", "epoch").values[:, 0])

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        return tuple(int(seed) for seed in self.data["seed"].values[self._has_run])

    @cached_property
    def _epochs(self) -> np.ndarray:
        """Which epochs of the summary this curve has: it may be shorter than others, or stored more sparsely."""
        values = self.data["risk"].transpose("seed", "epoch").values[self._has_run]
        return np.flatnonzero(~np.isnan(values).all(axis=0))

    @property
    def epochs(self) -> np.ndarray:
        return self.data["epoch"].values[self._epochs]

    def series(self, name: str = "risk") -> np.ndarray | None:
        """(seed, epoch), or None if the summary does not have it."""
        if name not in self.data:
            return None
        values = self.data[name].transpose("seed", "epoch").values[self._has_run][:, self._epochs]
        return None if np.isnan(values).all() else values

    def example(self, name: str) -> np.ndarray | None:
        """What the summary shows of the typical run's last network."""
        if name not in self.data or self.data[name].isnull().all():
            return None
        return self.data[name].values


@dataclass(frozen=True, eq=False)
class Content:
    """Everything that the page shows."""

    folder: Path
    claims: tuple[Claim, ...]
    curves: Mapping[str, tuple[Curve, ...]]
    speed: Mapping[str, Any]
    readings: Any
    playback: Mapping[str, Any]
    made: provenance.Made

    def of(self, experiment: str, *variants: str) -> list[Curve]:
        """The curves of an experiment, all or those of the given variants in their order."""
        found = self.curves.get(experiment, ())
        if not variants:
            return list(found)
        return [curve for variant in variants for curve in found if curve.variant == variant]

    def figure(self, label: str, suffix: str) -> Path | None:
        """The static figure, if it is there."""
        path = self.folder / "figures" / f"{label}{suffix}"
        return path if path.is_file() else None


def read(folder: Path, readings: Path | None = None) -> Content:
    """Read a folder of results, the workflow's own or a published one."""
    folder = Path(folder)
    rows = _json(folder / "claims.json")
    if not isinstance(rows, list) or not rows:
        raise UserError(f"{folder / 'claims.json'}: missing or empty; make everything first (make paper)")
    summaries = {}
    for path in sorted((folder / "summary").glob("*.nc")):
        data = trajectory.read(path, "summary")
        summaries[str(data.attrs["experiment"])] = data
    return Content(
        folder=folder,
        claims=tuple(_claim(row, folder / "claims.json") for row in rows),
        curves={name: tuple(_curves(name, data)) for name, data in summaries.items()},
        speed=_json(folder / "speed.json") or {},
        readings=_json(readings or folder / "readings.json"),
        playback=playback.read(folder / "playback.json"),
        made=provenance.read(folder, summaries),
    )


def _json(path: Path) -> Any:
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise FileRefused(f"{path}: not valid JSON; delete it and make it again") from None


def _claim(row: Any, path: Path) -> Claim:
    try:
        known = {name: row[name] for name in Claim.__dataclass_fields__ if row.get(name) is not None}
        if known["verdict"] not in VERDICTS:
            raise FileRefused(f"{path}: claim {known['id']} has the unknown verdict {known['verdict']!r}")
        known["id"] = int(known["id"])
        known["line"] = tuple(np.atleast_1d(known.get("line", ())).astype(float).tolist())
        if "spread" in known:
            known["spread"] = tuple(known["spread"])
        return Claim(**known)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise FileRefused(f"{path}: not the verdicts of this pipeline; delete it and make it again") from None


def _curves(experiment: str, data: xr.Dataset):
    for k in range(data.sizes["curve"]):
        one = data.isel(curve=k)
        described = json.loads(str(one["settings"].item()) or "{}")
        variant = str(one["variant" if "variant" in one.coords else "method"].item())
        yield Curve(
            experiment,
            variant,
            str(described.get("method", variant)),
            int(one["M"].item()),
            int(one["N"].item()),
            described.get("settings", {}),
            one,
        )
