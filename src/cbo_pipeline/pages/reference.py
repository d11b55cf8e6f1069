"""The reference of the config, made from the schema: docs/configuration.md."""

from cbo_pipeline import methods, problems
from cbo_pipeline.config import keys
from cbo_pipeline.config import schema as rules

INTRODUCTION = """\
# The configuration

Made from `workflow/schemas/config.schema.yaml` by `cbo-pipeline reference`; do not edit it by hand.

`config.yaml` holds the paper. A file named with `--configfile` (Snakemake) or `--config` (`cbo-pipeline train`) is
laid over it: mappings are merged key by key, everything else is replaced, `null` for an experiment or for a
variant under `methods` leaves it out. A key under an experiment holds for all its variants, a key under a variant
wins over it. A variant may start `from` another one, which is resolved last: a change of `sine/cbo` reaches all
that start from it. A file that changes `epochs` need not repeat the lists of epochs (`snapshots`,
`keep_ensembles`): they are cut. Unknown keys, keys that appear twice, wrong types and values out of bounds stop
everything before any job starts, with one line that names the key. Settings that mean the same (10 and 10.0, a
default that is written out) are the same run.

"""


def markdown() -> str:
    """The whole page."""
    schema = rules.schema()
    top = {**schema["properties"], **_only(schema, "experiment"), **_only(schema, "method")}
    users = _users()
    return (
        INTRODUCTION
        + "## Structure\n\n"
        + _table(top, {}, columns=("key", "what it may be", "unit", "meaning"))
        + "\n## Settings\n\n"
        + _table(schema["x-settings"], users, columns=("key", "what it may be", "unit", "meaning", "taken by"))
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


def _table(rules: dict, users: dict[str, str], columns: tuple[str, ...]) -> str:
    lines = [" | ".join(columns), " | ".join("---" for _ in columns)]
    for key, rule in rules.items():
        rule = _meant(rule)
        cells = [f"`{key}`", _allowed(rule), rule.get("x-unit", ""), rule.get("description", "")]
        lines.append(" | ".join(cells + ([users.get(key, "")] if "taken by" in columns else [])))
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
    words = {"string": "text", "object": "mapping", "array": "list", "null": "`null`", "boolean": "`true` or `false`"}
    text = " or ".join(words.get(kind, kind) for kind in kinds)
    if "items" in rule:
        text += f" of {_allowed(rule['items'])}"
    bounds = (("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<="), ("exclusiveMaximum", "<"))
    limits = [f"{sign} {rule[name]:g}" for name, sign in bounds if name in rule]
    return f"{text} {', '.join(limits)}".rstrip()
