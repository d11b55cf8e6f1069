"""The charts of what the paper proves or recalls: the bound of Proposition 3, the condition for consensus."""

import numpy as np

from cbo_pipeline.claims.theory import discrete_line
from cbo_pipeline.pages.index import thin, vega
from cbo_pipeline.pages.index.content import Content
from cbo_pipeline.pages.index.vega import (
    BLUE,
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

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")


def variance_decay(content: Content) -> Chart | None:
    """The variance without noise over the bound of Proposition 3, step by step, every seed."""
    id = "variance_decay"
    curves = [curve for curve in content.of("variance_decay") if curve.series("variance") is not None]
    if not curves:
        return None
    switches = Switches(id)
    groups: dict[str, int] = {}
    keys, rows = [], []
    for curve in curves:
        dt, equal = float(curve.settings["dt"]), curve.settings.get("quiet_weights") == "equal"
        starts = int(curve.settings.get("barycentre_starts", 1))
        label = f"Δt = {dt:g}, {'equal' if equal else 'Gibbs'} weights" + (f", {starts} starts" if starts > 1 else "")
        if label not in groups:
            groups[label] = len(keys)
            colour = (BLUE if dt < 0.3 else RED) if starts == 1 else (SKY if dt < 0.3 else ORANGE)
            keys.append(Key(f"{id}-on{len(keys)}", label, colour, SOLID if equal else DASHED))
        first = int(curve.settings.get("quiet_from", 0))
        chosen = curve.epochs > first
        values = curve.series("variance")[:, chosen]
        steps = curve.epochs[chosen] - first - 1
        for seed, one in zip(curve.seeds, values, strict=True):
            bound = one[0] * (1 - dt) ** (2.0 * steps)
            with np.errstate(divide="ignore", invalid="ignore"):
                parts = one / one[0], one / bound
            trained = int(first > 0)
            rows += [
                {"q": q, "t": trained, "c": groups[label], "s": int(seed), "r": f"{trained}-{seed}",
                 "e": steps.tolist(), "v": thin.rounded(part, 5)}
                for q, part in enumerate(parts)
            ]  # fmt: skip
    on = [switches.checkbox(f"on{k}", key.label, "equal" in key.label, listed=False) for k, key in enumerate(keys)]
    quantity = switches.choice("q", "Show", [0, 1], ["variance and bounds", "ratio to the bound"], 0)
    start = switches.choice("t", "From", [2, 0, 1], ["all", "random ensembles", "trained ensembles"], 2)
    log = switches.value("y", f"{quantity} == 0")
    filter_ = f"datum.q == {quantity} && ({start} == 2 || datum.t == {start}) && {vega.shown(on)}"
    transform = [{"filter": filter_}, {"flatten": ["e", "v"]}]
    channels = {
        "x": {
            "field": "e",
            "type": "quantitative",
            "scale": {"nice": False},
            "axis": {"title": "step k without noise", "tickCount": 6},
        },
        "y": {
            "field": "y",
            "type": "quantitative",
            "scale": {"zero": False},
            "axis": vega.value_axis(log, "y", format="~g"),
        },
    }
    tips = [
        {"field": "e", "title": "step"}, {"field": "s", "title": "seed"},
        {"field": "v", "title": "value", "format": ".4~g"},
    ]  # fmt: skip
    value = {"calculate": vega.logarithmic(log, "v"), "as": "y"}
    layers = [
        {
            "data": {"name": f"{id}_runs"},
            "transform": [*transform, value],
            "mark": {"type": "line", "strokeWidth": 1.1, "opacity": 0.8, "aria": False, "tooltip": True},
            "encoding": {
                **channels, "color": vega.colours(keys), "strokeDash": vega.dashes(keys),
                "detail": {"field": "r", "type": "nominal"}, "tooltip": tips,
            },
        },
        {
            "data": {"name": f"{id}_bounds"},
            "transform": [{"filter": f"datum.q == {quantity}"}, {"flatten": ["e", "v"]}, value],
            "mark": {"type": "line", "strokeDash": list(DOTTED), "stroke": INK, "strokeWidth": 1.4, "aria": False},
            "encoding": {**channels, "detail": {"field": "r", "type": "nominal"}},
        },
    ]  # fmt: skip
    longest: dict[float, int] = {}
    for curve in curves:
        dt, steps = float(curve.settings["dt"]), int(curve.epochs[-1]) - int(curve.settings.get("quiet_from", 0))
        longest[dt] = max(longest.get(dt, 1), steps)
    bounds = [
        {
            "q": q,
            "r": r,
            "e": list(range(last)),
            "v": thin.rounded((1 - dt) ** (2.0 * np.arange(last)) if q == 0 else np.ones(last), 5),
        }
        for r, (dt, last) in enumerate(longest.items())
        for q in (0, 1)
    ]
    data = {f"{id}_runs": rows, f"{id}_bounds": bounds}
    alt = "Variance of the ensemble without noise and the bound of Proposition 3, against steps."
    spec = {"params": switches.params, "width": 600, "height": 280, "layer": layers}
    keys.append(Key(None, "bounds", INK, DOTTED))
    return Chart(id, vega.compiled(spec, data, alt), 330, alt, "", tuple(keys), tuple(switches.options))


def consensus_condition(content: Content) -> Chart | None:
    """How far the variance fell against sigma^2 / (2 lambda), every run, by the number of parameters.

    In steps of dt the mean square contracts if (1 - lambda dt)^2 + sigma^2 dt < 1.
    """
    id = "consensus_condition"
    rows = []
    for curve in content.of("consensus_condition"):
        variance = curve.series("variance")
        if variance is None or not {"sigma_squared", "lambda"} <= set(curve.settings):
            continue
        ratio = float(curve.settings["sigma_squared"]) / (2 * float(curve.settings["lambda"]))
        known = np.flatnonzero(np.isfinite(variance).any(axis=0) & (variance != 0).any(axis=0))
        first = known[0] if known.size else 0
        with np.errstate(divide="ignore", invalid="ignore"):
            fall = np.log10(variance[:, -1] / variance[:, first])
        for seed, value in zip(curve.seeds, fall, strict=True):
            clipped = float(np.clip(np.nan_to_num(value, nan=70, posinf=70, neginf=-70), -70, 70))
            rows.append({"M": curve.M, "r": round(ratio, 4), "v": round(clipped, 2), "s": int(seed)})
        discrete = discrete_line(float(curve.settings["lambda"]), float(curve.settings.get("dt", 0)))
    if not rows:
        return None
    widths = sorted({row["M"] for row in rows})
    palette = (BLUE, RED, GREEN, ORANGE, PURPLE, SKY)
    keys = [
        Key(f"{id}-on{k}", f"{3 * M} parameters", palette[k % 6], None, SHAPES[k % 6]) for k, M in enumerate(widths)
    ]
    for row in rows:
        row["c"] = widths.index(row.pop("M"))
    switches = Switches(id)
    on = [switches.checkbox(f"on{k}", key.label, True, listed=False) for k, key in enumerate(keys)]
    scale = {"domain": list(range(len(keys))), "range": [key.shape for key in keys]}
    layers = [
        {
            "data": {"values": [{"x": 1, "c": 0}, {"x": round(discrete, 4), "c": 1}]},
            "mark": {"type": "rule", "stroke": INK, "strokeWidth": 1.4, "aria": False},
            "encoding": {
                "x": {"field": "x", "type": "quantitative"},
                "strokeDash": vega.by_curve([list(DOTTED), list(LONG)]),
            },
        },
        {
            "data": {"values": [{"y": 0}]},
            "mark": {"type": "rule", "stroke": "var(--rule)", "aria": False},
            "encoding": {"y": {"field": "y", "type": "quantitative"}},
        },
        {
            "data": {"name": f"{id}_points"},
            "transform": [{"filter": vega.shown(on)}],
            "mark": {"type": "point", "size": 60, "strokeWidth": 1.8, "opacity": 0.9, "aria": False},
            "encoding": {
                "x": {
                    "field": "r",
                    "type": "quantitative",
                    "scale": {"type": "log", "nice": False, "padding": 16},
                    "axis": {"title": "σ̃² / (2λ)", "format": "~g", "tickCount": 6},
                },
                "y": {"field": "v", "type": "quantitative", "axis": {"title": None, "tickCount": 6}},
                "color": vega.colours(keys),
                "shape": {"field": "c", "type": "nominal", "legend": None, "scale": scale},
                "tooltip": [
                    {"field": "r", "title": "σ̃² / (2λ)"},
                    {"field": "v", "title": "decades"},
                    {"field": "s", "title": "seed"},
                ],
            },
        },
    ]
    alt = "By how many decades the variance of the ensemble changed, against the noise as a share of the condition."
    spec = {"params": switches.params, "width": 600, "height": 260, "layer": layers}
    made = vega.compiled(spec, {f"{id}_points": rows}, alt)
    title = "change of the variance, in decades (below 0: the particles agree)"
    lines = Key(None, "the condition", INK, DOTTED), Key(None, "the same in discrete time", INK, LONG)
    return Chart(id, made, 310, alt, title, (*keys, *lines))
