"""Tables in .csv files: UTF-8 text, a header of names, values separated by commas, decimal points."""

import csv
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import numpy as np

from cbo_pipeline.problems._table_columns import Columns
from cbo_pipeline.problems._table_refusals import refused, require_columns, require_different

MARKS = {b"\xef\xbb\xbf": "UTF-8", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}  # at the beginning of a file
OTHERS = {";": "semicolons", "\t": "tabs", "|": "bars"}  # that separate values in other programs' files
HEADER = 1  # the row of the names


def names(path: str) -> tuple[str, ...]:
    """The names of all columns."""
    with _opened(path) as file:
        return _header(path, _rows(path, file))


def has_numbers(path: str, column: str) -> bool:
    """Whether the first value of a column is a number."""
    with _opened(path) as file:
        rows = _rows(path, file)
        header = _header(path, rows)
        require_columns(path, [column], header, HEADER)
        first = next((row for _, row in rows if row), [])
        return len(first) != len(header) or _is_number(first[header.index(column)])


def read(path: str, numbers: Sequence[str], texts: Sequence[str]) -> Columns:
    """Some columns as numbers, others as text. Lines without any value are skipped."""
    with _opened(path) as file:
        rows = _rows(path, file)
        header = _header(path, rows)
        require_columns(path, [*numbers, *texts], header, HEADER)
        places, words = [header.index(name) for name in numbers], [header.index(name) for name in texts]
        values, lines, labels = array("d"), array("q"), [[] for _ in texts]
        for line, row in rows:
            if not row:
                continue
            if len(row) != len(header):
                said = f"{len(row)} values where the header has {len(header)} names"
                raise refused(path, f"{said} (numbers are written with a point: 1.5)", "ragged", line)
            try:
                values.extend([float(row[place]) for place in places])
            except ValueError:
                raise _not_a_number(path, line, row, places, numbers) from None
            lines.append(line)
            for kept, place in zip(labels, words, strict=True):
                kept.append(row[place].strip())
    table = np.frombuffer(values, np.float64) if values else np.empty(0)
    table = table.reshape(len(lines), len(places))
    return Columns(table, [np.array(kept, str) for kept in labels], np.array(lines, np.int64))


def _opened(path: str) -> TextIO:
    with Path(path).open("rb") as file:
        first = file.read(4096)
    for mark, encoding in MARKS.items():
        if first.startswith(mark):
            words = f"a byte-order mark ({encoding}) stands before the first name; save it as UTF-8 without one"
            raise refused(path, words, "byte-order-mark", HEADER)
    if not first.strip():
        raise refused(path, "empty; a table has a header and rows", "empty", HEADER)
    if b"\0" in first:
        raise refused(path, "not text; save the table as .csv, .npz or .nc", "not-a-table", HEADER)
    return Path(path).open(encoding="utf-8", newline="")


def _rows(path: str, file: TextIO):
    """The rows of a file, each with its line."""
    reader = csv.reader(file)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except (csv.Error, UnicodeDecodeError) as error:
            reason = "not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
            raise refused(path, f"not readable as .csv ({reason})", "not-a-table", reader.line_num + 1) from None
        yield reader.line_num, row


def _header(path: str, rows) -> tuple[str, ...]:
    row = next((row for _, row in rows if row), [])
    if len(row) == 1:
        for sign, words in OTHERS.items():
            if sign in row[0]:
                said = f"the names are separated by {words}; separate values by commas, write numbers as 1.5"
                raise refused(path, said, "delimiter", HEADER)
        raise refused(path, "one column alone; a table has inputs and a target", "one-column", HEADER, row[0])
    found = tuple(name.strip() for name in row)
    require_different(path, found, HEADER)
    return found


def _not_a_number(path: str, line: int, row: list[str], places: list[int], numbers: Sequence[str]):
    place, name = next((p, n) for p, n in zip(places, numbers, strict=True) if not _is_number(row[p]))
    if not row[place].strip():
        return refused(path, "no value; fill it in, or leave the row out", "missing-value", line, name)
    words = f"{row[place][:40]!r} is not a number; correct it, or leave the column out of the inputs"
    return refused(path, words, "text-among-numbers", line, name)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
