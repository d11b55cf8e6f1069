"""Evidence from files: summaries (.nc), costs and checks (.json)."""

import json
from collections.abc import Iterable
from pathlib import Path

from cbo_pipeline.claims.evidence import Evidence
from cbo_pipeline.errors import FileRefused
from cbo_pipeline.results import trajectory


def read(paths: Iterable[Path]) -> Evidence:
    """Read all that the claims are judged by; a file that is none of it is refused by name."""
    summaries, costs, checks = {}, [], {}
    for path in map(Path, paths):
        if path.suffix == ".nc":
            data = trajectory.read(path, "summary")
            summaries[data.attrs["experiment"]] = data
            continue
        content = _json(path)
        if "check" in content:
            checks[content["check"]] = content
        elif "seconds_per_iteration" in content:
            costs.append(content)
        else:
            raise FileRefused(f"{path}: neither a cost nor a check")
    return Evidence(summaries, tuple(costs), checks)


def _json(path: Path) -> dict:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileRefused(f"{path}: cannot be read ({error.strerror or error})") from None
    except ValueError:
        raise FileRefused(f"{path}: not valid JSON; delete it and make it again") from None
    if not isinstance(content, dict):
        raise FileRefused(f"{path}: neither a cost nor a check")
    return content
