"""Adam's step against torch.optim.Adam, step by step over thousands of steps."""

import numpy as np
import pytest
import torch

from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.training.loop import Training

SIZES = {
    "sine": {"M": 100, "points": 400, "batch_size": 100, "epochs": 500},
    "mnist": {"M": 20, "images": 200, "batch_size": 50, "epochs": 500},
}


@pytest.fixture(autouse=True)
def data(mnist_folder, monkeypatch):
    monkeypatch.setenv("CBO_DATA_DIR", str(mnist_folder))


@pytest.mark.parametrize(
    ("experiment", "precision", "tolerance"),
    [("sine", "float64", 1e-12), ("sine", "float32", 1e-4), ("mnist", "float32", 1e-4)],
)
def test_every_step_is_that_of_torch(experiment, precision, tolerance):
    """torch's optimiser gets the same gradients; its parameters stay ours to rounding, though nothing resets them."""
    sizes = dict(SIZES[experiment])
    name = RunName(experiment, "adam", sizes.pop("M"), 1, 3)
    run = resolve(load_config(), name, {**sizes, "precision": precision, "dt": 0.01})
    training = Training.with_data(run)
    training.draw_ensemble()
    particles, gradient = training.state["particles"], training.state["gradient"]
    theirs = {name: torch.tensor(x) for name, x in particles.items()}
    start = {name: x.clone() for name, x in theirs.items()}
    optimiser = torch.optim.Adam(theirs.values(), lr=0.01)
    for taken, _ in enumerate(training.steps(records=False), start=1):
        for name, x in theirs.items():
            x.grad = torch.as_tensor(gradient[name])
        optimiser.step()
        if taken % 100 == 1 or taken < 100:
            for name, x in theirs.items():
                np.testing.assert_allclose(particles[name], x, rtol=0, atol=tolerance, err_msg=taken)
    assert taken == 4 * sizes["epochs"]
    assert max(float((x - start[name]).abs().max()) for name, x in theirs.items()) > 0.1
