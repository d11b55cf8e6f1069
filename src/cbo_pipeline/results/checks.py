"""Files of numerical checks, results/checks/{check}.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cbo_pipeline.results import json_files
from cbo_pipeline.results.code import check_digest

KEYS = ("check",)
# What the claims and the pages take from each check.
CONTENT = {
    "barycentres": ("residual", "instances", "fixed_point_is_best", "more_atoms_better", "example_gain"),
    "rule_errors": ("error", "samples", "shift", "rows"),
    "spread": ("rows",),
    "unseen": ("N", "directions", "steps", "rows"),
}
# Checks of runs: the experiment whose runs they read.
OF_RUNS = {"spread": "precision"}


def write(name: str, numbers: Mapping[str, Any], path: str | Path) -> None:
    """Store the numbers of the check ``name``, which is made by the module ``claims.{name}``."""
    json_files.write({"check": name, **numbers}, path, "check", check_digest(name))


def read(path: str | Path) -> dict[str, Any]:
    """A check that ``write`` has stored."""
    content = json_files.read(path, {"check": KEYS})
    require_content(content, path)
    return content


def numbers(content: Mapping[str, Any]) -> dict[str, Any]:
    """What a check found, without what its file says about itself."""
    return {key: value for key, value in content.items() if key not in (*KEYS, *json_files.OWN_KEYS)}


def require_content(content: Mapping[str, Any], path: str | Path) -> None:
    """Refuse, by name, a check that nobody makes or that lacks one of its numbers."""
    name = content["check"]
    if not isinstance(name, str) or name not in CONTENT:
        words = f"holds the check {name!r}; known are {', '.join(CONTENT)}"
        raise json_files.refused(path, words, "unknown-name", "check")
    json_files.require(content, CONTENT[name], path, [key for key in CONTENT[name] if key != "rows"])
