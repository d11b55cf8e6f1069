"""The charts of MNIST: training, the learning rates of Adam, and what the networks say of test images."""

import base64
import itertools
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cbo_pipeline.pages.index import training, vega
from cbo_pipeline.pages.index.charts.looks import ACCURACY, LOOKS, LOOP, NAMES, RISK, line_of
from cbo_pipeline.pages.index.content import Content, Curve, curves_in
from cbo_pipeline.pages.index.training import Line
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

RATES = ((RED, SOLID), (SKY, LONG), (GREEN, SOLID), (BLUE, DASHED), (INK, DOTTED))
TOP = 1e3  # of the axis, if a run over thousands of epochs leaps beyond
HORIZON = {
    "cbo": (SKY, LONG),
    "hybrid": (ORANGE, DASH_DOT),
    "hybrid_v1": (PURPLE, DASHED),
}
FLOOR = "mnist_floor"
FEWER = {"hybrid": (INK, DASH_DOT), "hybrid_v1": (INK, DASHED)}  # with few particles, beside those of HORIZON


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


def _horizon(content: Content, names: Sequence[str], experiment: str = "mnist_horizon") -> list[Line]:
    """The runs over thousands of epochs, with few seeds; with few particles, too, in ``mnist_floor``."""
    lines = []
    looks = FEWER if experiment == FLOOR else HORIZON
    for curve in content.of(experiment, *looks):
        name = NAMES.get(curve.variant, "hybrid of the first version")
        few = f", N = {curve.N}" if looks is FEWER else ""
        label = f"{name}{few}, Δt = {_step(curve)}, over {int(curve.epochs[-1])} epochs"
        lines.append(_below_top(line_of(curve, label, looks[curve.variant], names)))
    return lines


def _below_top(line: Line) -> Line:
    """A line without what is above the chart, and its label says so: CBO leaps beyond all bounds."""
    if not any((values > TOP).any() for _, values in line.data.values()):
        return line

    def cut(series):
        return {name: (epochs, np.where(values > TOP, np.inf, values)) for name, (epochs, values) in series.items()}

    label = f"{line.label} (above {TOP:g} not shown)"
    return replace(line, label=label, data=cut(line.data), strokes=cut(line.strokes))


def mnist_rates(content: Content) -> Chart | None:
    """Adam at every learning rate of the sweep, and the hybrid where it was run at length, seed by seed."""
    adams = [curve for curve in content.of("mnist") if curve.method == "adam"]
    if len(adams) < 2:
        return None
    adams.sort(key=lambda curve: -float(curve.settings.get("dt", 0)))
    names = ("risk", "risk_loop", "accuracy")
    looks = list(zip(adams, itertools.cycle(RATES), strict=False))
    lines = [line_of(curve, f"Adam, Δt = {_step(curve)}", look, names) for curve, look in looks]
    lines += [line for line in _horizon(content, names) if line.label.startswith("hybrid")]
    lines += _horizon(content, names, FLOOR)
    colours = {_step(curve): colour for curve, (colour, _) in looks}
    double = [curve for path in content.in_double for curve in curves_in(path)]
    lines += _varied(double, colours, lambda _: "double precision", DOTTED, names)
    larger = content.of("mnist_delta")
    lines += _varied(larger, colours, lambda curve: f"δ = {_power(curve, 'delta')}", DASH_DOT, names, on=False)
    alt = "Empirical risk against epochs of training for Adam on MNIST at several learning rates, every seed."
    return training.chart(
        "mnist_learning_rates", lines, [RISK, LOOP, ACCURACY], alt, detail=content.detail, singly=True, long=True
    )


def _varied(
    curves: Sequence[Curve],
    colours: Mapping[str, str],
    said: Callable[[Curve], str],
    dash: Sequence[int],
    names: Sequence[str],
    on=True,
) -> list[Line]:
    """Adam's sweep with something else changed, where that was run; the colour is that of the learning rate."""
    return [
        line_of(curve, f"Adam, Δt = {step}, {said(curve)}", (colour, dash), names, on)
        for step, colour in colours.items()
        for curve in curves
        if _step(curve) == step
    ]


def _step(curve: Curve) -> str:
    """The time step as text, such as 10⁻³."""
    return _power(curve, "dt")


def _power(curve: Curve, key: str) -> str:
    """A setting as text, as a power of ten if it is a small one."""
    value = float(curve.settings.get(key, np.nan))
    exponent = round(np.log10(value)) if value > 0 else 0
    if value > 0 and abs(value / 10.0**exponent - 1) < 1e-9 and exponent < -1:
        return "10⁻" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(d)] for d in str(-exponent))
    return f"{value:g}"


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
