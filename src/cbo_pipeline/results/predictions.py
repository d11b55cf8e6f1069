"""What a trained run says about new rows: the reported network of its last snapshot, in the units of the table."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from cbo_pipeline import problems
from cbo_pipeline.errors import FileRefused, UserError
from cbo_pipeline.files import whole_file
from cbo_pipeline.numerics.network import PARAMETERS
from cbo_pipeline.problems import _table_arrays, _table_files, _table_profile
from cbo_pipeline.problems._table_scales import Scales
from cbo_pipeline.problems.table import Table
from cbo_pipeline.results import runs


def predict(run: xr.Dataset, data: Any) -> xr.Dataset:
    """The targets of new rows, along the dimension ``row``; of classes the name, and the probability of it.

    ``data`` is a path or a table in memory. It needs the columns of the inputs, under their names, and no others.
    """
    return xr.Dataset({name: ("row", values) for name, values in columns(run, data).items()})


def columns(run: xr.Dataset, data: Any) -> dict[str, np.ndarray]:
    """The same by name."""
    problem = _problem(run)
    path = str(data) if isinstance(data, str | Path) else _table_arrays.remember(data)
    found = _table_files.read(path, problem.inputs)
    _table_profile.require_finite(path, found, problem.inputs)
    seen = Scales(run["feature_mean"].values, run["feature_scale"].values).apply(found.numbers)
    values = problem.predictions(_last_networks(run), seen.astype(problem.precision)).astype(np.float64)
    if problem.tasks > 1:  # network p computes target p
        by_target = list(values)
    elif problem.loss == "cross_entropy":
        by_target = [values[0]]
    else:
        by_target = [values[0, :, k : k + 1] for k in range(len(problem.targets))]
    result: dict[str, np.ndarray] = {}
    for k, name in enumerate(problem.targets):
        if problem.loss == "squared":
            scales = Scales(float(run["target_mean"][k]), float(run["target_scale"][k]))
            result[name] = scales.undo(by_target[k][:, 0])
        else:
            result |= _classes(name, by_target[k], problem.classes[k])
    return result


def write(table: dict[str, np.ndarray], path: Path) -> None:
    """Store predictions as .csv: a header and a row for each row of the data."""
    with whole_file(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(zip(*(values.tolist() for values in table.values()), strict=True))


def _classes(name: str, logits: np.ndarray, classes: list[str]) -> dict[str, np.ndarray]:
    """The likeliest class of every row, and its probability among the classes of this target."""
    logits = logits[:, : len(classes)]
    best = logits.argmax(axis=1)
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    probability = shares.max(axis=1) / shares.sum(axis=1)
    return {name: np.array(classes)[best], f"{name}_probability": probability}


def _problem(run: xr.Dataset) -> Table:
    of = runs.run_of(run)
    cls = problems.find(of.problem)
    if not issubclass(cls, Table):
        words = f"a run of the problem {of.problem}; predictions are made by runs on a table"
        raise UserError(words, code="not-a-table", key="problem")
    return cls(M=of.name.M, **of.part(cls))


def _last_networks(run: xr.Dataset) -> dict[str, np.ndarray]:
    """The reported network, or one for each task, at the last snapshot."""
    last = int(run["epoch"].values[-1])
    if not run.sizes.get("snapshot") or run["snapshot"].values[-1] != last:
        words = "the run diverged before its last epoch; there is no network to predict with"
        raise FileRefused(words, code="diverged", key="snapshot")
    found = {name: run[name].isel(snapshot=-1) for name in PARAMETERS if name in run}
    return {name: np.ascontiguousarray(x.values if "task" in x.dims else x.values[None]) for name, x in found.items()}
