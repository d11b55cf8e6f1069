"""Gibbs weights and the consensus point."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cbo_pipeline import methods
from cbo_pipeline.methods.base import Clock
from cbo_pipeline.numerics.consensus import Diverged, gibbs_weights, weighted_mean
from cbo_pipeline.numerics.kernels.noise import Noise

risks_of = hnp.arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1e6))


def test_weights_are_the_formula_where_it_does_not_underflow():
    risks = np.array([0.1, 0.3, 0.2, 0.7])
    expected = np.exp(-5 * risks) / np.exp(-5 * risks).sum()
    np.testing.assert_allclose(gibbs_weights(risks, 5.0), expected[None], rtol=1e-14)


@given(risks_of, st.floats(1e-3, 1e7))
def test_weights_sum_to_one_and_prefer_small_risks(risks, alpha):
    weights = gibbs_weights(risks, alpha)[0]
    assert np.isclose(weights.sum(), 1)
    assert weights[np.argmin(risks)] == weights.max()
    assert (weights >= 0).all()


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=30), st.integers(-1000, 1000))
def test_shifting_all_risks_changes_no_weight(risks, shift):
    risks = np.array(risks) / 64  # exact in binary, so that the shift is exact too
    np.testing.assert_array_equal(gibbs_weights(risks, 3.0), gibbs_weights(risks + shift / 64, 3.0))


def test_large_alpha_does_not_underflow():
    weights = gibbs_weights(np.array([1.0, 1.0 + 1e-9, 2.0]), 1e7)[0]
    np.testing.assert_allclose(weights, [1 / (1 + np.exp(-1e-2)), 1 / (1 + np.exp(1e-2)), 0], rtol=1e-6)


@pytest.mark.parametrize("bad", [1e30, np.inf, np.nan, -np.inf])
def test_a_particle_without_a_finite_risk_has_no_weight(bad):
    weights = gibbs_weights(np.array([0.5, bad, 0.5]), 1e7)[0]
    np.testing.assert_array_equal(weights, [0.5, 0.0, 0.5])


def test_all_risks_huge():
    np.testing.assert_allclose(gibbs_weights(np.array([1e30, 1e30]), 1e7), [[0.5, 0.5]])


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_no_finite_risk_at_all_is_divergence(bad):
    with pytest.raises(Diverged):
        gibbs_weights(np.full(3, bad), 1.0)
    with pytest.raises(Diverged):
        gibbs_weights(np.array([[1.0, bad], [2.0, bad]]), 1.0)  # one task of two has none


def test_tasks_are_weighted_one_by_one():
    risks = np.random.default_rng(0).uniform(size=(20, 3))
    together = gibbs_weights(risks, 7.0)
    for task in range(3):
        np.testing.assert_allclose(together[task], gibbs_weights(risks[:, task], 7.0)[0], rtol=1e-14)


@given(
    hnp.arrays(np.float32, st.tuples(st.integers(1, 12), st.integers(1, 5)), elements=st.floats(-100, 100, width=32))
)
def test_the_consensus_point_lies_in_the_box_of_the_particles(theta):
    weights = gibbs_weights(np.abs(theta).sum(axis=1).astype(float), 0.1)
    V = weighted_mean(weights, {"w": theta})["w"][0]
    room = 1e-6 * np.abs(theta).max(axis=0) + np.finfo(np.float32).tiny  # below it rounding is absolute
    assert (theta.min(axis=0) - room <= V).all()
    assert (theta.max(axis=0) + room >= V).all()


def test_the_consensus_point_is_the_weighted_mean():
    rng = np.random.default_rng(1)
    theta = {"w": rng.normal(size=(6, 3, 2)), "b": rng.normal(size=(6, 3))}
    weights = rng.dirichlet(np.ones(6), size=2)
    V = weighted_mean(weights, theta)
    for name, x in theta.items():
        np.testing.assert_allclose(V[name], np.einsum("pn,n...->p...", weights, x), rtol=1e-13)


def test_a_particle_at_infinity_with_no_weight_does_no_harm():
    theta = {"b": np.array([[1.0], [np.inf], [np.nan]])}
    np.testing.assert_array_equal(weighted_mean(np.array([[1.0, 0.0, 0.0]]), theta)["b"], [[1.0]])


def test_in_single_precision_rounding_keeps_agreeing_particles_apart():
    """What figure ``precision`` shows: the sum of V rounds in the particles' own type, so they are not stuck."""
    common = np.random.default_rng(2).uniform(-1, 1, 50).astype(np.float32)
    weights = gibbs_weights(np.random.default_rng(3).uniform(size=200), 1.0)
    V = weighted_mean(weights, {"b": np.tile(common, (200, 1))})["b"][0]
    assert V.dtype == np.float32
    assert (common != V).any()
    np.testing.assert_allclose(V, common, rtol=1e-5)


@pytest.mark.parametrize("sigma_squared", [0.5, 1.4])
def test_what_the_risk_does_not_see_spreads_where_one_particle_takes_all_the_weight(sigma_squared):
    """docs/reproduction.md: the variance is multiplied by (1 - lambda dt)^2 + 2 sigma^2 dt on average.

    A parameter that no image of a batch reaches is such a direction. The winner's value there is that of a particle
    drawn at random; 2 lambda > sigma^2, which holds in both cases, does not keep the ensemble together.
    """
    N, directions, dt = 50, 20_000, 0.1
    rng = np.random.default_rng(4)
    theta = rng.normal(size=(N, directions))
    before = theta.var(axis=0)
    # One winner for each direction, to have many independent draws of one step.
    V = theta[rng.integers(N, size=directions), np.arange(directions)][None]
    cbo = methods.find("cbo")(dt, 1e5, 1.0, sigma_squared, "uniform", 1.0)
    View = type("View", (), {"consensus": {"w": V}})
    after = cbo.move({"particles": {"w": theta}}, View, Clock(0, 0), Noise((2, 3), 0))["particles"]["w"].var(axis=0)
    expected = (1 - dt) ** 2 + 2 * sigma_squared * dt
    assert (expected > 1) == (sigma_squared == 1.4)
    # The variance is taken about the mean of N particles, whose noise has a part 1/N of it.
    assert np.mean(after / before) == pytest.approx(expected, rel=0.02)
