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
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FileRefused(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError):
        raise FileRefused(f"{path}: not valid JSON; delete it and make it again") from None
    if not isinstance(content, dict) or content.get("kind") not in kinds:
        raise FileRefused(f"{path}: {nothing} of this pipeline")
    if content.get("contract") != CONTRACT:
        reason = f"written under contract {content.get('contract')}, this is contract {CONTRACT}"
        raise FileRefused(f"{path}: {reason}; delete it and make it again")
    missing = [key for key in kinds[content["kind"]] if key not in content]
    if missing:
        raise FileRefused(f"{path}: holds no {' and no '.join(missing)}; delete it and make it again")
    return content
