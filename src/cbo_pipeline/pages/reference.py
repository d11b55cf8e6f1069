"""The reference of the config, made from the schema: docs/configuration.md."""

import json

from cbo_pipeline import methods, problems
from cbo_pipeline.config import keys
from cbo_pipeline.config import schema as rules

INTRODUCTION = """\
# The configuration

Made from `workflow/schemas/config.schema.yaml` by `cbo-pipeline reference`; do not edit it by hand.

`config.yaml` holds the paper. A file named with `--configfile` (Snakemake) or `--config` (`cbo-pipeline train`) is
laid over it: mappings are merged key by key, and everything else is replaced; `null` leaves out an experiment, or a
variant under `methods`. A key under an experiment holds for all its variants; a key under a variant takes precedence.
A variant may start `from` another one; this is resolved after all files are laid over each other, so that a change of
`sine/cbo` reaches every variant that starts from it. A file that changes `epochs` need not repeat the lists of epochs
(`snapshots`, `keep_ensembles`): entries beyond the new last epoch are dropped. Unknown keys, keys that appear twice,
wrong types and values out of bounds stop everything before any job starts, with a one-line message that names the
key. Settings that mean the same (10 and 10.0, a default that is written out) are the same run. Runs on a table
(`problem: table`) have further defaults, for the methods among others: `src/cbo_pipeline/config/table.yaml`.

"""


def markdown() -> str:
    """The whole page."""
    schema = rules.schema()
    top = {**schema["properties"], **_only(schema, "experiment"), **_only(schema, "method")}
    return (
        INTRODUCTION
        + "## Structure\n\n"
        + _table(top, {})
        + "\n## Settings\n\n"
        + _table(schema["x-settings"], {"default": _defaults() | _told(schema["x-settings"]), "taken by": _users()})
    )


def _only(schema: dict, definition: str) -> dict:
    """The keys of one level that are not settings."""
    found = schema["$defs"][definition]["properties"]
    return {key: rule for key, rule in found.items() if key not in schema["x-settings"]}


def _users() -> dict[str, str]:
    """Who takes which key."""
    users: dict[str, list[str]] = {key: ["every run"] for key in (*keys.taken_keys(keys.Loop), *keys.GRID_KEYS)}
    for package in (problems, methods):
        for name in package.names():
            for key in keys.taken_keys(package.find(name)):
                users.setdefault(key, []).append(f"`{name}`")
    return {key: ", ".join(names) for key, names in users.items()}


def _defaults() -> dict[str, str]:
    """What holds for a key that is not written, by whom it is taken where that makes a difference."""
    takers = [(name, package.find(name)) for package in (problems, methods) for name in package.names()]
    found: dict[str, dict[str, list[str]]] = {}
    for name, cls in (("every run", keys.Loop), *takers):
        given, needed = keys.defaults(cls), keys.needed_keys(cls)
        for key in keys.taken_keys(cls):
            value = "required" if key in needed else _in_yaml(given[key]) if key in given else "no limit"
            found.setdefault(key, {}).setdefault(value, []).append(f"`{name}`")
    return {
        key: next(iter(by_value))
        if len(by_value) == 1
        else "; ".join(f"{value} ({', '.join(names)})" for value, names in by_value.items())
        for key, by_value in found.items()
    }


def _told(settings: dict) -> dict[str, str]:
    """Where the meaning of a key tells what holds without it, which the program fills in."""
    words = {"filled in by the program": "–", "left out:": "see its meaning"}
    meanings = {key: _meant(rule).get("description", "") for key, rule in settings.items()}
    return {key: word for key, text in meanings.items() for begin, word in words.items() if begin in text}


def _in_yaml(value) -> str:
    """A default as one would write it."""
    return f"`{value:g}`" if isinstance(value, float) else f"`{json.dumps(value).strip(chr(34))}`"


def _table(rules: dict, further: dict[str, dict[str, str]]) -> str:
    """``further`` are columns by their heads, each a text by key."""
    columns = ("key", "what it may be", "unit", "meaning", *further)
    lines = [" | ".join(columns), " | ".join("---" for _ in columns)]
    for key, rule in rules.items():
        rule = _meant(rule)
        cells = [f"`{key}`", _allowed(rule), rule.get("x-unit", ""), rule.get("description", "")]
        lines.append(" | ".join([*cells, *(texts.get(key, "") for texts in further.values())]))
    return "".join(f"| {line} |\n" for line in lines)


def _meant(rule: dict) -> dict:
    """A rule, or the definition that it refers to."""
    return rules.schema()["$defs"][rule["$ref"].rsplit("/", 1)[-1]] if "$ref" in rule else rule


def _allowed(rule: dict) -> str:
    """The type and the bounds of a key in words."""
    if "enum" in rule:
        return " or ".join(f"`{value}`" for value in rule["enum"])
    if "anyOf" in rule:
        return "; or ".join(_allowed(part) for part in rule["anyOf"])
    if "$ref" in rule:
        return _allowed(_meant(rule))
    kinds = rule.get("type", "object")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "null" in kinds[1:]:
        return f"{_allowed({**rule, 'type': [kind for kind in kinds if kind != 'null']})}, or `null`"
    words = {"string": "text", "object": "mapping", "array": "list", "null": "`null`", "boolean": "`true` or `false`"}
    text = " or ".join(words.get(kind, kind) for kind in kinds)
    if "items" in rule:
        text += f" of {_allowed(rule['items'])}"
    bounds = (("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<="), ("exclusiveMaximum", "<"))
    limits = [f"{sign} {rule[name]:g}" for name, sign in bounds if name in rule]
    return f"{text} {', '.join(limits)}".rstrip()
