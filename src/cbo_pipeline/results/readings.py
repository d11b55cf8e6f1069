"""The file of verdicts under other readings of the paper, results/readings.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cbo_pipeline.results import json_files
from cbo_pipeline.results.code import stage_digest

KEYS = ("choices", "base", "readings", "crossed", "robustness")


def write(found: Mapping[str, Any], path: str | Path) -> None:
    """Store what ``claims.reading_verdicts`` found, in the types of JSON."""
    json_files.write(found, path, "readings", stage_digest("claims.reading_verdicts"))


def read(path: str | Path) -> dict[str, Any]:
    """What ``write`` has stored."""
    return json_files.read(path, {"readings": KEYS})
