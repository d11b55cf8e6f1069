"""Figures 5 and 6: Multi-Task CBO (Section 4.3), and what the recycling of particles saves."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

from cbo_pipeline.figures import style

SHOWN = 5  # tasks of the examples
TASK_COLOURS = (style.BLUE, style.SKY, style.GREEN, style.ORANGE, style.RED)
ENSEMBLES = {
    "multi_task_cbo": {"color": style.BLUE, "marker": "o", "linestyle": "-", "label": "one shared ensemble"},
    "separate_cbo": {"color": style.RED, "marker": "s", "linestyle": "--", "label": "one ensemble per task"},
}


def multi_task_training(data: dict[str, xr.Dataset]) -> Figure:
    """Median and minimum over the tasks against epochs: mean over the seeds, shaded from smallest to largest."""
    found = style.curve(data["multi_task"], "multi_task_cbo")
    figure, axes = plt.subplots()
    style.draw_series(axes, found, centre="mean", color=style.BLUE, label="median over the tasks")
    style.draw_series(
        axes, found, "risk_task_min", "mean", color=style.RED, linestyle="--", label="minimum over the tasks"
    )
    axes.set(yscale="log", xlabel="epoch", ylabel=style.RISK, xlim=(0, None))
    axes.legend(title=f"means of {style.counted_runs(found)}")
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
    # Neurons that have run off may leap between the end of the axis and the first data point: frame the targets.
    low, high = float(found["target"].min()), float(found["target"].max())
    axes.set(xlabel="$x$", ylabel="$y$", xlim=(0, 1), ylim=(low - 0.2, high + 0.2))
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
    """One shared ensemble against one per task: bytes, seconds and risk against the number of tasks."""
    panels = (
        ("state of the ensemble, counted", "state_bytes", EngFormatter("B")),
        ("growth of memory at its peak, measured", "peak_bytes", EngFormatter("B")),
        ("processor time of an epoch, measured", "seconds_per_epoch", EngFormatter("s")),
    )
    figure, grid = plt.subplots(2, 2, figsize=(2 * style.COLUMN, 4.4), sharex=True)
    for axes, (title, key, unit) in zip(grid.flat, panels, strict=False):
        for method, look in ENSEMBLES.items():
            tasks, found = _by_tasks(costs, method)
            axes.plot(tasks, [cost[key] for cost in found], markersize=4, **look)
        axes.set(xscale="log", yscale="log", title=title)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(unit)
        axes.yaxis.set_minor_formatter(NullFormatter())
    _draw_risks(grid[1, 1], data["multi_task_memory"], costs)
    for axes in grid.flat:
        axes.set_xticks(sorted({cost["settings"]["tasks"] for cost in costs}))
        axes.xaxis.set_major_formatter("{x:.0f}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.tick_params(axis="x", which="minor", length=0)
    for axes in grid[1]:
        axes.set_xlabel("number of tasks $P$")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def _by_tasks(costs: list[dict[str, Any]], method: str) -> tuple[list[int], list[dict[str, Any]]]:
    """Numbers of tasks, ascending, and the costs of all variants of a method at them."""
    chosen = sorted((cost["settings"]["tasks"], k) for k, cost in enumerate(costs) if cost["method"] == method)
    return [tasks for tasks, _ in chosen], [costs[k] for _, k in chosen]


def _draw_risks(axes: Axes, data: xr.Dataset, costs: list[dict[str, Any]]) -> None:
    """The median over the tasks at the last epoch: mean over the seeds, bars from smallest to largest."""
    for method, look in ENSEMBLES.items():
        tasks, found = _by_tasks(costs, method)
        curves = [style.curve(data, cost["variant"], cost["M"], cost["N"]) for cost in found]
        low, mean, high = (
            np.array([float(curve["risk_over_seeds"].sel(statistic=name)[-1]) for curve in curves])
            for name in ("min", "mean", "max")
        )
        axes.errorbar(tasks, mean, (mean - low, high - mean), markersize=4, capsize=2, elinewidth=0.8, **look)
    axes.set(yscale="log", title="median risk over the tasks, last epoch")
