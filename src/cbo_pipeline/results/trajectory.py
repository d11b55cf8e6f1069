"""The NetCDF contract: what a file of results holds, how it is written, and what is refused on reading.

Nobody else touches NetCDF. Files are written under another name and renamed when they are whole, so that a
killed process leaves no half file under the final name. They hold no clock times: the same settings give
the same bytes.
"""

import io
import json
import platform
from importlib import metadata
from pathlib import Path

import numpy as np
import xarray as xr

import cbo_pipeline
from cbo_pipeline.config import Run
from cbo_pipeline.errors import FileRefused, UserError
from cbo_pipeline.files import whole_file
from cbo_pipeline.numerics.network import DIMENSIONS
from cbo_pipeline.training.history import History

CONTRACT = 1  # raised when the meaning or the bytes of a file change
ENGINE = "h5netcdf"
# What a file of each kind holds at the least: variables and attributes.
CONTENT = {
    "run": ("risk", "diverged", "experiment", "method", "seed", "settings"),
    "summary": ("risk", "risk_over_seeds", "experiment", "settings"),
}
LIBRARIES = ("numpy", "numba", "scipy", "torch", "lapx", "xarray", "h5netcdf", "h5py")

LONG_NAMES = {
    "risk": ("empirical risk of the reported network on the whole training set", "1"),
    "risk_loop": ("mean over the epoch's minibatches of the risk at the consensus point, as a loop prints it", "1"),
    "risk_smallest": ("smallest risk since the last stored epoch", "1"),
    "risk_largest": ("largest risk since the last stored epoch", "1"),
    "risk_loop_smallest": ("smallest risk_loop since the last stored epoch", "1"),
    "risk_loop_largest": ("largest risk_loop since the last stored epoch", "1"),
    "risk_min": ("smallest risk among the particles on the epoch's last minibatch", "1"),
    "risk_median": ("median risk of the particles on the epoch's last minibatch", "1"),
    "variance": ("spread of the ensemble about its consensus, half the mean squared distance", "1"),
    "alpha": ("inverse temperature of the consensus weights", "1"),
    "sigma": ("diffusion parameter", "1"),
    "accuracy": ("share of the test images that the reported network classifies correctly", "1"),
    "rounds": ("fixed-point rounds of the barycentre in the epoch's last iteration", "1"),
    "unsettled": ("iterations so far in which the limit on the rounds ended the barycentre", "1"),
    "diverged": ("1 from the epoch on in which no particle had a finite risk, else 0", "1"),
    "w": ("inner weights of the reported network", "1"),
    "b": ("inner biases of the reported network", "1"),
    "c": ("outer weights of the reported network", "1"),
    "a": ("outer biases of the reported network", "1"),
    "particle_w": ("inner weights of the particles", "1"),
    "particle_b": ("inner biases of the particles", "1"),
    "particle_c": ("outer weights of the particles", "1"),
    "particle_a": ("outer biases of the particles", "1"),
    "kept_epoch": ("epoch at which all particles were stored", "epochs"),
    "particle": ("particle of the ensemble, from 1", "1"),
    "epoch": ("epochs of training, 0 is the initial state", "epochs"),
    "snapshot": ("epoch at which the network was stored", "epochs"),
    "neuron": ("neuron of the hidden layer, from 1", "1"),
    "feature": ("feature of the input, from 1", "1"),
    "output": ("output of the network, from 1", "1"),
    "task": ("task, from 1", "1"),
}


def dataset(run: Run, history: History) -> xr.Dataset:
    """The trajectory of a run, by the contract."""
    epochs = history.stored
    shared = history.tasks == 1
    variables = {name: (("epoch", "task")[: values.ndim], values) for name, values in sorted(history.records.items())}
    for name, values in history.snapshots.items():
        dims = ("snapshot", *DIMENSIONS[name]) if shared else ("snapshot", "task", *DIMENSIONS[name])
        variables[name] = (dims, values[:, 0] if shared else values)
    for name, values in history.ensembles.items():
        variables[f"particle_{name}"] = (("kept_epoch", "particle", *DIMENSIONS[name]), values)
    diverged = (epochs >= history.diverged) if history.diverged >= 0 else np.zeros_like(epochs)
    variables["diverged"] = ("epoch", diverged.astype(np.int8))
    result = xr.Dataset(variables, coords={"epoch": epochs, "snapshot": np.array(history.snapshot_epochs, int)})
    if history.ensembles:
        result = result.assign_coords(kept_epoch=np.array(history.ensemble_epochs, int))
    for dim, length in result.sizes.items():
        if dim not in result.coords:
            result = result.assign_coords({dim: np.arange(1, length + 1)})
    result.attrs = {
        "title": f"Training run {run.name}",
        "kind": "run",
        "experiment": run.name.experiment,
        "method": run.name.variant,
        "seed": run.name.seed,
        "settings": run.json,
    }
    return described(result)


def described(data: xr.Dataset) -> xr.Dataset:
    """Give every variable of a known name its long name and unit."""
    for name, variable in data.variables.items():
        if name in LONG_NAMES and "long_name" not in variable.attrs:
            long_name, units = LONG_NAMES[name]
            variable.attrs.update(long_name=long_name, units=units)
    return data


def versions() -> dict[str, str]:
    """The versions of everything that can change a number."""
    found = {"cbo_pipeline": cbo_pipeline.__version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def write(data: xr.Dataset, path: str | Path) -> None:
    """Write a dataset whole or not at all."""
    path = Path(path)
    data = data.copy()
    data.attrs = {**data.attrs, "contract": CONTRACT, "versions": json.dumps(versions(), sort_keys=True)}
    numbers = [name for name, v in data.variables.items() if v.dtype.kind in "fiu" and v.ndim and v.size > 1]
    encoding = {name: {"zlib": True, "complevel": 4, "shuffle": True} for name in numbers}
    for name, variable in data.variables.items():
        variable.encoding = {}
        if variable.dtype.kind in "fiu":
            encoding.setdefault(name, {})["_FillValue"] = None
    # The HDF5 library does not survive a disk that fills up under it: it writes to memory, Python to the disk.
    content = io.BytesIO()
    data.to_netcdf(content, engine=ENGINE, encoding=encoding)
    with whole_file(path) as partial:
        partial.write_bytes(content.getbuffer())


def read(path: str | Path, kind: str | None = None) -> xr.Dataset:
    """Read a file of results into memory; refuse, by name, what is damaged, foreign or of another contract."""
    path = Path(path)
    if not path.is_file():
        raise FileRefused(f"{path}: no such file")
    try:
        with xr.open_dataset(path, engine=ENGINE) as data:
            data = data.load()
    except ImportError:
        raise
    except Exception as error:  # the HDF5 layers raise whatever a damaged byte leads them to
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileRefused(f"{path}: not a readable NetCDF file ({reason}); delete it and make it again") from None
    contract = data.attrs.get("contract")
    if contract is None:
        raise FileRefused(f"{path}: not a file of this pipeline (it names no contract)")
    if str(contract) != str(CONTRACT):
        raise FileRefused(
            f"{path}: written under contract {contract}, this is contract {CONTRACT}; delete it and make it again"
        )
    found = str(data.attrs.get("kind"))
    if kind is not None and found != kind:
        raise FileRefused(f"{path}: a file of kind {found!r}, not {kind!r}")
    missing = [name for name in CONTENT.get(found, ()) if name not in {*data, *data.attrs}]
    if missing:
        raise FileRefused(f"{path}: holds no {' and no '.join(missing)}; delete it and make it again")
    if "settings" in data.attrs:
        try:
            run_of(data)
        except UserError as error:
            raise FileRefused(f"{path}: {error}; delete it and make it again") from None
    return data


def run_of(data: xr.Dataset) -> Run:
    """The run that a trajectory belongs to."""
    return Run.from_json(data.attrs["settings"])
