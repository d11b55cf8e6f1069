"""The table of settings of an experiment, as the paper lists them."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

from cbo_pipeline.pages.index import maths
from cbo_pipeline.pages.index.content import Content, Curve
from cbo_pipeline.pages.index.elements import range_of

TEX = {
    "N": "N", "dt": r"\Delta t", "alpha": r"\alpha", "lambda": r"\lambda", "sigma_squared": r"\tilde\sigma",
    "batch_size": "S'", "gamma": r"\gamma",
}  # fmt: skip


def settings(content: Content, experiment: str, variants: Sequence[str]) -> str:
    """The settings as the paper lists them: what all methods share, then each method's own."""
    found = {variant: content.of(experiment, variant) for variant in variants}
    found = {variant: curves for variant, curves in found.items() if curves}
    if not found:
        return '<p class="missing">These results do not have this experiment.</p>'
    first = next(iter(found.values()))[0]
    shared = [maths.math(f"M = {_sizes(found, 'M')}")]
    size = first.settings.get("points", first.settings.get("images"))
    if size is not None:
        shared.append(maths.math(f"S = {_tex(size)}"))
    if "batch_size" in first.settings:
        shared.append(maths.math(f"S′ = {_tex(first.settings['batch_size'])}"))
    if "tasks" in first.settings:
        shared.append(maths.math(f"P = {_tex(first.settings['tasks'])}"))
    lines = [("all", ", ".join([*shared, html.escape(str(first.settings.get("precision", "")))]).rstrip(", "))]
    lines += [(_name(variant), _own(curves)) for variant, curves in found.items()]
    rows = "".join(f"<tr><th scope='row'>{html.escape(name)}</th><td>{text}</td></tr>" for name, text in lines)
    return f'<table class="settings"><caption>Settings</caption><tbody>{rows}</tbody></table>'


def _own(curves: Sequence[Curve]) -> str:
    settings, first = curves[0].settings, curves[0]
    parts = []
    if first.method != "adam":
        parts.append(maths.math(f"N = {_sizes({'': curves}, 'N')}"))
    for key in ("dt", "alpha", "lambda", "sigma_squared", "gamma"):
        if isinstance(settings.get(key), int | float):
            value = rf"\sqrt{{{_tex(settings[key])}}}" if key == "sigma_squared" else _tex(settings[key])
            parts.append(maths.math(f"{TEX[key]} = {value}"))
    text = ", ".join(parts)
    if "alpha_every" in settings and settings.get("alpha_factor", 1) != 1:
        text += (
            f"; every {int(settings['alpha_every'])} epochs {maths.math(chr(92) + 'alpha')} grows by the factor"
            f" {maths.number(settings['alpha_factor'])}, up to {maths.math(_tex(settings.get('alpha_max', 1)))}"
        )
    if "sigma_every" in settings and settings.get("sigma_factor", 1) != 1:
        text += (
            f"; every {int(settings['sigma_every'])} {html.escape(str(settings.get('sigma_unit', 'iterations')))}"
            f" {maths.math(chr(92) + 'tilde' + chr(92) + 'sigma')} falls by the factor"
            f" {maths.number(settings['sigma_factor'])}"
        )
    seeds, epochs = {len(c.seeds) for c in curves}, {int(c.epochs[-1]) for c in curves}
    return f"{text}; {range_of(epochs)} epochs, {range_of(seeds)} seeds"


def _sizes(found: Mapping[str, Sequence[Curve]], name: str) -> str:
    sizes = sorted({getattr(curve, name) for curves in found.values() for curve in curves})
    return ", ".join(map(str, sizes))


def _tex(value: Any) -> str:
    """A number as the paper writes it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return r"\text{?}"
    text = f"{value:g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        power = f"10^{{{int(exponent)}}}"
        return power if mantissa == "1" else rf"{mantissa}\cdot {power}"
    exponent = len(text) - 1
    if value >= 1e4 and text == "1" + "0" * exponent:
        return f"10^{{{exponent}}}"
    return {"0.01": "10^{-2}", "0.001": "10^{-3}"}.get(text, text)


def _name(variant: str) -> str:
    return {"cbo": "CBO", "adam": "Adam", "ot_cbo": "OT-CBO", "multi_task_cbo": "Multi-Task CBO"}.get(
        variant, variant
    )
