"""Figures 5 and 6: Multi-Task CBO (Section 4.3), and what the recycling of particles saves."""

import json
from typing import Any

import numpy as np
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from cbo_pipeline.figures import style

SHOWN = 5  # tasks of the examples
TASK_COLOURS = (style.BLUE, style.SKY, style.GREEN, style.ORANGE, style.RED)
ENSEMBLES = {
    "multi_task_cbo": {"color": style.BLUE, "marker": "o", "linestyle": "-", "label": "one shared ensemble"},
    "separate_cbo": {"color": style.RED, "marker": "s", "linestyle": "--", "label": "one ensemble a task"},
}


def multi_task_training(data: dict[str, xr.Dataset]) -> Figure:
    """Median and minimum over the tasks against epochs: mean over the seeds, shaded from the least to the largest."""
    found = style.curve(data["multi_task"], "multi_task_cbo")
    figure, axes = plt.subplots()
    style.draw_series(axes, found, centre="mean", color=style.BLUE, label="median over the tasks")
    style.draw_series(
        axes, found, "risk_task_min", "mean", color=style.RED, linestyle="--", label="minimum over the tasks"
    )
    axes.set(yscale="log", xlabel="epoch", ylabel=style.RISK, xlim=(0, None))
    axes.legend()
    return figure


def multi_task_examples(data: dict[str, xr.Dataset]) -> Figure:
    """Targets and approximations of five tasks by the typical run."""
    found = style.curve(data["multi_task"], "multi_task_cbo")
    figure, axes = plt.subplots(figsize=(style.COLUMN, 3.0))
    shown = shown_tasks(found.sizes["task"])
    for task, colour in zip(shown, TASK_COLOURS, strict=False):
        one = found.isel(task=task - 1)
        axes.plot(one["x"], one["prediction"], color=colour, label=f"problem {task}")
        axes.plot(one["x"], one["target"], color=style.BLACK, linewidth=0.8, linestyle=":")
    axes.plot([], [], color=style.BLACK, linewidth=0.8, linestyle=":", label="targets")
    axes.set(xlabel="$x$", ylabel="$y$", xlim=(0, 1))
    handles, labels = axes.get_legend_handles_labels()
    order = [*range(len(shown))[::-1], len(shown)]  # from top to bottom, as the curves lie
    figure.legend(
        [handles[i] for i in order], [labels[i] for i in order], loc="outside upper center", ncols=3, fontsize=7
    )
    return figure


def shown_tasks(P: int) -> list[int]:
    """The tasks of the examples, from 1: the first, the last and those at the quarters between them.

    >>> shown_tasks(100), shown_tasks(10), shown_tasks(3)
    ([1, 25, 50, 75, 100], [1, 3, 5, 7, 10], [1, 2, 3])
    """
    return sorted({1 + (P - 1) * k // (SHOWN - 1) for k in range(SHOWN)})


def multi_task_memory(data: dict[str, xr.Dataset], costs: list[dict[str, Any]]) -> Figure:
    """One shared ensemble against one a task: bytes, seconds and risk against the number of tasks."""
    panels = {
        "ensemble state (counted)\n[MB]": lambda cost, curve: cost["state_bytes"] / 1e6,
        "peak memory growth\n(measured) [MB]": lambda cost, curve: cost["peak_bytes"] / 1e6,
        "time per epoch [s]": lambda cost, curve: cost["seconds_per_epoch"],
        "median risk over the tasks\nat the last epoch": lambda cost, curve: _last_risk(curve),
    }
    figure, grid = plt.subplots(2, 2, figsize=(2 * style.COLUMN, 4.2), sharex=True)
    for axes, (label, value) in zip(grid.flat, panels.items(), strict=True):
        for method, look in ENSEMBLES.items():
            points = sorted(
                (cost["settings"]["tasks"], value(cost, curve))
                for cost, curve in _with_curves(costs, data["multi_task_memory"], method)
            )
            axes.plot(*zip(*points, strict=True), markersize=4, **look)
        axes.set(xscale="log", yscale="log", ylabel=label)
        axes.set_xticks(sorted({cost["settings"]["tasks"] for cost in costs}))
        axes.xaxis.set_major_formatter("{x:.0f}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.tick_params(axis="x", which="minor", length=0)
    for axes in grid[1]:
        axes.set_xlabel("number of tasks $P$")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
    return figure


def _with_curves(costs: list[dict[str, Any]], data: xr.Dataset, method: str):
    """The costs of one method, each with the curve that it belongs to."""
    for cost in costs:
        curve = style.curve(data, cost["method"], cost["M"], cost["N"])
        if json.loads(str(curve["settings"].values))["method"] == method:
            yield cost, curve


def _last_risk(curve: xr.Dataset) -> float:
    """Mean over the seeds of the median over the tasks."""
    return float(np.asarray(curve["risk_over_seeds"].sel(statistic="mean"))[-1])
