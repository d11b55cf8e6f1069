"""The charts of Multi-Task CBO: training, approximations of some tasks, and what recycling saves."""

import numpy as np

from cbo_pipeline.pages.index import training, vega
from cbo_pipeline.pages.index.charts import films
from cbo_pipeline.pages.index.charts.looks import RISK
from cbo_pipeline.pages.index.content import Content
from cbo_pipeline.pages.index.training import Line
from cbo_pipeline.pages.index.vega import (
    BLUE,
    DASH_DOT,
    DASHED,
    GREEN,
    LONG,
    ORANGE,
    RED,
    SKY,
    SOLID,
    Chart,
    Key,
    Switches,
)

TASK_LOOKS = ((BLUE, SOLID), (SKY, LONG), (GREEN, DASH_DOT), (ORANGE, DASHED), (RED, SOLID))
ONE_TWO_FIVE = [step * 10.0**k for k in range(-4, 4) for step in (1, 2, 5)]


def multi_task_training(content: Content) -> Chart | None:
    """Figure 5: the median and the minimum over the tasks, and the maximum, switched off."""
    found = content.of("multi_task", "multi_task_cbo")
    if not found:
        return None
    curve = found[0]
    parts = (
        ("median over the tasks", (BLUE, SOLID), "risk", True),
        ("minimum over the tasks", (RED, DASHED), "risk_task_min", True),
        ("maximum over the tasks", (ORANGE, LONG), "risk_task_max", False),
    )
    lines = [
        Line(label, *look, {"risk": (curve.epochs, values)}, {"risk": curve.strokes(name)}, curve.seeds, on)
        for label, look, name, on in parts
        if (values := curve.series(name)) is not None
    ]
    alt = "Median and minimum over the tasks of the empirical risk against epochs of training with Multi-Task CBO."
    return training.chart("multi_task_training", lines, [RISK], alt, detail=content.detail, centre="mean")


def multi_task_examples(content: Content) -> Chart | None:
    """Figure 6: five of the tasks and their approximations, played through training where snapshots were kept."""
    curve = next(iter(content.of("multi_task", "multi_task_cbo")), None)
    last = curve and curve.example("prediction", "target")
    if last is None:
        return None
    P = last.sizes["task"]
    tasks = sorted({1 + (P - 1) * k // 4 for k in range(5)})
    last = last.sel(task=tasks).transpose("task", "x")
    played = curve.example("prediction_over_time")
    if played is not None and played.sizes["snapshot"] > 1:
        values = played["prediction_over_time"].sel(task=tasks).transpose("snapshot", "task", "coarse_x")
        x, epochs = played["coarse_x"].values, played["snapshot"].values
    else:
        values, x, epochs = last["prediction"].expand_dims("snapshot"), last["x"].values, curve.epochs[-1:]
    targets = np.stack([np.interp(x, last["x"].values, row) for row in last["target"].values])
    film = films.Film(epochs, films.risks_at(curve, epochs), x, values.values, targets)
    keys = [Key(None, f"problem {task}", *look) for task, look in zip(tasks, TASK_LOOKS, strict=False)]
    alt = "Five of the shifted sines and the approximations by their networks."
    return films.film("multi_task_examples", film, keys, alt)


def memory(content: Content) -> Chart | None:
    """What recycling saves: bytes that are kept against the number of tasks."""
    costs = {c["variant"]: c for c in content.speed.get("costs", ()) if c["experiment"] == "multi_task_memory"}
    kinds = {"multi_task_cbo": 0, "separate_cbo": 1}
    rows = []
    for curve in content.of("multi_task_memory"):
        cost = costs.get(curve.variant)
        if cost and curve.method in kinds and "tasks" in curve.settings:
            shared = {"c": kinds[curve.method], "P": int(curve.settings["tasks"])}
            for q, (key, scale) in enumerate((("state_bytes", 1e-6), ("peak_bytes", 1e-6), ("seconds_per_epoch", 1))):
                rows.append({**shared, "q": q, "v": float(f"{cost[key] * scale:.4g}")})
    if not rows:
        return None
    id = "multi_task_memory"
    switches = Switches(id)
    keys = [
        Key(f"{id}-on0", "one shared ensemble", BLUE, SOLID),
        Key(f"{id}-on1", "an ensemble per task", RED, DASHED),
    ]
    on = [switches.checkbox(f"on{k}", key.label, True, listed=False) for k, key in enumerate(keys)]
    labels = ["MB kept, counted", "MB grown, measured", "seconds per epoch"]
    quantity = switches.choice("q", "Show", [0, 1, 2], labels, 0)
    sizes = sorted({row["P"] for row in rows})
    channels = {
        "x": {
            "field": "P",
            "type": "quantitative",
            "scale": {"type": "log", "nice": False},
            "axis": {"title": "number of tasks P", "values": sizes},
        },
        "y": {
            "field": "v",
            "type": "quantitative",
            "scale": {"type": "log"},
            "axis": {"title": None, "values": ONE_TWO_FIVE, "format": "~g", "labelOverlap": "greedy"},
        },
        "color": vega.colours(keys),
    }
    chosen = {"transform": [{"filter": f"datum.q == {quantity} && {vega.shown(on)}"}]}
    tips = [{"field": "P", "title": "tasks"}, {"field": "v", "title": "value", "format": ".3~g"}]
    shape = {
        "field": "c",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": [0, 1], "range": ["circle", "square"]},
    }
    data = {"data": {"name": f"{id}_points"}}
    layers = [
        {
            **data,
            **chosen,
            "mark": {"type": "line", "strokeWidth": 1.6, "aria": False},
            "encoding": {**channels, "strokeDash": vega.dashes(keys)},
        },
        {
            **data,
            **chosen,
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1, "aria": False},
            "encoding": {**channels, "shape": shape, "tooltip": tips},
        },
    ]
    alt = "Memory and time of one shared ensemble and of one ensemble per task, against the number of tasks."
    spec = {"params": switches.params, "width": 600, "height": 240, "layer": layers}
    table = (
        ["tasks", *(f"{label}, {key.label}" for label in labels for key in keys)],
        [
            [
                str(P),
                *(
                    next((f"{r['v']:.3g}" for r in rows if (r["P"], r["q"], r["c"]) == (P, q, c)), "")
                    for q in range(3)
                    for c in range(2)
                ),
            ]
            for P in sizes
        ],
    )
    made = vega.compiled(spec, {f"{id}_points": rows}, alt)
    return Chart(id, made, 290, alt, "", tuple(keys), tuple(switches.options), table=table)
