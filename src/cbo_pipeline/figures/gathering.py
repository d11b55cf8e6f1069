"""What CBO does: the particles' approximations of the sine gather around the target. From one of our runs."""

import numpy as np
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from cbo_pipeline.figures import style

SHOWN = (0, 1, 5, 20, 60, 200)  # epochs
LIMIT = 1.6  # of the vertical axis


def gathering(data: dict[str, xr.Dataset]) -> Figure:
    """Six epochs of one run: every particle a thin line, the consensus point a thick one, the target dotted."""
    run = style.curve(data["gathering"], "cbo")
    figure, panels = plt.subplots(2, 3, figsize=(2 * style.COLUMN, 3.6), sharex=True, sharey=True)
    for axes, epoch in zip(panels.flat, shown_epochs(run), strict=False):
        draw_ensemble(axes, run, epoch)
    for name, look in {
        "particles": {"color": style.SKY},
        "consensus point": {"color": style.RED},
        r"$\sin(2\pi x)$": {"color": style.BLACK, "linestyle": ":"},
    }.items():
        panels[0, 0].plot([], [], label=name, **look)
    panels[0, 0].legend(fontsize=6, loc="lower left")
    for axes in panels[1]:
        axes.set_xlabel("$x$")
    for axes in panels[:, 0]:
        axes.set_ylabel("$y$")
    return figure


def shown_epochs(run: xr.Dataset) -> list[int]:
    """The epochs of SHOWN at which the run kept its particles."""
    return [epoch for epoch in SHOWN if epoch in run["kept_epoch"].values]


def draw_ensemble(axes: Axes, run: xr.Dataset, epoch: int) -> None:
    """Particles, consensus point and target at one epoch."""
    x = run["coarse_x"]
    particles = run["particle_prediction"].sel(kept_epoch=epoch).transpose("coarse_x", "particle")
    lines = [np.column_stack([x, particle]) for particle in particles.values.T]
    axes.add_collection(LineCollection(lines, colors=style.SKY, linewidths=0.3, alpha=0.5))
    axes.plot(x, np.interp(x, run["x"], run["target"]), ":", color=style.BLACK, linewidth=1.2)
    axes.plot(x, run["prediction_over_time"].sel(snapshot=epoch), color=style.RED)
    axes.set(title=f"epoch {epoch}", xlim=(0, 1), ylim=(-LIMIT, LIMIT))
