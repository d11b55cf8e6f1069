"""Figures 1 and 7: the diagrams. Figure 1 shows particles of a small run of ours, not a sketch."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from matplotlib import patheffects
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Rectangle

from cbo_pipeline.figures import style
from cbo_pipeline.methods.base import Clock
from cbo_pipeline.methods.cbo import CBO
from cbo_pipeline.methods.multi_task_cbo import MultiTaskCBO
from cbo_pipeline.numerics.network import Networks
from cbo_pipeline.numerics.streams import Streams

# The minimisers (kink, slope) of three related tasks; the first is the single task.
TASKS = np.array([[-0.45, 0.62], [0.12, 0.30], [0.52, 0.74]])
TASK_LOOKS = ((style.BLUE, "o"), (style.RED, "s"), (style.GREEN, "^"))
PARTICLES, SEED, STEPS = 30, 3, 60
SHOWN_STEPS = 8  # how far the particles are followed: later they sit on top of each other


@dataclass(frozen=True)
class OneNeuron:
    """The smallest network, g(x) = c relu(x - t): its two parameters, kink t and slope c, fit on paper.

    Task p is the network with parameters ``minimisers[p]``; risks are mean squares over x in [-1, 1].
    """

    minimisers: np.ndarray

    @property
    def tasks(self) -> int:
        return len(self.minimisers)

    def risks(self, networks: Networks, batch=None) -> np.ndarray:
        """(N,) for one task, (N, P) for P."""
        values, wanted = _neuron(networks["theta"]), _neuron(self.minimisers)
        risks = np.mean((values[:, None, :] - wanted[None, :, :]) ** 2, axis=-1)
        return risks[:, 0] if self.tasks == 1 else risks

    def initial(self, law: str, bound: float, N: int, rng: np.random.Generator) -> Networks:
        return {"theta": rng.uniform(-bound, bound, (N, 2))}


def _neuron(theta: np.ndarray) -> np.ndarray:
    x = np.linspace(-1.0, 1.0, 81)
    return theta[:, 1:] * np.maximum(x - theta[:, :1], 0.0)


def particle_paths(method: type[CBO], minimisers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A small run: positions (steps + 1, N, 2) of the particles, and the last consensus points (P, 2)."""
    problem, streams = OneNeuron(minimisers), Streams(SEED)
    optimiser = method(dt=0.1, alpha=1e4, lambda_=1.0, sigma_squared=0.3, initial="uniform", initial_bound=1.0)
    state = optimiser.start(problem, PARTICLES, streams.initial())
    paths = [state["particles"]["theta"].copy()]
    for k in range(STEPS):
        clock = Clock(0, k)
        view = optimiser.look(state, problem, None, clock)
        state = optimiser.move(state, view, clock, streams.noise(k))
        paths.append(state["particles"]["theta"].copy())
    return np.stack(paths), view.consensus["theta"]


def diagram_multi_task(data: dict[str, xr.Dataset]) -> Figure:
    """Figure 1: one consensus point guides all particles; or one ensemble serves several tasks at once."""
    figure, panels = plt.subplots(1, 2, figsize=(style.COLUMN, 2.55), sharex=True, sharey=True)
    _panel(panels[0], "single-task CBO", *particle_paths(CBO, TASKS[:1]), TASKS[:1])
    _panel(panels[1], "Multi-Task CBO", *particle_paths(MultiTaskCBO, TASKS), TASKS)
    panels[0].set_ylabel("slope $c$")
    marks = {"linestyle": "none", "color": "#444444"}
    figure.legend(
        handles=[
            Line2D(
                [], [], marker="o", markersize=3, markerfacecolor="white", label=r"particles from $\rho^0$", **marks
            ),
            Line2D([], [], marker="o", markersize=3.5, label=f"... after {SHOWN_STEPS} steps", **marks),
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


def _panel(axes: Axes, title: str, paths: np.ndarray, consensus: np.ndarray, minimisers: np.ndarray) -> None:
    """The law rho^0, the particles on their first steps, the consensus points, the minimisers."""
    support = Rectangle((-1, -1), 2, 2, facecolor="#f2f2f2", edgecolor="#888888", linewidth=0.8, linestyle="--")
    axes.add_patch(support)
    axes.annotate(r"supp $\rho^0$", (0, -1.03), fontsize=7, color="#555555", ha="center", va="top")
    goal = np.arange(PARTICLES) * len(minimisers) // PARTICLES  # the task that each particle moves to
    for task, (minimiser, point) in enumerate(zip(minimisers, consensus, strict=True)):
        colour, marker = TASK_LOOKS[task]
        start, end = paths[0, goal == task], paths[SHOWN_STEPS, goal == task]
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
