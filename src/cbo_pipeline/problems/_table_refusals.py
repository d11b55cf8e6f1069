"""How a table is refused: one line with the file, the row and the column."""

import difflib
from collections.abc import Iterable

from cbo_pipeline.errors import FileRefused


def refused(path: str, words: str, code: str, row: int | None = None, column: str | None = None) -> FileRefused:
    """The error for one place of a table. Rows count as in a spreadsheet: the header of a .csv file is row 1."""
    place = [f"row {row}"] * (row is not None) + [f"column {column}"] * (column is not None)
    where = f"{path}: {', '.join(place)}" if place else path
    return FileRefused(f"{where}: {words}", code=code, key=column or "", file=path)


def require_columns(path: str, names: Iterable[str], known: Iterable[str], header: int | None) -> None:
    """Refuse the first name that no column has, with the nearest one."""
    known = list(known)
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {_short(', '.join(known))}"
            raise refused(path, f"there is no such column; {hint}", "no-such-column", header, name)


def require_different(path: str, names: Iterable[str], header: int | None) -> None:
    """Refuse columns without a name, and names that two columns have."""
    seen = set()
    for place, name in enumerate(names, 1):
        if not name:
            raise refused(path, f"column {place} has no name; give it one", "bad-name", header)
        if name in seen:
            raise refused(path, "two columns have this name; rename one of them", "twice", header, name)
        seen.add(name)


def _short(text: str, length: int = 200) -> str:
    return text if len(text) <= length else f"{text[: length - 4]} ..."
