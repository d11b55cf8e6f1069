"""Tables of one's own by their path: .csv, .npz, .nc, or the name of a table in memory."""

import os
import zipfile
from collections.abc import Sequence
from pathlib import Path

from cbo_pipeline.problems import _table_arrays, _table_csv
from cbo_pipeline.problems._table_columns import Columns
from cbo_pipeline.problems._table_refusals import refused

# Bytes of memory for each byte of a file: values as float64, the two parts, and the form that the networks read.
COPIES = {".csv": 6, ".npz": 5, ".nc": 5}


def names(path: str) -> tuple[str, ...]:
    """The names of all columns."""
    return _reader(path).names(path)


def expanded(path: str, chosen: Sequence[str]) -> list[str]:
    """The chosen names, those of whole matrices written out."""
    return list(chosen) if _suffix(path) == ".csv" else _table_arrays.expanded(path, chosen)


def has_numbers(path: str, column: str) -> bool:
    """Whether a column holds numbers, by its first value."""
    return _reader(path).has_numbers(path, column)


def read(path: str, numbers: Sequence[str], texts: Sequence[str] = ()) -> Columns:
    """Some columns as numbers, others as text."""
    return _reader(path).read(path, numbers, texts)


def memory_needed(path: str) -> int:
    """Bytes that reading the file and training on it may take, told before it is read."""
    require_there(path)
    if _table_arrays.digest_in_memory(path):
        return 0
    size = Path(path).stat().st_size
    if _suffix(path) == ".npz" and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as file:
            size = sum(entry.file_size for entry in file.infolist())
    return COPIES[_suffix(path)] * size


def require_there(path: str) -> None:
    """Refuse what is not a file that can be read, or whose name is not that of a table."""
    if _table_arrays.digest_in_memory(path):
        return
    if not Path(path).is_file():
        there = "not a file" if Path(path).exists() else "no such file"
        raise refused(path, f"{there}; is the name right?", "no-such-file")
    if _suffix(path) not in COPIES:
        raise refused(path, f"a table is one of {', '.join(COPIES)} by its name", "not-a-table")
    if not os.access(path, os.R_OK):
        raise refused(path, "not readable (permission denied)", "unreadable")


def _suffix(path: str) -> str:
    return Path(path).suffix.lower()


def _reader(path: str):
    require_there(path)
    return _table_csv if _suffix(path) == ".csv" else _table_arrays
