"""One style for all figures: a journal's column, colour-blind-safe colours, fonts embedded, no dates in the files."""

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cbo_pipeline.errors import UserError
from cbo_pipeline.figures import check_formats
from cbo_pipeline.files import mark, whole_file

COLUMN = 3.5  # inches: the width of one column
RISK = r"empirical risk $\hat{R}(\theta)$"

# Okabe and Ito's colours; the line styles tell the curves apart in grey too.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip
LOOKS = {
    "cbo": {"color": BLUE, "linestyle": "-", "label": "CBO"},
    "adam": {"color": RED, "linestyle": "--", "label": "Adam"},
    "hybrid": {"color": GREEN, "linestyle": "-.", "label": "hybrid"},
}

SETTINGS = {
    "figure.figsize": (COLUMN, 2.5),
    "figure.dpi": 300,
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.3,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "legend.title_fontsize": 6.5,
    "mathtext.fontset": "dejavusans",
    "pdf.fonttype": 42,
    "savefig.facecolor": "white",
    "svg.hashsalt": "cbo_pipeline",
}


@contextlib.contextmanager
def applied():
    """A context in which figures have the style of the project, whatever the user's matplotlibrc says."""
    mpl.use("Agg")
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        yield


def save(figure: Figure, outputs: Sequence[Path], code: str = "") -> None:
    """Write the figure in the formats of the given names, with the digest of the code that drew it (if given).

    The same figure gives the same bytes.
    """
    check_formats(outputs)
    ours, told = mark("figure"), f"code {code}" if code else None
    for path in map(Path, outputs):
        metadata = {
            ".pdf": {"Creator": ours, "CreationDate": None, "Keywords": told},
            ".png": {"Software": ours, "Comment": told},
            ".svg": {"Creator": ours, "Date": None, "Keywords": told},
        }[path.suffix]
        with whole_file(path) as partial:
            figure.savefig(partial, format=path.suffix[1:], metadata=metadata)
        figure.set_layout_engine("none")  # the layout is found once, for all formats


def close(figure: Figure) -> None:
    """Forget a figure: pyplot keeps all that it has made."""
    plt.close(figure)


def curve(data: xr.Dataset, variant: str, M: int | None = None, N: int | None = None) -> xr.Dataset:
    """The curve of a variant, at that M and N if given, without the epochs that it never had.

    Of several the largest, as the claims have it.
    """
    chosen = data["variant"] == variant
    for name, value in (("M", M), ("N", N)):
        if value is not None:
            chosen = chosen & (data[name] == value)
    if not chosen.any():
        words = f"no curve of {variant} among the summaries, but the figure shows it; name the summary that has it"
        raise UserError(words, code="missing", key=variant)
    largest = max(np.flatnonzero(chosen.values), key=lambda k: (int(data["M"][k]), int(data["N"][k])))
    return without_missing_epochs(data.isel(curve=int(largest)))


def without_missing_epochs(curve: xr.Dataset) -> xr.Dataset:
    """A curve without the epochs that only others of its summary have. (Where runs diverged the largest risk is
    infinite; a median of infinities is not a number.)
    """
    return curve.isel(epoch=curve["risk_over_seeds"].notnull().any("statistic").values)


def made(curve: xr.Dataset) -> xr.Dataset:
    """The runs of a curve that are there: others of its experiment may have more seeds."""
    return curve.isel(seed=curve["risk"].isel(epoch=0).notnull().values)


def counted_runs(*curves: xr.Dataset) -> str:
    """How many runs are behind each of the curves that a figure shows, in words for its legend."""
    counts = {made(curve).sizes["seed"] for curve in curves}
    words = " to ".join(str(count) for count in sorted({min(counts), max(counts)}))
    return f"{words} run{'' if counts == {1} else 's'}{' each' if len(curves) > 1 else ''}"


def settings_of(curve: xr.Dataset) -> dict:
    """The settings that all runs of a curve share."""
    return json.loads(str(curve["settings"].values))["settings"]


def draw_series(axes: Axes, found: xr.Dataset, name: str = "risk", centre: str = "median", **look) -> None:
    """A statistic of the seeds against the epochs, with the quartiles (or extremes, for a mean) as a band."""
    table = found[f"{name}_over_seeds"]
    low, high = ("q25", "q75") if centre == "median" else ("min", "max")
    epochs = found["epoch"].values
    shade = {"color": look.get("color"), "alpha": 0.2, "linewidth": 0}
    axes.fill_between(epochs, table.sel(statistic=low), table.sel(statistic=high), **shade)
    axes.plot(epochs, table.sel(statistic=centre), **look)
