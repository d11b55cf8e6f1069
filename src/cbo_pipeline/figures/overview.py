"""The figure of an experiment that has none of its own: its curves, and where they ended against what differs."""

import json
from typing import Any

import numpy as np
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cbo_pipeline.claims.statistics import END
from cbo_pipeline.figures import style

COLOURS = (style.BLUE, style.RED, style.GREEN, style.ORANGE, style.SKY, style.PURPLE, style.BLACK)
DASHES = ("-", "--", "-.", ":")
MOST_LABELS = 12  # curves that a legend can name
MOST_SWEEPS = 3  # panels beside the curves


def overview(data: dict[str, xr.Dataset]) -> Figure:
    """Risk against epochs for every curve, with a band over the seeds; beside it where every sweep ended."""
    (experiment,) = data.values()
    curves = [style.without_missing_epochs(experiment.isel(curve=k)) for k in range(experiment.sizes["curve"])]
    swept = sweeps(curves)
    panels = 1 + len(swept)
    figure, axes = plt.subplots(1, panels, figsize=(style.COLUMN * panels, 2.8), squeeze=False)
    _draw_curves(axes[0, 0], curves)
    for panel, (method, (own, varied)) in zip(axes[0, 1:], swept.items(), strict=True):
        draw = _draw_line if len(varied) == 1 else _draw_map
        draw(panel, own, varied)
        if len(own) < len(curves):
            panel.set_title(method)
    return figure


def sweeps(curves: list[xr.Dataset]) -> dict[str, tuple[list[xr.Dataset], dict[str, list[Any]]]]:
    """The methods whose curves differ in one or two numbers, with these curves and the values of these settings."""
    by_method: dict[str, list[xr.Dataset]] = {}
    for curve in curves:
        by_method.setdefault(str(curve["method"].values), []).append(curve)
    varied = {method: varied_keys(own) for method, own in by_method.items()}
    found = [method for method, keys in varied.items() if 1 <= len(keys) <= 2][:MOST_SWEEPS]
    return {method: (by_method[method], varied[method]) for method in found}


def varied_keys(curves: list[xr.Dataset]) -> dict[str, list[Any]]:
    """The settings in which the curves differ, M and N among them, with the value of every curve.

    Settings that are not numbers, or that only some curves have, do not span an axis: then there is nothing.
    """
    described = [_settings(curve) for curve in curves]
    keys = sorted({key for settings in described for key in settings})
    found = {key: [settings.get(key) for settings in described] for key in keys}
    varied = {key: values for key, values in found.items() if len({json.dumps(v) for v in values}) > 1}
    numbers = all(
        isinstance(v, int | float) and not isinstance(v, bool) for values in varied.values() for v in values
    )
    return varied if numbers else {}


def _settings(curve: xr.Dataset) -> dict[str, Any]:
    return {**style.settings_of(curve), "M": int(curve["M"]), "N": int(curve["N"])}


def _draw_curves(axes: Axes, curves: list[xr.Dataset]) -> None:
    for k, curve in enumerate(curves):
        look = {"color": COLOURS[k % len(COLOURS)], "linestyle": DASHES[k // len(COLOURS) % len(DASHES)]}
        style.draw_series(axes, curve, label=str(curve["curve"].values), **look)
    axes.set(yscale="log", xlabel="epoch", ylabel=style.RISK, xlim=(0, None))
    if len(curves) <= MOST_LABELS:
        axes.legend(fontsize=5.5)


def ends(curve: xr.Dataset) -> np.ndarray:
    """Where every seed ended: its median over the last epochs; infinite if it diverged."""
    last = float(curve["epoch"][-1])
    late = style.made(curve)["risk"].isel(epoch=(curve["epoch"] >= (1 - END) * last).values)
    return late.fillna(np.inf).median("epoch").values


def _draw_line(axes: Axes, curves: list[xr.Dataset], varied: dict[str, list[Any]]) -> None:
    """One setting differs: every seed a dash, their median a line."""
    ((key, values),) = varied.items()
    order = np.argsort(values)
    for k in order:
        found = ends(curves[k])
        axes.plot(np.full(len(found), values[k]), found, "_", color=style.BLUE, alpha=0.5, markersize=7)
    axes.plot([values[k] for k in order], [np.median(ends(curves[k])) for k in order], "o-", color=style.BLUE)
    positive = min(values) > 0
    scale = "log" if positive and max(values) / min(values) > 20 else "linear"
    axes.set(xscale=scale, yscale="log", xlabel=key, ylabel="risk at the end")


def _draw_map(axes: Axes, curves: list[xr.Dataset], varied: dict[str, list[Any]]) -> None:
    """Two settings differ: the median over the seeds as a heat map."""
    (first, across), (second, up) = varied.items()
    columns, rows = sorted(set(across)), sorted(set(up))
    table = np.full((len(rows), len(columns)), np.nan)
    for curve, x, y in zip(curves, across, up, strict=True):
        found = np.median(ends(curve))
        table[rows.index(y), columns.index(x)] = np.log10(found) if np.isfinite(found) else np.nan  # blank: diverged
    image = axes.imshow(table, origin="lower", aspect="auto", cmap="viridis_r")
    axes.set_xticks(range(len(columns)), [f"{x:g}" for x in columns])
    axes.set_yticks(range(len(rows)), [f"{y:g}" for y in rows])
    axes.set(xlabel=first, ylabel=second)
    axes.grid(False)
    for (row, column), value in np.ndenumerate(table):
        if np.isfinite(value):
            colour = "white" if image.norm(value) > 0.5 else "black"  # large risks are dark
            axes.text(column, row, f"{10**value:.1e}", ha="center", va="center", fontsize=6, color=colour)
    axes.figure.colorbar(image, ax=axes, label=r"$\log_{10}$ of the risk at the end")
