"""Figure s10, ours: where consensus forms, in the noise and in the dimension (Section 3.3, claim 16)."""

import numpy as np
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from cbo_pipeline.claims.evidence import Evidence
from cbo_pipeline.claims.theory import FORMED, discrete_line, phase_diagram
from cbo_pipeline.figures import style

TICKS = (0.25, 0.5, 1, 2, 4)


def consensus_condition(data: dict[str, xr.Dataset]) -> Figure:
    """The share of runs in which the variance vanished, over sigma^2 / (2 lambda) and the width, with both lines."""
    cells = phase_diagram(Evidence({"consensus_condition": data["consensus_condition"]}, wanted={}))
    ratios, widths = (np.array([getattr(cell, name) for cell in cells], float) for name in ("ratio", "M"))
    shares = np.array([cell.formed for cell in cells])
    figure, axes = plt.subplots(figsize=(style.COLUMN, 2.6))
    dots = axes.scatter(
        ratios, widths, c=shares, cmap="cividis", vmin=0, vmax=1, s=42, marker="s", edgecolors=style.BLACK,
        linewidths=0.5, zorder=3,
    )  # fmt: skip
    axes.axvline(1, color=style.RED, linewidth=1.3, label=r"$\sigma^2 = 2\lambda$ (the paper)")
    line = discrete_line(cells[0].lambda_, cells[0].dt)
    label = rf"$\sigma^2 = \lambda(2 - \lambda\Delta t)$: the mean square, $\Delta t = {cells[0].dt:g}$"
    axes.axvline(line, color=style.BLUE, linewidth=1.3, linestyle="--", label=label)
    bar = figure.colorbar(dots, ax=axes, pad=0.02)
    bar.set_label("share of runs with consensus", fontsize="small")
    axes.set(xscale="log", yscale="log", xlabel=r"$\sigma^2 / (2\lambda)$", ylabel="width $M$ ($3M$ parameters)")
    axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
    axes.set_yticks(sorted(set(widths)), [f"{width:g}" for width in sorted(set(widths))])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.margins(y=0.15)
    seeds, steps = cells[0].seeds, int(data["consensus_condition"]["epoch"].values[-1])
    title = f"{seeds} runs each; consensus: the variance falls to {FORMED:g} in {steps} steps"
    figure.legend(loc="outside upper center", ncols=1, fontsize=6.5, title=title, title_fontsize=6.5)
    return figure
