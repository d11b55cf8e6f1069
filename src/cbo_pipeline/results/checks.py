"""Files of numerical checks, results/checks/{check}.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cbo_pipeline.results import json_files
from cbo_pipeline.results.code import check_digest

KEYS = ("check",)


def write(name: str, numbers: Mapping[str, Any], path: str | Path) -> None:
    """Store the numbers of the check ``name``, which is made by the module ``claims.{name}``."""
    json_files.write({"check": name, **numbers}, path, "check", check_digest(name))


def read(path: str | Path) -> dict[str, Any]:
    """A check that ``write`` has stored."""
    return json_files.read(path, {"check": KEYS})


def numbers(content: Mapping[str, Any]) -> dict[str, Any]:
    """What a check found, without what its file says about itself."""
    return {key: value for key, value in content.items() if key not in (*KEYS, *json_files.OWN_KEYS)}
