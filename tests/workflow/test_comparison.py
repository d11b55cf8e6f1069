"""``cbo-pipeline plot``: runs beside each other, named by what differs between them."""

from pathlib import Path

import numpy as np
import pytest

from cbo_pipeline.cli.main import main
from cbo_pipeline.errors import UserError
from cbo_pipeline.figures import comparison, style
from cbo_pipeline.results import netcdf, runs
from cbo_pipeline.training.loop import train
from tiny import run_of

RUNS = {
    "cbo.nc": run_of(),
    "seed.nc": run_of(seed=1),
    "alpha.nc": run_of(alpha=1e3, snapshots=[]),
    "adam.nc": run_of("adam"),
    "thin.nc": run_of("adam", epochs=9, record_first=2, record_every=3),
}


@pytest.fixture(scope="module")
def found():
    """Runs by the names of their files."""
    return {Path(name): runs.dataset(run, train(run)) for name, run in RUNS.items()}


@pytest.fixture(scope="module")
def folder(found, tmp_path_factory):
    place = tmp_path_factory.mktemp("runs")
    for name, data in found.items():
        netcdf.write(data, place / name)
    return place


def labels(found, *names):
    return list(comparison.labels({Path(name): found[Path(name)] for name in names}).values())


def test_the_legend_tells_what_differs_and_nothing_else(found):
    assert labels(found, "cbo.nc", "seed.nc") == ["seed 0", "seed 1"]
    assert labels(found, "cbo.nc", "alpha.nc") == ["alpha 100000", "alpha 1000"]
    assert labels(found, "cbo.nc", "adam.nc") == ["CBO", "Adam"]
    assert labels(found, "cbo.nc", "seed.nc", "adam.nc") == ["CBO, seed 0", "CBO, seed 1", "Adam"]
    assert labels(found, "cbo.nc") == ["CBO"]


def test_runs_that_do_not_differ_are_told_by_their_files(found):
    same = {Path("a.nc"): found[Path("cbo.nc")], Path("b.nc"): found[Path("cbo.nc")]}
    assert list(comparison.labels(same).values()) == ["CBO (a.nc)", "CBO (b.nc)"]


def test_every_run_is_a_line_of_its_risks(found):
    with style.applied():
        (axes,) = comparison.comparison(found).axes
    assert [line.get_label() for line in axes.lines] == [entry.get_text() for entry in axes.get_legend().texts]
    for line, data in zip(axes.lines, found.values(), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), data["epoch"])
        np.testing.assert_array_equal(line.get_ydata(), data["risk"])
    assert axes.get_yscale() == "log"
    looks = [(line.get_color(), line.get_linestyle()) for line in axes.lines]
    assert len(set(looks)) == len(looks)


def test_epochs_that_were_not_stored_are_shown_by_their_extremes(found):
    with style.applied():
        (axes,) = comparison.comparison({Path("thin.nc"): found[Path("thin.nc")]}).axes
    assert len(axes.collections) == 1


def test_of_several_tasks_the_median_is_drawn_within_all(tmp_path):
    from cbo_pipeline.config import RunName, load_config, resolve

    small = {"epochs": 2, "points": 80, "batch_size": 40, "snapshots": [], "tasks": 3}
    run = resolve(load_config(), RunName("multi_task", "multi_task_cbo", 5, 6, 0), small)
    data = runs.dataset(run, train(run))
    with style.applied():
        (axes,) = comparison.comparison({Path("tasks.nc"): data}).axes
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), data["risk"].median("task"))
    assert len(axes.collections) == 1


def test_the_command_writes_the_figure_in_every_format_with_the_same_bytes(folder, monkeypatch):
    monkeypatch.chdir(folder)
    command = ["plot", "cbo.nc", "adam.nc", "--output", "figure.pdf", "figure.png"]
    assert main(command) == 0
    before = [Path(name).read_bytes() for name in command[-2:]]
    assert main(command) == 0
    assert [Path(name).read_bytes() for name in command[-2:]] == before
    assert main(["plot", "cbo.nc", "--series", "variance", "--output", "variance.svg"]) == 0


def test_an_unknown_series_and_too_many_runs_are_refused(found):
    with pytest.raises(UserError) as caught:
        comparison.comparison(found, "colour")
    assert (caught.value.code, caught.value.key) == ("unknown-name", "--series")
    many = {Path(f"{k}.nc"): found[Path("cbo.nc")] for k in range(comparison.MOST + 1)}
    with pytest.raises(UserError) as caught:
        comparison.comparison(many)
    assert (caught.value.code, caught.value.key) == ("too-many", "runs")
