"""Figures 8 and 9, and ours about optimal-transport CBO (Section 5)."""

import numpy as np
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from cbo_pipeline.figures import style

LAST = 50  # epochs whose median is shown beside the last one
RISK = r"empirical risk $\hat{R}(\mu)$"
SMOOTH = 15  # epochs of the running median
SWEEP = (style.ORANGE, style.SKY, style.GREEN, style.RED, style.BLACK)
DASHES = ("-", "--", "-.", (0, (3, 1, 1, 1, 1, 1)))


def mean_field_M(data: dict[str, xr.Dataset]) -> Figure:
    """Risk at the last epoch against the width M, at the largest N."""
    return _sweep(data["square"], "M", "N", "network width $M$")


def mean_field_N(data: dict[str, xr.Dataset]) -> Figure:
    """Risk at the last epoch against the number of particles N, at the largest M."""
    return _sweep(data["square"], "N", "M", "number of particles $N$")


def _sweep(data: xr.Dataset, swept: str, fixed: str, label: str) -> Figure:
    """Every seed and their mean; beside it the mean of the median over the last epochs, which is less noisy.

    A run that diverged is infinitely bad, and so is a mean that it belongs to.
    """
    curves = _curves(data, swept, fixed)
    sizes = [int(curve[swept]) for curve in curves]
    risks = [style.made(curve)["risk"].fillna(np.inf) for curve in curves]
    figure, axes = plt.subplots()
    for size, risk in zip(sizes, risks, strict=True):
        last = risk.isel(epoch=-1).values
        axes.plot(np.full(len(last), size), last, "_", color=style.BLUE, alpha=0.45, markersize=7)
    diverged = int(sum(np.isinf(risk.isel(epoch=-1)).sum() for risk in risks))
    runs = f"runs ({diverged} diverged)" if diverged else "runs"
    axes.plot([], [], "_", color=style.BLUE, alpha=0.6, markersize=7, label=runs)
    means = [float(risk.isel(epoch=-1).mean("seed")) for risk in risks]
    epoch = int(curves[0]["epoch"][-1])
    axes.plot(sizes, means, "o-", color=style.BLUE, markersize=4, label=f"mean at epoch {epoch}")
    steady = [float(risk.isel(epoch=slice(-LAST, None)).median("epoch").mean("seed")) for risk in risks]
    axes.plot(sizes, steady, "s--", color=style.RED, markersize=3.5, label=f"mean of medians, last {LAST}")
    floor = style.settings_of(curves[0])["label_noise"] ** 2
    if floor > 0:
        axes.axhline(floor, color=style.BLACK, linewidth=0.9, linestyle=":", label="label noise")
    top = max(filter(np.isfinite, (means[0], steady[0])), default=floor)
    if swept == "M" and top > 0:
        until = min(sizes[-1], 0.98 * sizes[0] * top / floor) if floor > 0 else sizes[-1]
        axes.plot(
            [sizes[0], until],
            [top, top * sizes[0] / until],
            color="#777777",
            linewidth=0.9,
            linestyle="-.",
            label=r"slope $1/M$",
        )
    axes.set(xscale="log", yscale="log", xlabel=f"{label}   (${fixed} = {int(curves[0][fixed])}$)")
    axes.set(ylim=(0.85 * floor or None, None), ylabel=rf"{RISK}  $[10^{{-4}}]$")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value / 1e-4:g}")
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
    figure.legend(loc="outside upper center", ncols=2, fontsize=6.5, title=style.counted_runs(*curves))
    return figure


def square_training(data: dict[str, xr.Dataset]) -> Figure:
    """Risk against epochs for every M and every N: median over the seeds, faint, and its running median."""
    figure, panels = plt.subplots(1, 2, figsize=(2 * style.COLUMN, 2.8), sharey=True)
    for axes, swept, fixed in zip(panels, "MN", "NM", strict=True):
        for k, curve in enumerate(_curves(data["square"], swept, fixed)):
            colour, dashes = SWEEP[k % len(SWEEP)], DASHES[(k + k // len(SWEEP)) % len(DASHES)]
            risk = curve["risk_over_seeds"].sel(statistic="median")
            smooth = risk.rolling(epoch=SMOOTH, center=True, min_periods=1).median()
            axes.plot(curve["epoch"], risk, color=colour, alpha=0.3, linewidth=0.4)
            look = {"color": colour, "linestyle": dashes, "linewidth": 1.2, "zorder": 3}
            axes.plot(curve["epoch"], smooth, label=f"${swept} = {int(curve[swept])}$", **look)
        axes.set(yscale="log", xlabel="epoch", xlim=(0, None), title=f"${fixed} = {int(curve[fixed])}$")
        axes.legend(fontsize=7)
    panels[0].set_ylabel(RISK)
    return figure


def _curves(data: xr.Dataset, swept: str, fixed: str) -> list[xr.Dataset]:
    """The curves of one sweep of optimal-transport CBO, in ascending order."""
    data = data.isel(curve=(data["method"] == "ot_cbo").values)
    chosen = data.isel(curve=(data[fixed] == data[fixed].max()).values).sortby(swept)
    return [chosen.isel(curve=k) for k in range(chosen.sizes["curve"])]


def variance_decay(data: dict[str, xr.Dataset]) -> Figure:
    """V(rho^k) / V(rho^0) without noise and the bound (1 - dt)^(2k) of Proposition 3; below, their ratio."""
    figure, panels = plt.subplots(
        2, 2, figsize=(2 * style.COLUMN, 3.8), sharex="col", sharey="row", height_ratios=(3, 2)
    )
    for (upper, lower), start in zip(panels.T, ("random", "trained"), strict=True):
        for name in data["variance_decay"]["variant"].values:
            settings, ratio = _decay(style.curve(data["variance_decay"], str(name)))
            searched = settings.get("barycentre_starts", 1) > 1  # the same, for claim 15
            if (settings["quiet_from"] > 0) == (start == "trained") and not searched:
                bound = (1 - settings["dt"]) ** (2.0 * np.arange(ratio.sizes["step"]))
                _draw_decay(upper, settings, ratio)
                _draw_decay(lower, settings, ratio / xr.DataArray(bound, dims="step"))
                upper.plot(bound, color=style.BLACK, linewidth=1.1, linestyle=":", zorder=3)
        upper.plot([], [], color=style.BLACK, linestyle=":", label=r"$(1-\Delta t)^{2k}$")
        upper.set(yscale="log", xlim=(0, None), title=f"from {start} ensembles")
        upper.legend(fontsize=6.5)
        lower.axhline(1, color=style.BLACK, linewidth=1.1, linestyle=":", zorder=3)
        lower.set(xlabel="step $k$ without noise")
    panels[0, 0].set_ylabel(r"$\mathcal{V}(\rho^k)\,/\,\mathcal{V}(\rho^0)$")
    panels[1, 0].set_ylabel("ratio to the bound")
    return figure


def _decay(curve: xr.Dataset) -> tuple[dict, xr.DataArray]:
    """The settings of a curve and V over its first noise-free value, for the steps k = 0, 1, ... of every seed.

    The ensemble before step k is seen in the epoch after ``quiet_from`` + k.
    """
    settings = style.settings_of(curve)
    variance = curve["variance"].isel(epoch=slice(settings["quiet_from"] + 1, None)).rename(epoch="step")
    return settings, variance / variance.isel(step=0)


def _draw_decay(axes: Axes, settings: dict, ratio: xr.DataArray) -> None:
    colour = style.BLUE if settings["dt"] < 0.3 else style.RED
    equal = settings["quiet_weights"] == "equal"
    look = {"color": colour, "linestyle": "-" if equal else "--", "linewidth": 2.2 if equal else 1.1}
    k = np.arange(ratio.sizes["step"])
    axes.fill_between(k, ratio.min("seed"), ratio.max("seed"), color=colour, alpha=0.2, linewidth=0)
    weights = "equal weights" if equal else "Gibbs weights"
    axes.plot(k, ratio.median("seed"), label=rf"$\Delta t = {settings['dt']:g}$, {weights}", **look)


def multi_task_ot(data: dict[str, xr.Dataset]) -> Figure:
    """Multi-task optimal-transport CBO: risks over the tasks against epochs, and the approximations of the tasks."""
    found = style.curve(data["multi_task_ot"], "multi_task_ot_cbo")
    figure, (left, right) = plt.subplots(1, 2, figsize=(2 * style.COLUMN, 2.7))
    style.draw_series(left, found, centre="mean", color=style.BLUE, label="median over the tasks")
    style.draw_series(left, found, "risk_task_min", "mean", color=style.RED, linestyle="--", label="minimum")
    left.set(yscale="log", xlabel="epoch", ylabel=RISK, xlim=(0, None))
    left.legend(title=f"means of {style.counted_runs(found)}")
    for task in range(found.sizes["task"]):
        one = found.isel(task=task)
        right.plot(one["x"], one["prediction"], color=SWEEP[task % len(SWEEP)], label=f"problem {task + 1}")
        right.plot(one["x"], one["target"], color=style.BLACK, linewidth=0.8, linestyle=":")
    right.plot([], [], color=style.BLACK, linewidth=0.8, linestyle=":", label="targets")
    low, high = float(found["target"].min()), float(found["target"].max())
    right.set(xlabel="$x$", ylabel="$y$", xlim=(0, 1), ylim=(low - 0.3, high + 0.35 * (high - low)))
    right.legend(fontsize=6.5, ncols=3, loc="upper center")
    return figure
