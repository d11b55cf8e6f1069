"""The digest of the code that decides each kind of verdicts and pages: what they carry, and what their rules compare.

All files of one rule carry the same digest, which is a parameter of the rule: whatever changes it makes them anew.
Files that a page is put together from, such as its style, count by their bytes.
"""

import hashlib
from pathlib import Path

from cbo_pipeline.results import code

JUDGING = ("claims", "claims.files", "claims.speed", "pages.claims")
THE_PAGE = ("pages.index", "pages.overview")
# The modules that decide the files of each kind (``kinds.kind_of``).
MODULES = {
    "claims": JUDGING,
    "speed": JUDGING,
    "verdicts": JUDGING,
    "readings": ("claims", "claims.reading_verdicts", "pages.readings"),
    "page": THE_PAGE,
    "overview": THE_PAGE,
    "settings": ("pages.settings",),
    "article": ("pages.article",),
    "publication": ("pages.publish",),
    "provenance": ("pages.provenance",),
}


def digest_of(kind: str) -> str:
    """The digest of the code that decides the files of a kind, and of the files that lie beside it.

    >>> len(digest_of("settings")), digest_of("claims") == digest_of("verdicts")
    (20, True)
    """
    modules = MODULES[kind]
    found = code.stage_digest(*modules)
    parts = [part for module in modules for part in _assets(module)]
    if not parts:
        return found
    texts = [found.encode(), *(text for path in parts for text in (path.name.encode(), path.read_bytes()))]
    return hashlib.sha256(b"".join(b"%d:%s" % (len(text), text) for text in texts)).hexdigest()[: code.LENGTH]


def readings_digest() -> str:
    """The digest that readings.json carries (``readings.write``); what only its tables show does not count there."""
    return code.stage_digest("claims.reading_verdicts")


def _assets(module: str) -> list[Path]:
    """What lies in the folder of a package beside its modules."""
    folder = code.ROOT.joinpath(*module.split("."))
    return sorted(path for path in folder.glob("*.*") if path.is_file() and not path.name.endswith((".py", ".pyc")))
