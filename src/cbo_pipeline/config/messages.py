"""The words of complaints about a config. Each is one line that starts with the key."""

import difflib
import re
from collections.abc import Iterable
from typing import Any

from cbo_pipeline.errors import ConfigError


def refuse(key: str, words: str, code: str) -> ConfigError:
    """The error for one key; ``code`` is the kind of mistake."""
    return ConfigError(f"{key}: {words}", code=code, key=key)


def require_known(name: Any, known: Iterable[str], key: str, kind: str, aside: str = "") -> None:
    """Refuse a name that is not among those known, with the nearest of them; ``aside`` stands in brackets."""
    known = tuple(known)
    if name not in known:
        hint = closest(name, known) or (f"; known: {', '.join(known)}" if known else "")
        raise refuse(key, f"unknown {kind} {short(name)}{aside and f' ({aside})'}{hint}", "unknown-name")


def closest(word: str, known: Iterable[str]) -> str:
    """A hint at the nearest of the known words, or nothing.

    >>> closest("epoch", ["epochs", "points"])
    '; did you mean epochs?'
    """
    near = difflib.get_close_matches(str(word), list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def complaint(error) -> tuple[str, str, str]:
    """The rest of the key, the words and the code for one error of the JSON-schema validator."""
    value, limit = error.instance, error.validator_value
    match error.validator:
        case "additionalProperties":
            allowed = error.schema.get("properties", {})
            unknown = next(key for key in value if key not in allowed)
            return f".{unknown}", f"unknown key{closest(str(unknown), allowed)}", "unknown-key"
        case "required":
            return f".{next(key for key in limit if key not in value)}", "missing", "missing"
        case "type":
            wanted = limit if isinstance(limit, list) else [limit]
            words = " or ".join(_KINDS.get(kind, kind) for kind in wanted)
            hint = _hint(value, "YAML reads 1e-3 as text: write 1.0e-3")
            return "", f"{short(value)} is {kind_of(value)}, not {words}{hint}", "wrong-type"
        case "enum":
            return "", f"{short(value)} is not one of {', '.join(map(_yaml, limit))}", "not-an-option"
        case "minimum":
            return "", f"{short(value)} is below {limit}", "out-of-bounds"
        case "maximum":
            return "", f"{short(value)} is above {limit}", "out-of-bounds"
        case "exclusiveMinimum":
            return "", f"{short(value)} is not above {limit}", "out-of-bounds"
        case "exclusiveMaximum":
            return "", f"{short(value)} is not below {limit}", "out-of-bounds"
        case "minItems" | "minProperties" | "minLength":
            return "", "empty; at least one entry is needed", "empty"
        case "uniqueItems":
            return "", f"{short(value)} has an entry twice", "twice"
        case "pattern":
            rule = "lower-case letters, digits and _, a letter first, at most 100"
            return "", f"{short(value)} is not a valid name ({rule})", "bad-name"
        case "anyOf":
            return _complaint_of_alternatives(error)
    return "", one_line(error.message), "wrong-value"


def _complaint_of_alternatives(error) -> tuple[str, str, str]:
    """The complaint of the alternative that came nearest: one whose type fits, if there is one."""
    value = error.instance
    fitting = [e for e in error.context if e.validator != "type" or e.path]
    if not fitting:
        words = " or ".join(_alternative(rule) for rule in error.validator_value)
        hint = _hint(value, "YAML reads 1e3 as text: write 1000")
        return "", f"{short(value)} is {kind_of(value)}, not {words}{hint}", "wrong-type"
    rest, words, code = complaint(fitting[0])
    return "".join(f"[{p}]" for p in fitting[0].path) + rest, words, code


def _hint(value: Any, otherwise: str) -> str:
    """Why a number may have come as a text."""
    if not looks_like_number(value):
        return ""
    if re.fullmatch(r"[+-]?[0-9.]+", value):
        otherwise = "write it without quotes; --config makes text of numbers in braces: use --configfile"
    return f" ({otherwise})"


def _alternative(rule: dict) -> str:
    if rule.get("type") == "array":
        return f"a list of {_PLURALS.get(rule.get('items', {}).get('type'), 'values')}"
    return _KINDS.get(rule.get("type"), str(rule.get("type")))


_KINDS = {
    "integer": "an integer",
    "number": "a number",
    "string": "text",
    "object": "a mapping",
    "array": "a list",
    "boolean": "true or false",
}
_PLURALS = {"integer": "integers", "number": "numbers", "string": "texts"}


def kind_of(value: Any) -> str:
    """What a value is, in a word."""
    kinds = {dict: "a mapping", list: "a list", str: "text", bool: "a truth value", type(None): "nothing"}
    return kinds.get(type(value), "a number" if isinstance(value, int | float) else f"a {type(value).__name__}")


def short(value: Any) -> str:
    """A value as it is shown in a complaint."""
    if isinstance(value, int) and abs(value) >= 10**30:
        return "a number of more than 30 digits"
    return one_line(repr(value))


def one_line(text: Any, length: int = 80) -> str:
    """The text without line breaks, cut to that length."""
    line = " ".join(str(text).split())
    return line if len(line) <= length else f"{line[: length - 3]}..."


def looks_like_number(value: Any) -> bool:
    """Whether a text is a number to people, though not to YAML."""
    try:
        float(value if isinstance(value, str) else "")
    except ValueError:
        return False
    return True


def _yaml(value: Any) -> str:
    return (
        {True: "true", False: "false", None: "null"}.get(value, str(value)) if not isinstance(value, str) else value
    )
