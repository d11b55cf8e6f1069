"""What the JSON files of results have in common: a kind, the contract, the digest of the code, the versions."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cbo_pipeline.errors import FileRefused
from cbo_pipeline.files import whole_file
from cbo_pipeline.results.contract import CONTRACT
from cbo_pipeline.results.versions import versions

OWN_KEYS = ("kind", "contract", "code", "versions")  # what a file says about itself
AGAIN = "delete it and make it again"


def write(content: Mapping[str, Any], path: str | Path, kind: str, code: str) -> None:
    """Store content as JSON, whole or not at all."""
    known = dict(zip(OWN_KEYS, (kind, CONTRACT, code, versions()), strict=True))
    with whole_file(path) as partial:
        text = json.dumps({**content, **known}, indent=1, sort_keys=True)
        partial.write_text(text + "\n", encoding="utf-8")


def read(path: str | Path, kinds: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    """Read a file of one of these kinds; refuse, by name, what is none or lacks one of the keys of its kind."""
    wanted = " nor ".join(f"a {kind}" for kind in kinds)
    nothing = f"neither {wanted}" if len(kinds) > 1 else f"not {wanted}"
    content = parse(path)
    if not isinstance(content, dict) or content.get("kind") not in list(kinds):
        raise refused(path, f"{nothing} of this pipeline", "other-kind")
    if content.get("contract") != CONTRACT:
        reason = f"written under contract {content.get('contract')}, this is contract {CONTRACT}"
        raise refused(path, f"{reason}; {AGAIN}", "other-contract", "contract")
    require(content, kinds[content["kind"]], path)
    return content


def parse(path: str | Path) -> Any:
    """The content of a JSON file; refused, by name, if it cannot be read."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise refused(path, f"cannot be read ({error.strerror or error})", "unreadable") from None
    except (ValueError, RecursionError):
        raise refused(path, f"not valid JSON; {AGAIN}", "not-json") from None


def require(
    content: Mapping[str, Any],
    keys: Iterable[str],
    path: str | Path,
    numbers: Iterable[str] = (),
    texts: Iterable[str] = (),
) -> None:
    """Refuse a file that lacks one of these keys, or has anything but a number, or a text, where one belongs."""
    missing = [key for key in keys if key not in content]
    if missing:
        raise refused(path, f"holds no {' and no '.join(missing)}; {AGAIN}", "missing", missing[0])
    for key in numbers:
        if isinstance(content[key], bool) or not isinstance(content[key], int | float):
            raise refused(path, f"{key} is not a number; {AGAIN}", "wrong-type", key)
    for key in texts:
        if not isinstance(content[key], str):
            raise refused(path, f"{key} is not a text; {AGAIN}", "wrong-type", key)


def refused(path: str | Path, words: str, code: str, key: str = "") -> FileRefused:
    return FileRefused(f"{path}: {words}", code=code, key=key, file=str(path))
