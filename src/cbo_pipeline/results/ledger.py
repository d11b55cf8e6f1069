"""Digests of code that were shown to give the same numbers: results/adopted.json.

A refactoring changes the digest of the code and no number. ``adopt`` remakes a run of each curve, compares every
number, and only then enters the old and the new digest here, by curve. Files of results are never rewritten.
Whoever compares digests compares their representatives (``effective_digest``): those of adopted digests are equal.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cbo_pipeline.files import whole_file
from cbo_pipeline.results import json_files

FILE = "adopted.json"
READINGS = "readings"  # the folder of other readings of the paper; their curves are "{reading}/{curve}" here
Ledger = tuple[Mapping[str, Any], ...]
KEYS = ("curve", "old", "new", "run", "epochs", "numbers")


def read(folder: str | Path) -> Ledger:
    """The entries of the ledger in a folder of results, the oldest first; none if there is no ledger."""
    path = Path(folder, FILE)
    if not path.exists():
        return ()
    entries = json_files.parse(path)
    if not isinstance(entries, list) or not all(isinstance(e, dict) and set(KEYS) <= set(e) for e in entries):
        words = "not a ledger of adopted code; restore it, or delete it and adopt again"
        raise json_files.refused(path, words, "other-kind")
    return tuple(entries)


def add(folder: str | Path, entries: Sequence[Mapping[str, Any]]) -> None:
    """Append entries to the ledger in a folder of results."""
    with whole_file(Path(folder, FILE)) as partial:
        content = [*read(folder), *entries]
        partial.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def effective_digest(curve: str, digest: str, ledger: Ledger) -> str:
    """The representative of a digest: the oldest one that the ledger joins to it for this curve.

    The workflow takes it as a parameter of its rule, so that code which was adopted reruns nothing.

    >>> ledger = ({"curve": "sine/cbo/M5_N8", "old": {"code": "a"}, "new": {"code": "b"}},)
    >>> effective_digest("sine/cbo/M5_N8", "b", ledger), effective_digest("sine/adam/M5_N1", "b", ledger)
    ('a', 'b')
    """
    joined = _joined(curve, digest, ledger, "code")
    return next((e["old"]["code"] for e in ledger if e["curve"] == curve and e["old"]["code"] in joined), digest)


def same_versions(curve: str, one: Mapping[str, str], other: Mapping[str, str], ledger: Ledger) -> bool:
    """Whether two sets of versions are equal, or were shown to give the same numbers for this curve."""
    return dict(other) in _joined(curve, dict(one), ledger, "versions")


def _joined(curve: str, value: Any, ledger: Ledger, key: str) -> list[Any]:
    """The codes (or versions) that the ledger joins to one of them, for this curve."""
    pairs = [(entry["old"][key], entry["new"][key]) for entry in ledger if entry["curve"] == curve]
    joined = [value]
    for known in joined:  # the list grows
        for old, new in pairs:
            for one, other in ((old, new), (new, old)):
                if one == known and other not in joined:
                    joined.append(other)
    return joined
