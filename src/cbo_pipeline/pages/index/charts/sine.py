"""The charts of the sine: training, approximations, and the ensemble that gathers around it."""

import numpy as np

from cbo_pipeline.pages.index import thin, training, vega
from cbo_pipeline.pages.index.charts import films
from cbo_pipeline.pages.index.charts.looks import LOOKS, LOOP, NAMES, RISK, VARIANCE, line_of
from cbo_pipeline.pages.index.content import Content
from cbo_pipeline.pages.index.vega import BLUE, DOTTED, INK, LONG, ORANGE, RED, SKY, SOLID, Chart, Key, Switches

PARTICLES = 80  # shown of an ensemble
PRECISIONS = {"float32": ("single precision", BLUE, SOLID), "float64": ("double precision", ORANGE, LONG)}
SPREAD = training.Quantity("spread", "spread of the particles", format=".1e")


def sine_training(content: Content) -> Chart | None:
    """Figure 2, with the hybrid and double precision beside it, switched off."""
    variants = {
        "cbo": ("CBO", LOOKS["cbo"], True),
        "adam": ("Adam", LOOKS["adam"], True),
        "hybrid": ("hybrid (ours)", LOOKS["hybrid"], False),
        "cbo_float64": ("CBO in float64 (ours)", (ORANGE, LONG), False),
    }
    lines = [
        line_of(curve, *variants[curve.variant][:2], ("risk", "risk_loop", "variance"), variants[curve.variant][2])
        for curve in content.of("sine", *variants)
    ]
    if not lines:
        return None
    alt = "Empirical risk against epochs of training for CBO and Adam on the sine."
    return training.chart("sine_training", lines, [RISK, LOOP, VARIANCE], alt, detail=content.detail)


def sine_example(content: Content) -> Chart | None:
    """Figure 3: the target, some training points, and the approximations by the typical runs, or their errors."""
    id, target = "sine_example", "sin(2πx)"
    found = {
        curve.variant: shown
        for curve in content.of("sine", "cbo", "adam")
        if (shown := curve.example("prediction", "target")) is not None
    }
    if not found:
        return None
    switches, first = Switches(id), next(iter(found.values()))
    keys = [Key(f"{id}-on{k}", NAMES[name], *LOOKS[name]) for k, name in enumerate(found)]
    keys += [Key(f"{id}-on{len(found)}", target, INK, DOTTED)]
    on = [switches.checkbox(f"on{k}", key.label, True, listed=False) for k, key in enumerate(keys)]
    errors = switches.choice("q", "Show", [0, 1], ["approximations", "errors"], 0)
    x = thin.rounded(first["x"].values[::2], 4)
    wanted = thin.rounded(first["target"].values[::2], 4)
    values = [thin.rounded(one["prediction"].values[::2], 4) for one in found.values()]
    rows = [{"c": k, "x": x, "v": v, "t": wanted} for k, v in enumerate([*values, wanted])]
    shown_value = {"calculate": f"{errors} ? datum.v - datum.t : datum.v", "as": "y"}
    x_channel = {"field": "x", "type": "quantitative", "axis": {"title": "x", "tickCount": 5}}
    y_channel = {"field": "y", "type": "quantitative", "axis": {"title": None, "tickCount": 5, "format": "~g"}}
    over = switches.name("over")
    nearest = {"type": "point", "encodings": ["x"], "nearest": True, "on": "pointerover", "clear": "pointerout"}
    tips = [{"field": "x", "title": "x"}, {"field": "target", "title": target}]
    tips += [{"field": f"v{k}", "title": NAMES[name]} for k, name in enumerate(found)]
    columns = zip(x, wanted, *values, strict=True)
    hover = [{"x": a, "target": t, **{f"v{k}": v for k, v in enumerate(vs)}} for a, t, *vs in columns]
    layers = [
        {
            "data": {"name": f"{id}_lines"},
            "transform": [{"filter": vega.shown(on)}, {"flatten": ["x", "v", "t"]}, shown_value],
            "mark": {"type": "line", "strokeWidth": 1.8, "aria": False},
            "encoding": {
                "x": x_channel, "y": y_channel, "color": vega.colours(keys), "strokeDash": vega.dashes(keys),
            },
        },
        {
            "data": {"name": f"{id}_hover"},
            "params": [{"name": over, "select": nearest}],
            "mark": {"type": "rule", "aria": False},
            "encoding": {
                "x": x_channel,
                "opacity": {"condition": {"param": over, "value": 1, "empty": False}, "value": 0},
                "tooltip": tips,
            },
        },
    ]  # fmt: skip
    data = {f"{id}_lines": rows, f"{id}_hover": hover[::2]}
    samples = content.of("sine", *found)[0].example("sample_x", "sample_y")
    if samples is not None:
        keys.append(Key(None, "training data", vega.GREY, shape="dot"))
        points = zip(*(thin.rounded(samples[name].values, 3) for name in ("sample_x", "sample_y")), strict=True)
        data[f"{id}_points"] = [{"x": a, "y": b} for a, b in points]
        layers.insert(
            0,
            {
                "data": {"name": f"{id}_points"},
                "transform": [{"filter": f"!{errors}"}],
                "mark": {"type": "circle", "size": 9, "fill": "var(--c-grey)", "opacity": 0.6, "aria": False},
                "encoding": {"x": x_channel, "y": y_channel},
            },
        )
    alt = f"The target {target} and its approximations by {' and '.join(NAMES[name] for name in found)}."
    spec = {"params": switches.params, "width": 600, "height": 260, "layer": layers}
    return Chart(id, vega.compiled(spec, data, alt), 310, alt, "$y$", tuple(keys), tuple(switches.options))


def precision(content: Content) -> Chart | None:
    """How far the particles differ in the typical parameter, in single and in double precision, run by run."""
    rows = content.checks.get("spread", {}).get("rows", ())
    lines = []
    for name, look in PRECISIONS.items():
        found = [row for row in rows if row["precision"] == name]
        if found:
            epochs = np.array(found[0]["epochs"])
            data = {key: (epochs, np.array([row[key] for row in found])) for key in ("spread", "risk")}
            lines.append(training.Line(*look, data, data, tuple(row["seed"] for row in found)))
    if not lines:
        return None
    alt = "Spread of the particles in the typical parameter against epochs, in single and in double precision."
    return training.chart("precision", lines, [SPREAD, RISK], alt, detail=content.detail, singly=True)


def gathering(content: Content) -> Chart | None:
    """The ensemble gathering around the sine: every particle a thin line, the consensus point a thick one."""
    curve = next(iter(content.of("gathering", "cbo")), None)
    shown = curve and curve.example("particle_prediction", "prediction_over_time", "target")
    if shown is None:
        return None
    epochs = np.intersect1d(shown["kept_epoch"].values, shown["snapshot"].values)
    chosen = np.unique(np.linspace(0, shown.sizes["particle"] - 1, PARTICLES).round().astype(int))
    x = shown["coarse_x"].values[::2]
    particles = shown["particle_prediction"].transpose("kept_epoch", "particle", "coarse_x")
    reported = shown["prediction_over_time"].transpose("snapshot", "coarse_x").sel(snapshot=epochs)
    values = np.concatenate(
        [particles.sel(kept_epoch=epochs).values[:, chosen, ::2], reported.values[:, None, ::2]], axis=1
    )
    targets = np.interp(x, shown["x"].values, shown["target"].values)[None]
    film = films.Film(epochs, films.risks_at(curve, epochs), x, values, targets)
    keys = [Key(None, "particles", SKY), Key(None, "consensus point", RED)]
    alt = "Approximations of the sine by all particles of an ensemble and by their consensus point, epoch by epoch."
    return films.film("gathering", film, keys, alt, ensemble=True)
