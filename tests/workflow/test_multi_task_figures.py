"""The figures of Multi-Task CBO show the numbers of the summaries and costs."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from cbo_pipeline import figures
from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.figures import multi_task, style
from cbo_pipeline.pages import published_data
from cbo_pipeline.results import costs as cost_files
from cbo_pipeline.results import netcdf, runs
from cbo_pipeline.results import summaries as summarise
from cbo_pipeline.training.loop import train

CONFIG = load_config()
SMALL = {"points": 60, "batch_size": 20, "epochs": 3}


def summary(folder, experiment, method, seeds=2, **changes):
    """The file of the summary of a small curve."""
    paths = []
    for seed in range(seeds):
        run = resolve(CONFIG, RunName(experiment, method, 6, 12, seed), {**SMALL, **changes})
        paths.append(folder / f"{method}{seed}.nc")
        netcdf.write(runs.dataset(run, train(run)), paths[-1])
    netcdf.write(summarise.summarise_curve(paths), folder / f"{method}.nc")
    return folder / f"{method}.nc"


def cost_of(folder, method, **measured):
    """A cost that is made up: what is drawn must be what is in the file."""
    run = resolve(CONFIG, RunName("multi_task_memory", method, 6, 12, 0), SMALL)
    parts = {"experiment": "multi_task_memory", "variant": method, "method": run.method, "M": 6, "N": 12}
    parts |= {
        "problem": run.problem,
        "iterations": 1,
        "seconds_per_iteration": 1.0,
        "seconds_per_iteration_median": 1.0,
    }
    cost_files.write({**parts, "settings": run.settings, **measured}, folder / f"{method}.json")
    return folder / f"{method}.json"


@pytest.fixture(scope="module")
def multi_task_data(tmp_path_factory):
    path = summary(tmp_path_factory.mktemp("runs"), "multi_task", "multi_task_cbo", tasks=7)
    return path, netcdf.read(path)


@pytest.fixture
def drawn():
    """Draw a figure in the style of the project, and close it at the end."""
    with style.applied():
        yield lambda function, *data: function(*data)
        plt.close("all")


def test_what_is_published_is_enough_to_draw_it(multi_task_data, drawn):
    _, data = multi_task_data
    whole, lean = (
        drawn(multi_task.multi_task_training, {"multi_task": found}).axes[0]
        for found in (data, published_data.lean(data))
    )
    for one, other in zip(whole.lines, lean.lines, strict=True):
        np.testing.assert_allclose(one.get_ydata(), other.get_ydata(), rtol=1e-5)


def test_training_shows_median_and_minimum_over_the_tasks(multi_task_data, drawn):
    _, data = multi_task_data
    axes = drawn(multi_task.multi_task_training, {"multi_task": data}).axes[0]
    median, minimum = (line.get_ydata() for line in axes.lines)
    one = data.isel(curve=0)
    np.testing.assert_allclose(median, one["risk"].mean("seed"))
    np.testing.assert_allclose(minimum, one["risk_task_min"].mean("seed"))
    assert axes.get_yscale() == "log"
    assert len(axes.collections) == 2  # a band for the spread over the seeds each
    assert axes.get_legend().get_title().get_text() == f"means of {one.sizes['seed']} runs"


def test_examples_show_five_tasks_with_their_targets(multi_task_data, drawn):
    _, data = multi_task_data
    axes = drawn(multi_task.multi_task_examples, {"multi_task": data}).axes[0]
    lines = [line for line in axes.lines if len(line.get_xdata())]
    assert len(lines) == 10
    for task, prediction, target in zip([1, 2, 4, 5, 7], lines[::2], lines[1::2], strict=True):
        assert prediction.get_label() == f"problem {task}"
        np.testing.assert_array_equal(prediction.get_ydata(), data["prediction"].isel(curve=0, task=task - 1))
        x, shift = target.get_xdata(), -1 + 2 * (task - 1) / 6
        np.testing.assert_allclose(target.get_ydata(), np.sin(2 * np.pi * x) + shift, atol=1e-12)


def test_a_leap_beside_the_data_does_not_flatten_the_examples(multi_task_data, drawn):
    _, data = multi_task_data
    data = data.copy(deep=True)
    data["prediction"][..., 0] = 1e5
    axes = drawn(multi_task.multi_task_examples, {"multi_task": data}).axes[0]
    assert axes.get_ylim() == pytest.approx((-2.2, 2.2), abs=1e-3)


def test_memory_shows_the_costs_of_both_ways(tmp_path):
    """Also through the command's own way, from files to a file."""
    methods = {"shared_1": 1, "shared_5": 5, "separate_1": 1, "separate_5": 5}
    summaries = [summary(tmp_path, "multi_task_memory", method, seeds=1) for method in methods]
    costs = [
        cost_of(tmp_path, method, state_bytes=1000 + k, peak_bytes=5000 + k, seconds_per_epoch=0.01 * (k + 1))
        for k, method in enumerate(methods)
    ]
    data = summarise.join([netcdf.read(path) for path in summaries])
    with style.applied():
        figure = multi_task.multi_task_memory({"multi_task_memory": data}, [cost_files.read(path) for path in costs])
        state, peak, seconds, risk = figure.axes
        for axes, expected in ((state, (1000, 1001)), (peak, (5000, 5001)), (seconds, (0.01, 0.02))):
            np.testing.assert_array_equal(axes.lines[0].get_xdata(), (1, 5))
            np.testing.assert_allclose(axes.lines[0].get_ydata(), expected)
        np.testing.assert_allclose(state.lines[1].get_ydata(), (1002, 1003))
        shown = [container.lines[0].get_ydata() for container in risk.containers]
        for k, curve in enumerate(methods):
            one = data.isel(curve=k)
            assert str(one["variant"].values) == curve
            assert shown[k // 2][k % 2] == pytest.approx(float(one["risk"].mean("seed")[-1]))
        plt.close(figure)
    figures.draw("multi_task_memory", summaries, [tmp_path / "figure.png"], costs)
    assert (tmp_path / "figure.png").stat().st_size > 10000
