"""One form for settings that mean the same: equal runs have equal settings, and so equal texts.

10 and 10.0 are the same number, a default that is written out is the default, the order of snapshots is irrelevant.
"""

from typing import Any

from cbo_pipeline.config import keys, messages, schema


def normalised(problem: str, method: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Sorted settings of a run with their defaults, numbers as the schema has them."""
    filled = {key: value for cls in keys.parts(problem, method) for key, value in keys.defaults(cls).items()}
    result = {key: _value(value, schema.rule(key)) for key, value in sorted({**filled, **settings}.items())}
    for key in keys.EPOCH_LISTS:
        if isinstance(result.get(key), list) and isinstance(result.get("epochs"), int):
            result[key] = _epochs(result[key], result["epochs"], always_last=key == "snapshots")
    if _records_all(result):
        result |= {"record_first": 0, "record_every": 1}
    return result


def _records_all(settings: dict[str, Any]) -> bool:
    """Whether the records of every epoch are stored, in whatever way that is said."""
    first, every, epochs = (settings.get(key) for key in ("record_first", "record_every", "epochs"))
    sound = all(type(value) is int for value in (first, every, epochs)) and first >= 0
    return sound and (every == 1 or first >= epochs)


def _value(value: Any, rule: dict) -> Any:
    """A number as a float where the schema takes any number (and 0.0 for -0.0); all else unchanged."""
    kinds = rule.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "number" in kinds and isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value) + 0.0
        except OverflowError:
            return value  # refused as too large when it is checked
    return value


def _epochs(entries: list, last: int, always_last: bool) -> list:
    """The epochs of a list that a run reaches, in ascending order; the last one only where it is not kept anyway."""
    if not all(type(entry) is int for entry in entries) or len(set(entries)) < len(entries):
        return entries  # refused when it is checked
    return sorted(entry for entry in entries if entry < last or (entry == last and not always_last))


def assignment(text: str) -> tuple[str, Any]:
    """A change of a setting as it is typed, KEY=VALUE with the value in YAML.

    >>> assignment("epochs=10"), assignment("snapshots=[0, 5]")
    (('epochs', 10), ('snapshots', [0, 5]))
    """
    from cbo_pipeline.config import yaml_files

    key, equals, value = text.partition("=")
    if not equals or not key:
        raise messages.refuse(f"--set {text}", "write KEY=VALUE, such as epochs=10", "bad-change")
    return key, yaml_files.parse(value, f"--set {text}", places=False)
