"""The charts of the square: the risk against the width and the number of particles, and training."""

from typing import Any

import numpy as np

from cbo_pipeline.pages.index import training, vega
from cbo_pipeline.pages.index.charts.looks import RISK, line_of
from cbo_pipeline.pages.index.content import Content, Curve
from cbo_pipeline.pages.index.vega import (
    BLUE,
    DASH_DOT,
    DASHED,
    DOTTED,
    GREEN,
    INK,
    LONG,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    SOLID,
    Chart,
    Key,
    Switches,
)

SWEEP = ((ORANGE, SOLID), (SKY, LONG), (GREEN, DASH_DOT), (RED, DASHED), (INK, SOLID), (PURPLE, DOTTED), (BLUE, LONG))
TAIL = 50  # epochs whose median is shown beside the last one


def mean_field(content: Content, along: str) -> Chart | None:
    """Figures 8 and 9: the risk at the last epoch against M, or N, every run and their mean."""
    curves = _sweep(content, along)
    if len(curves) < 2:
        return None
    id = f"mean_field_{along}"
    switches = Switches(id)
    epoch = min(int(curve.epochs[-1]) for curve in curves)
    names = [f"mean at epoch {epoch}", f"mean of medians, last {TAIL}", "runs", "label noise"]
    keys = [
        Key(f"{id}-on0", names[0], BLUE, SOLID, "circle"),
        Key(f"{id}-on1", names[1], RED, DASHED, "square"),
        Key(f"{id}-on2", names[2], BLUE, shape="tick-mark"),
        Key(None, names[3], INK, DOTTED),
    ]
    on = [switches.checkbox(f"on{k}", names[k], True, listed=False) for k in range(3)]
    log = switches.choice("y", "Values", [1, 0], ["logarithmic", "linear"], 1)
    rows, table = [], []
    for curve in curves:
        risk = curve.series()
        size, last = getattr(curve, along), risk[:, -1]
        tail = np.median(risk[:, -TAIL:], axis=1)
        means = [float(np.mean(last)), float(np.mean(tail))]
        rows += [{"c": k, "n": size, "v": float(f"{mean:.4g}")} for k, mean in enumerate(means)]
        rows += [
            {"c": 2, "n": size, "v": float(f"{v:.4g}"), "s": int(s)} for s, v in zip(curve.seeds, last, strict=True)
        ]
        table.append(
            [str(size), *(f"{v:.3g}" for v in means), f"{last.min():.3g} to {last.max():.3g}", str(len(last))]
        )
    rows = [row for row in rows if np.isfinite(row["v"])]
    floor = float(curves[0].settings.get("label_noise", 0)) ** 2
    sizes = [getattr(curve, along) for curve in curves]
    channels = {
        "x": {
            "field": "n",
            "type": "quantitative",
            "scale": {"type": "log", "nice": False, "padding": 12},
            "axis": {"title": {"M": "network width M", "N": "number of particles N"}[along], "values": sizes},
        },
        "y": {
            "field": "y",
            "type": "quantitative",
            "scale": {"zero": False},
            "axis": vega.value_axis(log, "y", format="~e"),
        },
    }
    calculated = {"calculate": vega.logarithmic(log, "v"), "as": "y"}

    def layer(filter_: str, mark: dict[str, Any], **more) -> dict[str, Any]:
        return {
            "data": {"name": f"{id}_points"},
            "transform": [{"filter": f"({filter_}) && {vega.shown(on)}"}, calculated],
            "mark": {"aria": False, **mark},
            "encoding": {**channels, **more},
        }

    tips = [{"field": "n", "title": along}, {"field": "v", "title": "risk", "format": ".3e"}]
    shape = {
        "field": "c", "type": "nominal", "legend": None, "scale": {"domain": [0, 1], "range": ["circle", "square"]},
    }  # fmt: skip
    colour = vega.colours(keys)
    layers = [
        layer("datum.c == 2", {"type": "tick", "orient": "horizontal", "bandSize": 16, "thickness": 1.6,
              "opacity": 0.5, "color": BLUE}, tooltip=[*tips, {"field": "s", "title": "seed"}]),
        layer("datum.c < 2", {"type": "line", "strokeWidth": 1.6}, color=colour, strokeDash=vega.dashes(keys)),
        layer("datum.c < 2", {"type": "point", "filled": True, "size": 55, "opacity": 1}, color=colour, shape=shape,
              tooltip=tips),
    ]  # fmt: skip
    data = {f"{id}_points": rows}
    if floor > 0:
        layers.append(
            {
                "data": {"name": f"{id}_floor"},
                "transform": [calculated],
                "mark": {
                    "type": "rule",
                    "strokeDash": list(DOTTED),
                    "stroke": INK,
                    "strokeWidth": 1.3,
                    "aria": False,
                },
                "encoding": {"y": channels["y"]},
            }
        )
        data[f"{id}_floor"] = [{"v": floor}]
    else:
        keys.pop()
    fixed = "N" if along == "M" else "M"
    alt = f"Empirical risk at epoch {epoch} against {along}, with {fixed} = {getattr(curves[0], fixed)}."
    spec = {"params": switches.params, "width": 400, "height": 260, "layer": layers}
    return Chart(
        id,
        vega.compiled(spec, data, alt),
        310,
        alt,
        rf"risk, ${fixed} = {getattr(curves[0], fixed)}$",
        tuple(keys),
        tuple(switches.options),
        table=([along, *names[:2], names[2], "seeds"], table),
    )


def _sweep(content: Content, along: str) -> list[Curve]:
    """The curves of optimal-transport CBO on the square along M (at the largest N) or along N (at the largest M)."""
    curves = content.of("square", "ot_cbo")
    fixed = "N" if along == "M" else "M"
    top = max((getattr(curve, fixed) for curve in curves), default=0)
    chosen = [curve for curve in curves if getattr(curve, fixed) == top and curve.seeds]
    return sorted(chosen, key=lambda curve: getattr(curve, along))


def square_training(content: Content) -> Chart | None:
    """Risk per epoch for every width and every ensemble size of figures 8 and 9."""
    lines = []
    for along in "MN":
        found = _sweep(content, along)
        if not found:
            return None
        fixed = "N" if along == "M" else "M"
        for k, (curve, look) in enumerate(zip(found, SWEEP, strict=False)):
            if along == "N" and curve in _sweep(content, "M"):
                continue
            label = f"{along} = {getattr(curve, along)}, {fixed} = {getattr(curve, fixed)}"
            extreme = k in (0, len(found) - 1)
            lines.append(
                line_of(curve, label, look if along == "M" else (look[0], DOTTED), ["risk"], along == "M" and extreme)
            )
    if not lines:
        return None
    alt = (
        "Empirical risk against epochs of optimal-transport CBO on the square, for several widths and ensemble sizes."
    )
    return training.chart("square_training", lines, [RISK], alt, detail=content.detail)
