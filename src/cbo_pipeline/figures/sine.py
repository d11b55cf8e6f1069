"""Figures 2 and 3: CBO and Adam on the sine (Section 4.1)."""

import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from cbo_pipeline.figures import style


def sine_training(data: dict[str, xr.Dataset]) -> Figure:
    """Risk against epochs for CBO and Adam: median over the seeds, shaded between the quartiles."""
    figure, axes = plt.subplots()
    # Adam swings from epoch to epoch: a thin line, below the other.
    found = {method: style.curve(data["sine"], method) for method in ("adam", "cbo")}
    for (method, one), width in zip(found.items(), (0.5, 1.5), strict=True):
        style.draw_series(axes, one, **{**style.LOOKS[method], "linewidth": width})
    axes.set(yscale="log", xlabel="epoch", ylabel=style.RISK, xlim=(0, None))
    axes.legend(reverse=True, title=style.counted_runs(*found.values()))
    return figure


def sine_example(data: dict[str, xr.Dataset]) -> Figure:
    """Target, some of the training points, and the approximations by the typical run of each method."""
    figure, axes = plt.subplots()
    shown = style.curve(data["sine"], "cbo")
    axes.plot(shown["sample_x"], shown["sample_y"], ".", color="#aaaaaa", markersize=2, label="training data")
    axes.plot(shown["x"], shown["target"], color=style.BLACK, linewidth=0.8, linestyle=":", label=r"$\sin(2\pi x)$")
    for method in ("cbo", "adam"):
        found = style.curve(data["sine"], method)
        axes.plot(found["x"], found["prediction"], **style.LOOKS[method])
    axes.set(xlabel="$x$", ylabel="$y$", xlim=(0, 1))
    axes.legend()
    return figure
