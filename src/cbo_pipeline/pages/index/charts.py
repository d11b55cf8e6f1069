"""The interactive figures of the page, one function each, which returns nothing where its results are missing."""

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cbo_pipeline.pages.index import thin, training, vega
from cbo_pipeline.pages.index.content import Content, Curve
from cbo_pipeline.pages.index.training import Line, Quantity
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

RISK = Quantity("risk", "risk")
VARIANCE = Quantity("variance", "variance")
ACCURACY = Quantity("accuracy", "accuracy on test images", False, ".3f")
LOOP = Quantity("risk_loop", "risk as the loop prints it")
LOOKS = {"cbo": (BLUE, SOLID), "adam": (RED, DASHED), "hybrid": (GREEN, DASH_DOT)}
NAMES = {"cbo": "CBO", "adam": "Adam", "hybrid": "hybrid", "ot_cbo": "optimal-transport CBO"}
SWEEP = ((ORANGE, SOLID), (SKY, LONG), (GREEN, DASH_DOT), (RED, DASHED), (INK, SOLID), (PURPLE, DOTTED), (BLUE, LONG))
RATES = ((RED, SOLID), (SKY, LONG), (GREEN, SOLID), (BLUE, DASHED), (INK, DOTTED))
PARTICLES = 80  # shown of an ensemble
UNIT = 0.01  # of the values of a film: a pixel of the chart
ONE_TWO_FIVE = [step * 10.0**k for k in range(-4, 4) for step in (1, 2, 5)]
TAIL = 50  # epochs whose median is shown beside the last one


def line_of(curve: Curve, label: str, look: tuple[str, Sequence[int]], names: Sequence[str], on=True) -> Line:
    """A line of a chart of training from a curve, with those of the quantities that it has."""
    data = {name: (curve.epochs, values) for name in names if (values := curve.series(name)) is not None}
    strokes = {name: curve.strokes(name) for name in data}
    # Adam swings from epoch to epoch: a thin line.
    return Line(label, *look, data, strokes, curve.seeds, on, 0.9 if curve.method == "adam" else 1.8)


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


HORIZON = {
    "cbo": (SKY, LONG),
    "hybrid": (ORANGE, DASH_DOT),
    "hybrid_v1": (PURPLE, DASHED),
}


def mnist_training(content: Content) -> Chart | None:
    """Figure 4: risk, or accuracy on the test images, of Adam, CBO and the hybrid, as far as they were run."""
    found = content.of("mnist", "cbo", "adam", "hybrid")
    if not found:
        return None
    names = ("risk", "risk_loop", "accuracy")
    lines = [
        line_of(curve, f"{NAMES[curve.variant]}, Δt = {_step(curve)}", LOOKS[curve.variant], names) for curve in found
    ]
    lines += _horizon(content, names)
    alt = "Empirical risk against epochs of training for CBO, Adam and the hybrid on MNIST."
    ends = [int(line.data["risk"][0][-1]) for line in lines]
    long = max(ends) > 4 * min(ends)
    return training.chart(
        "comparison_cbo_adam", lines, [RISK, LOOP, ACCURACY], alt, detail=content.detail, long=long, ratios=long
    )


def _horizon(content: Content, names: Sequence[str]) -> list[Line]:
    """The runs over thousands of epochs, with few seeds."""
    lines = []
    for curve in content.of("mnist_horizon", *HORIZON):
        name = NAMES.get(curve.variant, "hybrid of the first version")
        label = f"{name}, Δt = {_step(curve)}, over {int(curve.epochs[-1])} epochs"
        lines.append(line_of(curve, label, HORIZON[curve.variant], names))
    return lines


def mnist_rates(content: Content) -> Chart | None:
    """Adam at every learning rate of the sweep, and the hybrid where it was run at length, seed by seed."""
    adams = [curve for curve in content.of("mnist") if curve.method == "adam"]
    if len(adams) < 2:
        return None
    adams.sort(key=lambda curve: -float(curve.settings.get("dt", 0)))
    names = ("risk", "risk_loop", "accuracy")
    lines = [
        line_of(curve, f"Adam, Δt = {_step(curve)}", look, names) for curve, look in zip(adams, RATES, strict=False)
    ]
    lines += [line for line in _horizon(content, names) if line.label.startswith("hybrid")]
    alt = "Empirical risk against epochs of training for Adam on MNIST at several learning rates, every seed."
    return training.chart(
        "mnist_learning_rates", lines, [RISK, LOOP, ACCURACY], alt, detail=content.detail, singly=True, long=True
    )


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


TASK_LOOKS = ((BLUE, SOLID), (SKY, LONG), (GREEN, DASH_DOT), (ORANGE, DASHED), (RED, SOLID))


@dataclass(frozen=True, eq=False)
class Film:
    """Functions of x at some epochs of one run: values (frame, curve, x), targets (target, x), risk at the epochs."""

    epochs: np.ndarray
    risks: Sequence[float | None]
    x: np.ndarray
    values: np.ndarray
    targets: np.ndarray


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
    film = Film(epochs, _risks_at(curve, epochs), x, values.values, targets)
    keys = [Key(None, f"problem {task}", *look) for task, look in zip(tasks, TASK_LOOKS, strict=False)]
    alt = "Five of the shifted sines and the approximations by their networks."
    return _film("multi_task_examples", film, keys, alt)


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
    film = Film(epochs, _risks_at(curve, epochs), x, values, targets)
    keys = [Key(None, "particles", SKY), Key(None, "consensus point", RED)]
    alt = "Approximations of the sine by all particles of an ensemble and by their consensus point, epoch by epoch."
    return _film("gathering", film, keys, alt, ensemble=True)


def _risks_at(curve: Curve, epochs: np.ndarray) -> list[float | None]:
    """The risk of the typical run at these epochs."""
    seed = int(curve.data["example_seed"].item()) if "example_seed" in curve.data else curve.seeds[0]
    risk = curve.series()[curve.seeds.index(seed)]
    return [float(risk[curve.epochs == epoch][0]) if epoch in curve.epochs else None for epoch in epochs]


def _film(id: str, film: Film, keys: Sequence[Key], alt: str, *, ensemble: bool = False) -> Chart:
    """Functions of x at the epochs of training, with a slider, and a switch that plays it.

    Of an ensemble the last function is the consensus point, drawn over the particles.
    """
    switches, frames = Switches(id), len(film.epochs)
    if frames > 1:
        frame = switches.slider("frame", "Training", frames - 1, frames // 3 if ensemble else frames - 1)
        play = switches.checkbox("play", "Play", False, listed=False)
    else:
        frame = switches.value("frame", "0")
    count = film.values.shape[1]
    rows = [
        {"f": f, "c": int(p == count - 1) if ensemble else p, "p": p, "v": _units(values)}
        for f, frame_values in enumerate(film.values)
        for p, values in enumerate(frame_values)
    ]
    low, high = float(film.targets.min()), float(film.targets.max())
    margin = 0.12 * (high - low) + (0.35 if ensemble else 0.1)
    x_channel = {
        "field": "x", "type": "quantitative", "axis": {"title": "x", "tickCount": 5}, "scale": {"domain": [0, 1]},
    }  # fmt: skip
    y_channel = {
        "field": "y",
        "type": "quantitative",
        "scale": {"domain": [round(low - margin, 2), round(high + margin, 2)], "nice": False},
        "axis": {"title": None, "tickCount": 6},
    }
    # The points of a curve are counted, and their places looked up: no need to store x with every curve.
    unfolded = [
        {"flatten": ["v"]},
        {"window": [{"op": "row_number", "as": "i"}], "groupby": ["p"]},
        {"calculate": f"{thin.rounded(film.x, 4)}[datum.i - 1]", "as": "x"},
        {"calculate": f"datum.v * {UNIT}", "as": "y"},
    ]

    def curves(filter_: str, **mark) -> dict[str, Any]:
        return {
            "data": {"name": f"{id}_frames"},
            "transform": [{"filter": f"datum.f == {frame} && {filter_}"}, *unfolded],
            "mark": {"type": "line", "clip": True, "aria": False, **mark},
            "encoding": {
                "x": x_channel,
                "y": y_channel,
                "color": vega.colours(keys),
                "detail": {"field": "p", "type": "nominal"},
                **({} if ensemble else {"strokeDash": vega.dashes(keys)}),
            },
        }  # fmt: skip

    if ensemble:
        layers = [curves("datum.c == 0", strokeWidth=0.7, opacity=0.55), curves("datum.c == 1", strokeWidth=2.4)]
    else:
        layers = [curves("true", strokeWidth=1.9)]
    layers += [
        {
            "data": {"name": f"{id}_targets"},
            "transform": unfolded,
            "mark": {
                "type": "line", "strokeDash": [2, 3], "strokeWidth": 1.6, "stroke": INK, "clip": True, "aria": False,
            },
            "encoding": {"x": x_channel, "y": y_channel, "detail": {"field": "p", "type": "nominal"}},
        },
        {
            "data": {"name": f"{id}_epochs"},
            "transform": [{"filter": f"datum.f == {frame}"}],
            "mark": {
                "type": "text", "align": "right", "baseline": "top", "x": {"expr": "width - 4"}, "y": 4,
                "fontSize": 14, "fontWeight": 600, "aria": False,
            },
            "encoding": {"text": {"field": "text"}},
        },
    ]  # fmt: skip
    data = {
        f"{id}_frames": rows,
        f"{id}_targets": [{"p": k, "v": _units(row)} for k, row in enumerate(film.targets)],
        f"{id}_epochs": [
            {"f": f, "text": f"epoch {epoch}" + (f", risk {risk:.2g}" if risk is not None else "")}
            for f, (epoch, risk) in enumerate(zip(film.epochs, film.risks, strict=True))
        ],
    }
    made = vega.compiled({"params": switches.params, "width": 600, "height": 300, "layer": layers}, data, alt)
    player: tuple[str, ...] = ()
    if frames > 1:
        made, player = vega.playing(made, frame, play, frames), (switches.place("play"), switches.place("frame"))
    keys = (*keys, Key(None, "target" if len(film.targets) == 1 else "targets", INK, DOTTED))
    return Chart(id, made, 350, alt, "$y$", keys, player=player)


def _units(values: np.ndarray) -> list[int]:
    """Values as whole multiples of UNIT; what has flown off the chart stays beyond its edge."""
    return (np.clip(np.nan_to_num(values, nan=1e2), -1e2, 1e2) / UNIT).round().astype(int).tolist()


def digits(content: Content) -> Chart | None:
    """Test images and what the networks say of them, played through training."""
    names = ("digit_pixels", "digit_label", "digit_probability")
    films = {
        curve: shown
        for curve in content.of("mnist", "cbo", "adam", "hybrid")
        if (shown := curve.example(*names)) is not None and shown.sizes["snapshot"] > 1
    }
    if not films:
        return None
    id, switches = "digits", Switches("digits")
    labels = [NAMES[curve.variant] for curve in films]
    method = switches.choice("m", "Method", list(range(len(labels))), labels, 0)
    epochs = sorted({int(epoch) for film in films.values() for epoch in film["snapshot"].values})
    frame = switches.slider("frame", "Training", len(epochs) - 1, len(epochs) - 1)
    play = switches.checkbox("play", "Play", False, listed=False)
    answers, texts = [], []
    for m, (curve, film) in enumerate(films.items()):
        probability = film["digit_probability"].transpose("snapshot", "digit", "class").values
        stored = film["snapshot"].values
        accuracy = _at_epochs(curve, "accuracy", stored)
        for f, epoch in enumerate(epochs):
            at = int(np.searchsorted(stored, epoch, side="right")) - 1
            says, sure = probability[at].argmax(1), probability[at].max(1)
            answers.append({"m": m, "f": f, "a": says.tolist(), "p": (100 * sure).round().astype(int).tolist()})
            last = " (its last)" if at == len(stored) - 1 else ""
            right = "" if accuracy[at] is None else f": {accuracy[at]:.1%} of all test images right"
            texts.append({"m": m, "f": f, "text": f"epoch {stored[at]}{last}{right}"})
    first = next(iter(films.values()))
    truth = [int(label) for label in first["digit_label"].values]
    images = first["digit_pixels"].transpose("digit", "row", "column").values.astype(np.uint8)
    pictures = [{"i": i, "url": _png(image)} for i, image in enumerate(images)]
    columns = f"(width < 460 ? 5 : {min(len(truth), 10)})"
    grid = [
        {"calculate": f"(datum.i % {columns} + 0.5) * width / {columns}", "as": "px"},
        {"calculate": f"floor(datum.i / {columns}) * 84 + 56", "as": "py"},
    ]
    place = {
        "x": {"field": "px", "type": "quantitative", "scale": None, "axis": None},
        "y": {"field": "py", "type": "quantitative", "scale": None, "axis": None},
    }
    moment = {"filter": f"datum.m == {method} && datum.f == {frame}"}
    chosen = [
        moment,
        {"flatten": ["a", "p"]},
        {"window": [{"op": "row_number", "as": "n"}]},
        {"calculate": "datum.n - 1", "as": "i"},
        {"calculate": f"{truth}[datum.i]", "as": "label"},
        {"calculate": "datum.a == datum.label", "as": "right"},
        {"calculate": "datum.a + (datum.right ? ' ✓' : ' ✗')", "as": "says"},
        {"calculate": "datum.p + ' %'", "as": "sure"},
        *grid,
    ]
    colour = {"condition": {"test": "datum.right", "value": "var(--v-holds)"}, "value": "var(--v-fails)"}
    tips = [
        {"field": "label", "title": "label"}, {"field": "a", "title": "answer"},
        {"field": "sure", "title": "probability"},
    ]  # fmt: skip
    layers = [
        {
            "data": {"name": f"{id}_pictures"},
            "transform": grid,
            "mark": {"type": "image", "width": 44, "height": 44, "aria": False},
            "encoding": {**place, "url": {"field": "url"}},
        },
        {
            "data": {"name": f"{id}_answers"},
            "transform": chosen,
            "mark": {"type": "text", "dy": 34, "fontSize": 15, "fontWeight": 600, "aria": False},
            "encoding": {**place, "text": {"field": "says"}, "color": colour, "tooltip": tips},
        },
        {
            "data": {"name": f"{id}_texts"},
            "transform": [moment],
            "mark": {
                "type": "text", "align": "left", "baseline": "top", "x": 0, "y": 0, "fontWeight": 600, "aria": False,
                "fontSize": {"expr": "width < 460 ? 12 : 14"},
            },
            "encoding": {"text": {"field": "text"}},
        },
    ]  # fmt: skip
    alt = "Test images of MNIST and the answers of the trained networks, epoch by epoch."
    spec = {"params": switches.params, "width": 600, "height": 200, "layer": layers}
    data = {f"{id}_pictures": pictures, f"{id}_answers": answers, f"{id}_texts": texts}
    made = vega.compiled(spec, data, alt, margin=0)
    made.pop("height")
    made["signals"].append({"name": "height", "update": f"ceil({len(truth)} / {columns}) * 84 + 24"})
    made = vega.playing(made, frame, play, len(epochs))
    keys = (Key(None, "right", "var(--v-holds)", shape="tick"), Key(None, "wrong", "var(--v-fails)", shape="cross"))
    player = switches.place("play"), switches.place("frame")
    return Chart(id, made, 200, alt, "", keys, tuple(switches.options), player)


def _at_epochs(curve: Curve, name: str, epochs: np.ndarray) -> list[float | None]:
    """The median over the seeds at these epochs, where it is known."""
    values = curve.series(name)
    found = dict(zip(curve.epochs.tolist(), np.median(values, 0), strict=True)) if values is not None else {}
    return [float(found[e]) if np.isfinite(found.get(e, np.nan)) else None for e in epochs.tolist()]


def _png(grey: np.ndarray) -> str:
    """A grey picture, dark on a transparent background, as a data URL: the PNG format needs nothing but zlib."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    height, width = grey.shape
    rows = b"".join(b"\0" + bytes(255 - row) for row in grey)
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + parts).decode()


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


SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")


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
        discrete = 1 - float(curve.settings["lambda"]) * float(curve.settings.get("dt", 0)) / 2
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


def _step(curve: Curve) -> str:
    """The time step as text, such as 10⁻³."""
    dt = float(curve.settings.get("dt", np.nan))
    exponent = round(np.log10(dt)) if dt > 0 else 0
    if dt > 0 and abs(dt / 10.0**exponent - 1) < 1e-9 and exponent < -1:
        return "10⁻" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(d)] for d in str(-exponent))
    return f"{dt:g}"
