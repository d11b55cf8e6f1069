"""Charts as Vega-Lite, compiled when the page is made: what all of them share.

A chart keeps its switches outside the picture: each is an input of the page, which Vega fills and listens to, so that
keyboards and screen readers reach it. Colours are variables of the style sheet, so that a chart follows dark mode and
print without being drawn again.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

FONT = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', sans-serif"
LEFT, RIGHT = 52, 14  # pixels left and right of the axes
# Okabe and Ito's colours, by name; the style sheet has a set for light and one for dark backgrounds.
BLUE, RED, GREEN, ORANGE, SKY, PURPLE, INK, GREY = (
    f"var(--c-{name})" for name in ("blue", "red", "green", "orange", "sky", "purple", "ink", "grey")
)
SOLID: tuple[int, ...] = ()
DASHED, DOTTED, DASH_DOT, LONG = (6, 3), (2, 2), (7, 2, 2, 2), (10, 4)

_AXIS = {
    "domainColor": "var(--rule)", "tickColor": "var(--rule)", "gridColor": "var(--grid)", "labelColor": "var(--soft)",
    "titleColor": "var(--soft)", "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal",
    "titlePadding": 8, "tickSize": 4,
}  # fmt: skip
CONFIG = {
    "background": "transparent", "font": FONT, "view": {"stroke": None}, "axis": _AXIS,
    "axisX": {"grid": False},
    "axisY": {"domain": False, "ticks": False, "minExtent": LEFT - 6, "maxExtent": LEFT - 6},
    "text": {"fill": "var(--ink)", "fontSize": 12}, "rule": {"stroke": "var(--rule)"}, "padding": 0,
}  # fmt: skip
DECADES = "sequence(-330, 310)"
# Between powers of ten, for axes of less than two decades, and of less than half of one.
FINE, FINEST = (
    [round(d + math.log10(step), 6) for d in range(-12, 4) for step in steps]
    for steps in ((1, 2, 5), (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8))
)


@dataclass(frozen=True)
class Key:
    """An entry of the legend: the place of its switch, its label and how its line looks."""

    element: str | None
    label: str
    colour: str
    dash: Sequence[int] | None = SOLID  # None: points without a line
    shape: str = "line"


@dataclass(frozen=True)
class Chart:
    """A chart ready for the page: a Vega specification, its switches, and what to say to those who cannot see it."""

    id: str
    spec: Mapping[str, Any]
    height: int
    alt: str
    title: str = ""  # of the vertical axis; may hold formulas between dollar signs
    keys: tuple[Key, ...] = ()
    options: tuple[tuple[str, str], ...] = ()  # places of switches, and their labels
    player: tuple[str, ...] = ()
    table: tuple[Sequence[str], Sequence[Sequence[str]]] | None = None


@dataclass
class Switches:
    """The inputs of one chart: each a parameter of the specification, bound to an element of the page."""

    id: str
    params: list[dict[str, Any]] = field(default_factory=list)
    options: list[tuple[str, str]] = field(default_factory=list)

    def name(self, short: str) -> str:
        """Names of parameters are unique on the page: browsers group radio buttons by them."""
        return f"{self.id}_{short}"

    def place(self, short: str) -> str:
        return f"{self.id}-{short}"

    def checkbox(self, short: str, label: str, value: bool, listed: bool = True) -> str:
        return self._add(short, value, {"input": "checkbox", "name": label}, listed)

    def choice(self, short: str, label: str, values: Sequence[Any], labels: Sequence[str], value: Any) -> str:
        bind = {"input": "radio", "name": label, "options": list(values), "labels": list(labels)}
        return self._add(short, value, bind)

    def number(self, short: str, label: str, value: int, low: int, high: int) -> str:
        return self._add(short, value, {"input": "number", "name": label, "min": low, "max": high})

    def slider(self, short: str, label: str, last: int, first_shown: int) -> str:
        bind = {"input": "range", "name": label, "min": 0, "max": last, "step": 1}
        return self._add(short, first_shown, bind, listed=False)

    def value(self, short: str, expression: str) -> str:
        self.params.append({"name": self.name(short), "expr": expression})
        return self.name(short)

    def _add(self, short: str, value: Any, bind: dict[str, Any], listed: bool = True) -> str:
        place = self.place(short)
        self.params.append({"name": self.name(short), "value": value, "bind": {**bind, "element": f"#{place}"}})
        if listed:
            self.options.append((place, bind["name"]))
        return self.name(short)


def compiled(
    spec: Mapping[str, Any], data: Mapping[str, Iterable[Mapping[str, Any]]], alt: str, margin: int = LEFT + RIGHT
) -> dict[str, Any]:
    """The Vega specification with its data, as wide as its container but for the margin beside the axes."""
    import vl_convert

    whole = {"$schema": _schema(), "config": CONFIG, "description": alt, **spec}
    result = vl_convert.vegalite_to_vega(whole)
    result.pop("$schema")  # its address; nobody is to think that it is fetched
    result.pop("width", None)
    width = f"max(220, (isFinite(containerSize()[0]) ? containerSize()[0] : 600) - {margin})"
    signal = {"name": "width", "init": width, "on": [{"events": "window:resize", "update": width}]}
    result["signals"] = [signal, *(s for s in result.get("signals", ()) if s["name"] != "width")]
    for source in result["data"]:
        if source["name"] in data:
            source["values"] = list(data[source["name"]])
    for marks in _groups(result):
        for mark in marks:
            tooltip = mark.get("encode", {}).get("update", {}).get("tooltip", {})
            if mark.get("name", "").endswith("_voronoi") and "signal" in tooltip:
                # Cells around marks carry the mark, which carries the datum. Vega-Lite 6.4 forgets that for text.
                tooltip["signal"] = re.sub(r"(?<!datum\.)\bdatum\[", "datum.datum[", tooltip["signal"])
    missing = set(data) - {source["name"] for source in result["data"]}
    assert not missing, f"no chart uses the data {missing}"
    return result


def _groups(spec: Mapping[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """The lists of marks of a specification and of all groups in it."""
    marks = spec.get("marks", [])
    yield marks
    for mark in marks:
        yield from _groups(mark)


def playing(spec: dict[str, Any], frame: str, play: str, frames: int, milliseconds: int = 700) -> dict[str, Any]:
    """Let a timer move the slider on while ``play`` is switched on. Vega-Lite has no timers, Vega has."""
    signal = next(s for s in spec["signals"] if s["name"] == frame)
    later = [s for s in spec["signals"] if s["name"] == play]
    spec["signals"] = [*later, *(s for s in spec["signals"] if s["name"] != play)]
    timer = {"type": "timer", "throttle": milliseconds}
    signal["on"] = [{"events": timer, "update": f"{play} ? ({frame} + 1) % {frames} : {frame}"}]
    return spec


@cache
def _schema() -> str:
    import vl_convert

    version = vl_convert.get_vegalite_versions()[-1]
    return f"https://vega.github.io/schema/vega-lite/v{version}.json"


def by_curve(values: Sequence[Any]) -> dict[str, Any]:
    """A channel that gives each curve, counted by the field ``c``, its own value."""
    scale = {"domain": list(range(len(values))), "range": list(values)}
    return {"field": "c", "type": "nominal", "scale": scale, "legend": None}


def colours(keys: Sequence[Key]) -> dict[str, Any]:
    return by_curve([key.colour for key in keys])


def dashes(keys: Sequence[Key]) -> dict[str, Any]:
    return by_curve([list(key.dash or SOLID) for key in keys])


def shown(switches: Iterable[str]) -> str:
    """An expression: whether the switch of the datum's curve ``c`` is on."""
    return f"[{', '.join(switches)}][datum.c]"


def logarithmic(switch: str, field_: str) -> str:
    """An expression: the field, or its decimal logarithm if the switch is on; nothing where that is not a number."""
    value = f"datum[{json.dumps(field_)}]"
    return f"{switch} ? (isValid({value}) && {value} > 0 ? log({value}) / LN10 : null) : {value}"


def scientific(expression: str) -> str:
    """An expression: ten to the power of a number as text, such as 10⁻³, or 2·10⁻⁴ between powers."""
    digits = "'⁰¹²³⁴⁵⁶⁷⁸⁹'"

    def power(n: str) -> str:
        size = f"abs({n})"
        sign = f"({n} < 0 ? '⁻' : '')"
        last = f"substring({digits}, {size} % 10, {size} % 10 + 1)"
        tens = (
            f"({size} >= 10 ? substring({digits}, floor({size} / 10) % 10, floor({size} / 10) % 10 + 1) : '')"
            f" + {last}"
        )
        hundreds = f"({size} >= 100 ? substring({digits}, floor({size} / 100), floor({size} / 100) + 1) : '')"
        return f"'10' + {sign} + {hundreds} + {tens}"

    whole = f"floor({expression} + 1e-6)"
    between = f"format(pow(10, {expression} - {whole}), '.1~f') + '·' + {power(whole)}"
    return f"(abs({expression} - round({expression})) < 1e-3 ? {power(f'round({expression})')} : {between})"


def value_axis(switch: str, scale: str, **more: Any) -> dict[str, Any]:
    """The vertical axis of values that are logarithms if the switch is on."""
    decades = f"abs(domain('{scale}')[1] - domain('{scale}')[0])"
    fine = f"{decades} < 0.5 ? {FINEST} : {decades} < 1.6 ? {FINE} : {DECADES}"
    return {
        "title": None,
        "values": {"expr": f"{switch} ? ({fine}) : null"},
        "labelExpr": f"{switch} ? {scientific('datum.value')} : datum.label",
        "tickCount": 6,
        **more,
    }


def epoch_axis(switch: str | None, **more: Any) -> dict[str, Any]:
    """The horizontal axis of epochs, logarithms of them if the switch is on."""
    if switch is None:
        return {"title": "epoch", "tickCount": {"expr": "width < 420 ? 4 : 8"}, "format": "d", **more}
    return {
        "title": "epoch",
        "values": {"expr": f"{switch} ? sequence(0, 9) : null"},
        "labelExpr": f"{switch} ? format(pow(10, datum.value), 'd') : format(datum.value, 'd')",
        "tickCount": {"expr": "width < 420 ? 4 : 8"},
        **more,
    }
