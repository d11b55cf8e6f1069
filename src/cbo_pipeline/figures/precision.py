"""Figure s6, a finding of ours: how far CBO gets on the sine depends on the rounding of its particles."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cbo_pipeline.figures import style

LOOKS = {
    "float32": {"color": style.BLUE, "linestyle": "-", "label": "float32"},
    "float64": {"color": style.ORANGE, "linestyle": "--", "label": "float64"},
}
VARIANTS = {"float32": "cbo", "float64": "cbo_float64"}


def precision(data: dict[str, xr.Dataset], checks: Mapping[str, Any]) -> Figure:
    """Sine, CBO in both precisions: the risk against epochs and, where it was checked, how far particles differ."""
    rows = checks.get("spread", {}).get("rows", [])
    count = 2 if rows else 1
    figure, panels = plt.subplots(count, 1, squeeze=False, figsize=(style.COLUMN, 1.8 * count), sharex=True)
    for name, look in LOOKS.items():
        style.draw_series(panels[0, 0], style.curve(data["sine"], VARIANTS[name]), **look)
    panels[0, 0].set(yscale="log", ylabel=style.RISK)
    panels[0, 0].legend()
    if rows:
        _draw_spreads(panels[1, 0], rows)
    panels[-1, 0].set(xlabel="epoch", xlim=(0, None))
    return figure


def _draw_spreads(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """Every run by a thin line, the median by a thick one; dots for the distance between neighbouring numbers."""
    for name, look in LOOKS.items():
        found = [row for row in rows if row["precision"] == name]
        if not found:
            continue
        for row in found:
            axes.plot(row["epochs"], row["spread"], color=look["color"], linewidth=0.5, alpha=0.5)
        middle = np.median([row["spread"] for row in found], axis=0)
        axes.plot(found[0]["epochs"], middle, **look, linewidth=1.5)
        axes.axhline(found[0]["unit"], color=look["color"], linestyle=":", linewidth=0.8)
    least = min(min(row["spread"]) for row in rows)
    axes.set(yscale="log", ylabel="spread of the particles,\nmedian over parameters")
    axes.set_ylim(bottom=min(least, *(row["unit"] for row in rows)) / 3)
