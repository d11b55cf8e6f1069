"""What needs a process of its own: measured costs, files for other programs, bytes that another run writes."""

import shutil
import subprocess
import sys

import pytest

from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.results import costs, netcdf, runs
from cbo_pipeline.training.loop import train
from tiny import run_of


@pytest.fixture
def path(tmp_path):
    """The file of a tiny run."""
    run = run_of()
    netcdf.write(runs.dataset(run, train(run)), tmp_path / "run.nc")
    return tmp_path / "run.nc"


def test_separate_ensembles_take_more_memory_and_time(tmp_path):
    """In processes of their own, as the workflow does it: ten tasks, ten ensembles of 3.6 MB."""
    found = {}
    for method in ("shared_10", "separate_10"):
        run = resolve(
            load_config(), RunName("multi_task_memory", method, 300, 1000, 0), {"points": 200, "batch_size": 20}
        )
        path = tmp_path / f"{method}.json"
        command = [sys.executable, "-m", "cbo_pipeline", "cost", "--settings", run.json, "--output", str(path)]
        subprocess.run([*command, "--seconds", "0"], check=True, timeout=100)
        found[method] = costs.read(path)
    shared, separate = found["shared_10"], found["separate_10"]
    assert separate["state_bytes"] == 10 * shared["state_bytes"] == 10 * 1000 * 3 * 300 * 4
    assert separate["peak_bytes"] > 4 * shared["peak_bytes"]
    for one in found.values():
        assert 1.0 < one["peak_bytes"] / one["state_bytes"] < 8.0
    assert separate["seconds_per_epoch"] > 1.5 * shared["seconds_per_epoch"]


@pytest.mark.skipif(shutil.which("ncdump") is None, reason="ncdump is not installed")
def test_ncdump_reads_a_sealed_file(path):
    said = subprocess.run(["ncdump", "-h", path], check=True, capture_output=True, text=True).stdout
    assert "double risk(epoch) ;" in said
    assert ':Conventions = "CF-1.11, ACDD-1.3" ;' in said
    whole = subprocess.run(["ncdump", "-v", "epoch", path], check=True, capture_output=True, text=True).stdout
    assert "epoch = 0, 1, 2, 3 ;" in whole


def test_another_process_writes_the_same_bytes(path, tmp_path):
    code = (
        "import sys; from cbo_pipeline.results import netcdf; junk = [bytes([k]) * 1000 for k in range(99)];"
        "netcdf.write(netcdf.read(sys.argv[1]), sys.argv[2])"
    )
    subprocess.run([sys.executable, "-c", code, path, tmp_path / "again.nc"], check=True)
    assert (tmp_path / "again.nc").read_bytes() == path.read_bytes()
