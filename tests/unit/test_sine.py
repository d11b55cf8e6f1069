"""The problem `sine`, and the methods CBO and Adam on it, against the equations written out."""

import numpy as np
import pytest
import torch

from cbo_pipeline import methods, problems
from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.methods.base import Clock
from cbo_pipeline.numerics import network
from cbo_pipeline.numerics.kernels.noise import Noise
from cbo_pipeline.numerics.streams import Streams
from cbo_pipeline.training.loop import Training, train


def run(method, changes=None, M=12, N=None, seed=0, experiment="sine"):
    N = (1 if method.startswith("adam") else 10) if N is None else N
    small = {"points": 200, "batch_size": 50, "epochs": 3, **(changes or {})}
    return resolve(load_config(), RunName(experiment, method, M, N, seed), small)


def made(name="sine", seed=0, **changes):
    cls = problems.find(name)
    problem = cls(M=12, points=300, label_noise=0.01, **changes)
    problem.load(Streams(seed))
    return problem


def test_data_of_section_4_1():
    cls = problems.find("sine")
    problem = cls(M=100, points=8000, label_noise=0.01)
    problem.load(Streams(0))
    assert problem.x.shape == problem.y.shape == (8000,)
    assert problem.x.min() >= 0
    assert problem.x.max() <= 1
    noise = problem.y - np.sin(2 * np.pi * problem.x)
    assert np.isclose(noise.std(), 0.01, rtol=0.05)
    assert abs(np.corrcoef(noise, problem.x)[0, 1]) < 0.05


@pytest.mark.parametrize(("scaling", "scale"), [("mean_field", 1 / 12), ("plain", 1.0)])
def test_risks_are_those_of_the_plain_network(scaling, scale):
    problem = made(scaling=scaling)
    networks = problem.initial("uniform", 1.0, 7, np.random.default_rng(1))
    indices = np.random.default_rng(2).permutation(300)[:60]
    values = network.evaluate(networks, problem.x[indices, None], scale)[:, :, 0]
    expected = np.mean((values - problem.y[indices]) ** 2, axis=1)
    np.testing.assert_allclose(problem.risks(networks, problem.batch(indices)), expected, rtol=1e-12)


def test_uniform_initial_law():
    networks = made().initial("uniform", 2.0, 500, np.random.default_rng(0))
    for x in networks.values():
        assert x.dtype == np.float32
        assert -2 <= x.min() < -1.9 < 1.9 < x.max() <= 2
        assert abs(x.mean()) < 0.05


def test_pytorch_initial_law_is_that_of_torch_linear():
    networks = made().initial("pytorch", 1.0, 2000, np.random.default_rng(0))
    inner, outer = torch.nn.Linear(1, 12), torch.nn.Linear(12, 1, bias=False)
    for ours, theirs in ((networks["w"], inner.weight), (networks["b"], inner.bias), (networks["c"], outer.weight)):
        fan_in = 12 if theirs is outer.weight else 1
        # torch: kaiming_uniform with a = sqrt(5), which is U[-1/sqrt(fan_in), 1/sqrt(fan_in)].
        assert theirs.abs().max() <= fan_in**-0.5
        assert 0.99 * fan_in**-0.5 < np.abs(ours).max() <= fan_in**-0.5


def test_cbo_step_is_the_equation():
    """Eq. (cbo:sde), particle by particle, with the same noise."""
    problem = made(precision="float64")
    settings = {"dt": 0.1, "alpha": 50.0, "lambda_": 1.3, "sigma_squared": 1.6}
    method = methods.find("cbo")(**settings, initial="uniform", initial_bound=1.0)
    state = method.start(problem, 6, np.random.default_rng(3))
    before = {k: v.copy() for k, v in state["particles"].items()}
    batch, clock, noise = problem.batch(np.arange(100)), Clock(0, 0), Noise((5, 6), 0)
    view = method.look(state, problem, batch, clock)
    risks = problem.risks(before, batch)
    beta = np.exp(-50.0 * risks) / np.exp(-50.0 * risks).sum()
    after = method.move(state, view, clock, noise)["particles"]
    for layer, (name, theta) in enumerate(before.items()):
        V = sum(beta[n] * theta[n] for n in range(6))
        xi = np.concatenate([x.copy() for _, x in Noise((5, 6), 0).blocks(theta, layer)])
        for n in range(6):
            drift = -1.3 * 0.1 * (theta[n] - V)
            diffusion = np.sqrt(1.6) * np.sqrt(0.1) * (theta[n] - V) * xi[n]
            np.testing.assert_allclose(after[name][n], theta[n] + drift + diffusion, rtol=1e-9, atol=1e-12)


def test_a_particle_at_the_consensus_point_does_not_move():
    problem = made()
    method = methods.find("cbo")(0.1, 1e5, 1.0, 1.6, "uniform", 1.0)
    state = method.start(problem, 5, np.random.default_rng(3))
    view = method.look(state, problem, problem.everything(), Clock(0, 0))
    for name, x in state["particles"].items():
        x[2] = view.consensus[name][0]
    after = method.move(state, view, Clock(0, 0), Noise((1, 1), 0))["particles"]
    for name, x in after.items():
        np.testing.assert_array_equal(x[2], view.consensus[name][0])


def test_adam_is_the_equations_of_the_paper():
    """Eqs. (eq:adam_moments) and (eq:adam_moments_normal) written out in float64."""
    training = Training.start(run("adam", {"precision": "float64", "epochs": 2}))
    theta = {k: v.copy() for k, v in training.state["particles"].items()}
    s = {k: np.zeros_like(v) for k, v in theta.items()}
    r = {k: np.zeros_like(v) for k, v in theta.items()}
    gradient = {k: np.empty_like(v) for k, v in theta.items()}
    step = 0
    for epoch in range(2):
        for indices in training.batches(epoch):
            training.problem.risks_and_gradients(theta, training.problem.batch(indices), gradient)
            step += 1
            for k, d in gradient.items():
                s[k] = 0.9 * s[k] + 0.1 * d
                r[k] = 0.999 * r[k] + 0.001 * d * d
                theta[k] -= 0.1 * (s[k] / (1 - 0.9**step)) / (np.sqrt(r[k] / (1 - 0.999**step)) + 1e-8)
    training.finish()
    for k, expected in theta.items():
        np.testing.assert_allclose(training.state["particles"][k], expected, rtol=1e-7, atol=1e-10)


def test_adam_is_plain_pytorch():
    """The same training by torch.nn, autograd and torch.optim."""
    training = Training.start(run("adam", {"precision": "float64", "epochs": 3}))
    start = {k: torch.tensor(v[0], requires_grad=True) for k, v in training.state["particles"].items()}
    optimiser = torch.optim.Adam(start.values(), lr=0.1)
    x, y = torch.tensor(training.problem.x), torch.tensor(training.problem.y)
    for epoch in range(3):
        for indices in training.batches(epoch):
            hidden = torch.relu(x[indices, None] * start["w"][:, 0] + start["b"])
            loss = torch.nn.functional.mse_loss((hidden * start["c"][:, 0]).mean(1), y[indices])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    training.finish()
    for k, expected in start.items():
        np.testing.assert_allclose(training.state["particles"][k][0], expected.detach(), rtol=1e-6, atol=1e-9)


def test_methods_of_one_seed_share_data_and_batches():
    cbo, adam = Training.start(run("cbo")), Training.start(run("adam"))
    np.testing.assert_array_equal(cbo.problem.x, adam.problem.x)
    np.testing.assert_array_equal(cbo.problem.y, adam.problem.y)
    np.testing.assert_array_equal(cbo.batches(1), adam.batches(1))
    other = Training.start(run("cbo", seed=1))
    assert not np.array_equal(cbo.problem.y, other.problem.y)


def test_a_data_seed_is_shared_by_all_seeds():
    first, second = (Training.start(run("cbo", {"data_seed": 5}, seed=s)) for s in (0, 1))
    np.testing.assert_array_equal(first.problem.y, second.problem.y)
    assert not np.array_equal(first.state["particles"]["w"], second.state["particles"]["w"])


def test_an_epoch_is_a_partition_of_the_data():
    training = Training.start(run("cbo"))
    batches = training.batches(0)
    assert batches.shape == (4, 50)
    assert sorted(batches.ravel()) == list(range(200))
    assert not np.array_equal(batches, training.batches(1))


def test_resampled_batches_are_drawn_anew():
    training = Training.start(run("cbo", {"batches": "resample"}))
    batches = training.batches(0)
    assert all(len(set(row)) == 50 for row in batches)
    assert len(set(batches.ravel())) < 200


def test_records_and_snapshots():
    history = train(run("cbo", {"snapshots": [0, 2]}))
    assert history.snapshot_epochs == [0, 2, 3]
    assert set(history.records) == {"risk", "risk_loop", "risk_min", "risk_median", "variance", "alpha", "sigma"}
    assert all(np.isfinite(v).all() for v in history.records.values())
    problem = made_like(run("cbo"))
    last = {k: v[-1] for k, v in history.snapshots.items()}
    assert history.records["risk"][-1] == problem.risks(last, problem.everything())[0]


def made_like(r):
    return Training.start(r).problem


def test_the_best_particle_can_be_reported():
    training = Training.start(run("cbo", {"reported": "best_particle", "epochs": 1}))
    training.finish()
    assert training.history.records["risk"].shape == (2,)
    particle = {k: v[-1] for k, v in training.history.snapshots.items()}
    risk = training.problem.risks(particle, training.problem.everything())
    assert risk[0] == training.history.records["risk"][1]


def test_divergence_is_recorded_not_hidden(monkeypatch):
    r = run("cbo", {"epochs": 4})
    training = Training.start(r)
    spoil = {"at": 5}
    problem_risks = training.problem.risks

    def risks(networks, batch, alpha=None):
        values = problem_risks(networks, batch)
        return np.full_like(values, np.nan) if training.iteration >= spoil["at"] else values

    monkeypatch.setattr(training.problem, "risks", risks)
    history = training.finish()
    assert history.diverged == 2  # iteration 5 lies in the second epoch of four batches
    assert np.isfinite(history.records["risk"][:2]).all()
    assert np.isnan(history.records["risk"][2:]).all()


def test_training_lowers_the_risk():
    for method in ("cbo", "adam"):
        risk = train(run(method, {"epochs": 40}, N=1 if method == "adam" else 60)).records["risk"]
        assert risk[-1] < 0.5 * risk[0]
