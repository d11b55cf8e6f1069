"""Files of measured costs, results/cost/{experiment}/{variant}_M{M}_N{N}.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cbo_pipeline.results import json_files
from cbo_pipeline.results.code import cost_digest

KEYS = (
    "experiment", "variant", "method", "problem", "M", "N", "settings", "iterations", "seconds_per_iteration",
    "seconds_per_iteration_median", "seconds_per_epoch", "state_bytes", "peak_bytes",
)  # fmt: skip
TEXTS = ("experiment", "variant", "method", "problem")
NUMBERS = ("M", "N", "seconds_per_iteration", "seconds_per_epoch", "state_bytes", "peak_bytes")


def write(cost: Mapping[str, Any], path: str | Path) -> None:
    """Store what ``training.cost.measure`` found."""
    json_files.write(cost, path, "cost", cost_digest(cost["method"], cost["problem"]))


def read(path: str | Path) -> dict[str, Any]:
    """A cost that ``write`` has stored."""
    content = json_files.read(path, {"cost": KEYS})
    json_files.require(content, KEYS, path, NUMBERS, TEXTS)
    if not isinstance(content["settings"], dict):
        raise json_files.refused(path, f"settings is not a mapping; {json_files.AGAIN}", "wrong-type", "settings")
    return content
