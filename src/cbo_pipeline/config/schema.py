"""The schema of the config, workflow/schemas/config.schema.yaml, and the check of a value against it."""

import dataclasses
import functools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cbo_pipeline import methods, plugins, problems
from cbo_pipeline.config import messages, yaml_files
from cbo_pipeline.errors import ConfigError

DEEPEST = 20  # mappings and lists within each other
LARGEST = 2**63  # integers beyond it mean nothing here, and break what computes with them


def project_file(name: str) -> Path:
    """A file of the project: beside the installed package, or in the checkout that it belongs to."""
    here = Path(__file__).parents[1]
    candidates = (here / Path(name).name, here.parents[1] / name)
    for path in candidates:
        if path.is_file():
            return path
    words = f"{name}: not found; run inside a checkout or name the file with --config"
    raise ConfigError(words, code="unreadable", file=name)


def schema() -> dict:
    """The schema of the config, with the keys that methods and problems outside it declare themselves.

    A dataclass field may carry ``metadata={"schema": {...}}`` for a key that config.schema.yaml does not have.
    """
    return _schema(plugins.folders())


@functools.cache
def _schema(folders: tuple[Path, ...]) -> dict:
    content = yaml_files.read(project_file("workflow/schemas/config.schema.yaml"))
    known = content["x-settings"]
    for field in (field for cls in _classes() for field in dataclasses.fields(cls)):
        key = field.name.rstrip("_")
        if "schema" in field.metadata and key not in known:
            levels = (content["$defs"][name]["properties"] for name in ("experiment", "method"))
            for place in (known, *levels):
                place[key] = field.metadata["schema"]
    return content


def _classes() -> Iterator[type]:
    """All problems and methods that can be loaded; a broken file is reported where its name is used."""
    for package in (methods, problems):
        for name in package.names():
            try:
                yield package.find(name)
            except ConfigError:
                continue


def rule(key: str) -> dict:
    """What the schema says about a setting."""
    return schema()["x-settings"].get(key, {})


def file_keys() -> frozenset[str]:
    """The settings that name files."""
    return _file_keys(plugins.folders())


@functools.cache
def _file_keys(folders: tuple[Path, ...]) -> frozenset[str]:
    return frozenset(key for key, rule in _schema(folders)["x-settings"].items() if rule.get("x-file"))


def description(key: str) -> str:
    """The meaning of a setting, without a full stop."""
    return rule(key).get("description", "no description").rstrip(".")


def check_setting(key: str, value: Any, path: str) -> None:
    """Refuse a value that a setting does not take; ``path`` is where it stands."""
    check_plain(value, path)
    _raise(_complaint_about(key, json.dumps(value), plugins.folders()), path)


@functools.lru_cache(maxsize=10_000)
def _complaint_about(key: str, value: str, folders: tuple[Path, ...]) -> tuple[str, str, str] | None:
    """Runs of one config have most settings in common: each value is looked at once."""
    return _complaint(json.loads(value), _validator(json.dumps(rule(key)), folders))


def check_name(name: Any, path: str) -> None:
    """Refuse what cannot be the name of an experiment or a variant."""
    rule = {"type": "string", **schema()["properties"]["experiments"]["propertyNames"]}
    _raise(_complaint(name, _validator(json.dumps(rule), plugins.folders())), path)


def check_top_key(key: str, value: Any) -> None:
    """Refuse the value of a key that stands beside ``experiments``."""
    check_plain(value, key)
    _raise(_complaint(value, _validator(json.dumps(schema()["properties"][key]), plugins.folders())), key)


def check_config_shape(config: Any) -> None:
    """Refuse a whole config that is not as the schema has it."""
    check_plain(config, "")
    _raise(_complaint(config, _validator(json.dumps(schema()), plugins.folders())), "")


def _complaint(value: Any, validator) -> tuple[str, str, str] | None:
    """The first complaint of the schema: the place within the value, the words, the code."""
    errors = sorted(validator.iter_errors(value), key=lambda e: (len(e.absolute_path), str(e.absolute_path)))
    if not errors:
        return None
    rest, words, code = messages.complaint(errors[0])
    place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in errors[0].absolute_path)
    return place + rest, words, code


def _raise(complaint: tuple[str, str, str] | None, path: str) -> None:
    if complaint is not None:
        place, words, code = complaint
        raise messages.refuse(f"{path}{place}" if path else place.removeprefix(".") or "the config", words, code)


def check_plain(value: Any, path: str, depth: int = 0) -> None:
    """Refuse what YAML or Python can say but no setting means: infinities, huge integers, keys that are not text."""
    where = path or "the config"
    if depth > DEEPEST:
        raise messages.refuse(where, "nested too deeply", "too-deep")
    if isinstance(value, float) and not math.isfinite(value):
        raise messages.refuse(where, f"{value} is not a finite number", "not-finite")
    if isinstance(value, int) and abs(value) >= LARGEST:
        raise messages.refuse(where, f"{messages.short(value)} is too large", "too-large")
    if isinstance(value, list):
        for index, item in enumerate(value):
            check_plain(item, f"{path}[{index}]", depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                words = f"the key {messages.short(key)} is {messages.kind_of(key)}, not text; write it in quotes"
                raise messages.refuse(where, words, "bad-name")
            check_plain(item, f"{path}.{key}" if path else key, depth + 1)
    elif value is not None and not isinstance(value, str | bool | int | float):
        words = f"{messages.short(value)} is {messages.kind_of(value)}; no setting takes that"
        raise messages.refuse(where, words, "wrong-type")


@functools.cache
def _validator(rule: str, folders: tuple[Path, ...]):
    """The schema's validator, for which 3.0 is not an integer: sizes and seeds stand in file names."""
    import jsonschema

    draft = jsonschema.Draft202012Validator
    whole = draft.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    strict = jsonschema.validators.extend(draft, type_checker=whole)
    return strict({**json.loads(rule), "$defs": _schema(folders)["$defs"]})
