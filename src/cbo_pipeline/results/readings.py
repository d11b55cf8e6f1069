"""The file of verdicts under other readings of the paper, results/readings.json."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cbo_pipeline.results import json_files
from cbo_pipeline.results.code import stage_digest

KEYS = ("choices", "base", "readings", "crossed", "robustness")
NOT_JUDGED = "other readings were not judged for it (snakemake readings)"


def write(found: Mapping[str, Any], path: str | Path) -> None:
    """Store what ``claims.reading_verdicts`` found, in the types of JSON."""
    json_files.write(found, path, "readings", stage_digest("claims.reading_verdicts"))


def read(path: str | Path) -> dict[str, Any]:
    """What ``write`` has stored."""
    return json_files.read(path, {"readings": KEYS})


def with_robustness(rows: Iterable[Mapping[str, Any]], path: str | Path) -> list[dict[str, Any]]:
    """Rows of claims with what a file says of each under other readings.

    A claim that is newer than the file was not judged under them.
    """
    words = read(path)["robustness"]
    return [{**row, "robustness": words.get(str(row["id"]), NOT_JUDGED)} for row in rows]
