"""The pairs of runs behind claim 1: CBO and Adam on the same data."""

import numpy as np
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from cbo_pipeline.claims import rule
from cbo_pipeline.claims.evidence import Evidence
from cbo_pipeline.claims.sine import pair
from cbo_pipeline.claims.statistics import END, end, log_ratio, middle
from cbo_pipeline.figures import style


def sine_pairs(data: dict[str, xr.Dataset]) -> Figure:
    """Claim 1: every pair of runs that saw the same data, in the order of CBO's risk over Adam's at the end."""
    cbo, adam, _ = pair(Evidence({"sine": data["sine"]}, wanted={}))
    differences = np.sort(log_ratio(end(cbo), end(adam)))
    known = differences[np.isfinite(differences)]
    low, high = rule.median_interval(differences)
    figure, axes = plt.subplots(figsize=(style.COLUMN, 2.7))
    places = (np.arange(len(differences)) + 0.5) / len(differences)
    if np.isfinite(high - low):
        label = f"its interval ({rule.ERROR:.0%} beyond each end)"
        axes.axvspan(low, high, color=style.SKY, alpha=0.35, linewidth=0, label=label)
    axes.axvline(middle(differences), color=style.BLUE, linewidth=1.4, label="median")
    axes.axvline(0, color=style.BLACK, linewidth=0.9, linestyle=":")
    for side, colour, marker, name in (
        (differences < 0, style.BLUE, "o", "CBO lower"),
        (differences >= 0, style.RED, "^", "Adam lower"),
    ):
        label = f"{name}: {int(side.sum())} of {len(differences)}"
        shown = np.clip(differences[side], known.min(), known.max()) if known.size else differences[side]
        axes.plot(shown, places[side], marker, color=colour, markersize=3.5, linestyle="none", label=label)
    axes.set(
        xlabel=rf"$\log_{{10}}$ (CBO's / Adam's risk), last {END:.0%} of {cbo.last} epochs",
        ylabel="share of the pairs",
        ylim=(-0.02, 1.02),
    )
    figure.legend(loc="outside upper center", ncols=2, fontsize=6.5)
    return figure
