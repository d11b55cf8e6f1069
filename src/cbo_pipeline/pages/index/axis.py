"""The small picture of a claim: its number, its interval and the line that it is judged by. A static drawing."""

import math
import re
from collections.abc import Sequence
from typing import Any

from cbo_pipeline.pages.index.content import Claim
from cbo_pipeline.pages.index.vega import FONT

WIDTH, HEIGHT = 300, 30
LEAST = 0.1  # margin beside the numbers, as a share of them
RATIO = 30  # positive numbers further apart than this are drawn on a logarithmic axis


def drawing(claim: Claim) -> str:
    """The picture as SVG, or nothing if there is no number."""
    import vl_convert

    if claim.value is None or not math.isfinite(claim.value):
        return ""
    return _part_of_page(vl_convert.vegalite_to_svg(specification(claim)), _alt(claim))


def specification(claim: Claim) -> dict[str, Any]:
    """The drawing in Vega-Lite."""
    ends = _ends(claim)
    numbers = [claim.value, *(end for end in ends if end is not None), *claim.line]
    logarithmic = min(numbers) > 0 and max(numbers) / min(numbers) > RATIO
    domain = _domain(numbers, logarithmic)
    low, high = (edge if end is None else end for end, edge in zip(ends, domain, strict=True))
    scale = {"domain": domain, "type": "log" if logarithmic else "linear", "nice": False, "zero": False}
    axis = {
        "title": None, "tickCount": 5, "format": "~e" if logarithmic or _tiny(domain) else "~g", "grid": False,
        "domainColor": "var(--rule)", "tickColor": "var(--rule)", "labelColor": "var(--soft)", "labelFontSize": 11,
        "labelFlush": True, "labelOverlap": "greedy",
    }  # fmt: skip
    x = {"field": "x", "type": "quantitative", "scale": scale, "axis": axis}
    middle = {"y": {"value": HEIGHT / 2}}
    layers: list[dict[str, Any]] = []
    side = _side(claim)
    if side and len(claim.line) == 1:
        edge = domain[0] if side == "below" else domain[1]
        layers.append(
            {
                "data": {"values": [{"x": edge, "x2": claim.line[0]}]},
                "mark": {"type": "rect", "fill": "var(--good)", "aria": False},
                "encoding": {"x": x, "x2": {"field": "x2"}, "y": {"value": 0}, "y2": {"value": HEIGHT}},
            }
        )
    layers += [
        {
            "data": {"values": [{"x": v} for v in claim.line]},
            "mark": {"type": "rule", "stroke": "var(--ink)", "strokeWidth": 1.5, "strokeDash": [4, 3], "aria": False},
            "encoding": {"x": x},
        },
        {
            "data": {"values": [{"x": low, "x2": high}]},
            "mark": {"type": "rule", "stroke": "var(--v)", "strokeWidth": 5, "opacity": 0.45, "strokeCap": "round",
                     "aria": False},
            "encoding": {"x": x, "x2": {"field": "x2"}, **middle},
        },
        {
            "data": {"values": [{"x": claim.value}]},
            "mark": {"type": "point", "filled": True, "size": 110, "fill": "var(--v)", "stroke": "var(--paper)",
                     "strokeWidth": 1.5, "opacity": 1, "aria": False},
            "encoding": {"x": x, **middle},
        },
    ]  # fmt: skip
    return {
        "width": WIDTH, "height": HEIGHT, "layer": layers, "background": None, "padding": {"left": 8, "right": 8},
        "config": {"view": {"stroke": None}, "font": FONT},
    }  # fmt: skip


def _ends(claim: Claim) -> tuple[float | None, float | None]:
    """The interval, None for an end that is not bounded; without an interval the number itself."""
    if claim.spread is None:
        return claim.value, claim.value
    return tuple(None if end is None or not math.isfinite(end) else float(end) for end in claim.spread)


def _domain(numbers: Sequence[float], logarithmic: bool) -> list[float]:
    low, high = min(numbers), max(numbers)
    if logarithmic:
        margin = (high / low) ** 0.12
        return [low / margin, high * margin]
    # Numbers that differ in the last digits alone are shown side by side: nobody reads ten digits on an axis.
    margin = max(0.14 * (high - low), LEAST * max(abs(low), abs(high))) or 1.0
    return [low - margin, high + margin]


def _tiny(domain: Sequence[float]) -> bool:
    return 0 < max(map(abs, domain)) < 1e-3


def _side(claim: Claim) -> str | None:
    """On which side of its line a claim holds, if its rule begins with that."""
    found = re.match(r"(below|at most|less than|above|at least|more than)\b", claim.threshold)
    return None if not found else "below" if found[1] in ("below", "at most", "less than") else "above"


def _alt(claim: Claim) -> str:
    low, high = ("unbounded" if end is None else f"{end:.3g}" for end in _ends(claim))
    text = f"Claim {claim.id}: the number is {claim.value:.3g}"
    text += f", its interval {low} to {high}" if claim.spread else ""
    return text + (f", the line {' and '.join(f'{v:.3g}' for v in claim.line)}" if claim.line else "")


def _part_of_page(svg: str, alt: str) -> str:
    """The drawing as a part of the page: scaled with it, its names not clashing with others."""
    body = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>", "", svg, flags=re.DOTALL).strip()
    head = re.search(r'viewBox="([^"]+)"', body)
    inner = re.sub(r"^<svg[^>]*>|</svg>$", "", body)
    inner = re.sub(r'\s(?:id|clip-path)="[^"]*"', "", inner)
    inner = re.sub(r'\s(?:role|aria-[a-z]+|font-family)="[^"]*"', "", inner)
    return f'<svg class="axis" viewBox="{head[1]}" role="img" aria-label="{alt}">{inner}</svg>'
