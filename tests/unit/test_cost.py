"""Costs: what is counted, what is measured, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.errors import FileRefused
from cbo_pipeline.results import costs
from cbo_pipeline.training import cost
from cbo_pipeline.training.loop import Training

CONFIG = load_config()
SMALL = {"points": 200, "batch_size": 20}


def run_of(experiment: str, method: str, M: int, N: int, **changes):
    return resolve(CONFIG, RunName(experiment, method, M, N, 0), {**SMALL, **changes})


@pytest.mark.parametrize(
    ("experiment", "method", "N", "changes", "expected"),
    [
        ("sine", "cbo", 12, {}, 12 * 3 * 5 * 4),
        ("sine", "cbo_float64", 12, {}, 12 * 3 * 5 * 8),
        ("sine", "adam", 1, {}, 3 * 3 * 5 * 4),  # parameters and two moments
        ("multi_task_memory", "shared_5", 12, {"tasks": 4}, 12 * 3 * 5 * 4),
        ("multi_task_memory", "separate_5", 12, {"tasks": 4}, 4 * 12 * 3 * 5 * 4),
    ],
)
def test_the_state_is_counted_in_closed_form(experiment, method, N, changes, expected):
    run = run_of(experiment, method, 5, N, **changes)
    found = cost.measure(run, seconds=0.0)
    assert found["state_bytes"] == expected
    assert (found["variant"], found["method"], found["M"], found["N"]) == (method, run.method, 5, N)
    assert 0 < found["seconds_per_iteration"] <= found["seconds_per_iteration_median"]
    assert found["seconds_per_epoch"] == pytest.approx(10 * found["seconds_per_iteration"])
    assert found["iterations"] >= cost.LEAST - 1  # all but the first


def test_measuring_leaves_the_run_as_training_has_it():
    """The iterations that are timed are those of training, not a copy of them."""
    run = run_of("sine", "cbo", 5, 12, epochs=3)
    training = Training.with_data(run)
    cost._iterations(training, 100.0)
    expected = Training.start(run)
    expected.finish()
    for name, x in expected.state["particles"].items():
        np.testing.assert_array_equal(training.state["particles"][name], x)


def test_one_batch_per_epoch_can_be_measured():
    assert cost.measure(run_of("sine", "cbo", 5, 12, batch_size=200, epochs=2), 0.0)["seconds_per_epoch"] > 0


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux can reset the peak")
def test_the_peak_sees_memory_that_is_gone_again():
    size = 64 << 20
    before = cost._forget_peak()
    array = np.ones(size, np.uint8)
    del array
    assert cost._peak() - before == pytest.approx(size, rel=0.1)
    assert cost._forget_peak() < before + size / 2
    assert cost._peak() < before + size / 2


@pytest.mark.parametrize("content", ["", "{", "[]", '{"method": "cbo"}'])
def test_a_damaged_cost_is_refused_by_name(tmp_path, content):
    path = tmp_path / "broken.json"
    path.write_text(content)
    with pytest.raises(FileRefused, match="broken"):
        costs.read(path)


def test_a_cost_is_plain_json(tmp_path):
    found = cost.measure(run_of("sine", "cbo", 5, 12), 0.0)
    costs.write(found, tmp_path / "deep" / "cost.json")
    content = json.loads((tmp_path / "deep" / "cost.json").read_text())
    assert content == costs.read(tmp_path / "deep" / "cost.json")
    assert set(found) == set(costs.KEYS)
    assert set(content) - set(found) == {"kind", "contract", "code", "versions"}
