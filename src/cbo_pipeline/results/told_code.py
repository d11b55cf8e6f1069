"""What figures, pages and verdicts tell of the code that made them: is it the present code?

Every function answers with one of three words, or with nothing for a file that this pipeline did not make.
"""

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cbo_pipeline.files import MARK
from cbo_pipeline.results import code, kinds, stage_code

FITS, OTHER_CODE, NO_CODE = "fits", "other code", "not told"
DIGEST = rb"code ([0-9a-f]{%d})" % code.LENGTH  # whatever comes after it: in a PNG that is a checksum, any byte
MARKED = MARK.encode() + rb" ([a-z]+)(?:, " + DIGEST + rb"\b)?"


class Stages:
    """The digests of the present code of all figures, pages and verdicts, each found out once."""

    @functools.cached_property
    def figures(self) -> set[str]:
        return {code.stage_digest(f"figures.{path.stem}") for path in (code.ROOT / "figures").glob("[a-z]*.py")}

    @functools.cached_property
    def others(self) -> dict[str, str]:
        return {kind: stage_code.digest_of(kind) for kind in stage_code.MODULES}

    def of_figure(self, path: Path) -> str | None:
        """Of a figure the digest of the code that drew it is known; other pictures have none and are passed over."""
        told = re.search(DIGEST, path.read_bytes())
        if told is None:
            return None
        return FITS if told[1].decode() in self.figures else OTHER_CODE

    def of_page(self, path: Path) -> str | None:
        """A page says its kind and the digest in its mark; without a mark it is not ours."""
        told = re.findall(MARKED, path.read_bytes())
        kind, found = (part.decode() for part in told[-1]) if told else ("", "")
        return self._word(kind, found) if kind in self.others else None

    def of_json(self, content: Any) -> str | None:
        """The verdicts are a list, each with the digest of the code that judged it; other files have it once."""
        if isinstance(content, list) and content and all(_is_verdict(row) for row in content):
            return _worst([self._word("claims", row.get("code", "")) for row in content])
        if not isinstance(content, dict):
            return None
        kind = content.get("kind", "speed" if set(content) >= kinds.SPEED else None)
        if kind == "readings":
            return same(content.get("code", ""), stage_code.readings_digest())
        return self._word(kind, content.get("code", "")) if isinstance(kind, str) and kind in self.others else None

    def _word(self, kind: str, stored: str) -> str:
        return same(stored, self.others[kind])


def same(stored: str, now: str) -> str:
    """Whether a digest is that of the present code, in a word."""
    if not stored:
        return NO_CODE
    return FITS if stored == now else OTHER_CODE


def _is_verdict(row: Any) -> bool:
    return isinstance(row, Mapping) and set(row) >= kinds.VERDICT


def _worst(words: Sequence[str]) -> str:
    return next((word for word in words if word != FITS), FITS)
