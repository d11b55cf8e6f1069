"""The check ``spread``: how far particles differ, parameter by parameter, in runs that kept them."""

import numpy as np
import pytest

import cbo_pipeline as cbo
from cbo_pipeline import figures
from cbo_pipeline.claims import spread
from cbo_pipeline.config import load_config
from cbo_pipeline.errors import FileRefused
from cbo_pipeline.results import checks, netcdf, summaries
from cbo_pipeline.workflow.plan import Plan

SMALL = {
    "M": 4,
    "N": 8,
    "points": 40,
    "batch_size": 20,
    "epochs": 40,
    "keep_ensembles": [0, 10, 40],
    "snapshots": [0],
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> list:
    """A run in each precision, in files."""
    folder = tmp_path_factory.mktemp("kept")
    files = []
    for precision in ("float32", "float64"):
        files.append(folder / f"{precision}.nc")
        run = cbo.train("sine", "cbo", seed=1, progress=False, precision=precision, **SMALL)
        netcdf.write(run, files[-1])
    return files


def test_what_is_measured_is_the_particles_own(kept):
    rows = spread.check_spread(kept)["rows"]
    assert [row["precision"] for row in rows] == ["float32", "float64"]
    for row, path in zip(rows, kept, strict=True):
        assert (row["seed"], row["epochs"]) == (1, [0, 10, 40])
        assert row["unit"] == np.finfo(row["precision"]).eps
        run = cbo.open_run(path)
        assert row["risk"] == run["risk"].sel(epoch=[0, 10, 40]).values.tolist()
        by_hand = [run[f"particle_{name}"].isel(kept_epoch=-1).values.reshape(8, -1) for name in "wbc"]
        values = np.concatenate(by_hand, axis=1).astype(float)
        relative = values.std(axis=0) / abs(values.mean(axis=0))
        assert row["spread"][-1] == pytest.approx(sorted(relative)[5] / 2 + sorted(relative)[6] / 2)  # of 12


def test_few_parameters_that_nobody_sees_do_not_count():
    """They would make all of the variance."""
    particles = np.ones((50, 20)) + 1e-7 * np.random.default_rng(0).normal(size=(50, 20))
    particles[:, :4] *= np.random.default_rng(1).normal(size=(50, 4)) * 1e6
    assert particles.var(axis=0).sum() > 1e10
    assert spread.spread(particles) < 1e-6


def test_a_parameter_whose_mean_is_zero_is_no_warning():
    assert spread.spread(np.array([[1.0, 1.0, -1.0], [1.0, 1.0, 1.0]])) == 0


def test_the_file_is_read_as_it_was_written_and_refused_without_rows(kept, tmp_path):
    found = spread.check_spread(kept)
    checks.write("spread", found, tmp_path / "spread.json")
    assert checks.numbers(checks.read(tmp_path / "spread.json")) == found
    checks.write("spread", {}, tmp_path / "empty.json")
    with pytest.raises(FileRefused) as error:
        checks.read(tmp_path / "empty.json")
    assert error.value.key == "rows"


def test_the_figure_has_a_panel_for_it_where_it_is_there(kept, tmp_path):
    config = load_config()
    data = {
        "sine": summaries.join([_summary(tmp_path, *of) for of in (("cbo", "float32"), ("cbo_float64", "float64"))])
    }
    figure = figures.find("precision")
    heights = []
    for checked in ({}, {"spread": spread.check_spread(kept)}):
        figures.draw_data(figure, data, [], checked, [tmp_path / "figure.png"])
        heights.append((tmp_path / "figure.png").read_bytes()[20:24])  # of the PNG's header
    assert heights[1] > heights[0]
    assert Plan(config).checks_of_figure("precision") == ["results/checks/spread.json"]
    without = {**config, "experiments": {name: e for name, e in config["experiments"].items() if name != "precision"}}
    assert Plan(without).checks_of_figure("precision") == []
    assert Plan(config).checks_of_figure("sine_training") == []


def _summary(folder, variant: str, precision: str):
    run = cbo.train("sine", variant, seed=0, progress=False, **{**SMALL, "precision": precision})
    netcdf.write(run, folder / f"{variant}.nc")
    return summaries.summarise_curve([folder / f"{variant}.nc"])


def test_an_experiment_whose_runs_are_checked_needs_no_overview():
    assert figures.has_own("precision")
    assert not figures.has_own("mine")
