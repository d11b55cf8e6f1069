"""A file of results in the terminal: a short table, and a small plot where there are curves."""

import json
import textwrap
from pathlib import Path
from string import ascii_letters

import numpy as np
import xarray as xr

from cbo_pipeline.claims.files import read_verdicts
from cbo_pipeline.pages import claims as pages
from cbo_pipeline.results import costs, json_files, netcdf, runs, summaries

WIDTH, HEIGHT = 60, 12
CHARACTERS = "\u28ff" + "".join(pages.MARKS.values())  # what is printed beyond plain letters
# A character of braille is a grid of four rows and two columns of dots; the bit of each dot.
DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
# What is shown of a run beside its risk, where it was measured.
TESTED = {"risk_test": "risk on the test part", "accuracy": "accuracy"}
# What is shown of a measured cost: the key, its unit, and by what it is divided.
COSTS = (
    ("seconds_per_iteration", "ms per iteration", 1e-3),
    ("seconds_per_epoch", "s per epoch", 1.0),
    ("state_bytes", "MB kept between iterations", 1e6),
    ("peak_bytes", "MB more at the peak", 1e6),
)


def text(path: str | Path, unicode: bool = True) -> str:
    """What ``cbo-pipeline show`` prints for a file of results; in plain letters for terminals without Unicode."""
    path = Path(path)
    if _begins_like_json(path):
        return _json(path, unicode)
    if netcdf.read(path).attrs["kind"] == "run":
        return _run(runs.read(path), unicode)
    return _summary(summaries.read(path), unicode)


def _begins_like_json(path: Path) -> bool:
    """By the content; by the name where there is none, so that the complaint fits."""
    try:
        with path.open("rb") as file:
            first = file.read(64).lstrip()[:1]
    except OSError:
        first = b""
    return first in (b"{", b"[") or (path.suffix == ".json" and first != netcdf.HDF5[:1])


def _json(path: Path, unicode: bool) -> str:
    if isinstance(json_files.parse(path), list):
        rows = read_verdicts(path)
        return "\n".join([pages.tally(rows), "", *(_verdict(row, unicode) for row in rows)])
    content = costs.read(path)
    title = f"Cost of {content['experiment']}/{content['variant']}, M = {content['M']}, N = {content['N']}"
    return "\n".join([title, *(f"{content[key] / scale:12.4g} {unit}" for key, unit, scale in COSTS)])


def _verdict(row: dict, unicode: bool) -> str:
    """A claim in one line, and what other readings of the paper say of it."""
    said = f" ({row['robustness']})" if row.get("robustness") else ""
    mark = f"{pages.MARKS[row['verdict']]} " if unicode else ""
    return f"{row['id']:>3} {mark}{row['verdict']:24} {row['claim']}{said}"


def _run(data: xr.Dataset, unicode: bool) -> str:
    settings = json.loads(data.attrs["settings"])["settings"]
    risk = _over_tasks(data["risk"])
    series = {"risk": risk, "particles' best": data["risk_min"], "variance": data["variance"]}
    series |= {word: _over_tasks(data[name]) for name, word in TESTED.items() if name in data}
    rows = [("epoch", *series)]
    for epoch in _some(data["epoch"].values):
        rows.append((str(epoch), *(f"{float(values.sel(epoch=epoch)):.3e}" for values in series.values())))
    diverged = data["epoch"].values[data["diverged"].values == 1]
    told = textwrap.wrap(", ".join(f"{k} {v}" for k, v in settings.items()), 78)
    lines = [data.attrs["title"], *(f"  {line}" for line in told), "", *_table(rows)]
    if "task" in data["risk"].dims:
        of = ", ".join(["risk", *(word for word in TESTED.values() if word in series)])
        lines.append(f"{of}: median of the {data.sizes['task']} tasks")
    if diverged.size:
        lines.append(f"no particle has a finite risk from epoch {diverged[0]} on")
    return "\n".join([*lines, "", *_plot(data["epoch"].values, {"risk": risk.values}, unicode)])


def _summary(data: xr.Dataset, unicode: bool) -> str:
    median = data["risk_over_seeds"].sel(statistic="median")
    names = [str(curve) for curve in data["curve"].values]
    letters = dict(zip(names, ascii_letters, strict=False))
    rows = [("", "curve", "seeds", "epochs", "median risk", "q25", "q75")]
    for curve in names:
        at = data.sel(curve=curve)
        # The largest risk is infinite where a run diverged; a median between infinities is not a number.
        last = int(np.flatnonzero(at["risk_over_seeds"].notnull().any("statistic").values)[-1])
        values = at["risk_over_seeds"].isel(epoch=last).sel(statistic=["median", "q25", "q75"]).fillna(np.inf).values
        seeds, epochs = int(at["risk"].isel(epoch=0).notnull().sum()), data["epoch"].values[last]
        rows.append((letters.get(curve, ""), curve, str(seeds), str(epochs), *(f"{v:.3e}" for v in values)))
    curves = {letter: median.sel(curve=curve).values for curve, letter in letters.items()}
    return "\n".join([data.attrs["title"], "", *_table(rows), "", *_plot(data["epoch"].values, curves, unicode)])


def _over_tasks(series: xr.DataArray) -> xr.DataArray:
    return series.median("task") if "task" in series.dims else series


def _some(epochs: np.ndarray, count: int = 8) -> list[int]:
    """The first and last epoch, and some between them at even ratios."""
    between = np.geomspace(1, max(1, epochs[-1]), count - 1).round().astype(int)
    return sorted({0, *between.tolist()} & set(epochs.tolist()))


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _plot(x: np.ndarray, curves: dict[str, np.ndarray], unicode: bool = True) -> list[str]:
    """Curves against x, the vertical axis logarithmic: one as a line in braille, several by their letters."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = {name: np.log10(np.where(values > 0, values, np.nan)) for name, values in curves.items()}
    finite = np.concatenate([v[np.isfinite(v)] for v in logs.values()])
    if not finite.size:
        return ["nothing finite to plot"]
    low, high = finite.min(), max(finite.max(), finite.min() + 1e-9)
    share = {name: (high - values) / (high - low) for name, values in logs.items()}
    if len(curves) == 1:
        (only,) = share.values()
        lines = _line(x, only) if unicode else _letters(x, {"*": only})
    else:
        lines = _letters(x, share)
    labels = [f"{10**high:.1e}", *[""] * (HEIGHT - 2), f"{10**low:.1e}"]
    last = str(x[-1])
    axis = f"{'':9} 0{'epochs':^{WIDTH - 1 - len(last)}}{last}"
    what = "risk" if len(curves) == 1 else "median risk"
    body = [f"{label:>9} {line}".rstrip() for label, line in zip(labels, lines, strict=True)]
    return [*body, axis, f"{'':9} {what}, log scale"]


def _line(x: np.ndarray, share: np.ndarray) -> list[str]:
    """One curve, its neighbouring points joined; ``share`` is 0 at the top and 1 at the bottom."""
    dots = np.zeros((4 * HEIGHT, 2 * WIDTH), bool)
    shown = np.isfinite(share)
    column = x[shown] / max(x[-1], 1) * (dots.shape[1] - 1)
    row = share[shown] * (dots.shape[0] - 1)
    for i in range(max(1, len(row) - 1)):
        j = min(i + 1, len(row) - 1)
        steps = 1 + int(2 * max(abs(column[j] - column[i]), abs(row[j] - row[i])))
        across, down = (np.linspace(v[i], v[j], steps).round().astype(int) for v in (column, row))
        dots[down, across] = True
    cells = dots.reshape(HEIGHT, 4, WIDTH, 2)
    codes = 0x2800 + np.einsum("hawb,ab->hw", cells, DOTS)
    return ["".join(map(chr, line)) for line in codes]


def _letters(x: np.ndarray, curves: dict[str, np.ndarray]) -> list[str]:
    """Several curves, each by its letter, once per column; where two meet the first is seen."""
    canvas = np.full((HEIGHT, WIDTH), " ")
    for letter, share in reversed(curves.items()):
        shown = np.isfinite(share)
        column = (x[shown] / max(x[-1], 1) * (WIDTH - 1)).round().astype(int)
        for c in np.unique(column):
            canvas[round(float(np.median(share[shown][column == c])) * (HEIGHT - 1)), c] = letter
    return ["".join(line) for line in canvas]
