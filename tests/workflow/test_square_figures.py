"""The figures about optimal-transport CBO show the numbers of the summaries."""

import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot as plt

from cbo_pipeline import figures
from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.figures import square, style
from cbo_pipeline.results import netcdf, runs
from cbo_pipeline.results import summaries as summarise
from cbo_pipeline.training.loop import train

CONFIG = load_config()
SMALL = {"points": 60, "batch_size": 30, "epochs": 6}


def summary(folder, experiment, method, M, N, **changes):
    """The file of the summary of a small curve of two seeds."""
    paths = []
    for seed in range(2):
        run = resolve(CONFIG, RunName(experiment, method, M, N, seed), {**SMALL, **changes})
        paths.append(folder / f"{method}_{M}_{N}_{seed}.nc")
        netcdf.write(runs.dataset(run, train(run)), paths[-1])
    netcdf.write(summarise.summarise_curve(paths), folder / f"{method}_{M}_{N}.nc")
    return folder / f"{method}_{M}_{N}.nc"


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("square")
    return [summary(folder, "square", "ot_cbo", M, N) for M, N in ((3, 8), (8, 8), (8, 2))]


@pytest.fixture
def in_style():
    with style.applied():
        yield
        plt.close("all")


def joined(paths):
    return summarise.join([netcdf.read(path) for path in paths])


@pytest.mark.parametrize(("label", "swept", "sizes"), [("mean_field_M", "M", [3, 8]), ("mean_field_N", "N", [2, 8])])
def test_a_sweep_shows_the_mean_at_the_last_epoch(sweeps, in_style, label, swept, sizes):
    data = joined(sweeps)
    axes = getattr(square, label)({"square": data}).axes[0]
    lines = {line.get_label(): line for line in axes.lines}
    shown = lines["mean at epoch 6"]
    np.testing.assert_array_equal(shown.get_xdata(), sizes)
    fixed = {"M": "N", "N": "M"}[swept]
    for size, mean in zip(sizes, shown.get_ydata(), strict=True):
        one = data.isel(curve=((data[swept] == size) & (data[fixed] == 8)).values).isel(curve=0)
        assert mean == pytest.approx(float(one["risk"].isel(epoch=-1).mean()))
    np.testing.assert_allclose(lines["label noise"].get_ydata(), 0.01**2)
    assert ("slope $1/M$" in lines) == (swept == "M")
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_a_run_that_diverged_is_not_left_out_of_a_mean(sweeps, in_style):
    """As in the claims it is infinitely bad; a seed that was never run is no run."""
    data = joined(sweeps)
    one = int(np.flatnonzero(((data["M"] == 3) & (data["N"] == 8)).values)[0])
    other = int(np.flatnonzero(((data["M"] == 8) & (data["N"] == 8)).values)[0])
    data["risk"][{"curve": one, "seed": 1, "epoch": slice(4, None)}] = np.nan
    data["risk"][{"curve": other, "seed": 1}] = np.nan
    lines = {line.get_label(): line for line in square.mean_field_M({"square": data}).axes[0].lines}
    assert "runs (1 diverged)" in lines
    shown = lines["mean at epoch 6"].get_ydata()
    assert np.isinf(shown[0])
    assert shown[1] == pytest.approx(float(data["risk"].isel(curve=other, seed=0, epoch=-1)))


def test_the_guide_has_the_slope_of_one_over_M(sweeps, in_style):
    axes = square.mean_field_M({"square": joined(sweeps)}).axes[0]
    guide = next(line for line in axes.lines if line.get_label() == "slope $1/M$")
    product = np.asarray(guide.get_xdata()) * np.asarray(guide.get_ydata())
    assert product[0] == pytest.approx(product[1])


def test_training_shows_every_curve_of_both_sweeps(sweeps, in_style):
    left, right = square.square_training({"square": joined(sweeps)}).axes
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["$M = 3$", "$M = 8$"]
    assert [text.get_text() for text in right.get_legend().get_texts()] == ["$N = 2$", "$N = 8$"]


def test_more_sizes_than_looks_are_all_drawn(sweeps, in_style):
    whole = joined(sweeps[1:2])
    data = xr.concat([whole.assign_coords(M=("curve", [8 + k])) for k in range(6)], "curve")
    left, _ = square.square_training({"square": data}).axes
    assert len(left.get_legend().get_texts()) == 6
    drawn = [line for line in left.lines if not line.get_label().startswith("_")]
    assert len({(line.get_color(), line.get_linestyle()) for line in drawn}) == 6


def test_without_label_noise_there_is_no_floor(tmp_path, in_style):
    paths = [summary(tmp_path, "square", "ot_cbo", M, 4, label_noise=0.0) for M in (2, 5)]
    for draw in (square.mean_field_M, square.mean_field_N):
        labels = {line.get_label() for line in draw({"square": joined(paths)}).axes[0].lines}
        assert "label noise" not in labels


def test_of_several_curves_of_a_variant_the_largest_is_shown(sweeps):
    shown = style.curve(joined(sweeps), "ot_cbo")
    assert (int(shown["M"]), int(shown["N"])) == (8, 8)


def test_the_decay_starts_at_one_and_stands_beside_its_bound(tmp_path, in_style):
    paths = [
        summary(tmp_path, "variance_decay", "random_fast", 5, 4, batch_size=60),
        summary(tmp_path, "variance_decay", "trained_slow", 5, 4, batch_size=60, quiet_from=3, epochs=8),
    ]
    data = joined(paths)
    left, right, *below = square.variance_decay({"variance_decay": data}).axes
    for axes, steps, factor in ((left, 6, 0.25), (right, 5, 0.81)):
        decay = next(line for line in axes.lines if "equal" in line.get_label()).get_ydata()
        bound = next(line for line in axes.lines if len(line.get_xdata()) and line.get_linestyle() == ":").get_ydata()
        assert len(decay) == len(bound) == steps
        assert decay[0] == 1
        np.testing.assert_allclose(bound, factor ** np.arange(steps))
        assert np.all(decay[1:] < decay[:-1])
    for axes in below:
        np.testing.assert_allclose(axes.lines[0].get_ydata(), 1, rtol=0.1)  # what local minima may add


def test_files_are_drawn(sweeps, tmp_path):
    tasks = summary(tmp_path, "multi_task_ot", "multi_task_ot_cbo", 6, 6, tasks=3)
    for label, paths in (("mean_field_M", sweeps), ("square_training", sweeps), ("multi_task_ot", [tasks])):
        figures.draw(label, paths, [tmp_path / f"{label}.pdf", tmp_path / f"{label}.png"])
        assert (tmp_path / f"{label}.pdf").stat().st_size > 5000
