"""The NetCDF contract of runs and summaries."""

import dataclasses
import errno
import json
import os
import time

import numpy as np
import pytest
import xarray as xr

from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.errors import FileRefused
from cbo_pipeline.files import SEAL
from cbo_pipeline.results import contract, netcdf, runs, summaries
from cbo_pipeline.training.loop import train

CHANGES = {"points": 40, "batch_size": 20, "epochs": 4, "snapshots": [0, 2], "keep_ensembles": [0, 4]}


@pytest.fixture(scope="module")
def run():
    return resolve(load_config(), RunName("sine", "cbo", 5, 6, 3), CHANGES)


@pytest.fixture(scope="module")
def data(run):
    return runs.dataset(run, train(run))


@pytest.fixture
def path(data, tmp_path):
    netcdf.write(data, tmp_path / "run.nc")
    return tmp_path / "run.nc"


@pytest.fixture(scope="module")
def summary(run, tmp_path_factory):
    """A summary of two variants with two seeds each."""
    folder, curves = tmp_path_factory.mktemp("summary"), []
    for variant in ("cbo", "cbo_float64"):
        paths = []
        for seed in (0, 1):
            one = resolve(load_config(), RunName("sine", variant, 5, 6, seed), CHANGES)
            paths.append(folder / f"{variant}{seed}.nc")
            netcdf.write(runs.dataset(one, train(one)), paths[-1])
        netcdf.write(summaries.summarise_curve(paths), folder / f"{variant}.nc")
        curves.append(summaries.read(folder / f"{variant}.nc"))
    netcdf.write(summaries.join(curves), folder / "sine.nc")
    return folder / "sine.nc"


def test_dimensions_and_coordinates(path):
    data = runs.read(path)
    sizes = {"epoch": 5, "snapshot": 3, "neuron": 5, "feature": 1, "output": 1, "kept_epoch": 2, "particle": 6}
    assert dict(data.sizes) == sizes
    assert all(dim in data.coords for dim in data.dims)
    assert data["epoch"].values.tolist() == [0, 1, 2, 3, 4]
    assert data["snapshot"].values.tolist() == [0, 2, 4]
    assert data["kept_epoch"].values.tolist() == [0, 4]
    for name in ("risk", "risk_loop", "risk_min", "risk_median", "variance", "alpha", "sigma"):
        assert data[name].dims == ("epoch",)
    assert data["w"].dims == ("snapshot", "neuron", "feature")
    assert data["b"].dims == ("snapshot", "neuron")
    assert data["c"].dims == ("snapshot", "neuron", "output")
    assert data["particle_w"].dims == ("kept_epoch", "particle", "neuron", "feature")


def test_thinned_records_keep_their_epochs_and_extremes(run, tmp_path):
    thin = resolve(load_config(), run.name, {**CHANGES, "epochs": 9, "record_first": 1, "record_every": 4})
    netcdf.write(runs.dataset(thin, train(thin)), tmp_path / "thin.nc")
    data = runs.read(tmp_path / "thin.nc")
    assert data["epoch"].values.tolist() == [0, 1, 5, 9]
    whole = train(resolve(load_config(), run.name, {**CHANGES, "epochs": 9})).records["risk"]
    np.testing.assert_array_equal(data["risk"].values, whole[[0, 1, 5, 9]])
    assert data["risk_smallest"].sel(epoch=9).item() == whole[6:].min()
    assert data["risk_largest"].sel(epoch=5).item() == whole[2:6].max()


def test_every_variable_is_described(path, summary):
    for file in (path, summary):
        with xr.open_dataset(file) as data:
            for name, variable in data.variables.items():
                assert variable.attrs.get("long_name"), name
                assert variable.dtype.kind not in "fiu" or variable.attrs.get("units"), name


def test_attributes(path, run):
    attributes = runs.read(path).attrs
    assert attributes["experiment"] == "sine"
    assert (attributes["method"], attributes["variant"]) == ("cbo", "cbo")
    assert (attributes["M"], attributes["N"], attributes["seed"]) == (5, 6, 3)
    assert attributes["settings"] == run.json
    assert json.dumps(json.loads(run.json), sort_keys=True, separators=(",", ":")) == run.json
    assert {"cbo_pipeline", "numpy", "netCDF4", "pot"} <= set(json.loads(attributes["versions"]))
    assert {"Conventions", "title", "summary", "source", "references", "license", "creator_name"} <= set(attributes)
    assert len(attributes["code"]) == 20
    assert runs.run_of(runs.read(path)) == run


def test_a_variant_and_its_method_have_their_own_attributes():
    run = resolve(load_config(), RunName("sine", "cbo_float64", 5, 6, 3), CHANGES)
    attributes = runs.dataset(run, train(run)).attrs
    assert (attributes["variant"], attributes["method"]) == ("cbo_float64", "cbo")


def test_curves_are_selected_by_variant(summary):
    data = summaries.read(summary)
    one = data.sel(variant="cbo_float64")
    assert one["curve"].item() == "cbo_float64_M5_N6"
    assert one["method"].item() == "cbo"
    np.testing.assert_array_equal(one["risk"], data["risk"].sel(curve="cbo_float64_M5_N6"))
    again = summaries.join([data.isel(curve=[0]), data.isel(curve=[1])])
    assert again.sel(variant="cbo")["M"].item() == 5


def test_a_variant_at_several_sizes_gives_all_its_curves(summary):
    data = summaries.read(summary).drop_indexes("variant")
    twice = summaries.with_index(data.assign_coords(variant=("curve", ["cbo", "cbo"])))
    assert twice.sel(variant="cbo").sizes["curve"] == 2


def test_a_summary_names_the_code_of_its_runs(summary, data):
    assert (summaries.read(summary)["run_code"] == data.attrs["code"]).all()


def test_compression_and_checksums_of_hdf5(path):
    with xr.open_dataset(path) as data:
        assert data["risk"].encoding["zlib"]
        assert data["risk"].encoding["fletcher32"]


def test_values_survive(path, data):
    xr.testing.assert_identical(runs.read(path), data)


def test_xarray_reads_a_sealed_file(path, data):
    assert SEAL in path.read_bytes()
    with xr.open_dataset(path) as opened:
        xr.testing.assert_equal(opened.load(), data)


def test_the_same_dataset_gives_the_same_bytes_at_any_time_and_anywhere(data, tmp_path, monkeypatch):
    netcdf.write(data, tmp_path / "a.nc")
    time.sleep(1.1)
    netcdf.write(data, tmp_path / "another_name.nc")
    monkeypatch.setattr(netcdf, "MEMORY", tmp_path / "no such folder")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(netcdf.tempfile, "tempdir", str(tmp_path / "temporary"))
    netcdf.write(data, tmp_path / "c.nc")
    first = (tmp_path / "a.nc").read_bytes()
    assert first == (tmp_path / "another_name.nc").read_bytes() == (tmp_path / "c.nc").read_bytes()
    for trace in (os.uname().nodename, str(tmp_path), "cbo_pipeline."):
        assert trace.encode() not in first
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_failed_write_leaves_nothing(data, tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(xr.Dataset, "to_netcdf", fail)
    with pytest.raises(OSError, match="No space"):
        netcdf.write(data, tmp_path / "run.nc")
    assert list(tmp_path.iterdir()) == []


def test_without_room_for_the_scratch_file_nothing_is_tried(data, tmp_path, monkeypatch):
    """HDF5 may crash when a disk fills up under it: it never writes where there is too little room."""
    monkeypatch.setattr(netcdf, "_free", lambda folder: data.nbytes)
    monkeypatch.setattr(xr.Dataset, "to_netcdf", lambda *a, **k: pytest.fail("the library was called"))
    with pytest.raises(OSError, match="No space left") as caught:
        netcdf.write(data, tmp_path / "run.nc")
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


def test_a_diverged_run_is_data(run):
    history = train(run)
    history.diverged = 3
    diverged = runs.dataset(run, history)["diverged"]
    assert diverged.values.tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("cut", [0, 1, 100, 1000, 5000, -1])
def test_a_truncated_file_is_refused_by_name(path, cut):
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(FileRefused, match=str(path)):
        netcdf.read(path)


def test_a_foreign_or_older_file_is_refused_with_words_that_help(data, tmp_path):
    data.to_netcdf(tmp_path / "older.nc", engine="netcdf4")
    with pytest.raises(
        FileRefused, match=r"older.nc: not a file of contract 2 .*contract 1.*delete it and make it again"
    ):
        netcdf.read(tmp_path / "older.nc")
    (tmp_path / "classic.nc").write_bytes(b"CDF\x01\x00\x00\x00\x00")
    with pytest.raises(FileRefused, match="NetCDF-3"):
        netcdf.read(tmp_path / "classic.nc")


def test_another_contract_is_refused(path, monkeypatch):
    monkeypatch.setattr(netcdf, "CONTRACT", contract.CONTRACT + 1)
    with pytest.raises(FileRefused, match=f"contract {contract.CONTRACT}, this is contract {contract.CONTRACT + 1}"):
        netcdf.read(path)


def test_a_missing_file_a_wrong_kind_and_missing_variables_are_refused(path, data, tmp_path):
    with pytest.raises(FileRefused, match="no such file"):
        netcdf.read(tmp_path / "missing.nc")
    with pytest.raises(FileRefused, match="not 'summary'"):
        summaries.read(path)
    netcdf.write(data.drop_vars("risk"), path)
    with pytest.raises(FileRefused, match="holds no risk"):
        runs.read(path)


def test_runs_of_other_settings_are_not_summarised_together(run, path, tmp_path):
    other = dataclasses.replace(run, settings={**run.settings, "dt": 0.05})
    netcdf.write(runs.dataset(other, train(other)), tmp_path / "other.nc")
    with pytest.raises(FileRefused, match=r"other.nc: its settings are not those of"):
        summaries.summarise_curve([path, tmp_path / "other.nc"])
