"""Figures 1 and 7: the diagrams. Figure 1 shows particles of real runs, not a sketch."""

import numpy as np
import xarray as xr
from matplotlib import patheffects
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Rectangle

from cbo_pipeline.figures import style

TASK_LOOKS = ((style.BLUE, "o"), (style.RED, "s"), (style.GREEN, "^"))


def diagram_multi_task(data: dict[str, xr.Dataset]) -> Figure:
    """Figure 1: one consensus point guides all particles; or one ensemble serves several tasks at once."""
    figure, panels = plt.subplots(1, 2, figsize=(style.COLUMN, 2.55), sharex=True, sharey=True)
    for axes, title, variant in zip(panels, ("single-task CBO", "Multi-Task CBO"), ("single", "shared"), strict=True):
        run = style.curve(data["one_neuron"], variant)
        _panel(axes, title, run)
        steps = int(run["kept_epoch"][-1])
    panels[0].set_ylabel("slope $c$")
    marks = {"linestyle": "none", "color": "#444444"}
    figure.legend(
        handles=[
            Line2D(
                [], [], marker="o", markersize=3, markerfacecolor="white", label=r"particles from $\rho^0$", **marks
            ),
            Line2D([], [], marker="o", markersize=3.5, label=f"... after {steps} steps", **marks),
            Line2D([], [], marker="X", markersize=6, markeredgecolor="white", label="consensus point", **marks),
            Line2D([], [], marker="*", markersize=8, markerfacecolor="white", label="minimiser", **marks),
        ],
        loc="outside lower center",
        ncols=2,
        fontsize=7,
        columnspacing=1.2,
        handletextpad=0.3,
    )
    return figure


def _panel(axes: Axes, title: str, run: xr.Dataset) -> None:
    """The law rho^0, the particles on their first steps, the consensus points, the minimisers."""
    support = Rectangle((-1, -1), 2, 2, facecolor="#f2f2f2", edgecolor="#888888", linewidth=0.8, linestyle="--")
    axes.add_patch(support)
    axes.annotate(r"supp $\rho^0$", (0, -1.03), fontsize=7, color="#555555", ha="center", va="top")
    particles, tasks = (
        np.flatnonzero(np.isfinite(run[f"{name}_kink"].values.reshape(-1, run.sizes[dim])[0]))
        for name, dim in (("particle", "particle"), ("minimiser", "task"))
    )
    goal = particles * len(tasks) // len(particles)  # the task that each particle moves to
    for task in tasks:
        colour, marker = TASK_LOOKS[task]
        start, end = (_points(run.isel(kept_epoch=k, particle=goal == task), "particle") for k in (0, -1))
        minimiser, point = (_points(run.isel(task=task), name) for name in ("minimiser", "consensus"))
        axes.plot(*np.stack([start, end]).T.swapaxes(1, 2), color=colour, linewidth=0.5, alpha=0.7)
        axes.plot(*start.T, marker, color=colour, markerfacecolor="white", markersize=2.8, markeredgewidth=0.6)
        axes.plot(*end.T, marker, color=colour, markersize=3.2, markeredgewidth=0)
        edge = [patheffects.withStroke(linewidth=1.6, foreground="white")]
        axes.plot(*minimiser, "*", markersize=9, color=colour, markerfacecolor="white", zorder=4)
        axes.plot(*point, "X", markersize=4.5, color=colour, markeredgecolor="white", markeredgewidth=0.5, zorder=5)
        axes.annotate(
            rf"$\mathcal{{T}}_{task + 1}$", minimiser, (4, 5), textcoords="offset points", path_effects=edge, zorder=6
        )
    axes.set(title=title, xlabel="kink $t$", xlim=(-1.15, 1.15), ylim=(-1.3, 1.15), aspect="equal")
    axes.set_xticks((-1, 0, 1))
    axes.set_yticks((-1, 0, 1))
    axes.grid(False)


def _points(run: xr.Dataset, name: str) -> np.ndarray:
    """Points (kink, slope) of the plane."""
    return np.stack([run[f"{name}_kink"].values, run[f"{name}_slope"].values], axis=-1)


# The boxes of figure 7: centre, words, and whether the frame is dashed.
BOXES = {
    "classical": ((0.0, 1.0), "classical CBO\n$N$ particles in $\\mathbb{R}^{M(d+2)}$", "--"),
    "fokker_planck": ((0.0, 0.0), "Fokker–Planck equation\non $\\mathbb{R}^{M(d+2)}$", "-"),
    "transport": ((1.0, 1.0), "optimal transport CBO\n$N$ particles in $\\mathcal{P}_2(\\mathbb{R}^{d+2})$", "-"),
    "wasserstein": (
        (1.0, 0.0),
        "Wasserstein-over-\nWasserstein dynamics\non $\\mathcal{P}_2(\\mathcal{P}_2(\\mathbb{R}^{d+2}))$",
        "-",
    ),
}
BOX = (0.69, 0.38)


def meanfield_diagram(data: dict[str, xr.Dataset]) -> Figure:
    """Figure 7: the mean-field limits; the blue path takes M, then N to infinity."""
    figure, axes = plt.subplots(figsize=(style.COLUMN, 2.5))
    width, height = BOX
    on_path = ("classical", "transport", "wasserstein")
    for name, ((x, y), words, line) in BOXES.items():
        colour = style.BLUE if name in on_path else style.BLACK
        frame = FancyBboxPatch(
            (x - width / 2, y - height / 2), width, height, boxstyle="round,pad=0,rounding_size=0.04",
            facecolor="white", edgecolor=colour, linestyle=line, linewidth=1.1,
        )  # fmt: skip
        axes.add_patch(frame)
        axes.text(x, y, words, ha="center", va="center", fontsize=7, linespacing=1.35)
    arrow = {"arrowstyle": "-|>", "mutation_scale": 9, "shrinkA": 2, "shrinkB": 2}
    right, left, low, high = width / 2, 1 - width / 2, height / 2, 1 - height / 2
    for start, end, blue in (
        ((right, 1.0), (left, 1.0), True),
        ((1.0, high), (1.0, low), True),
        ((0.0, high), (0.0, low), False),
        ((right, 0.0), (left, 0.0), False),
        ((right, high), (left, low), False),
    ):
        look = {"color": style.BLUE, "linewidth": 1.8} if blue else {"color": "#666666", "linewidth": 0.9}
        axes.annotate("", end, start, arrowprops={**arrow, **look})
    for (x, y), words, blue, rotation in (
        ((0.5, 1.05), r"$M \to \infty$", True, 0),
        ((1.04, 0.5), r"$N \to \infty$", True, 90),
        ((-0.04, 0.5), r"$N \to \infty$", False, 90),
        ((0.5, -0.05), r"$M \to \infty$", False, 0),
    ):
        place = {"ha": "center" if rotation == 0 else ("left" if x > 0.5 else "right"), "va": "center"}
        if rotation == 0:
            place["va"] = "bottom" if y > 0.5 else "top"
        axes.text(x, y, words, fontsize=7, color=style.BLUE if blue else "#444444", rotation=rotation, **place)
    axes.text(0.53, 0.53, r"$M = N \to \infty$", fontsize=7, color="#444444", ha="left", va="bottom")
    for x, words in (
        (0.0, "finite dimension $\\mathbb{R}^d$"),
        (1.0, "infinite dimension $\\mathcal{P}_2(\\mathbb{R}^d)$"),
    ):
        axes.text(x, 1.27, words, ha="center", va="bottom", fontsize=7.5)
        axes.add_patch(Rectangle((x - 0.37, -0.27), 0.74, 1.69, facecolor="#f3f3f3", linewidth=0, zorder=0))
    axes.set(xlim=(-0.37, 1.37), ylim=(-0.27, 1.42))
    axes.axis("off")
    return figure
