"""The hybrid of Adam and CBO: its two ends are CBO and Adam, and in between it is the paper's formula."""

import numpy as np
import pytest

from cbo_pipeline import methods
from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.methods.base import Clock
from cbo_pipeline.numerics.kernels.noise import Noise
from cbo_pipeline.training.loop import Training, train

SMALL = {
    "sine": {"points": 400, "batch_size": 100, "epochs": 4},
    "mnist": {"images": 600, "batch_size": 200, "epochs": 3},
}


@pytest.fixture(autouse=True)
def data(mnist_folder, monkeypatch):
    monkeypatch.setenv("CBO_DATA_DIR", str(mnist_folder))


def run(experiment, method, N, **changes):
    M = {"sine": 30, "mnist": 20}[experiment]
    return resolve(load_config(), RunName(experiment, method, M, N, 3), {**SMALL[experiment], **changes})


@pytest.mark.parametrize("experiment", ["sine", "mnist"])
def test_without_adam_it_is_cbo(experiment):
    """In double precision, to rounding: the equations add their terms in different orders."""
    shared = {"dt": 0.1, "alpha": 100.0, "alpha_every": 2, "sigma_squared": 1.2, "precision": "float64"}
    cbo, hybrid = train(run(experiment, "cbo", 12, **shared)), train(run(experiment, "hybrid", 12, gamma=0, **shared))
    assert cbo.records.keys() == hybrid.records.keys()
    for name, values in cbo.records.items():
        np.testing.assert_allclose(hybrid.records[name], values, rtol=1e-8)


@pytest.mark.parametrize("experiment", ["sine", "mnist"])
def test_one_particle_without_cbo_is_adam(experiment):
    """Against torch.optim.Adam, in double precision: the two round differently. V is one step older than theta."""
    shared = {"dt": 0.01, "initial": "pytorch", "precision": "float64", "beta1": 0.8, "beta2": 0.99, "delta": 1e-6}
    adam = Training.start(run(experiment, "adam", 1, **shared))
    hybrid = Training.start(run(experiment, "hybrid", 1, gamma=1, **shared))
    start = {name: np.asarray(x).copy() for name, x in adam.state["particles"].items()}
    adam.finish()
    hybrid.finish()
    for name, x in adam.state["particles"].items():
        x = np.asarray(x)
        assert np.abs(x - start[name]).max() > 0.01
        np.testing.assert_allclose(np.asarray(hybrid.state["particles"][name]), x, rtol=0, atol=1e-9)


def test_a_step_is_the_formula_of_the_paper():
    """Three steps of Section 3.4.1, written out with whole arrays."""
    gamma, dt, lambda_, sigma_squared, beta1, beta2, delta = 0.7, 0.02, 1.1, 1.4, 0.85, 0.95, 1e-3
    method = methods.find("hybrid")(
        dt=dt, alpha=30.0, lambda_=lambda_, sigma_squared=sigma_squared, initial="uniform", initial_bound=1.0,
        gamma=gamma, beta1=beta1, beta2=beta2, delta=delta,
    )  # fmt: skip
    training = Training.start(run("sine", "hybrid", 9, precision="float64"))
    problem, state = training.problem, training.state
    theta = {k: x.copy() for k, x in state["particles"].items()}
    s, r = ({k: np.zeros_like(x) for k, x in theta.items()} for _ in range(2))
    for k in range(3):
        batch, clock, noise = problem.batch(np.arange(k, 400, 4)), Clock(0, k), Noise((5, 6), k)
        state = method.move(state, method.look(state, problem, batch, clock), clock, noise)
        d = {name: np.empty_like(x) for name, x in theta.items()}
        risks = problem.risks_and_gradients(theta, batch, d)
        beta = np.exp(-30.0 * risks) / np.exp(-30.0 * risks).sum()
        for layer, name in enumerate(theta):
            xi = np.concatenate([block for _, block in noise.blocks(theta[name], layer)])
            V = np.tensordot(beta, theta[name], 1)
            s[name] = beta1 * s[name] + (1 - beta1) * d[name]
            r[name] = beta2 * r[name] + (1 - beta2) * d[name] ** 2
            s_hat, r_hat = s[name] / (1 - beta1 ** (k + 1)), r[name] / (1 - beta2 ** (k + 1))
            away = theta[name] - V
            cbo = -lambda_ * dt * away + np.sqrt(sigma_squared * dt) * away * xi
            theta[name] = theta[name] - gamma * dt * s_hat / (np.sqrt(r_hat) + delta) + (1 - gamma) * cbo
            np.testing.assert_allclose(state["particles"][name], theta[name], rtol=1e-10, atol=1e-13)


def test_a_checkpoint_keeps_all_but_the_gradient():
    training = Training.start(run("sine", "hybrid", 5))
    kept = training.method.arrays(training.state)
    assert set(kept) == {"particles", "first", "second"}
    again = training.method.restored(kept)
    assert {group: set(x) for group, x in again.items()} == {g: set(x) for g, x in training.state.items()}


@pytest.mark.parametrize("gamma", [-0.1, 1.1])
def test_gamma_is_a_share(gamma):
    from cbo_pipeline.errors import ConfigError

    with pytest.raises(ConfigError, match="gamma"):
        run("sine", "hybrid", 5, gamma=gamma)
