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

from cbo_pipeline.claims.evidence import own_epochs
from cbo_pipeline.claims.rule import VERDICTS
from cbo_pipeline.errors import UserError
from cbo_pipeline.pages import provenance
from cbo_pipeline.results import checks as check_files
from cbo_pipeline.results import json_files, ledger, summaries
from cbo_pipeline.results import readings as reading_files


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
        """Which epochs of the summary this curve has: it may be shorter than others, or stored more sparsely.

        Where all runs have diverged it has epochs without a value.
        """
        known = self.data["epoch"].values
        return np.flatnonzero(np.isin(known, own_epochs(known, self.settings)))

    @property
    def epochs(self) -> np.ndarray:
        return self.data["epoch"].values[self._epochs]

    def series(self, name: str = "risk") -> np.ndarray | None:
        """(seed, epoch), or None if the summary does not have it."""
        if name not in self.data:
            return None
        values = self.data[name].transpose("seed", "epoch").values[self._has_run][:, self._epochs]
        return None if np.isnan(values).all() else values

    def strokes(self, name: str = "risk") -> tuple[np.ndarray, np.ndarray] | None:
        """Epochs and values (seed, epoch) to draw single runs by.

        Where only some epochs were stored, the smallest and the largest value in between come before the stored one,
        so that no leap is lost.
        """
        values, low, high = (self.series(f"{name}{end}") for end in ("", "_smallest", "_largest"))
        if values is None:
            return None
        if low is None or high is None:
            return self.epochs, values
        known = np.isfinite(low) & np.isfinite(high)
        parts = [np.where(known, low, values), np.where(known, high, values), values]
        return np.repeat(self.epochs, 3), np.stack(parts, axis=-1).reshape(len(values), -1)

    def example(self, *names: str) -> xr.Dataset | None:
        """Variables that show the typical run, without snapshots that this curve does not have; all or nothing."""
        if any(name not in self.data or self.data[name].isnull().all() for name in names):
            return None
        found = self.data[list(names)]
        films = [name for name in names if "snapshot" in found[name].dims]
        return found.dropna("snapshot", how="all", subset=films) if films else found


@dataclass(frozen=True, eq=False)
class Content:
    """Everything that the page shows."""

    folder: Path
    claims: tuple[Claim, ...]
    curves: Mapping[str, tuple[Curve, ...]]
    speed: Mapping[str, Any]
    readings: Mapping[str, Any] | None
    made: provenance.Made
    checks: Mapping[str, Any] = field(default_factory=dict)
    detail: float = 1.0  # share of the points that charts of training show of single runs
    in_double: tuple[Path, ...] = ()  # summaries of Adam on MNIST in double precision, the reading float64

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
        words = f"{folder / 'claims.json'}: missing or empty; make everything first (make paper)"
        raise UserError(words, code="no-results", file=str(folder / "claims.json"))
    found = [summaries.read(path) for path in sorted((folder / "summary").glob("*.nc"))]
    by_experiment = {str(data.attrs["experiment"]): data for data in found}
    readings = readings or folder / "readings.json"
    others = reading_files.read(readings) if readings.is_file() else None
    robust = (others or {}).get("robustness", {})
    return Content(
        folder=folder,
        claims=tuple(_claim(row, robust, folder / "claims.json") for row in rows),
        curves={name: tuple(_curves(name, data)) for name, data in by_experiment.items()},
        speed=_json(folder / "speed.json") or {},
        readings=others,
        made=provenance.read(folder, by_experiment),
        checks={path.stem: check_files.read(path) for path in sorted((folder / "checks").glob("*.json"))},
        in_double=tuple(sorted((readings.parent / ledger.READINGS / "float64/summary/mnist").glob("adam*.nc"))),
    )


def _json(path: Path) -> Any:
    return json_files.parse(path) if path.is_file() else None


def _claim(row: Any, robust: Mapping[str, str], path: Path) -> Claim:
    """A row of claims.json; whether other readings turn it may stand there, or in readings.json."""
    try:
        row = {"robustness": robust.get(str(row["id"])), **{k: v for k, v in row.items() if v is not None}}
        known = {name: row[name] for name in Claim.__dataclass_fields__ if row.get(name) is not None}
        if known["verdict"] not in VERDICTS:
            words = f"claim {known['id']} has the unknown verdict {known['verdict']!r}; {json_files.AGAIN}"
            raise json_files.refused(path, words, "not-an-option", "verdict")
        known["id"] = int(known["id"])
        known["line"] = tuple(np.atleast_1d(known.get("line", ())).astype(float).tolist())
        if "spread" in known:
            known["spread"] = tuple(known["spread"])
        return Claim(**known)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise json_files.refused(
            path, f"not the verdicts of this pipeline; {json_files.AGAIN}", "other-kind"
        ) from None


def curves_in(path: Path) -> list[Curve]:
    """The curves of a summary."""
    data = summaries.read(path)
    return list(_curves(str(data.attrs["experiment"]), data))


def _curves(experiment: str, data: xr.Dataset):
    for k in range(data.sizes["curve"]):
        one = data.isel(curve=k)
        described = json.loads(str(one["settings"].item()) or "{}")
        yield Curve(
            experiment,
            str(one["variant"].item()),
            str(one["method"].item()),
            int(one["M"].item()),
            int(one["N"].item()),
            described.get("settings", {}),
            one,
        )
