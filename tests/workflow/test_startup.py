"""No stage loads what it does not use, and compiled kernels are shared by jobs that start together."""

import re
import sys

import pytest

import tiny

HEAVY = {"torch", "torchvision", "numba", "matplotlib", "xarray", "scipy", "netCDF4", "lap", "snakemake"}


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


@pytest.mark.parametrize("method", ["cbo", "adam"])
def test_a_sine_run_loads_neither_torch_nor_matplotlib(trained, method):
    packages = trained[1][method]
    assert {"numpy", "numba"} <= packages
    assert not packages & {"torch", "torchvision", "matplotlib", "lap", "snakemake", "ot"}


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
from cbo_pipeline.results import code
from cbo_pipeline.workflow import driver, driver_lock, grid_engine, left_over
from cbo_pipeline.workflow import plan, progress, readings, shared_jobs, slurm
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

    # What one of the two had to give up for the other is compiled by the next run, and then everything is there.
    for said in ([], ["data loaded"]):
        for method, command in zip(("cbo", "cbo_float64"), commands[:2], strict=True):
            done = tiny.finish(command, tmp_path, cold=True, NUMBA_DEBUG_CACHE="1", **cache)
            assert done.returncode == 0, done.stderr
            assert all(words in done.stdout for words in said), method
            assert not said or "saved" not in done.stdout, method  # nothing was compiled
    assert not list(tmp_path.rglob("work_*"))
