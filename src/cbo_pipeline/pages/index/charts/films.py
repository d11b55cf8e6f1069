"""Functions of x that change with training: the chart that plays them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cbo_pipeline.pages.index import thin, vega
from cbo_pipeline.pages.index.content import Curve
from cbo_pipeline.pages.index.vega import DOTTED, INK, Chart, Key, Switches

UNIT = 0.01  # of the values of a film: a pixel of the chart


@dataclass(frozen=True, eq=False)
class Film:
    """Functions of x at some epochs of one run: values (frame, curve, x), targets (target, x), risk at the epochs."""

    epochs: np.ndarray
    risks: Sequence[float | None]
    x: np.ndarray
    values: np.ndarray
    targets: np.ndarray


def risks_at(curve: Curve, epochs: np.ndarray) -> list[float | None]:
    """The risk of the typical run at these epochs."""
    seed = int(curve.data["example_seed"].item()) if "example_seed" in curve.data else curve.seeds[0]
    risk = curve.series()[curve.seeds.index(seed)]
    return [float(risk[curve.epochs == epoch][0]) if epoch in curve.epochs else None for epoch in epochs]


def film(id: str, film: Film, keys: Sequence[Key], alt: str, *, ensemble: bool = False) -> Chart:
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
