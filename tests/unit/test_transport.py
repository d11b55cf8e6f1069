"""Matchings, W2 and barycentres against POT, brute force and known cases."""

import itertools
import sys

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from cbo_pipeline.errors import UserError
from cbo_pipeline.numerics import assignment, transport
from cbo_pipeline.numerics.assignment import SOLVERS, assignments, by_lapx, by_scipy
from cbo_pipeline.numerics.kernels.squared_costs import squared_costs

seeds = st.integers(0, 2**32 - 1)


def lattice(rng, *shape, steps):
    """Points with ties: few places, multiples of 0.1, which floats do not hold exactly."""
    return 0.1 * rng.integers(0, steps, shape)


def sorted_rows(points):
    return points[np.lexsort(points.T)]


# --- matchings ---------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(seed=seeds, M=st.integers(1, 60), D=st.integers(1, 6), dtype=st.sampled_from(["float32", "float64"]))
def test_w2_is_that_of_pot(seed, M, D, dtype):
    rng = np.random.default_rng(seed)
    x, y = (rng.normal(size=(M, D)).astype(dtype) for _ in range(2))
    expected = ot.emd2([], [], ot.dist(x.astype(float), y.astype(float)))
    assert transport.squared_w2(x, y) == pytest.approx(expected, rel=1e-9, abs=1e-14)


@settings(max_examples=60)
@given(seed=seeds, M=st.integers(1, 6), steps=st.integers(1, 8))
def test_the_first_of_all_optimal_permutations_is_found(seed, M, steps):
    """Brute force over all M! permutations, with ties: all solvers end at the lexicographically first optimum."""
    rng = np.random.default_rng(seed)
    costs = squared_costs(lattice(rng, 3, M, 2, steps=steps), lattice(rng, M, 2, steps=steps))
    every = list(itertools.permutations(range(M)))
    for solver in SOLVERS:
        for problem, found in zip(costs, assignments(costs, solver), strict=True):
            totals = problem[np.arange(M), every].sum(axis=1)
            first = every[int(np.argmax(totals <= totals.min() + 1e-12))]
            assert tuple(found) == first


@settings(max_examples=60)
@given(seed=seeds, M=st.integers(1, assignment.SMALL), steps=st.integers(1, 40), D=st.integers(1, 4))
def test_small_problems_have_one_solution_from_all_solvers(seed, M, steps, D):
    rng = np.random.default_rng(seed)
    x, y = lattice(rng, 4, M, D, steps=steps), lattice(rng, M, D, steps=steps)
    one, *others = (transport.match(x, y, solver) for solver in SOLVERS)
    for other in others:
        np.testing.assert_array_equal(one.to, other.to)


@settings(max_examples=25)
@given(seed=seeds, M=st.integers(assignment.SMALL + 1, 90), places=st.integers(1, 30), both=st.booleans())
def test_coinciding_atoms_have_one_solution_from_all_solvers(seed, M, places, both):
    """Atoms in few places in general position: ties wherever atoms coincide."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(3, places, 3))[:, rng.integers(0, places, M)]
    y = rng.normal(size=(places, 3))[rng.integers(0, places, M)] if both else rng.normal(size=(M, 3))
    one, *others = (transport.match(x, y, solver) for solver in SOLVERS)
    for other in others:
        np.testing.assert_array_equal(one.to, other.to)
    np.testing.assert_allclose(one.squared, [ot.emd2([], [], ot.dist(n, y)) for n in x], rtol=1e-9, atol=1e-14)


@settings(max_examples=25)
@given(seed=seeds, M=st.integers(assignment.SMALL + 1, 90), steps=st.integers(1, 60))
def test_large_lattices_have_one_cost_from_all_solvers(seed, M, steps):
    """What is guaranteed whatever the ties: the same least cost."""
    rng = np.random.default_rng(seed)
    x, y = lattice(rng, 2, M, 3, steps=steps), lattice(rng, M, 3, steps=steps)
    one, *others = (transport.match(x, y, solver) for solver in SOLVERS)
    for other in others:
        np.testing.assert_allclose(one.squared, other.squared, rtol=1e-9, atol=1e-14)


def test_equal_costs_give_the_identity():
    for M in (1, 3, 70):
        for solver in SOLVERS:
            np.testing.assert_array_equal(assignments(np.ones((2, M, M)), solver), np.tile(np.arange(M), (2, 1)))


def test_scipy_takes_the_place_of_lapx(monkeypatch):
    x = np.random.default_rng(0).normal(size=(3, 40, 3))
    with_lapx = transport.match(x, x[0])
    monkeypatch.setitem(sys.modules, "lap", None)
    assignment.solver_of.cache_clear()
    try:
        assert assignment.solver_of("auto") is by_scipy
        without = transport.match(x, x[0])
        with pytest.raises(UserError, match="lapx is not installed"):
            assignment.solver_of("lapx")
    finally:
        assignment.solver_of.cache_clear()
    np.testing.assert_array_equal(with_lapx.to, without.to)
    np.testing.assert_array_equal(with_lapx.squared, without.squared)


def test_lapx_is_used_where_it_is_installed():
    assert assignment.solver_of("auto") is by_lapx


def test_the_size_of_the_blocks_does_not_matter(monkeypatch):
    x = np.random.default_rng(0).normal(size=(7, 11, 3))
    whole = transport.match(x, x[3])
    monkeypatch.setattr(transport, "BLOCK", 2 * 11 * 11)
    for before, after in zip(whole, transport.match(x, x[3]), strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_a_particle_without_finite_costs_keeps_its_order(bad):
    x = np.random.default_rng(0).normal(size=(3, 9, 3))
    y = x[0][::-1].copy()
    x[1, 4, 2] = bad
    found = transport.match(x, y)
    np.testing.assert_array_equal(found.to[0], np.arange(9)[::-1])
    np.testing.assert_array_equal(found.to[1], np.arange(9))
    np.testing.assert_array_equal(np.isfinite(found.squared), [True, False, True])
    np.testing.assert_array_equal(transport.match(x, x[1]).to, np.tile(np.arange(9), (3, 1)))


# --- barycentres -------------------------------------------------------------------------------------------------


def gibbs_like(rng, N):
    weights = rng.exponential(size=N) ** 3
    return weights / weights.sum()


@settings(max_examples=25)
@given(seed=seeds, N=st.integers(1, 8), M=st.integers(1, 25), D=st.integers(1, 4), equal=st.booleans())
def test_the_objective_is_never_above_that_of_pot(seed, N, M, D, equal):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (N, M, D))
    weights = np.full(N, 1 / N) if equal else gibbs_like(rng, N)
    ours = transport.barycentre(x, weights, rounds=200)
    mass = np.full(M, 1 / M)
    start = x[weights.argmax()]
    theirs = ot.lp.free_support_barycenter(list(x), [mass] * N, start, mass, weights, numItermax=200, stopThr=1e-15)
    assert ours.settled
    reached, known = (transport.objective(x, weights, y) for y in (ours.support, theirs))
    assert reached <= known * (1 + 1e-9) + 1e-15
    assert reached <= transport.objective(x, weights, start) * (1 + 1e-12) + 1e-15


def test_the_objective_is_that_of_pot():
    rng = np.random.default_rng(1)
    x, y, weights = rng.normal(size=(4, 20, 3)), rng.normal(size=(20, 3)), gibbs_like(rng, 4)
    expected = 0.5 * sum(w * ot.emd2([], [], ot.dist(n, y)) for w, n in zip(weights, x, strict=True))
    assert transport.objective(x, weights, y) == pytest.approx(expected, rel=1e-9)


@settings(max_examples=20)
@given(seed=seeds, N=st.integers(2, 8), M=st.integers(2, 25), starts=st.integers(2, 9))
def test_several_starts_give_the_best_of_them(seed, N, M, starts):
    """Each start by itself, the heaviest particles in turn; the one that is taken has the least objective."""
    rng = np.random.default_rng(seed)
    x, weights = rng.uniform(-2, 2, (N, M, 3)), gibbs_like(rng, N)
    found = transport.barycentre(x, weights, 200, starts=starts)
    tried = [transport.barycentre(x, weights, 200, start=x[n]) for n in np.argsort(-weights)[:starts]]
    values = [transport.objective(x, weights, each.support) for each in tried]
    assert found.start == int(np.argmin(values))
    np.testing.assert_array_equal(found.support, tried[found.start].support)
    one = transport.barycentre(x, weights, 200)
    assert one.start == 0
    np.testing.assert_array_equal(one.support, tried[0].support)


def test_another_start_can_be_better():
    rng = np.random.default_rng(5)
    better = 0
    for _ in range(20):
        x = rng.uniform(-2, 2, (6, 12, 3))
        better += transport.barycentre(x, np.full(6, 1 / 6), 200, starts=6).start > 0
    assert 5 < better < 20


def test_no_round_raises_the_objective():
    rng = np.random.default_rng(2)
    x, weights = rng.uniform(-2, 2, (12, 40, 3)), gibbs_like(rng, 12)
    found = transport.barycentre(x, weights, rounds=500)
    assert found.rounds > 3
    values = [
        transport.objective(x, weights, transport.barycentre(x, weights, rounds=k).support)
        for k in range(1, found.rounds + 1)
    ]
    assert all(after <= before * (1 + 1e-12) for before, after in itertools.pairwise(values))


def test_the_limit_on_the_rounds_is_told():
    rng = np.random.default_rng(2)
    x, weights = rng.uniform(-2, 2, (12, 40, 3)), gibbs_like(rng, 12)
    found = transport.barycentre(x, weights, rounds=1)
    assert (found.rounds, found.settled) == (1, False)


def test_translates():
    """Translates of one set: the barycentre is the set at the weighted mean of the shifts."""
    rng = np.random.default_rng(3)
    shape, shifts, weights = rng.normal(size=(15, 3)), rng.normal(size=(6, 3)), gibbs_like(rng, 6)
    x = np.stack([rng.permutation(shape) + shift for shift in shifts])
    found = transport.barycentre(x, weights, rounds=50)
    expected = shape + weights @ shifts
    np.testing.assert_allclose(sorted_rows(found.support), sorted_rows(expected), atol=1e-12)


def test_one_dimension_is_sorting():
    """In one dimension the quantile functions are averaged."""
    rng = np.random.default_rng(4)
    x, weights = rng.normal(size=(7, 30, 1)), gibbs_like(rng, 7)
    found = transport.barycentre(x, weights, rounds=50)
    expected = np.tensordot(weights, np.sort(x, axis=1), 1)
    np.testing.assert_allclose(np.sort(found.support, axis=0), expected, atol=1e-13)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_two_particles_are_interpolated(share):
    """McCann's interpolation: the objective is (1/2) w (1 - w) W2^2, the least possible."""
    rng = np.random.default_rng(5)
    x, weights = rng.normal(size=(2, 30, 3)), np.array([share, 1 - share])
    found = transport.barycentre(x, weights, rounds=50)
    least = 0.5 * share * (1 - share) * transport.squared_w2(x[0], x[1])
    assert transport.objective(x, weights, found.support) == pytest.approx(least, rel=1e-12)


def test_single_atoms_give_the_consensus_point():
    """M = 1: Eq. (eq:consensus_linear_form)."""
    rng = np.random.default_rng(6)
    x, weights = rng.normal(size=(9, 1, 3)), gibbs_like(rng, 9)
    found = transport.barycentre(x, weights, rounds=50)
    np.testing.assert_allclose(found.support[0], weights @ x[:, 0], atol=1e-15)


@pytest.mark.parametrize("weights", [[1.0], [0.0, 1.0, 0.0], [1e-11, 1 - 2e-11, 1e-11]])
def test_one_particle_with_all_the_weight_is_the_barycentre_itself(weights):
    x = np.random.default_rng(7).normal(size=(len(weights), 12, 3)).astype(np.float32)
    found = transport.barycentre(x, np.array(weights), rounds=50, weight_cut=1e-10)
    np.testing.assert_array_equal(found.support.astype(np.float32), x[np.argmax(weights)])
    assert (found.rounds, found.settled) == (0, True)


def test_particles_below_the_cut_are_left_out():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(4, 12, 3))
    x[3] = np.nan
    weights = np.array([0.6, 0.4 - 1e-12, 0.0, 1e-12])
    found = transport.barycentre(x, weights, rounds=50, weight_cut=1e-10)
    alone = transport.barycentre(x[:2], np.array([0.6, 0.4]), rounds=50)
    np.testing.assert_allclose(found.support, alone.support, atol=1e-11)


def test_coinciding_atoms():
    """All atoms of a particle in one place: the barycentre is the cloud drawn towards it."""
    rng = np.random.default_rng(9)
    cloud, place = rng.normal(size=(40, 3)), rng.normal(size=3)
    x = np.stack([cloud, np.tile(place, (40, 1))])
    found = transport.barycentre(x, np.array([0.7, 0.3]), rounds=50)
    np.testing.assert_allclose(found.support, 0.7 * cloud + 0.3 * place, atol=1e-14)
    same = transport.barycentre(x[1:].repeat(3, axis=0), np.full(3, 1 / 3), rounds=50)
    np.testing.assert_allclose(same.support, x[1], atol=1e-15)


@settings(max_examples=15)
@given(seed=seeds)
def test_the_order_of_the_atoms_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    x, weights = rng.uniform(-2, 2, (6, 20, 3)), gibbs_like(rng, 6)
    shuffled = np.stack([rng.permutation(n) for n in x])
    found, other = (transport.barycentre(each, weights, rounds=200) for each in (x, shuffled))
    assert found.rounds == other.rounds
    np.testing.assert_allclose(sorted_rows(found.support), sorted_rows(other.support), atol=1e-12)


def test_single_precision_atoms_settle():
    rng = np.random.default_rng(10)
    x, weights = rng.uniform(-2, 2, (10, 30, 3)).astype(np.float32), gibbs_like(rng, 10)
    rough, fine = (transport.barycentre(each, weights, rounds=200) for each in (x, x.astype(np.float64)))
    assert rough.settled
    assert rough.rounds <= fine.rounds
    np.testing.assert_allclose(rough.support, fine.support, atol=1e-6)


def test_the_variance_of_an_ensemble():
    """(1/2) mean_n W2^2 by scipy's assignment, written out."""
    rng = np.random.default_rng(11)
    x, y = rng.normal(size=(5, 10, 3)), rng.normal(size=(10, 3))
    squared = []
    for n in x:
        costs = ((n[:, None] - y) ** 2).sum(2)
        squared.append(costs[linear_sum_assignment(costs)].sum() / 10)
    assert transport.ensemble_variance(transport.match(x, y).squared) == pytest.approx(np.mean(squared) / 2)
