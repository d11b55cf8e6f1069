"""Figure 4, and what Section 4.2 only mentions: the sweep over the learning rates, and the test accuracy."""

from math import floor, log10

import numpy as np
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from cbo_pipeline.claims.statistics import Series, share_in_leaps
from cbo_pipeline.figures import style

# The variant of each method: as the third version of the paper has them, and as the first, all with one time step.
COMPARED = {"adam": "adam", "cbo": "cbo", "hybrid": "hybrid"}
FIRST_VERSION = {"adam": "adam_lr1", "cbo": "cbo", "hybrid": "hybrid_v1"}
HORIZON, FLOOR = "mnist_horizon", "mnist_floor"
FEWER = style.SKY  # the hybrid with fewer particles than the largest ensemble
TOP = 1e3  # of the axis of long runs: CBO's risk on all images may leap far beyond


def comparison_cbo_adam(data: dict[str, xr.Dataset]) -> Figure:
    """Risk against epochs, median and quartiles over the seeds, as far as all three methods were trained.

    Where there are runs over thousands of epochs, a second panel shows every method as far as it got: the risk on all
    images after the epoch, and as a training loop prints it, the mean over the minibatches of the epoch. A third one
    shows the settings of the paper's first version, where these were run.
    """
    groups = [group for group in (COMPARED, FIRST_VERSION) if HORIZON in data and _are_there(data, group)]
    rows = 1 + len(groups)
    figure, panels = plt.subplots(rows, 1, squeeze=False, figsize=(style.COLUMN, 2.5 * rows))
    _draw_compared(panels[0, 0], data["mnist"], "risk")
    panels[0, 0].set(yscale="log", ylabel=style.RISK)
    for axes, group in zip(panels[1:, 0], groups, strict=True):
        _draw_horizon(axes, {method: _longest(data, variant) for method, variant in group.items()})
        title = "thick: mean over the epoch's minibatches; thin: all images after it"
        which = "settings of the paper's first version\n" if group is FIRST_VERSION else ""
        axes.set_title(which + title, fontsize=6)
    return figure


def _are_there(data: dict[str, xr.Dataset], group: dict[str, str]) -> bool:
    return all(any(variant in one["variant"].values for one in data.values()) for variant in group.values())


def _longest(data: dict[str, xr.Dataset], variant: str) -> xr.Dataset:
    """The curve of a variant with the most epochs, among the usual runs and those to the horizon."""
    having = [data[name] for name in ("mnist", HORIZON) if variant in data[name]["variant"].values]
    return max((style.curve(one, variant) for one in having), key=lambda one: int(one["epoch"][-1]))


def _draw_horizon(axes, found: dict[str, xr.Dataset]) -> None:
    """Medians over the seeds: thin on all images, thick as a training loop prints it. A cross ends what diverges."""
    handles = []
    for method, one in found.items():
        runs, look = style.made(one), style.LOOKS[method]
        label = rf"{look['label']}, $\Delta t = {_power(_time_step(one))}$, {style.counted_runs(one)}"
        # What diverged counts as infinite.
        thin, thick = (runs[name].fillna(np.inf).median("seed") for name in ("risk", "risk_loop"))
        axes.plot(one["epoch"], thin, color=look["color"], linewidth=0.5, alpha=0.6)
        handles += axes.plot(one["epoch"], thick, **{**look, "linewidth": 1.0, "label": label})
        if np.isinf(thick[-1]):
            last = thick[np.isfinite(thick)][-1]
            axes.plot(last["epoch"], last, "X", color=look["color"], markersize=6, markeredgecolor="white")
    axes.set(xscale="log", yscale="log", ylabel=style.RISK, xlabel="epoch")
    axes.set(
        xlim=(1, max(int(one["epoch"][-1]) for one in found.values())), ylim=(None, min(axes.get_ylim()[1], TOP))
    )
    axes.legend(handles=handles, fontsize=6, loc="lower left")


def mnist_accuracy(data: dict[str, xr.Dataset]) -> Figure:
    """Accuracy on the 10 000 test images against epochs, median and quartiles over the seeds."""
    figure, axes = plt.subplots()
    _draw_compared(axes, data["mnist"], "accuracy")
    axes.set(ylabel="accuracy on the test images", ylim=(0, 1))
    return figure


def mnist_learning_rates(data: dict[str, xr.Dataset]) -> Figure:
    """Adam's risk against epochs for every learning rate: every seed by itself, as a median hides the leaps.

    Where the hybrid was run for long, with all its particles or few, its runs are beside Adam's of the same rate.
    """
    found = _curves(data["mnist"], "adam")
    found.sort(key=lambda one: -_time_step(one))
    hybrids = [one for name in (FLOOR, HORIZON) if name in data for one in _curves(data[name], "hybrid")]
    most = max((int(one["N"]) for one in hybrids), default=0)
    figure, panels = plt.subplots(
        -(-len(found) // 2), 2, sharex=True, sharey=True, figsize=(style.COLUMN, 1.7 * -(-len(found) // 2))
    )
    for axes in panels.flat[len(found) :]:
        axes.set_visible(False)
    handles = {}
    for axes, one in zip(panels.flat, found, strict=False):
        told = []
        for curve in (one, *(hybrid for hybrid in hybrids if _time_step(hybrid) == _time_step(one))):
            N = 0 if curve is one else int(curve["N"])
            color = style.LOOKS["hybrid" if N else "adam"]["color"] if N in (0, most) else FEWER
            runs = style.made(curve)
            for seed in runs["seed"].values:
                (line,) = axes.plot(runs["epoch"], runs["risk"].sel(seed=seed), color=color, linewidth=0.5, alpha=0.7)
            handles.setdefault(f"hybrid, N = {N}" if N else "Adam", line)
            told.append(f"{f'N = {N}' if N else 'leaps'}: {np.median(share_in_leaps(_risks(runs))):.1%}")
        axes.set(yscale="log")
        lines = [rf"$\Delta t = {_power(_time_step(one))}$, {told[0]}", *told[1:]]
        sizes = {int(hybrid["N"]) for hybrid in hybrids}
        lines += [""] * (1 + len(sizes) - len(lines))  # all titles are as high, so that the panels are
        axes.set_title("\n".join(lines), fontsize=6.5)
        axes.margins(x=0)
    if len(handles) > 1:
        legend = figure.legend(handles.values(), handles, loc="outside upper center", ncols=3, fontsize=6.5)
        for line in legend.get_lines():
            line.set(linewidth=1.2, alpha=1)
    figure.supxlabel("epoch", fontsize="medium")
    figure.supylabel(style.RISK, fontsize="medium")
    return figure


def _curves(data: xr.Dataset, prefix: str) -> list[xr.Dataset]:
    """The curves of the variants whose names begin so."""
    return [style.curve(data, name) for name in map(str, data["variant"].values) if name.startswith(prefix)]


def _risks(one: xr.Dataset) -> Series:
    """The risks of all seeds of a curve, with their extremes where records are thinned."""
    names = ("risk", "risk_smallest", "risk_largest")
    risk, *extremes = (one[n].transpose("seed", "epoch").values if n in one else None for n in names)
    return Series.of(risk, one["epoch"].values, one["seed"].values, *extremes)


def _draw_compared(axes, data: xr.Dataset, name: str) -> None:
    found = {method: style.curve(data, variant) for method, variant in COMPARED.items()}
    last = min(int(one["epoch"][-1]) for one in found.values())
    for method, one in found.items():
        look = style.LOOKS[method]
        label = rf"{look['label']}, $\Delta t = {_power(_time_step(one))}$"
        style.draw_series(axes, one.sel(epoch=slice(0, last)), name, **{**look, "label": label})
    axes.set(xlabel="epoch", xlim=(0, last))
    # Above the axes: anywhere inside it would lie on a curve of one figure or the other.
    title = style.counted_runs(*found.values())
    axes.figure.legend(loc="outside upper center", ncols=3, fontsize=6.5, columnspacing=1.2, title=title)


def _time_step(one: xr.Dataset) -> float:
    return style.settings_of(one)["dt"]


def _power(value: float) -> str:
    """A number as the paper writes it.

    >>> _power(1e-3), _power(0.05)
    ('10^{-3}', '5\\\\cdot 10^{-2}')
    """
    exponent = floor(log10(value) + 1e-9)
    factor = value / 10**exponent
    return rf"10^{{{exponent}}}" if abs(factor - 1) < 1e-6 else rf"{factor:.3g}\cdot 10^{{{exponent}}}"
