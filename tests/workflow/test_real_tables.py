"""Tables that ship with scikit-learn, with the defaults of the package."""

import itertools
import time

import numpy as np
import pytest
import torch

import cbo_pipeline as cbo
from cbo_pipeline.config import table_runs
from cbo_pipeline.training.loop import Training
from table_files import of_sklearn


def test_the_hybrid_reads_digits():
    """At least 0.95 of the test part, with all defaults; classes that are words."""
    columns, target = of_sklearn("digits")
    columns[target] = np.array([f"digit {k}" for k in columns[target]])
    begin = time.process_time()
    run = cbo.train(data=columns, target=target, method="hybrid", progress=False)
    assert float(run["accuracy"][-1]) >= 0.95
    assert time.process_time() - begin < 60
    predicted = cbo.predict(run, {name: x for name, x in columns.items() if name != target})[target].values
    assert np.mean(predicted == columns[target]) > 0.98


@pytest.mark.parametrize("method", ["adam", "hybrid"])
def test_breast_cancer_is_told_from_its_absence(method):
    columns, target = of_sklearn("breast_cancer")
    run = cbo.train(data=columns, target=target, method=method, progress=False, epochs=60)
    assert float(run["accuracy"][-1]) >= 0.93


@pytest.mark.parametrize("method", ["adam", "hybrid"])
def test_diabetes_is_predicted_better_than_by_its_mean(method):
    columns, target = of_sklearn("diabetes")
    run = cbo.train(data=columns, target=target, method=method, progress=False, epochs=30)
    assert float(run["risk_test"][-1]) < 0.75


STEPS = 400


@pytest.fixture
def one_thread():
    """Small networks: more threads of PyTorch would wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def prepared(columns: dict[str, np.ndarray], target: str) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Rows and targets in the order that seed 0 gives them, standardised, and the size of the training part."""
    x = np.stack([values for name, values in columns.items() if name != target], axis=1)
    order = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(0,))).permutation(len(x))
    x, y, size = x[order], columns[target][order], len(x) - round(0.2 * len(x))
    x = (x - x[:size].mean(0)) / x[:size].std(0)
    if y.dtype.kind == "f":
        y = ((y - y[:size].mean()) / y[:size].std())[:, None]
    else:
        y = np.unique(y, return_inverse=True)[1]
    return torch.tensor(x), torch.tensor(y), size


@pytest.mark.parametrize(
    ("name", "loss"), [("diabetes", "squared"), ("breast_cancer", "cross_entropy"), ("digits", "cross_entropy")]
)
def test_adam_is_torch_nn_with_torch_optim_step_by_step(name, loss, one_thread):
    """All parameters after each of four hundred steps from the same start, and then what the test part says."""
    columns, target = of_sklearn(name)
    changes = {"precision": "float64", "loss": loss}
    run = table_runs.chosen_run(table_runs.remember(columns), [target], None, "adam", changes=changes)
    training = Training.start(run)
    x, y, size = prepared(columns, target)
    (_, M, features), outputs = training.state["particles"]["w"].shape, training.state["particles"]["c"].shape[2]
    network = torch.nn.Sequential(
        torch.nn.Linear(features, M), torch.nn.ReLU(), torch.nn.Linear(M, outputs, bias=False)
    ).double()
    risk = torch.nn.MSELoss() if loss == "squared" else torch.nn.CrossEntropyLoss()

    def of_both() -> list[tuple[np.ndarray, torch.Tensor]]:
        w, b, c = (training.state["particles"][key][0] for key in "wbc")
        return [(w, network[0].weight), (b, network[0].bias), (c.T, network[2].weight)]

    with torch.no_grad():
        for ours, theirs in of_both():
            theirs.copy_(torch.tensor(ours))
    optimiser = torch.optim.Adam(network.parameters(), lr=run.settings["dt"])
    batches = (batch % size for epoch in itertools.count() for batch in training.batches(epoch))
    for batch, _ in zip(batches, itertools.islice(training.steps(records=False), STEPS), strict=False):
        optimiser.zero_grad()
        risk(network(x[batch]) / M, y[batch]).backward()
        optimiser.step()
        for ours, theirs in of_both():
            np.testing.assert_allclose(ours, theirs.detach(), rtol=1e-9, atol=1e-10)
    assert training.iteration == STEPS
    measured = training.problem.final_measures(training.state["particles"])
    with torch.no_grad():
        values = network(x[size:]) / M
    assert measured["risk_test"] == pytest.approx(risk(values, y[size:]).item(), rel=1e-9)
    if loss == "cross_entropy":
        assert measured["accuracy"] == pytest.approx((values.argmax(1) == y[size:]).double().mean().item(), abs=1e-12)
