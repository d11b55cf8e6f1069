"""The digest of the content of a table, by which another content is another run."""

import functools
import hashlib
from pathlib import Path

from cbo_pipeline.problems._table_arrays import digest_in_memory


def digest_of(path: str) -> str:
    """SHA-256 of a file, or of a table in memory."""
    told = digest_in_memory(path)
    if told:
        return told
    status = Path(path).stat()
    return _digest(path, status.st_mtime_ns, status.st_size)


@functools.cache
def _digest(path: str, modified: int, size: int) -> str:
    """Of the file as it is now: time and size are arguments, so that a changed file is read again."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
