"""A run or a summary in the terminal: a short table and a small plot."""

import json
from pathlib import Path

import numpy as np
import xarray as xr

from cbo_pipeline import trajectory

WIDTH, HEIGHT = 60, 12
# A character of braille is a grid of four rows and two columns of dots; the bit of each dot.
DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])


def text(path: str | Path) -> str:
    """What ``cbo-pipeline show`` prints for a file of results."""
    data = trajectory.read(path)
    return _run(data) if data.attrs["kind"] == "run" else _summary(data)


def _run(data: xr.Dataset) -> str:
    settings = json.loads(data.attrs["settings"])["settings"]
    risk = _over_tasks(data["risk"])
    rows = [("epoch", "risk", "particles' best", "variance")]
    for epoch in _some(data["epoch"].values):
        at = data.sel(epoch=epoch)
        rows.append(
            (str(epoch), *(f"{float(v):.3e}" for v in (risk.sel(epoch=epoch), at["risk_min"], at["variance"])))
        )
    diverged = data["epoch"].values[data["diverged"].values == 1]
    lines = [data.attrs["title"], ", ".join(f"{k} {v}" for k, v in settings.items()), "", *_table(rows)]
    if diverged.size:
        lines.append(f"no particle has a finite risk from epoch {diverged[0]} on")
    return "\n".join([*lines, "", *_plot(data["epoch"].values, {"risk": risk.values})])


def _summary(data: xr.Dataset) -> str:
    median = data["risk_over_seeds"].sel(statistic="median")
    rows = [("curve", "seeds", "epochs", "median risk", "q25", "q75")]
    for curve in data["curve"].values:
        at = data.sel(curve=curve)
        last = int(np.flatnonzero(median.sel(curve=curve).notnull().values)[-1])
        values = at["risk_over_seeds"].isel(epoch=last).sel(statistic=["median", "q25", "q75"]).values
        seeds = int(at["risk"].isel(epoch=0).notnull().sum())
        rows.append((str(curve), str(seeds), str(data["epoch"].values[last]), *(f"{v:.3e}" for v in values)))
    curves = {str(c): median.sel(curve=c).values for c in data["curve"].values[:4]}
    return "\n".join([data.attrs["title"], "", *_table(rows), "", *_plot(data["epoch"].values, curves)])


def _over_tasks(risk: xr.DataArray) -> xr.DataArray:
    return risk.median("task") if "task" in risk.dims else risk


def _some(epochs: np.ndarray, count: int = 8) -> list[int]:
    """The first and last epoch, and some between them at even ratios."""
    between = np.geomspace(1, max(1, epochs[-1]), count - 1).round().astype(int)
    return sorted({0, *between.tolist()})


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def _plot(x: np.ndarray, curves: dict[str, np.ndarray]) -> list[str]:
    """Curves against x, the vertical axis logarithmic, in braille."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = {name: np.log10(np.where(values > 0, values, np.nan)) for name, values in curves.items()}
    finite = np.concatenate([v[np.isfinite(v)] for v in logs.values()])
    if not finite.size:
        return ["nothing finite to plot"]
    low, high = finite.min(), max(finite.max(), finite.min() + 1e-9)
    dots = np.zeros((4 * HEIGHT, 2 * WIDTH), bool)
    for values in logs.values():
        shown = np.isfinite(values)
        column = (x[shown] / max(x[-1], 1) * (dots.shape[1] - 1)).astype(int)
        row = ((high - values[shown]) / (high - low) * (dots.shape[0] - 1)).round().astype(int)
        dots[row, column] = True
    cells = dots.reshape(HEIGHT, 4, WIDTH, 2)
    codes = 0x2800 + np.einsum("hawb,ab->hw", cells, DOTS)
    lines = ["".join(map(chr, row)) for row in codes]
    labels = [f"{10**high:.1e}", *[""] * (HEIGHT - 2), f"{10**low:.1e}"]
    axis = f"{'':9} 0{'epochs':^{WIDTH - 2}}{x[-1]}"
    names = f"{'':9} {', '.join(curves)} (log scale)"
    return [f"{label:>9} {line}" for label, line in zip(labels, lines, strict=True)] + [axis, names]
