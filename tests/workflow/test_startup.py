"""No stage loads what it does not use, and compiled kernels are shared by jobs that start together."""

import pickle
import re
import sys

import cbo_pipeline.kernels  # noqa: F401  (its import is what is tested here)
import pytest
from numba.core import caching

import tiny

HEAVY = {"torch", "torchvision", "numba", "matplotlib", "xarray", "scipy", "h5netcdf", "h5py", "lap", "snakemake"}


def loaded(folder, *arguments: str) -> set[str]:
    """The packages that a command has loaded when it ends, by the interpreter's own account."""
    command = [sys.executable, "-X", "importtime", "-m", "cbo_pipeline", *arguments]
    done = tiny.finish(command, folder)
    assert done.returncode == 0, done.stderr
    modules = re.findall(r"^import time:.*\|\s*([\w.]+)$", done.stderr, re.MULTILINE)
    return {module.partition(".")[0] for module in modules}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a tiny run of each method on the sine, and what training it loaded."""
    folder = tmp_path_factory.mktemp("trained")
    packages = {
        method: loaded(folder, *tiny.train_command(tiny.run_of(method), folder / f"{method}.nc")[3:])
        for method in ("cbo", "adam")
    }
    return folder, packages


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(tmp_path, arguments):
    packages = loaded(tmp_path, *arguments)
    assert "cbo_pipeline" in packages
    assert not packages & (HEAVY | {"numpy", "yaml", "jsonschema"})


def test_a_sine_run_loads_neither_torch_nor_matplotlib(trained):
    packages = trained[1]["cbo"]
    assert {"numpy", "numba"} <= packages
    assert not packages & {"torch", "torchvision", "matplotlib", "lap", "snakemake", "ot"}


def test_an_adam_run_loads_the_optimiser_and_nothing_of_mnist(trained):
    packages = trained[1]["adam"]
    assert "torch" in packages  # its step is torch.optim's
    assert not packages & {"torchvision", "matplotlib", "lap", "snakemake", "ot"}


def test_a_summary_loads_no_kernels_and_neither_torch_nor_matplotlib(trained):
    folder, _ = trained
    packages = loaded(folder, "summarise", "cbo.nc", "--output", "summary.nc")
    assert "xarray" in packages
    assert not packages & {"torch", "torchvision", "numba", "matplotlib", "lap", "snakemake"}


def test_a_figure_loads_no_kernels(trained):
    folder, _ = trained
    for method in ("cbo", "adam"):
        loaded(folder, "summarise", f"{method}.nc", "--output", f"{method}_summary.nc")
    shown = ["cbo_summary.nc", "adam_summary.nc"]
    packages = loaded(folder, "figure", "sine_training", *shown, "--output", "figure.png")
    assert "matplotlib" in packages
    assert not packages & {"torch", "torchvision", "numba", "lap", "snakemake"}


def test_the_driver_loads_nothing_heavy(tmp_path):
    """Snakemake reads the config, methods, problems and figures in every process that it starts."""
    code = """
import sys
from cbo_pipeline import config, figures
from cbo_pipeline.problems import _mnist_files
from cbo_pipeline.results import code
config.check_config(config.load_config())
print(*sys.modules)
"""
    done = tiny.finish([sys.executable, "-W", "ignore", "-c", code], tmp_path)
    assert done.returncode == 0, done.stderr
    packages = {name.partition(".")[0] for name in done.stdout.split()}
    assert "cbo_pipeline" in packages
    assert not packages & HEAVY


def test_jobs_that_start_together_share_an_empty_cache(tmp_path):
    """Single and double precision compile the same functions at the same time; all end well, with equal bytes."""
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    runs = [(method, copy) for copy in range(2) for method in ("cbo", "cbo_float64")]
    outputs = [tmp_path / f"{method}_{copy}.nc" for method, copy in runs]
    commands = [tiny.train_command(tiny.run_of(method), out) for (method, _), out in zip(runs, outputs, strict=True)]
    processes = [tiny.start(command, tmp_path, **cache) for command in commands]
    for process in processes:
        _, stderr = process.communicate(timeout=300)
        assert process.returncode == 0, stderr
    assert not list(tmp_path.rglob("*.tmp.*"))
    for (method, copy), output in zip(runs, outputs, strict=True):
        assert output.read_bytes() == (tmp_path / f"{method}_0.nc").read_bytes(), (method, copy)

    compiled = tiny.digests(tmp_path / "kernels", "*.nb?")
    for method, command in zip(("cbo", "cbo_float64"), commands[:2], strict=True):
        done = tiny.finish(command, tmp_path, NUMBA_DEBUG_CACHE="1", **cache)
        assert done.returncode == 0, done.stderr
        assert "data loaded" in done.stdout, method
        assert "saved" not in done.stdout, method  # nothing was compiled
    assert tiny.digests(tmp_path / "kernels", "*.nb?") == compiled


@pytest.mark.parametrize("last", ["first", "second"])
def test_two_signatures_saved_at_once_are_never_exchanged(tmp_path, monkeypatch, last):
    """Two processes see the same index and save two kernels, in both orders of their files."""
    first, second = (caching.IndexDataCacheFile(str(tmp_path), "kernel", "stamp") for _ in range(2))
    monkeypatch.setattr(second, "_load_index", dict)  # read before the first one had written
    write = {"first": first._save_data, "second": second._save_data}
    held = {}
    for name, cache_file in (("first", first), ("second", second)):
        monkeypatch.setattr(cache_file, "_save_data", lambda file, data, name=name: held.update({name: (file, data)}))
        cache_file.save(name, f"code of the {name}")
    for name in sorted(held, key=lambda name: name == last):
        write[name](*held[name])
    third = caching.IndexDataCacheFile(str(tmp_path), "kernel", "stamp")
    for name in ("first", "second"):
        assert third.load(name) in (f"code of the {name}", None)
    assert any(third.load(name) for name in ("first", "second"))


def test_a_new_index_never_leads_to_old_code(tmp_path, monkeypatch):
    """The source was edited, and the process that compiled it anew was killed before it wrote the code."""
    caching.IndexDataCacheFile(str(tmp_path), "kernel", "old source").save("signature", "old code")
    killed = caching.IndexDataCacheFile(str(tmp_path), "kernel", "new source")

    def kill(name, data):
        raise InterruptedError

    monkeypatch.setattr(killed, "_save_data", kill)
    with pytest.raises(InterruptedError):
        killed.save("signature", "new code")
    after = caching.IndexDataCacheFile(str(tmp_path), "kernel", "new source")
    assert after.load("signature") is None
    after.save("signature", "new code")
    assert after.load("signature") == "new code"
    assert pickle.loads(next(tmp_path.glob("*.nbi")).read_bytes())  # the index is numba's own still
