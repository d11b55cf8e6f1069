"""Steps and consensus points held to plain PyTorch, bit by bit, and why the last bit matters."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cbo_pipeline.methods.adam import Adam
from cbo_pipeline.methods.base import Clock
from cbo_pipeline.methods.cbo import CBO
from cbo_pipeline.methods.hybrid import Hybrid
from cbo_pipeline.methods.multi_task_cbo import MultiTaskCBO
from cbo_pipeline.methods.multi_task_ot_cbo import MultiTaskOTCBO
from cbo_pipeline.methods.ot_cbo import OTCBO
from cbo_pipeline.numerics import steps
from cbo_pipeline.numerics.consensus import (
    FLOAT64_SUM,
    MATRIX_PRODUCT,
    MEAN_FORMS,
    QUOTIENT,
    SUM,
    consensus_point,
    gibbs_factors,
    gibbs_weights,
    weighted_mean,
)
from cbo_pipeline.numerics.kernels.noise import CHUNK, Noise
from cbo_pipeline.numerics.network import zeros_like

COMMON = {"dt": 0.1, "alpha": 30.0, "lambda_": 1.1, "sigma_squared": 1.6, "initial": "uniform", "initial_bound": 1.0}
SETTLED = (SUM, QUOTIENT, FLOAT64_SUM)  # means whose order of operations is ours to say
WIDTHS = (64, 192)  # torch adds whole blocks of 64 columns in one order; here all columns are added so


class Wells:
    """Risks that depend on the particles, for as many tasks as asked for, and what a gradient might be."""

    def __init__(self, tasks: int):
        self.centres = np.linspace(-0.5, 0.5, tasks)

    def risks(self, networks, batch, alpha=None):
        x = networks["b"].astype(np.float64)
        risks = np.stack([np.mean((x - centre) ** 2, axis=1) for centre in self.centres], axis=1)
        return risks[:, 0] if len(self.centres) == 1 else risks

    def risks_and_gradients(self, networks, batch, out):
        for name, x in networks.items():
            out[name][...] = np.sin(9 * x) + x
        return self.risks(networks, batch)


def ensemble(N: int, dtype, shapes=None):
    rng = np.random.default_rng(0)
    shapes = shapes or {"w": (N, WIDTHS[0] // 2, 2), "b": (N, WIDTHS[1])}
    return {name: rng.uniform(-1, 1, shape).astype(dtype) for name, shape in shapes.items()}


def tensors(networks):
    return {name: torch.from_numpy(x.copy()) for name, x in networks.items()}


def normals(theta, layer: int, k: int):
    """The noise of iteration k, as a tensor."""
    blocks = Noise((5, 6), k).blocks(theta.numpy(), layer)
    return torch.from_numpy(np.concatenate([xi.copy() for _, xi in blocks]))


def equal(networks, plain) -> bool:
    return all(np.array_equal(x, plain[name].numpy()) for name, x in networks.items())


def plain_mean(weights: np.ndarray, theta):
    """V = sum_n beta_n theta_n for one task."""
    beta = torch.from_numpy(weights).to(theta.dtype)
    return (beta.reshape(-1, *(1,) * (theta.ndim - 1)) * theta).sum(0)


def plain_consensus(risks, theta, form: str):
    """V for every task, in each form whose order of operations is settled: all but the matrix product."""
    if form == QUOTIENT:
        factors = gibbs_factors(risks, COMMON["alpha"])
        return torch.stack([plain_mean(row, theta) / plain_mean(row, torch.ones_like(theta)) for row in factors])
    precise = theta.double() if form == FLOAT64_SUM else theta
    weights = gibbs_weights(risks, COMMON["alpha"])
    return torch.stack([plain_mean(row, precise) for row in weights]).to(theta.dtype)


def plain_cbo(theta, V, xi, form: str):
    """Eq. (cbo:sde) as one types it."""
    lambda_, dt, sigma = COMMON["lambda_"], COMMON["dt"], COMMON["sigma_squared"] ** 0.5
    d = theta - V
    if form == steps.ONE_FACTOR:
        return theta + d * (sigma * dt**0.5 * xi - lambda_ * dt)
    return theta - lambda_ * dt * d + sigma * dt**0.5 * d * xi


def plain_adam(s, r, g, k: int, dt: float, beta1=0.9, beta2=0.999, delta=1e-8):
    """The moments of step k, Eq. (eq:adam_moments), and dt s^ / (sqrt(r^) + delta), as one types them.

    But for the square root: torch's is not always the nearest number, numpy's is.
    """
    s = beta1 * s + (1 - beta1) * g
    r = beta2 * r + (1 - beta2) * g * g
    s_hat, r_hat = s / (1 - beta1 ** (k + 1)), r / (1 - beta2 ** (k + 1))
    return s, r, dt * s_hat / (torch.from_numpy(np.sqrt(r_hat.numpy())) + delta)


@pytest.mark.parametrize("form", [steps.SEPARATE_TERMS, steps.ONE_FACTOR])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mean_form", SETTLED)
def test_cbo_is_plain_pytorch_to_the_last_bit(mean_form, dtype, form):
    method, problem, N = CBO(**COMMON, step_form=form, mean_form=mean_form), Wells(1), 40
    state = {"particles": ensemble(N, dtype)}
    plain = tensors(state["particles"])
    for k in range(300):
        clock = Clock(0, k, all_risks=bool(k % 2))
        risks = problem.risks(state["particles"], None)
        state = method.move(state, method.look(state, problem, None, clock), clock, Noise((5, 6), k))
        for layer, (name, theta) in enumerate(plain.items()):
            V = plain_consensus(risks, theta, mean_form)[0]
            plain[name] = plain_cbo(theta, V, normals(theta, layer, k), form)
        assert equal(state["particles"], plain), k
    assert state["particles"]["w"].dtype == dtype


@pytest.mark.parametrize("form", [steps.SEPARATE_TERMS, steps.ONE_FACTOR])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mean_form", SETTLED)
def test_multi_task_cbo_is_plain_pytorch_to_the_last_bit(mean_form, dtype, form):
    method, problem, N, P = MultiTaskCBO(**COMMON, step_form=form, mean_form=mean_form), Wells(7), 40, 7
    state = {"particles": ensemble(N, dtype)}
    plain, task = tensors(state["particles"]), method.assigned(N, P)
    for k in range(300):
        clock, risks = Clock(0, k), problem.risks(state["particles"], None)
        state = method.move(state, method.look(state, problem, None, clock), clock, Noise((5, 6), k))
        for layer, (name, theta) in enumerate(plain.items()):
            V = plain_consensus(risks, theta, mean_form)
            plain[name] = plain_cbo(theta, V[task], normals(theta, layer, k), form)
        assert equal(state["particles"], plain), k


@pytest.mark.parametrize("form", [steps.SEPARATE_TERMS, steps.ONE_FACTOR])
def test_a_step_by_a_matrix_product_is_plain_pytorch_from_there_on(form):
    """The library may add in any order: V is held to the bound of every order, the step from it to the last bit."""
    method, problem, N = CBO(**COMMON, step_form=form, mean_form=MATRIX_PRODUCT), Wells(1), 40
    state = {"particles": ensemble(N, np.float32)}
    plain = tensors(state["particles"])
    for k in range(300):
        clock, weights = Clock(0, k), gibbs_weights(problem.risks(state["particles"], None), COMMON["alpha"])[0]
        view = method.look(state, problem, None, clock)
        found = tensors(view.consensus)
        state = method.move(state, view, clock, Noise((5, 6), k))
        for layer, (name, theta) in enumerate(plain.items()):
            error = (found[name][0].double() - plain_mean(weights, theta.double())).abs()
            # N - 1 additions, N products, and the weights are rounded too.
            assert (error <= (N + 1) * 2.0**-24 * plain_mean(weights, theta.double().abs())).all(), k
            plain[name] = plain_cbo(theta, found[name][0], normals(theta, layer, k), form)
        assert equal(state["particles"], plain), k


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_adam_is_plain_pytorch_to_the_last_bit(dtype):
    """The lines of Section 3.2. torch.optim.Adam rounds otherwise: test_adam.py holds ours to it within rounding."""
    dt = 0.01
    method, problem, particles = Adam(dt=dt, initial="uniform"), Wells(1), ensemble(1, dtype)
    state = method.restored({"particles": particles, "first": zeros_like(particles), "second": zeros_like(particles)})
    plain, s, r = tensors(particles), tensors(state["first"]), tensors(state["second"])
    for k in range(1000):
        view = method.look(state, problem, None, Clock(0, k))
        gradient = tensors(state["gradient"])
        state = method.move(state, view, Clock(0, k), Noise((5, 6), k))
        for name, theta in plain.items():
            s[name], r[name], moved = plain_adam(s[name], r[name], gradient[name], k, dt)
            plain[name] = theta - moved
        assert equal(state["particles"], plain), k
    assert equal(state["first"], s)
    assert equal(state["second"], r)
    assert state["particles"]["w"].dtype == dtype


@pytest.mark.parametrize("form", [steps.SEPARATE_TERMS, steps.ONE_FACTOR])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_hybrid_is_plain_pytorch_to_the_last_bit(dtype, form):
    gamma = 0.7
    method, problem, N = Hybrid(**COMMON, step_form=form, gamma=gamma), Wells(1), 40
    particles = ensemble(N, dtype)
    state = method.restored({"particles": particles, "first": zeros_like(particles), "second": zeros_like(particles)})
    plain, s, r = tensors(particles), tensors(state["first"]), tensors(state["second"])
    lambda_, dt, sigma = COMMON["lambda_"], COMMON["dt"], COMMON["sigma_squared"] ** 0.5
    for k in range(300):
        clock = Clock(0, k)
        view = method.look(state, problem, None, clock)
        gradient = tensors(state["gradient"])
        state = method.move(state, view, clock, Noise((5, 6), k))
        for layer, (name, theta) in enumerate(plain.items()):
            d, xi = theta - plain_consensus(view.risks, theta, SUM)[0], normals(theta, layer, k)
            s[name], r[name], moved = plain_adam(s[name], r[name], gradient[name], k, gamma * dt)
            if form == steps.ONE_FACTOR:
                cbo = d * (sigma * dt**0.5 * xi - lambda_ * dt)
            else:
                cbo = -lambda_ * dt * d + sigma * dt**0.5 * d * xi
            plain[name] = theta - moved + (1 - gamma) * cbo
        assert equal(state["particles"], plain), k
    assert equal(state["first"], s)
    assert equal(state["second"], r)


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_optimal_transport_cbo_is_plain_pytorch_to_the_last_bit(dtype, tasks):
    """Eqs. (eq:OT_discrete_w) to (eq:OT_discrete_c), given barycentres and maps: those are tested against POT."""
    schedule = {"sigma_factor": 0.9, "sigma_every": 50}
    method = OTCBO(**COMMON, **schedule) if tasks == 1 else MultiTaskOTCBO(**COMMON, **schedule)
    N, M, problem = 11, 25, Wells(tasks)
    particles = ensemble(N, dtype, {"w": (N, M, 2), "b": (N, M), "c": (N, M, 1)})
    assert particles["w"].size > CHUNK  # the noise of more than one chunk
    state = {"particles": particles, "count": {"unsettled": np.zeros((), np.int64)}}
    plain, task = tensors(particles), np.arange(N) * tasks // N
    lambda_, dt = COMMON["lambda_"], COMMON["dt"]
    for k in range(200):
        clock = Clock(0, k)
        view = method.look(state, problem, None, clock)
        y, to = tensors(view.consensus), view.carried.to
        state = method.move(state, view, clock, Noise((5, 6), k))
        sigma = COMMON["sigma_squared"] ** 0.5 * 0.9 ** (k // 50)
        for layer, (name, theta) in enumerate(plain.items()):
            goals, xi = y[name][task[:, None], to], normals(theta, layer, k)
            plain[name] = theta - lambda_ * dt * (theta - goals) + sigma * dt**0.5 * xi
        assert equal(state["particles"], plain), k
    assert state["particles"]["w"].dtype == dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [steps.SEPARATE_TERMS, steps.ONE_FACTOR])
def test_tensors_take_the_same_steps_as_arrays(dtype, form):
    """The lines for other devices, on a CPU; to rounding where torch's square root is in them."""
    N, P = 30, 3
    task, arrays = np.arange(N) % P, ensemble(N, dtype)
    moved = tensors(arrays)
    weights = gibbs_weights(np.random.default_rng(1).uniform(size=(N, P)), 20.0)
    for k in range(20):
        V, plain_V = weighted_mean(weights, arrays), weighted_mean(weights, moved)
        assert equal(V, plain_V)
        steps.cbo_step(arrays, V, Noise((1, 2), k), 0.1, 0.4, form, task)
        steps.cbo_step(moved, plain_V, Noise((1, 2), k), 0.1, 0.4, form, task)
        assert equal(arrays, moved)
    V = {name: x[:1] for name, x in V.items()}
    groups, plain_groups = [[x, zeros_like(x), zeros_like(x), zeros_like(x)] for x in (arrays, moved)]
    for k in range(3):
        for name, x in arrays.items():
            groups[3][name][...] = np.sin(x)
            plain_groups[3][name].copy_(torch.from_numpy(np.sin(x)))
        rates = steps.adam_rates(0.01, 0.9, 0.999, 1e-8, k)
        for made in (groups, plain_groups):
            own = V if made is groups else tensors(V)
            steps.hybrid_step(*made, own, Noise((1, 2), k), 0.1, 0.4, form, 0.7, rates)
            steps.adam_step(*made, rates)
    for name, x in arrays.items():
        np.testing.assert_allclose(moved[name].numpy(), x, rtol=0, atol=8 * np.finfo(dtype).eps)


def test_the_drift_at_a_spread_of_one_unit_in_the_last_place():
    """Why the form of the step matters: separate terms round the drift away, one factor does not.

    At a spread d of one unit in the last place of theta, lambda dt d is a tenth of it: theta - lambda dt d is theta
    again, and only a large xi moves the particle. In one factor the drift shifts the noise: the particle moves where
    sigma sqrt(dt) xi - lambda dt exceeds a half, and so more often towards the consensus point than away from it.
    """
    one = np.float32(1.5)
    theta = np.full((1, 1 << 18), one, np.float32)
    V = {"b": np.full((1, 1 << 18), np.nextafter(one, np.float32(0)), np.float32)}
    moved = {}
    for form in (steps.SEPARATE_TERMS, steps.ONE_FACTOR):
        particles = {"b": theta.copy()}
        steps.cbo_step(particles, V, Noise((3, 4), 0), 0.1, 0.4, form)
        moved[form] = np.sign(particles["b"] - theta)
    quiet = {"b": theta.copy()}
    steps.cbo_step(quiet, V, Noise((3, 4), 0), 0.1, 0.0, steps.SEPARATE_TERMS)
    np.testing.assert_array_equal(quiet["b"], theta)
    away, towards = (np.mean(moved[steps.SEPARATE_TERMS] == sign) for sign in (1, -1))
    assert away == pytest.approx(towards, rel=0.03)
    away, towards = (np.mean(moved[steps.ONE_FACTOR] == sign) for sign in (1, -1))
    assert towards > 2 * away


# --- the consensus point -----------------------------------------------------------------------------------------


@given(
    N=st.sampled_from([1, 2, 15, 16, 17, 31, 200, 255, 256, 257, 1000, 4097]),
    seed=st.integers(0, 2**32 - 1),
    sharp=st.sampled_from([0.0, 1.0, 100.0, 3000.0]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_the_mean_is_that_of_plain_pytorch_to_the_last_bit(N, seed, sharp, dtype):
    """With many particles, with few that have a weight, across the ends of torch's groups of sums."""
    rng = np.random.default_rng(seed)
    theta = {"b": rng.standard_normal((N, 64)).astype(dtype)}
    weights = gibbs_weights(rng.uniform(size=(N, 2)), sharp)
    V = weighted_mean(weights, theta)["b"]
    for p in range(2):
        np.testing.assert_array_equal(V[p], plain_mean(weights[p], torch.from_numpy(theta["b"])).numpy())


def test_a_quotient_is_that_of_plain_pytorch_to_the_last_bit():
    rng = np.random.default_rng(0)
    theta, risks = rng.standard_normal((200, 64)).astype(np.float32), rng.uniform(size=200)
    V = consensus_point(risks, 8.0, {"b": theta}, "quotient")["b"][0]
    factors = torch.from_numpy(gibbs_factors(risks, 8.0)[0]).float()[:, None]
    total = (factors * torch.ones(200, 64)).sum(0)
    np.testing.assert_array_equal(V, ((factors * torch.from_numpy(theta)).sum(0) / total).numpy())


def test_a_float64_sum_is_rounded_once():
    rng = np.random.default_rng(0)
    theta, risks = rng.standard_normal((200, 33)).astype(np.float32), rng.uniform(size=200)
    V = consensus_point(risks, 8.0, {"b": theta}, "float64_sum")["b"][0]
    exact = gibbs_weights(risks, 8.0)[0].astype(np.longdouble) @ theta.astype(np.longdouble)
    np.testing.assert_array_equal(V, exact.astype(np.float32))


@pytest.mark.parametrize("form", MEAN_FORMS)
@pytest.mark.parametrize("made", [np.asarray, torch.from_numpy], ids=["array", "tensor"])
@pytest.mark.parametrize("tasks", [1, 4])
def test_all_forms_are_the_mean_and_leave_out_who_has_no_weight(form, made, tasks):
    rng = np.random.default_rng(1)
    networks = {"w": rng.standard_normal((50, 9, 3)).astype(np.float32), "a": rng.standard_normal((50, 1))}
    networks["a"] = networks["a"].astype(np.float32)
    risks = rng.uniform(size=(50, tasks))
    risks[7] = np.inf
    weights = gibbs_weights(risks, 10.0)
    for x in networks.values():
        x[7] = [np.inf, np.nan][len(x.shape) % 2]
    V = consensus_point(risks[:, 0] if tasks == 1 else risks, 10.0, {k: made(x) for k, x in networks.items()}, form)
    for name, x in networks.items():
        kept = np.delete(x, 7, axis=0).astype(np.float64)
        expected = np.einsum("pn,n...->p...", np.delete(weights, 7, axis=1), kept)
        assert np.asarray(V[name]).dtype == np.float32
        np.testing.assert_allclose(np.asarray(V[name]), expected, rtol=1e-4, atol=1e-6)


def test_forms_differ_in_the_last_bits_only():
    rng = np.random.default_rng(2)
    theta = {"b": rng.standard_normal((200, 500)).astype(np.float32)}
    risks = rng.uniform(size=200)
    V = [consensus_point(risks, 3.0, theta, form)["b"] for form in MEAN_FORMS]
    for i, one in enumerate(V):
        for other in V[:i]:
            assert (one != other).any()
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)


def test_an_ensemble_that_is_not_contiguous_is_refused():
    theta = {"b": np.zeros((5, 8), np.float32)[:, ::2]}
    with pytest.raises(ValueError, match="contiguous"):
        steps.cbo_step(theta, {"b": np.zeros((1, 4), np.float32)}, Noise((1, 2), 0), 0.1, 0.4, steps.ONE_FACTOR)
