"""The chart of training: curves against epochs, switched by the legend, as a statistic or seed by seed, zoomed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cbo_pipeline.pages.index import thin, vega
from cbo_pipeline.pages.index.vega import Chart, Key, Switches

POINTS = 24_000  # of all single runs of a chart together
LEAST = 60  # columns of a single run, unless the page would be too large even so
SEEDS = 30  # shown one by one
HOVER = 400  # epochs that the pointer can rest on
OVERVIEW = 44  # pixels
COLUMNS = 500  # of a statistic over the seeds


@dataclass(frozen=True, eq=False)
class Line:
    """A curve of the chart: how it looks, and by quantity its epochs and values (seed, epoch).

    ``strokes`` are the same with what happened between stored epochs, where that is known.
    """

    label: str
    colour: str
    dash: Sequence[int]
    data: Mapping[str, tuple[np.ndarray, np.ndarray]]
    strokes: Mapping[str, tuple[np.ndarray, np.ndarray]]
    seeds: tuple[int, ...] = ()
    on: bool = True
    width: float = 1.8


@dataclass(frozen=True)
class Quantity:
    """What the vertical axis shows: its name in the data, its label, whether it begins logarithmic, its format.

    ``worst`` is what a run counts as once it has diverged.
    """

    name: str
    label: str
    logarithmic: bool = True
    format: str = ".2e"
    worst: float = np.inf


def chart(
    id: str,
    lines: Sequence[Line],
    quantities: Sequence[Quantity],
    alt: str,
    *,
    detail: float = 1.0,
    title: str = "",
    centre: str = "median",
    singly: bool = False,
    long: bool = False,
    ratios: bool = False,
    height: int = 300,
) -> Chart:
    """Curves against epochs.

    ``singly`` begins with single seeds, ``long`` offers logarithmic epochs and ``ratios`` begins with them.
    ``detail`` is the share of the points that single runs keep.
    """
    known = [q for q in quantities if any(q.name in line.data for line in lines)]
    switches = Switches(id)
    panel = _panel(switches, lines, known, centre, singly, long, ratios)
    upper = {"width": 600, "height": height, "layer": [*_drawn(panel), *_hover(panel, switches.name("over"))]}
    spec = {"params": switches.params, "vconcat": [upper, _overview(panel)], "spacing": 10}
    made = vega.compiled(spec, _data(id, lines, known, centre, detail, long), alt)
    return Chart(
        id,
        made,
        height + OVERVIEW + 60,
        alt,
        title,
        tuple(panel.keys),
        tuple(switches.options),
        table=_table(lines, known, centre),
    )


@dataclass(frozen=True)
class _Panel:
    """What the layers of a chart share: its curves, its switches (names of parameters), its axes and transforms."""

    id: str
    lines: Sequence[Line]
    known: Sequence[Quantity]
    keys: Sequence[Key]
    on: Sequence[str]  # whether a curve is shown
    quantity: str
    single: str  # seeds one by one
    log: str
    zoom: str
    inside: str  # keeps the epochs that are shown
    positive: str  # keeps those that a logarithmic axis has; empty if the axis is never logarithmic
    x: Mapping[str, str]
    x_channel: Mapping[str, Any]
    y_channel: Mapping[str, Any]

    @property
    def chosen(self) -> list[dict]:
        """Keep the rows of the chosen quantity and the curves that are shown."""
        return [{"filter": f"datum.q == {self.quantity} && {vega.shown(self.on)}"}]

    @property
    def look(self) -> dict[str, Any]:
        return {"color": vega.colours(self.keys), "strokeDash": vega.dashes(self.keys)}

    def value(self, source: str, name: str) -> dict[str, Any]:
        """A value as the vertical axis shows it."""
        return {"calculate": vega.logarithmic(self.log, source), "as": name}


def _panel(
    switches: Switches,
    lines: Sequence[Line],
    known: Sequence[Quantity],
    centre: str,
    singly: bool,
    long: bool,
    ratios: bool,
) -> _Panel:
    """The switches of a chart, in the order in which the page has them, and what follows from them."""
    id = switches.id
    keys = [Key(f"{id}-on{k}", line.label, line.colour, line.dash) for k, line in enumerate(lines)]
    last = max(int(epochs[-1]) for line in lines for epochs, _ in line.data.values())
    on = [switches.checkbox(f"on{k}", line.label, line.on, listed=False) for k, line in enumerate(lines)]
    if len(known) > 1:
        quantity = switches.choice("q", "Show", list(range(len(known))), [q.label for q in known], 0)
    else:
        quantity = switches.value("q", "0")
    spread = {"median": "median and quartiles", "mean": "mean and extremes"}[centre]
    single = switches.choice("s", "Seeds", [0, 1], [spread, "one by one"], int(singly))
    log = switches.choice("y", "Values", [1, 0], ["logarithmic", "linear"], int(known[0].logarithmic))
    xlog = switches.choice("x", "Epochs", [0, 1], ["linear", "logarithmic"], int(ratios)) if long else None
    zoom = switches.name("zoom")
    low, high = _shown_epochs(switches, zoom, last, xlog)
    start = switches.value("start", f"{xlog} ? log(max({low}, 1)) / LN10 : {low}" if xlog else low)
    end = switches.value("end", f"{xlog} ? log({high}) / LN10 : {high}" if xlog else high)
    positive = f"!{xlog} || datum.e > 0" if xlog else ""
    return _Panel(
        id, lines, known, keys, on, quantity, single, log, zoom,
        inside=f"datum.e >= {low} && datum.e <= {high}" + (f" && ({positive})" if positive else ""),
        positive=positive,
        x={"calculate": f"{xlog} ? log(datum.e) / LN10 : datum.e" if xlog else "datum.e", "as": "x"},
        x_channel={
            "field": "x",
            "type": "quantitative",
            "scale": {"domainMin": {"expr": start}, "domainMax": {"expr": end}, "nice": False, "zero": False},
            "axis": vega.epoch_axis(xlog),
        },
        y_channel={
            "field": "y",
            "type": "quantitative",
            "scale": {"zero": False},
            "axis": vega.value_axis(log, "concat_0_y"),
        },
    )  # fmt: skip


def _shown_epochs(switches: Switches, zoom: str, last: int, xlog: str | None) -> tuple[str, str]:
    """The first and the last epoch that are shown: those of the zoom, else those that were typed."""
    first_shown = switches.number("from", "from epoch", 0, 0, last)
    last_shown = switches.number("to", "to", last, 0, last)
    unlog = (lambda k: f"({xlog} ? pow(10, {zoom}.x[{k}]) : {zoom}.x[{k}])") if xlog else (lambda k: f"{zoom}.x[{k}]")
    # Inputs give text. An empty or reversed range shows one epoch rather than nothing.
    low = switches.value("low", f"{zoom}.x ? {unlog(0)} : toNumber({first_shown})")
    high = switches.value("high", f"{zoom}.x ? {unlog(1)} : max(toNumber({last_shown}), toNumber({first_shown}) + 1)")
    return low, high


def _drawn(panel: _Panel) -> list[dict]:
    """The statistic over the seeds as bands and lines, or the runs one by one."""
    unfolded = [*panel.chosen, {"flatten": ["e", "v", "lo", "hi"]}, {"filter": panel.inside}, panel.x]
    statistic = [{"filter": f"!{panel.single}"}, *unfolded]
    singles = [{"filter": panel.single}, *panel.chosen, {"flatten": ["e", "v"]}, {"filter": panel.inside}, panel.x]
    axes = {"x": panel.x_channel, "y": panel.y_channel}
    widths = vega.by_curve([line.width for line in panel.lines])
    return [
        {
            "data": {"name": f"{panel.id}_bands"},
            "transform": [*statistic, panel.value("lo", "y"), panel.value("hi", "y2")],
            "mark": {"type": "area", "opacity": 0.17, "clip": True, "aria": False},
            "encoding": {**axes, "y2": {"field": "y2"}, "color": panel.look["color"]},
        },
        {
            "data": {"name": f"{panel.id}_bands"},
            "transform": [*statistic, panel.value("v", "y")],
            "mark": {"type": "line", "clip": True, "aria": False, "strokeJoin": "round"},
            "encoding": {**axes, **panel.look, "strokeWidth": widths},
        },
        {
            "data": {"name": f"{panel.id}_runs"},
            "transform": [*singles, panel.value("v", "y")],
            "mark": {"type": "line", "strokeWidth": 0.9, "opacity": 0.65, "clip": True, "aria": False},
            "encoding": {**axes, **panel.look, "detail": {"field": "s", "type": "nominal"}},
        },
    ]


def _overview(panel: _Panel) -> dict[str, Any]:
    """All epochs, small, below the chart: where a part of them is chosen with the pointer."""
    brush = {
        "type": "interval",
        "encodings": ["x"],
        "zoom": False,
        "mark": {"fill": "var(--soft)", "fillOpacity": 0.16, "stroke": "var(--soft)", "cursor": "move"},
    }
    return {
        "width": 600,
        "height": OVERVIEW,
        "data": {"name": f"{panel.id}_bands"},
        "transform": [
            *panel.chosen,
            {"flatten": ["e", "v"]},
            *([{"filter": panel.positive}] if panel.positive else []),
            panel.x,
            panel.value("v", "y"),
        ],
        "params": [{"name": panel.zoom, "select": brush}],
        "mark": {"type": "line", "strokeWidth": 1, "aria": False, "clip": True},
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "scale": {"nice": False, "zero": False}, "axis": None},
            "y": {"field": "y", "type": "quantitative", "scale": {"zero": False}, "axis": None},
            **panel.look,
        },
        "view": {"fill": "var(--well)", "cursor": "crosshair"},
    }


def _hover(panel: _Panel, over: str) -> list[dict]:
    """A rule at the epoch nearest to the pointer, a dot on every curve, and their values in words."""
    curves = range(len(panel.lines))
    fields = ["e", *(f"{name}{k}" for k in curves for name in ("v", "lo", "hi"))]
    rows = [
        {"filter": f"datum.q == {panel.quantity}"}, {"flatten": fields}, {"filter": panel.inside}, panel.x,
    ]  # fmt: skip
    tips = [{"field": "e", "title": "epoch"}]
    tips += [{"field": f"t{k}", "title": line.label} for k, line in enumerate(panel.lines)]
    dots = [
        {"filter": {"param": over, "empty": False}},
        {"fold": [f"v{k}" for k in curves], "as": ["line", "v"]},
        {"calculate": "+substring(datum.line, 1)", "as": "c"},
        {"filter": f"isValid(datum.v) && {vega.shown(panel.on)}"},
        panel.value("v", "y"),
    ]
    nearest = {"type": "point", "encodings": ["x"], "nearest": True, "on": "pointerover", "clear": "pointerout"}
    return [
        {
            "data": {"name": f"{panel.id}_hover"},
            "transform": [*rows, *_in_words(panel)],
            "params": [{"name": over, "select": nearest}],
            "mark": {"type": "rule", "aria": False, "strokeWidth": 1},
            "encoding": {
                "x": panel.x_channel,
                "opacity": {"condition": {"param": over, "value": 1, "empty": False}, "value": 0},
                "tooltip": tips,
            },
        },
        {
            "data": {"name": f"{panel.id}_hover"},
            "transform": [*rows, *dots],
            "mark": {"type": "circle", "size": 42, "opacity": 1, "aria": False},
            "encoding": {"x": panel.x_channel, "y": panel.y_channel, "color": vega.colours(panel.keys)},
        },
    ]


def _in_words(panel: _Panel) -> list[dict]:
    """The statistic of every curve as the pointer tells it."""
    formats = [q.format for q in panel.known]
    return [
        {
            "calculate": f"isValid(datum.v{k}) ? format(datum.v{k}, {formats}[datum.q]) + ' (' + format(datum.lo{k},"
            f" {formats}[datum.q]) + ' to ' + format(datum.hi{k}, {formats}[datum.q]) + ')' : '–'",
            "as": f"t{k}",
        }
        for k in range(len(panel.lines))
    ]


def statistics(values: np.ndarray, centre: str, worst: float = np.inf) -> np.ndarray:
    """Centre, lower and upper edge over the seeds, (3, epoch): median and quartiles, or mean and extremes.

    A run that diverged counts as infinitely bad, as in the summaries.
    """
    filled = np.where(np.isfinite(values), values, worst)
    if centre == "median":
        with np.errstate(invalid="ignore"):  # between infinities
            low, middle, high = np.quantile(filled, [0.25, 0.5, 0.75], axis=0, method="median_unbiased")
    else:
        low, middle, high = filled.min(0), filled.mean(0), filled.max(0)
    return np.stack([middle, low, high])


def _data(
    id: str, lines: Sequence[Line], known: Sequence[Quantity], centre: str, detail: float, long: bool
) -> dict[str, list[dict]]:
    """The rows of the chart: a curve is one row with arrays, which the chart unfolds."""
    bands, runs, hover = [], [], []
    count = sum(min(len(values), SEEDS) for line in lines for _, values in line.data.values())
    columns = thin.columns_for(count, round(detail * POINTS), round(LEAST * min(1.0, 10 * detail)))
    for q, quantity in enumerate(known):
        tables = {}
        for c, line in enumerate(lines):
            if quantity.name not in line.data:
                continue
            epochs, values = line.data[quantity.name]
            over_seeds = statistics(values, centre, quantity.worst)
            kept = thin.kept(epochs, over_seeds, round(detail * COLUMNS), long)
            row = {name: thin.rounded(part[kept]) for name, part in zip(("v", "lo", "hi"), over_seeds, strict=True)}
            bands.append({"q": q, "c": c, "e": epochs[kept].tolist(), **row})
            tables[c] = epochs, over_seeds
            seeds = line.seeds or range(len(values))
            epochs, singles = line.strokes[quantity.name]
            for seed, one in list(zip(seeds, singles, strict=True))[:SEEDS]:
                kept = thin.kept(epochs, one, columns, long)
                one_row = {"q": q, "c": c, "s": int(seed), "e": epochs[kept].tolist(), "v": thin.rounded(one[kept])}
                runs.append(one_row)
        hover.append(_hover_rows(q, tables))
    return {f"{id}_bands": bands, f"{id}_runs": runs, f"{id}_hover": hover}


def _hover_rows(q: int, tables: Mapping[int, tuple[np.ndarray, np.ndarray]]) -> dict[str, Any]:
    """The statistics of all curves at some epochs, as one row with arrays."""
    every = np.unique(np.concatenate([epochs for epochs, _ in tables.values()]))
    # Even in epochs for a linear axis, and even in ratios for the start and a logarithmic one.
    even = np.linspace(0, len(every) - 1, min(len(every), HOVER)).round().astype(int)
    chosen = every[np.union1d(even, thin.in_ratios(len(every), HOVER // 4))]
    row: dict[str, Any] = {"q": q, "e": chosen.tolist()}
    for c, (epochs, over_seeds) in tables.items():
        at = np.searchsorted(epochs, chosen).clip(max=len(epochs) - 1)
        known = np.where(epochs[at] == chosen, over_seeds[:, at], np.nan)
        row.update(zip((f"v{c}", f"lo{c}", f"hi{c}"), map(thin.rounded, known), strict=True))
    return row


def _table(lines: Sequence[Line], known: Sequence[Quantity], centre: str) -> tuple[list[str], list[list[str]]]:
    """The same in numbers, at a few epochs."""
    quantity = known[0]
    shown = [line for line in lines if quantity.name in line.data]
    every = sorted({int(e) for line in shown for e in line.data[quantity.name][0]})
    wanted = {every[0], every[-1], *(int(line.data[quantity.name][0][-1]) for line in shown)}
    wanted |= {int(v) for v in (10, 30, 100, 300, 1000, 3000) if v in every}
    rows = []
    for epoch in sorted(wanted):
        cells = [str(epoch)]
        for line in shown:
            epochs, values = line.data[quantity.name]
            at = np.flatnonzero(epochs == epoch)
            over_seeds = statistics(values[:, at], centre, quantity.worst)
            cells.append(_words(over_seeds[:, 0], quantity) if at.size else "")
        rows.append(cells)
    spread = "quartiles" if centre == "median" else "extremes"
    return [f"epoch ({centre} and {spread} of {quantity.label})", *(line.label for line in shown)], rows


def _words(statistic: np.ndarray, quantity: Quantity) -> str:
    worst = "∞" if quantity.worst > 0 else "−∞"
    middle, low, high = (format(v, quantity.format) if np.isfinite(v) else worst for v in statistic)
    return f"{middle} ({low} to {high})"
