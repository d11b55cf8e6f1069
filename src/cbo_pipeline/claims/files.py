"""Evidence from files: summaries (.nc), costs and checks (.json)."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cbo_pipeline.claims.evidence import Evidence
from cbo_pipeline.claims.rule import VERDICTS
from cbo_pipeline.results import checks as check_files
from cbo_pipeline.results import costs as cost_files
from cbo_pipeline.results import json_files
from cbo_pipeline.results import summaries as summary_files

ROW = ("id", "section", "claim", "statistic", "value", "spread", "verdict")  # the contract of claims.json


def read(paths: Iterable[Path]) -> Evidence:
    """Read all that the claims are judged by; a file that is none of it, or repeats another, is refused by name."""
    summaries, costs, checks = {}, {}, {}
    for path in map(Path, paths):
        if path.suffix == ".nc":
            data = summary_files.read(path)
            _enter(summaries, data.attrs["experiment"], data, path, "summary")
            continue
        content = json_files.read(path, {"cost": cost_files.KEYS, "check": check_files.KEYS})
        if content["kind"] == "check":
            check_files.require_content(content, path)
            _enter(checks, content["check"], check_files.numbers(content), path, "check")
        else:
            content = cost_files.read(path)
            name = f"{content['experiment']}/{content['variant']}_M{content['M']}_N{content['N']}"
            _enter(costs, name, content, path, "cost")
    return Evidence(summaries, tuple(costs.values()), checks)


def _enter(table: dict, name: str, content: Any, path: Path, kind: str) -> None:
    if name in table:
        raise json_files.refused(path, f"a second {kind} of {name}; name only one of them", "twice")
    table[name] = content


def read_folder(results: Path) -> Evidence:
    """All that a folder of results holds of it."""
    patterns = ("summary/*.nc", "cost/**/*.json", "checks/*.json")
    return read(path for pattern in patterns for path in sorted(Path(results).glob(pattern)))


def read_verdicts(path: str | Path) -> list[dict[str, Any]]:
    """The rows of claims.json; refused, by name, if they are not."""
    rows = json_files.parse(path)
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise json_files.refused(path, f"not the verdicts of this pipeline; {json_files.AGAIN}", "other-kind")
    for row in rows:
        json_files.require(row, ROW, path)
        if row["verdict"] not in VERDICTS:
            words = f"{row['verdict']!r} is not one of {', '.join(VERDICTS)}; {json_files.AGAIN}"
            raise json_files.refused(path, words, "not-an-option", "verdict")
    return rows
