"""What a table is, learnt by reading it once: its rows, columns and classes. What it must not be is refused here."""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cbo_pipeline.problems import _table_files
from cbo_pipeline.problems._table_columns import Columns
from cbo_pipeline.problems._table_digest import digest_of
from cbo_pipeline.problems._table_refusals import refused

MOST_CLASSES = 1000


class Profile(NamedTuple):
    """The table as training sees it. ``classes`` has the names of the classes of each target, if it has classes."""

    rows: int
    inputs: tuple[str, ...]
    targets: tuple[str, ...]
    loss: str
    classes: tuple[tuple[str, ...], ...]


def profile(path: str, inputs: Sequence[str] | None, targets: Sequence[str], loss: str | None) -> Profile:
    """The profile of a file; by default all columns but the targets are inputs, and text means classes."""
    _table_files.require_there(path)
    return _profile(path, digest_of(path), None if inputs is None else tuple(inputs), tuple(targets), loss)


@functools.lru_cache(maxsize=100)
def _profile(path: str, digest: str, inputs, targets, loss) -> Profile:
    targets = tuple(_table_files.expanded(path, targets))
    if inputs is None:
        inputs = tuple(name for name in _table_files.names(path) if name not in targets)
        if not inputs:
            raise refused(path, "no column is left for the inputs", "no-inputs")
    inputs = tuple(_table_files.expanded(path, inputs))
    for name in inputs:
        if name in targets:
            raise refused(path, "both an input and a target", "conflict", column=name)
    if loss is None:
        loss = "squared" if all(_table_files.has_numbers(path, name) for name in targets) else "cross_entropy"
    found = columns(path, inputs, targets, loss)
    for place, name in enumerate((*inputs, *(targets if loss == "squared" else ()))):
        values = found.numbers[:, place]
        if (values == values[0]).all():
            words = f"constant: all {len(values)} values are {values[0]:g}; it tells nothing, leave it out"
            raise refused(path, words, "constant", column=name)
    classes = tuple(_classes(path, name, labels) for name, labels in zip(targets, found.texts, strict=False))
    return Profile(len(found.places), inputs, targets, loss, classes)


def columns(path: str, inputs: Sequence[str], targets: Sequence[str], loss: str) -> Columns:
    """The columns that training needs, every value there: numbers are finite, classes have names."""
    if loss == "squared":
        found = _table_files.read(path, [*inputs, *targets])
    else:
        found = _table_files.read(path, inputs, targets)
    if not len(found.places):
        raise refused(path, "a header and no rows", "no-rows")
    require_finite(path, found, [*inputs, *targets])
    for name, labels in zip(targets, found.texts, strict=False):
        missing = np.flatnonzero((labels == "") | (np.char.lower(labels) == "nan"))
        if len(missing):
            row = int(found.places[missing[0]])
            raise refused(path, "no class; fill it in, or leave the row out", "missing-value", row, name)
    return found


def require_finite(path: str, found: Columns, names: Sequence[str]) -> None:
    """Refuse the first value that is not a finite number."""
    if np.isfinite(found.numbers).all():
        return
    row, place = np.argwhere(~np.isfinite(found.numbers))[0]
    value = found.numbers[row, place]
    words = f"{value} is not a finite number; correct it, or leave the row out"
    raise refused(path, words, "not-finite", int(found.places[row]), names[place])


def _classes(path: str, name: str, labels: np.ndarray) -> tuple[str, ...]:
    """The names of the classes: numbers in ascending order, or words in alphabetical order."""
    found = np.unique(labels).tolist()
    if len(found) < 2:
        raise refused(
            path, f"one class alone, {found[0]!r}; there is nothing to tell apart", "one-class", column=name
        )
    if len(found) > MOST_CLASSES:
        words = f"{len(found)} classes, where {MOST_CLASSES} is the limit; for numbers set loss: squared"
        raise refused(path, words, "too-many-classes", column=name)
    try:
        return tuple(sorted(found, key=float))
    except ValueError:
        return tuple(found)
