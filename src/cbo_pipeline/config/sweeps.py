"""Sweeps: ``sweep: {alpha: [1.0e+3, 1.0e+5]}`` under a variant makes one variant for each combination of values."""

import itertools
import math
import os
import re
from pathlib import Path
from typing import Any

from cbo_pipeline.config import keys, messages, schema
from cbo_pipeline.config.resolving import laid_over

MOST = 10_000  # variants of one sweep
LONGEST = 150  # characters of a variant's name, which is a part of file names


def unfolded(config: dict) -> dict:
    """The config with the variants that its sweeps stand for; ``families`` says which belong together.

    ``families``: by experiment, by the name that the sweep stands under, {variant: {key: value}}.
    """
    experiments, families = {}, config.get("families", {})
    for experiment, content in config["experiments"].items():
        variants: dict = {}
        for variant, own in content["methods"].items():
            place = f"experiments.{experiment}.methods.{variant}.sweep"
            members = _members(variant, own, place)
            for name, settings in members.items():
                if name in variants or (name != variant and name in content["methods"]):
                    raise messages.refuse(place, f"the name {name} is taken by another variant", "twice")
                variants[name] = settings
            if len(swept := _swept_keys(own)):
                values = {name: {key: settings[key] for key in swept} for name, settings in members.items()}
                families = {**families, experiment: {**families.get(experiment, {}), variant: values}}
        experiments[experiment] = {**content, "methods": variants}
    return {**config, "experiments": experiments, **({"families": families} if families else {})}


def _swept_keys(own: dict) -> list[str]:
    """The keys whose values make variants: M, N and seeds are told apart by the names of the runs anyway."""
    return [key for key in own.get("sweep", {}) if key not in keys.GRID_KEYS]


def _members(variant: str, own: dict, place: str) -> dict[str, dict]:
    """The variants of one sweep by name."""
    if "sweep" not in own:
        return {variant: own}
    sweep, swept = own["sweep"], _swept_keys(own)
    _check(sweep, swept, place)
    base = {key: value for key, value in own.items() if key != "sweep"}
    base = laid_over(base, {key: sweep[key] for key in sweep if key in keys.GRID_KEYS})
    method = base.get("method", variant)
    if not swept:
        return {variant: base}
    result = {}
    texts = {key: _texts(key, sweep[key]) for key in swept}
    for places in itertools.product(*(range(len(sweep[key])) for key in swept)):
        chosen = {key: sweep[key][i] for key, i in zip(swept, places, strict=True)}
        named = (f"{key}_{texts[key][i]}" for key, i in zip(swept, places, strict=True))
        name = "_".join([variant, *named])
        if len(name) > LONGEST:
            raise messages.refuse(place, f"the name {messages.one_line(name)} is too long for a file", "bad-name")
        result[name] = {"method": method, **base, **chosen}
    return result


def _check(sweep: dict, swept: list[str], place: str) -> None:
    """Every key is a setting, every value is one that it takes, and no two have the same name."""
    known = [key for key in schema.schema()["x-settings"] if key != "grid"]
    for key, values in sweep.items():
        if key not in known:
            raise messages.refuse(f"{place}.{key}", f"unknown key{messages.closest(key, known)}", "unknown-key")
        for index, value in enumerate(values):
            whole = [value] if key == "seeds" else value
            schema.check_setting(key, whole, f"{place}.{key}[{index}]")
            if key in ("M", "N") and isinstance(value, list):
                raise messages.refuse(f"{place}.{key}[{index}]", "a list within the list of the sweep", "wrong-type")
        if key in swept and len(set(_texts(key, values))) < len(values):
            raise messages.refuse(f"{place}.{key}", "two values would have the same name", "twice")
    count = math.prod(len(sweep[key]) for key in swept)
    if count > MOST:
        raise messages.refuse(place, f"{count} variants are too many; {MOST} is the limit", "too-large")


def _texts(key: str, values: list) -> list[str]:
    """The values of one key as parts of names. Of files only what differs counts, wherever their folder is."""
    if key in schema.file_keys():
        full = [Path(value).absolute() for value in values]
        folder = os.path.commonpath([path.parent for path in full])
        values = [path.relative_to(folder) for path in full]
    return [_text(value) for value in values]


def _text(value: Any) -> str:
    """A value as a part of a name: digits and small letters, p for the point, m for minus.

    >>> [_text(value) for value in (1e5, 1000, 0.8, 1.6e-4, -2, 12345.0, 250, "float64", True)]
    ['1e5', '1e3', '0p8', '1p6em4', 'm2', '12345', '250', 'float64', 'true']
    """
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int | float):
        return _number(float(value)).replace("-", "m").replace(".", "p")
    if isinstance(value, list):
        return "_".join(_text(item) for item in value) or "none"
    return re.sub(r"[^a-z0-9]+", "_", str(value).lower()).strip("_") or "empty"


def _number(value: float) -> str:
    """The shorter of the plain and the scientific way to write a number, all digits kept."""
    mantissa, _, exponent = f"{value:e}".partition("e") if value == 0 else _scientific(value)
    scientific = f"{mantissa}e{int(exponent)}"
    plain = repr(value).removesuffix(".0")
    if "e" in plain:
        return scientific
    return scientific if len(scientific) < len(plain) else plain


def _scientific(value: float) -> tuple[str, str, str]:
    """Mantissa and exponent with as many digits as the number needs."""
    digits = next(n for n in range(18) if float(f"{value:.{n}e}") == value)
    return f"{value:.{digits}e}".partition("e")
