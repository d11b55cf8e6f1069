"""Two folders of results side by side: what is the same, what agrees within the spread over seeds, what differs.

Curves are compared by the series of their seeds, figures by their bytes and by the curves that they show, verdicts by
what they say. A published folder holds numbers rounded to six digits; where one is among the two, equal means equal
to these digits.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from cbo_pipeline import figures
from cbo_pipeline.claims import rule
from cbo_pipeline.claims.files import read_verdicts
from cbo_pipeline.config import Curve
from cbo_pipeline.errors import UserError
from cbo_pipeline.pages.claims import number
from cbo_pipeline.results import rounding, summaries
from cbo_pipeline.results.contract import CONTRACT

SAME, AGREES, DIFFERS, NOT_COMPARED = "same", "agrees", "differs", "not compared"
STATES = (SAME, AGREES, DIFFERS, NOT_COMPARED)
LOOKED_AT = ("risk", "accuracy")  # where the spread over seeds decides
PLACES = 4  # parts of training at whose ends curves are compared
WINDOW = 0.05  # of the training before such a place, whose median stands for it
SHOWN = 3  # settings that are named if they differ


@dataclass(frozen=True)
class Row:
    """One thing that was compared: a curve, a figure or a verdict."""

    kind: str
    name: str
    state: str
    where: str = ""


def compare(one: Path, other: Path) -> list[Row]:
    """Everything that either folder has, in the order curves, figures, verdicts."""
    folders = Path(one), Path(other)
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"{folder}: no such folder; is the name right?", code="no-such-folder", file=str(folder))
    curves = list(_curves(*folders))
    rows = [*curves, *_figures(*folders, curves), *_verdicts(*folders)]
    if all(row.state == NOT_COMPARED for row in rows):
        raise UserError(
            f"{one} and {other} have no results in common; name two folders of results", code="nothing-in-common"
        )
    return rows


def exit_code(rows: Iterable[Row]) -> int:
    """1 if anything differs, else 0. What only one folder has does not count."""
    return int(any(row.state == DIFFERS for row in rows))


def lines(rows: Sequence[Row]) -> list[str]:
    """A table for the terminal, and the tally."""
    widths = [max(len(getattr(row, name)) for row in rows) for name in ("kind", "name", "state")]
    table = [
        f"{row.kind:{widths[0]}}  {row.name:{widths[1]}}  {row.state:{widths[2]}}  {row.where}".rstrip()
        for row in rows
    ]
    return [*table, "", tally(rows)]


def tally(rows: Iterable[Row]) -> str:
    """How many of each kind are in each state, such as "48 curves: same 40, agrees 8"."""
    counts = Counter((row.kind, row.state) for row in rows)
    kinds = list(dict.fromkeys(kind for kind, _ in counts))
    said = []
    for kind in kinds:
        states = {state: counts[kind, state] for state in STATES if counts[kind, state]}
        total = sum(states.values())
        noun = kind if total == 1 else f"{kind}s"
        said.append(f"{total} {noun}: {', '.join(f'{state} {n}' for state, n in states.items())}")
    return "; ".join(said)


def as_json(rows: Sequence[Row], one: Path, other: Path) -> dict[str, Any]:
    """The same for programs."""
    return {
        "kind": "comparison",
        "contract": CONTRACT,
        "folders": [str(one), str(other)],
        "differs": bool(exit_code(rows)),
        "counts": dict(Counter(row.state for row in rows)),
        "rows": [asdict(row) for row in rows],
    }


# --- Curves ---------------------------------------------------------------------------------------------------------


def _curves(one: Path, other: Path) -> Iterator[Row]:
    tables = [_by_curve(folder) for folder in (one, other)]
    for name in dict.fromkeys([*tables[0], *tables[1]]):
        found = [table.get(name) for table in tables]
        if any(data is None for data in found):
            yield Row("curve", name, NOT_COMPARED, f"only in {one if found[1] is None else other}")
        else:
            yield Row("curve", name, *_compared(*found))


def _by_curve(folder: Path) -> dict[str, xr.Dataset]:
    """The curves of all summaries of a folder, by their names."""
    found = {}
    for path in sorted((folder / "summary").glob("*.nc")):
        data = summaries.read(path)
        for index, stem in enumerate(data["curve"].values):
            found[f"{data.attrs['experiment']}/{stem}"] = data.isel(curve=index)
    return found


def _compared(one: xr.Dataset, other: xr.Dataset) -> tuple[str, str]:
    """The state of a curve that both have, and where they differ."""
    settings = [json.loads(str(data["settings"].item())).get("settings", {}) for data in (one, other)]
    if settings[0] != settings[1]:
        return NOT_COMPARED, f"other settings: {_differences(*settings)}"
    one, other = _with_runs(one), _with_runs(other)
    published = any(map(rounding.is_published, (one, other)))
    unequal = _unequal(one, other, published)
    if not unequal:
        return SAME, "to the six digits that are published" if published else ""
    for name in (name for name in LOOKED_AT if name in one and name in other):
        where = _apart(one[name], other[name])
        if where:
            return DIFFERS, f"{name} {where}"
    seeds = {data.sizes["seed"] for data in (one, other)}
    return AGREES, f"within the spread over {' and '.join(map(str, sorted(seeds)))} seeds; not the same: {unequal}"


def _with_runs(data: xr.Dataset) -> xr.Dataset:
    """The curve without seeds and epochs that it does not have, but that others in its summary have."""
    risk = data["risk"].transpose("seed", "epoch")
    known = np.isfinite(risk.values)
    stored = ~np.isnan(risk.values[known[:, 0]]).all(axis=0) if known[:, 0].any() else known.any(axis=0)
    return data.isel(seed=np.flatnonzero(known[:, 0]), epoch=np.flatnonzero(stored))


def _unequal(one: xr.Dataset, other: xr.Dataset, published: bool) -> str:
    """The first series of the seeds that is not the same bit by bit, in words."""
    if one["seed"].values.tolist() != other["seed"].values.tolist():
        return f"{one.sizes['seed']} and {other.sizes['seed']} seeds"
    series = [name for name in one if {"seed", "epoch"} <= set(one[name].dims) and name in other]
    for name in series:
        values = [data[name].transpose("seed", "epoch").values for data in (one, other)]
        if published:
            values = [rounding.as_published(str(name), v) for v in values]
        if values[0].shape != values[1].shape:
            return f"{name} is stored at other epochs"
        equal = (values[0] == values[1]) | (np.isnan(values[0]) & np.isnan(values[1]))
        if not equal.all():
            epoch = one["epoch"].values[np.flatnonzero(~equal.all(axis=0))[0]]
            return f"{name} from epoch {epoch} on"
    return ""


def _apart(one: xr.DataArray, other: xr.DataArray) -> str:
    """Where the laws of two samples of curves are apart by more than the spread over their seeds; nothing if nowhere.

    At the end of each quarter of training every run counts with its median over the last epochs before. Mann and
    Whitney's interval of the shift must contain zero; the places share its error. With too few seeds for that the two
    ranges must overlap.
    """
    last = int(min(one["epoch"].values[-1], other["epoch"].values[-1]))
    for part in range(1, PLACES + 1):
        end = part * last / PLACES
        samples = [_before(values, end, WINDOW * last) for values in (one, other)]
        shift = rule.shift_interval(*samples, rule.ERROR / PLACES)
        decided = shift != rule.EVERYTHING
        overlap = max(s.min() for s in samples) <= min(s.max() for s in samples)
        if not (shift.low <= 0 <= shift.high if decided else overlap):
            medians = [number(float(np.median(s))) for s in samples]
            return f"at epoch {end:.0f}: {medians[0]} against {medians[1]} (medians over the seeds)"
    return ""


def _before(values: xr.DataArray, end: float, window: float) -> np.ndarray:
    """Every run's median over the epochs just before one; what diverged is infinite."""
    epochs = values["epoch"].values
    chosen = (epochs <= end) & (epochs >= end - window)
    if not chosen.any():
        chosen = epochs == epochs[epochs <= end][-1]
    table = values.transpose("seed", "epoch").values[:, chosen]
    return np.median(np.where(np.isfinite(table), table, np.inf), axis=1)


def _differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The settings that differ, in words."""
    keys = [key for key in dict.fromkeys([*one, *other]) if one.get(key) != other.get(key)]
    said = [f"{key} {one.get(key, 'not set')} and {other.get(key, 'not set')}" for key in keys[:SHOWN]]
    return ", ".join(said) + (f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else "")


# --- Figures --------------------------------------------------------------------------------------------------------


def _figures(one: Path, other: Path, curves: Sequence[Row]) -> Iterator[Row]:
    files = [
        {p.name: p for p in (folder / "figures").glob("*") if p.suffix in (".png", ".pdf")} for folder in (one, other)
    ]
    labels = dict.fromkeys(Path(name).stem for table in files for name in sorted(table))
    for label in labels:
        shared = [name for name in (f"{label}.pdf", f"{label}.png") if name in files[0] and name in files[1]]
        if not shared:
            holder = one if any(Path(name).stem == label for name in files[0]) else other
            yield Row("figure", label, NOT_COMPARED, f"only in {holder}")
        elif all(files[0][name].read_bytes() == files[1][name].read_bytes() for name in shared):
            yield Row("figure", label, SAME)
        else:
            yield Row("figure", label, *_by_curves(label, curves))


def _by_curves(label: str, curves: Sequence[Row]) -> tuple[str, str]:
    """The state of a figure of other bytes: that of the curves that it shows."""
    try:
        figure = figures.find(label)
    except UserError:
        return DIFFERS, "other bytes"
    rows = {_curve(row.name): row for row in curves}
    shown = [rows[curve] for curve in figures.shown_curves(figure, list(rows))]
    states = {row.state for row in shown}
    if DIFFERS in states or NOT_COMPARED in states:
        names = [row.name for row in shown if row.state in (DIFFERS, NOT_COMPARED)]
        state = DIFFERS if DIFFERS in states else NOT_COMPARED
        return state, f"shows {', '.join(names[:SHOWN])}{' and others' if len(names) > SHOWN else ''}"
    if AGREES in states:
        return AGREES, "its curves agree"
    return (
        AGREES,
        "the same curves, drawn by other versions" if shown else "a drawing without results, of other bytes",
    )


def _curve(name: str) -> Curve:
    """The curve that a row is about.

    >>> _curve("sine/cbo_float64_M100_N200")
    Curve(experiment='sine', variant='cbo_float64', M=100, N=200)
    """
    experiment, variant, M, N = re.fullmatch(r"(.+?)/(.+)_M(\d+)_N(\d+)", name).groups()
    return Curve(experiment, variant, int(M), int(N))


# --- Verdicts -------------------------------------------------------------------------------------------------------


def _verdicts(one: Path, other: Path) -> Iterator[Row]:
    tables = [_claims(folder / "claims.json") for folder in (one, other)]
    for id in dict.fromkeys([*tables[0], *tables[1]]):
        name, found = f"claim {id}", [table.get(id) for table in tables]
        if None in found:
            yield Row("verdict", name, NOT_COMPARED, f"only in {one if found[1] is None else other}")
            continue
        verdicts = [row["verdict"] for row in found]
        values = [number(row.get("value")) for row in found]
        if rule.NOT_TESTED in verdicts and verdicts[0] != verdicts[1]:
            yield Row("verdict", name, NOT_COMPARED, " and ".join(verdicts))
        elif verdicts[0] != verdicts[1]:
            yield Row("verdict", name, DIFFERS, f"{verdicts[0]} ({values[0]}) against {verdicts[1]} ({values[1]})")
        elif all(found[0].get(key) == found[1].get(key) for key in ("value", "spread")):
            yield Row("verdict", name, SAME, verdicts[0])
        else:
            yield Row("verdict", name, AGREES, f"{verdicts[0]}: {values[0]} and {values[1]}")


def _claims(path: Path) -> dict[int, dict[str, Any]]:
    if not path.is_file():
        return {}
    return {int(row["id"]): row for row in read_verdicts(path)}
