"""Tables of arrays: .npz and .nc files, and what a Python session holds (data frames, datasets, mappings).

An array of one dimension is a column. An array of two, (rows, columns), is several: x_1, x_2 and so on, and its own
name stands for all of them.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cbo_pipeline.problems._table_columns import Columns
from cbo_pipeline.problems._table_refusals import refused, require_columns, require_different

Arrays = dict[str, np.ndarray]
_in_memory: dict[str, Arrays] = {}
PREFIX = "memory:"  # of the names of tables that are not in files


def remember(data: Any) -> str:
    """Keep a table of this session under a name, with which it can be read like a file.

    ``data`` is a data frame (anything with ``columns``), an xarray.Dataset or a mapping of arrays.
    """
    arrays = _arrays_of(data)
    digest = hashlib.sha256()
    for name, values in arrays.items():
        content = values.astype(str) if values.dtype.kind == "O" else np.ascontiguousarray(values)
        digest.update(f"{name}\0{content.dtype.str}\0{content.shape}\0".encode())
        digest.update(content.tobytes())
    name = f"{PREFIX}{digest.hexdigest()}"
    _in_memory[name] = arrays
    return name


def digest_in_memory(name: str) -> str | None:
    """The digest of a table that is kept in memory; nothing for the name of a file."""
    return name.removeprefix(PREFIX) if name in _in_memory else None


def names(path: str) -> tuple[str, ...]:
    """The names of all columns."""
    return tuple(_columns(path))


def expanded(path: str, chosen: Sequence[str]) -> list[str]:
    """The chosen names, with the name of an array of two dimensions replaced by those of its columns."""
    arrays = _read(path)
    return [
        column
        for name in chosen
        for column in (_names_of(name, arrays[name]) if name in arrays and arrays[name].ndim == 2 else [name])
    ]


def has_numbers(path: str, column: str) -> bool:
    """Whether a column holds numbers; truth values are names."""
    found = _columns(path)
    require_columns(path, [column], found, None)
    return found[column].dtype.kind in "iuf"


def read(path: str, numbers: Sequence[str], texts: Sequence[str]) -> Columns:
    """Some columns as numbers, others as text."""
    found = _columns(path)
    require_columns(path, [*numbers, *texts], found, None)
    chosen = [*numbers, *texts]
    rows = len(found[chosen[0]])
    for name in chosen:
        if len(found[name]) != rows:
            words = f"{len(found[name])} rows, while {chosen[0]} has {rows}"
            raise refused(path, words, "ragged", column=name)
    table = np.empty((rows, len(numbers)))
    for place, name in enumerate(numbers):
        table[:, place] = _as_numbers(path, name, found[name])
    return Columns(table, [_as_text(found[name]) for name in texts], np.arange(1, rows + 1))


def _as_numbers(path: str, name: str, values: np.ndarray) -> np.ndarray:
    if values.dtype.kind in "biuf":
        return values
    for row, value in enumerate(values.tolist(), 1):
        try:
            float(value)
        except (TypeError, ValueError):
            if value is None or value == "":
                raise refused(
                    path, "no value; fill it in, or leave the row out", "missing-value", row, name
                ) from None
            words = f"{str(value)[:40]!r} is not a number; correct it, or leave the column out of the inputs"
            raise refused(path, words, "text-among-numbers", row, name) from None
    return np.array([float(value) for value in values.tolist()])


def _as_text(values: np.ndarray) -> np.ndarray:
    """Classes by their names; 1.0 is the class 1, what is missing has an empty name."""
    if values.dtype.kind == "f":
        return np.array([str(int(v)) if float(v).is_integer() else str(v) for v in values.tolist()], str)
    return np.array(["" if v is None else str(v).strip() for v in values.tolist()], str)


def _columns(path: str) -> Arrays:
    found = {}
    listed = []
    for name, values in _read(path).items():
        if values.ndim == 1:
            listed.append(name)
            found[name] = values
        elif values.ndim == 2:
            for place, column in enumerate(_names_of(name, values)):
                listed.append(column)
                found[column] = values[:, place]
    require_different(path, listed, None)
    if len(found) < 2:
        raise refused(path, "fewer than two columns; a table has inputs and a target", "one-column")
    return found


def _names_of(name: str, values: np.ndarray) -> list[str]:
    return [f"{name}_{place}" for place in range(1, values.shape[1] + 1)]


def _read(path: str) -> Arrays:
    if path in _in_memory:
        return _in_memory[path]
    try:
        return _read_npz(path) if path.lower().endswith(".npz") else _read_netcdf(path)
    except FileNotFoundError:
        raise
    except Exception as error:  # whatever a damaged file makes a library say
        reason = " ".join(str(error).split())[:100]
        raise refused(path, f"not readable ({reason})", "not-a-table") from None


def _read_npz(path: str) -> Arrays:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _read_netcdf(path: str) -> Arrays:
    import xarray as xr

    with xr.open_dataset(path) as file:
        return _arrays_of(file.load())


def _arrays_of(data: Any) -> Arrays:
    if hasattr(data, "data_vars"):
        return {str(name): np.asarray(data[name].values) for name in data.data_vars}
    if hasattr(data, "columns"):
        listed = [str(name) for name in data.columns]
        require_different("data", listed, None)
        return {str(name): np.asarray(data[name]) for name in data.columns}
    if isinstance(data, Mapping):
        return {str(name): np.asarray(values) for name, values in data.items()}
    kind = type(data).__name__
    words = f"a {kind}; give a path, a data frame, an xarray.Dataset or a mapping of arrays"
    raise refused("data", words, "not-a-table")
