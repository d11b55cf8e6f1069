"""Evidence from files: summaries (.nc), costs and checks (.json)."""

from collections.abc import Iterable
from pathlib import Path

from cbo_pipeline.claims.evidence import Evidence
from cbo_pipeline.results import checks as check_files
from cbo_pipeline.results import costs as cost_files
from cbo_pipeline.results import json_files
from cbo_pipeline.results import summaries as summary_files


def read(paths: Iterable[Path]) -> Evidence:
    """Read all that the claims are judged by; a file that is none of it is refused by name."""
    summaries, costs, checks = {}, [], {}
    for path in map(Path, paths):
        if path.suffix == ".nc":
            data = summary_files.read(path)
            summaries[data.attrs["experiment"]] = data
            continue
        content = json_files.read(path, {"cost": cost_files.KEYS, "check": check_files.KEYS})
        if content["kind"] == "check":
            checks[content["check"]] = check_files.numbers(content)
        else:
            costs.append(content)
    return Evidence(summaries, tuple(costs), checks)


def read_folder(results: Path) -> Evidence:
    """All that a folder of results holds of it."""
    patterns = ("summary/*.nc", "cost/**/*.json", "checks/*.json")
    return read(path for pattern in patterns for path in sorted(Path(results).glob(pattern)))
