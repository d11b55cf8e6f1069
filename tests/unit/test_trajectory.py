"""The NetCDF contract of a run."""

import json

import numpy as np
import pytest
import xarray as xr

from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.errors import FileRefused
from cbo_pipeline.results import netcdf, runs, summaries
from cbo_pipeline.training.loop import train


@pytest.fixture(scope="module")
def run():
    changes = {"points": 40, "batch_size": 20, "epochs": 4, "snapshots": [0, 2]}
    return resolve(load_config(), RunName("sine", "cbo", 5, 6, 3), changes)


@pytest.fixture(scope="module")
def data(run):
    return runs.dataset(run, train(run))


@pytest.fixture
def path(data, tmp_path):
    netcdf.write(data, tmp_path / "run.nc")
    return tmp_path / "run.nc"


def test_dimensions_and_coordinates(path):
    data = runs.read(path)
    assert dict(data.sizes) == {"epoch": 5, "snapshot": 3, "neuron": 5, "feature": 1, "output": 1}
    assert all(dim in data.coords for dim in data.dims)
    assert data["epoch"].values.tolist() == [0, 1, 2, 3, 4]
    assert data["snapshot"].values.tolist() == [0, 2, 4]
    for name in ("risk", "risk_min", "risk_median", "variance", "alpha", "sigma"):
        assert data[name].dims == ("epoch",)
    assert data["w"].dims == ("snapshot", "neuron", "feature")
    assert data["b"].dims == ("snapshot", "neuron")
    assert data["c"].dims == ("snapshot", "neuron", "output")


def test_every_variable_is_described(path):
    with xr.open_dataset(path, engine="netcdf4") as data:
        for name, variable in data.variables.items():
            assert variable.attrs.get("long_name"), name
            assert variable.attrs.get("units"), name


def test_attributes(path, run):
    attributes = netcdf.read(path).attrs
    assert attributes["experiment"] == "sine"
    assert attributes["method"] == "cbo"
    assert attributes["seed"] == 3
    assert attributes["settings"] == run.json
    assert json.dumps(json.loads(run.json), sort_keys=True, separators=(",", ":")) == run.json
    assert {"cbo_pipeline", "numpy", "torch"} <= set(json.loads(attributes["versions"]))
    assert runs.run_of(netcdf.read(path)) == run


def test_compression(path):
    with xr.open_dataset(path, engine="netcdf4") as data:
        assert data["risk"].encoding["zlib"]


def test_values_survive(path, data):
    again = netcdf.read(path)
    for name in data.variables:
        np.testing.assert_array_equal(again[name].values, data[name].values)


def test_the_same_dataset_gives_the_same_bytes(data, tmp_path):
    for name in ("a.nc", "b.nc"):
        netcdf.write(data, tmp_path / name)
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()


def test_a_failed_write_leaves_nothing(data, tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(xr.Dataset, "to_netcdf", fail)
    with pytest.raises(OSError, match="No space"):
        netcdf.write(data, tmp_path / "run.nc")
    assert list(tmp_path.iterdir()) == []


def test_a_diverged_run_is_data(run):
    history = train(run)
    history.diverged = 3
    diverged = runs.dataset(run, history)["diverged"]
    assert diverged.values.tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("cut", [0, 1, 100, 1000, 5000])
def test_a_truncated_file_is_refused_by_name(path, cut):
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(FileRefused, match=str(path)):
        netcdf.read(path)


def test_a_foreign_file_is_refused(tmp_path):
    xr.Dataset({"a": ("t", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="netcdf4")
    with pytest.raises(FileRefused, match="names no contract"):
        netcdf.read(tmp_path / "other.nc")


def test_another_contract_is_refused(path, monkeypatch):
    monkeypatch.setattr(trajectory, "CONTRACT", trajectory.CONTRACT + 1)
    with pytest.raises(FileRefused, match=f"contract {trajectory.CONTRACT - 1}, this is contract"):
        netcdf.read(path)


def test_a_missing_file_and_a_wrong_kind_are_refused(path, tmp_path):
    with pytest.raises(FileRefused, match="no such file"):
        netcdf.read(tmp_path / "missing.nc")
    with pytest.raises(FileRefused, match="not 'summary'"):
        summaries.read(path)
