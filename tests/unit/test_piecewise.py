"""The fast evaluation for d = 1 against the plain formula and against autograd."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cbo_pipeline.numerics import network
from cbo_pipeline.numerics.kernels.piecewise import sorted_points, squared_gradients, squared_risks


def dense_risks(w, b, c, x, y, scale, a=None):
    """Mean squared error of every network by the plain formula."""
    networks = {"w": w[:, :, None], "b": b, "c": c[:, :, None]} | ({} if a is None else {"a": a[:, None]})
    values = network.evaluate(networks, x[:, None], scale)[:, :, 0]
    return np.mean((values - y) ** 2, axis=1)


def fast_risks(w, b, c, x, y, scale, a=None):
    out = np.empty(len(w))
    squared_risks(w, b, c, np.zeros(len(w)) if a is None else a, scale, *sorted_points(x, y), out)
    return out


def random_networks(N, M, seed=0, size=1.0):
    rng = np.random.default_rng(seed)
    return tuple(rng.uniform(-size, size, (N, M)) for _ in range(3))


def points(S, seed=1):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 1, S))
    return x, np.sin(2 * np.pi * x) + 0.01 * rng.standard_normal(S)


@pytest.mark.parametrize("N", [1, 2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("M", [1, 2, 17, 100])
@pytest.mark.parametrize("S", [1, 2, 3, 50, 800])
def test_random_networks(N, M, S):
    networks, (x, y) = random_networks(N, M, seed=N + M), points(S)
    np.testing.assert_allclose(fast_risks(*networks, x, y, 1 / M), dense_risks(*networks, x, y, 1 / M), rtol=1e-12)


def on_data(w, b, c, x):
    w = np.sign(w) * 2.0  # a power of two: the kink -b / w is the data point to the last bit
    b = -w * x[np.arange(b.size).reshape(b.shape) % x.size]
    return w, b, c


DEGENERATE = {
    "no slope": lambda w, b, c, x: (0 * w, b, c),
    "no slope, no offset": lambda w, b, c, x: (0 * w, 0 * b, c),
    "negative zero slope": lambda w, b, c, x: (-0.0 * np.abs(w), b, c),
    "some slopes zero": lambda w, b, c, x: (np.where(np.arange(w.shape[1]) % 2, w, 0.0), b, c),
    "kinks left of the data": lambda w, b, c, x: (w, np.abs(b) * np.sign(w) + 0.1 * np.sign(w), c),
    "kinks right of the data": lambda w, b, c, x: (w, -(np.abs(w) + 2) * np.sign(w), c),
    "kinks on data points": on_data,
    "equal kinks": lambda w, b, c, x: (w, -0.5 * w, c),
    "kinks on the first point": lambda w, b, c, x: (np.sign(w), -np.sign(w) * x[0], c),
    "kinks on the last point": lambda w, b, c, x: (np.sign(w), -np.sign(w) * x[-1], c),
    "tiny slopes": lambda w, b, c, x: (w * 1e-300, b, c),
    "huge parameters": lambda w, b, c, x: (w * 1e8, b * 1e8, c * 1e8),
    "no outer weight": lambda w, b, c, x: (w, b, 0 * c),
}


@pytest.mark.parametrize("case", DEGENERATE, ids=str)
@pytest.mark.parametrize("M", [1, 30])
def test_degenerate_networks(case, M):
    x, y = points(200)
    networks = DEGENERATE[case](*random_networks(9, M, seed=3), x)
    np.testing.assert_allclose(fast_risks(*networks, x, y, 1 / M), dense_risks(*networks, x, y, 1 / M), rtol=1e-12)


@pytest.mark.parametrize("x", [[0.5], [0.25] * 6, [0.0, 0.0, 0.5, 0.5, 1.0, 1.0]], ids=str)
def test_repeated_points(x):
    x = np.array(x)
    y = np.cos(x)
    networks = on_data(*random_networks(6, 12), x)
    np.testing.assert_allclose(fast_risks(*networks, x, y, 1.0), dense_risks(*networks, x, y, 1.0), rtol=1e-12)


floats = st.floats(-10, 10, width=32)


@settings(max_examples=200)
@given(
    hnp.arrays(np.float64, st.tuples(st.just(3), st.integers(1, 4), st.integers(1, 6)), elements=floats),
    hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(0, 1)),
)
def test_any_network_on_any_points(parameters, x):
    w, b, c = parameters
    x = np.sort(x)
    y = np.ones_like(x)
    # Where the risk itself is rounding, only the size of the summands bounds the error.
    scale = np.max((np.abs(w) + np.abs(b)) * np.abs(c)) + 1
    np.testing.assert_allclose(
        fast_risks(w, b, c, x, y, 1.0), dense_risks(w, b, c, x, y, 1.0), rtol=1e-12, atol=1e-12 * scale**2
    )


def test_single_precision_parameters_are_summed_in_double():
    w, b, c = (p.astype(np.float32) for p in random_networks(5, 40))
    x, y = points(100)
    np.testing.assert_allclose(fast_risks(w, b, c, x, y, 1 / 40), dense_risks(w, b, c, x, y, 1 / 40), rtol=1e-12)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_parameter_that_is_not_finite_spoils_its_own_network_only(which, value):
    networks = random_networks(6, 8)
    networks[which][2, 3] = value
    networks[0][2, 3] = networks[0][2, 3] if which == 0 else 1.0
    networks[1][2, 3] = networks[1][2, 3] if which == 1 else 1.0
    x, y = points(50)
    risks = fast_risks(*networks, x, y, 1 / 8)
    clean = np.delete(np.arange(6), 2)
    expected = dense_risks(*(p[clean] for p in networks), x, y, 1 / 8)
    np.testing.assert_allclose(risks[clean], expected, rtol=1e-12)
    if not (which == 1 and value == -np.inf):  # a bias of minus infinity only switches the neuron off
        assert not np.isfinite(risks[2])


def test_permuting_the_neurons_changes_nothing():
    networks, (x, y) = random_networks(7, 25), points(300)
    order = np.random.default_rng(5).permutation(25)
    permuted = tuple(p[:, order] for p in networks)
    np.testing.assert_allclose(fast_risks(*networks, x, y, 1 / 25), fast_risks(*permuted, x, y, 1 / 25), rtol=1e-12)


@pytest.mark.parametrize("scale", [1 / 17, 1.0])
def test_outer_biases(scale):
    networks, (x, y), a = random_networks(6, 17), points(70), np.linspace(-2, 2, 6)
    expected = dense_risks(*networks, x, y, scale, a)
    np.testing.assert_allclose(fast_risks(*networks, x, y, scale, a), expected, rtol=1e-12)
    assert (expected != dense_risks(*networks, x, y, scale)).all()


@pytest.mark.parametrize("case", ["random", "no slope", "kinks on data points", "some slopes zero"])
def test_gradients_equal_autograd(case):
    x, y = points(120)
    w, b, c = random_networks(5, 15, seed=8)
    if case != "random":
        w, b, c = DEGENERATE[case](w, b, c, x)
    a = np.linspace(-1, 1, 5)
    out, gradients = np.empty(5), [np.empty_like(p) for p in (w, b, c, a)]
    squared_gradients(w, b, c, a, 1 / 15, *sorted_points(x, y), out, *gradients)
    tw, tb, tc, ta = (torch.tensor(p, requires_grad=True) for p in (w, b, c, a))
    hidden = torch.relu(tw[:, None, :] * torch.tensor(x)[None, :, None] + tb[:, None, :])
    risks = (((hidden * tc[:, None, :]).mean(2) + ta[:, None] - torch.tensor(y)) ** 2).mean(1)
    risks.sum().backward()
    np.testing.assert_allclose(out, risks.detach().numpy(), rtol=1e-12)
    for ours, theirs in zip(gradients, (tw, tb, tc, ta), strict=True):
        np.testing.assert_allclose(ours, theirs.grad.numpy(), rtol=1e-9, atol=1e-14)
