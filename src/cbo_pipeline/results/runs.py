"""From the history of a training to the dataset of its run, and back from a file.

What stands here decides what a run's file holds. How it is described and stored is in ``contract`` and ``netcdf``.
"""

from pathlib import Path

import numpy as np
import xarray as xr

from cbo_pipeline.config import Run
from cbo_pipeline.errors import FileRefused, UserError
from cbo_pipeline.numerics.network import DIMENSIONS
from cbo_pipeline.results import contract, netcdf
from cbo_pipeline.results.code import run_digest
from cbo_pipeline.training.history import History


def dataset(run: Run, history: History, code: str | None = None) -> xr.Dataset:
    """The dataset of a run, by the contract. ``code`` is the digest of the code that decided it (default: as it is
    now).
    """
    epochs = np.asarray(history.stored)
    variables = {name: (("epoch", "task")[: values.ndim], values) for name, values in sorted(history.records.items())}
    for name, values in history.snapshots.items():
        if history.tasks == 1:
            variables[name] = (("snapshot", *DIMENSIONS[name]), values[:, 0])
        else:
            variables[name] = (("snapshot", "task", *DIMENSIONS[name]), values)
    for name, values in history.ensembles.items():
        variables[f"particle_{name}"] = (("kept_epoch", "particle", *DIMENSIONS[name]), values)
    diverged = (epochs >= history.diverged) if history.diverged >= 0 else np.zeros_like(epochs)
    variables["diverged"] = ("epoch", diverged.astype(np.int8))
    coordinates = {"epoch": epochs, "snapshot": np.array(history.snapshot_epochs, int)}
    if history.ensembles:
        coordinates["kept_epoch"] = np.array(history.ensemble_epochs, int)
    result = xr.Dataset(variables, coords=coordinates)
    for dim, length in result.sizes.items():
        if dim not in result.coords:
            result = result.assign_coords({dim: np.arange(1, length + 1)})
    return contract.stamp(
        result,
        "run",
        str(run.name),
        run_digest(run.method, run.problem) if code is None else code,
        experiment=run.name.experiment,
        variant=run.name.variant,
        method=run.method,
        problem=run.problem,
        M=run.name.M,
        N=run.name.N,
        seed=run.name.seed,
        settings=run.json,
    )


def read(path: str | Path) -> xr.Dataset:
    """Read the file of a run; refuse, by name, what is not one or has settings that no run can have."""
    data = netcdf.read(path, "run")
    try:
        run_of(data)
    except UserError as error:
        words = f"{path}: {error}; {netcdf.AGAIN}"
        raise FileRefused(words, code=error.code, key=error.key, file=str(path)) from None
    return data


def run_of(data: xr.Dataset) -> Run:
    """The run that a dataset belongs to."""
    return Run.from_json(data.attrs["settings"])
