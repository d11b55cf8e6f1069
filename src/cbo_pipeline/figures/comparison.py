"""Single runs beside each other, chosen by hand: a series against the epoch, named by what differs between them."""

import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from cbo_pipeline.errors import UserError
from cbo_pipeline.figures import style
from cbo_pipeline.results import runs as run_files
from cbo_pipeline.results.code import stage_digest

COLOURS = (style.BLUE, style.RED, style.GREEN, style.ORANGE, style.SKY, style.PURPLE, style.BLACK)
DASHES = ("-", "--", "-.", ":")
MOST = len(COLOURS) * len(DASHES)  # runs that can be told apart
IN_FRAME = 6  # entries of a legend that fit into the frame
# How much was stored of a run: named only where nothing else differs.
STORED = ("snapshots", "record_first", "record_every", "keep_ensembles")
FILLED_IN = ("data_digest", "rows", "classes")  # what a table is follows from its file
WIDEST = 34  # characters of the label of an axis
METHODS = {
    "cbo": "CBO", "adam": "Adam", "hybrid": "hybrid", "ot_cbo": "OT-CBO", "multi_task_cbo": "Multi-Task CBO",
}  # fmt: skip


def draw(paths: Sequence[Path], outputs: Sequence[Path], series: str = "risk") -> None:
    """Draw the runs of these files beside each other and save the figure under every name in ``outputs``."""
    runs = {}
    for path in map(Path, paths):
        if path in runs:
            raise UserError(f"{path}: named twice; name each run once", code="twice", key="runs", file=str(path))
        runs[path] = run_files.read(path)
    with style.applied():
        style.save(comparison(runs, series), outputs, stage_digest("figures.comparison"))


def comparison(runs: Mapping[Path, xr.Dataset], series: str = "risk") -> Figure:
    """A series of every run against the epoch; of several tasks the median, with all tasks as a band."""
    if len(runs) > MOST:
        words = f"{len(runs)} runs, but {MOST} can be told apart in one figure; name fewer, or summarise their curves"
        raise UserError(words, code="too-many", key="runs")
    for path, data in runs.items():
        if series not in data or "epoch" not in data[series].dims:
            known = ", ".join(str(name) for name in data if "epoch" in data[name].dims)
            words = f"{path}: has no series {series}; known: {known}"
            raise UserError(words, code="unknown-name", key="--series", file=str(path))
    figure, axes = plt.subplots(figsize=(1.5 * style.COLUMN, 2.8))
    names = labels(runs)
    for k, (path, data) in enumerate(runs.items()):
        look = {"color": COLOURS[k % len(COLOURS)], "linestyle": DASHES[k // len(COLOURS)]}
        middle, low, high = _lines(data, series)
        epochs = data["epoch"].values
        if low is not None:
            axes.fill_between(epochs, low, high, color=look["color"], alpha=0.2, linewidth=0)
        axes.plot(epochs, middle, label=names[path], **look)
    one = next(iter(runs.values()))[series]
    axes.set(xlabel="epoch", ylabel=style.RISK if series == "risk" else _words(one), xlim=(0, None))
    if all(_is_positive(data[series].values) for data in runs.values()):
        axes.set_yscale("log")
    outside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if len(runs) > IN_FRAME else {}
    axes.legend(fontsize=6, **outside)
    return figure


def labels(runs: Mapping[Path, xr.Dataset]) -> dict[Path, str]:
    """Names of runs by what differs: the experiment and the method, and within a method its settings, sizes and seed.

    Settings of how much was stored are named where nothing else differs, and the file where nothing differs at all.
    """
    several = len({data.attrs["experiment"] for data in runs.values()}) > 1
    methods = {data.attrs["method"] for data in runs.values()}
    found = {}
    for method in methods:
        group = {path: _settings(data) for path, data in runs.items() if data.attrs["method"] == method}
        keys = _differing(list(group.values()))
        for path, settings in group.items():
            told = [f"{key} {_value(settings[key])}" for key in keys if key in settings]
            head = [METHODS.get(method, method)] if len(methods) > 1 or not told else []
            where = [str(runs[path].attrs["experiment"])] if several else []
            found[path] = ", ".join(where + head + told)
    texts = list(found.values())
    return {path: found[path] if texts.count(found[path]) == 1 else f"{found[path]} ({path})" for path in runs}


def _settings(data: xr.Dataset) -> dict[str, Any]:
    described = json.loads(data.attrs["settings"])["settings"]
    return {**described, **{key: int(data.attrs[key]) for key in ("M", "N", "seed")}}


def _differing(group: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys in which the members of a group differ; of what was stored only if there are no others."""
    keys = dict.fromkeys(key for settings in group for key in settings)
    found = [key for key in keys if len({json.dumps(settings.get(key)) for settings in group}) > 1]
    if "data" in found:
        found = [key for key in found if key not in FILLED_IN]
    return [key for key in found if key not in STORED] or found


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _lines(data: xr.Dataset, series: str) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """The line of a run and the ends of its band: over the tasks, or over the epochs that were not stored."""
    values = data[series]
    if "task" in values.dims:
        return tuple(getattr(values, how)("task").values for how in ("median", "min", "max"))
    low, high = (data.get(f"{series}_{end}") for end in ("smallest", "largest"))
    return values.values, *(None if end is None else end.values for end in (low, high))


def _is_positive(values: np.ndarray) -> bool:
    finite = values[np.isfinite(values)]
    return bool(finite.size) and bool((finite > 0).all())


def _words(values: xr.DataArray) -> str:
    return textwrap.fill(str(values.attrs.get("long_name", values.name)), WIDEST)
