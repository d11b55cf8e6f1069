"""Figure s6, a finding of ours: how far CBO gets on the sine depends on the rounding of its particles."""

import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from cbo_pipeline.figures import style

LOOKS = {
    "cbo": {"color": style.BLUE, "linestyle": "-", "label": "float32"},
    "cbo_float64": {"color": style.ORANGE, "linestyle": "--", "label": "float64"},
}


def precision(data: dict[str, xr.Dataset]) -> Figure:
    """Sine, CBO in both precisions: risk above, variance of the ensemble below, against epochs."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(style.COLUMN, 3.6), sharex=True)
    for method, look in LOOKS.items():
        found = style.curve(data["sine"], method)
        style.draw_series(above, found, **look)
        style.draw_series(below, found, "variance", **look)
    above.set(yscale="log", ylabel=style.RISK)
    below.set(yscale="log", ylabel=r"variance $\frac{1}{2N}\sum_n |\theta_n - V|^2$", xlabel="epoch", xlim=(0, None))
    above.legend()
    return figure
