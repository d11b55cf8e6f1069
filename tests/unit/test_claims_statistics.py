"""Numbers from series of risks, stored whole or thinned."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbo_pipeline.claims import statistics
from cbo_pipeline.claims.statistics import Series

RISKS = st.lists(st.floats(1e-6, 1e3), min_size=3, max_size=60)


def thinned(series, epochs):
    return series.thinned(np.array(epochs))


@given(RISKS, st.integers(1, 7))
def test_a_thinned_series_keeps_its_extremes(risks, every):
    whole = Series.of(risks)
    epochs = sorted({*range(0, len(risks), every), len(risks) - 1})
    thin = thinned(whole, epochs)
    for k, epoch in enumerate(epochs):
        since = risks[(epochs[k - 1] + 1 if k else 0) : epoch + 1]
        assert (thin.values[0, k], thin.smallest[0, k], thin.largest[0, k]) == (risks[epoch], min(since), max(since))


@given(RISKS, st.integers(1, 7))
def test_a_leap_of_a_thinned_series_is_one_of_the_whole(risks, every):
    whole = Series.of(risks)
    thin = thinned(whole, sorted({*range(0, len(risks), every), len(risks) - 1}))
    for epoch in thin.epochs[statistics.leaps(thin)[0]]:
        before = thin.epochs[np.searchsorted(thin.epochs, epoch) - 1]
        assert statistics.leaps(whole)[0, before + 1 : epoch + 1].any()


@given(RISKS, st.integers(1, 7), st.floats(1e-6, 1e3))
def test_a_thinned_series_reaches_a_level_at_the_stored_epoch_after(risks, every, level):
    whole = Series.of(risks)
    epochs = np.array(sorted({*range(0, len(risks), every), len(risks) - 1}))
    exact = statistics.epochs_to_reach(whole, level)[0]
    expected = epochs[epochs >= exact][0] if np.isfinite(exact) else np.inf
    assert statistics.epochs_to_reach(thinned(whole, epochs), level)[0] == expected


def test_a_leap():
    quiet = [1.0] * 11
    for risks, expected in (
        ([0.1, 0.9, 1.1, 0.05, 0.6], [False, False, True, False, True]),
        ([1e-3, np.inf, 1e-3], [False, True, False]),
        ([0.5, 0.4], [False, False]),
    ):
        assert statistics.leaps(Series.of(quiet + risks))[0, 11:].tolist() == expected
    early = Series.of([1.0, 1e-3, 1.0, *[1e-3] * 20])
    assert not statistics.leaps(early).any()  # within the first ten epochs
    assert statistics.share_in_leaps(Series.of([*quiet, 0.01, 1.0, 0.01, 0.01])).tolist() == [0.25]
    assert statistics.first_leap(Series.of([*quiet, 0.01, 1.0])).tolist() == [12]


def test_ends_and_swings():
    risks = np.ones(101)
    risks[-5:] = [3, 1, 2, 5, 4]
    assert statistics.end(Series.of(risks)).tolist() == [3]
    assert statistics.end(Series.of(risks), tail=1).tolist() == [4]
    assert statistics.end(Series.of(risks), tail=2).tolist() == [4.5]
    up_and_down = np.where(np.arange(101) % 2, 10.0, 1.0)
    assert statistics.swings(Series.of([up_and_down, np.ones(101)])) == pytest.approx([1.0, 0.0], abs=0.01)
    assert np.isinf(statistics.swings(Series.of(np.r_[np.ones(90), np.full(11, np.nan)])))[0]


def test_the_crossing_is_an_epoch_not_a_place():
    epochs = [0, 1, 2, 10, 20]
    below, above = Series.of(np.full((3, 5), 1.0), epochs), Series.of(np.full((3, 5), 2.0), epochs)
    assert statistics.crossing(below, above) == 0
    assert np.isinf(statistics.crossing(above, below))
    values = np.full((3, 5), 2.0)
    values[:, 3:] = 0.5
    assert statistics.crossing(Series.of(values, epochs), below) == 10
    values[:, 4] = 1.5
    assert np.isinf(statistics.crossing(Series.of(values, epochs), below))


def test_series_of_different_records_are_compared_where_both_are_stored():
    whole = Series.of(np.arange(21.0))
    thin = Series.of([0.0, 10.0, 20.0], [0, 10, 20], smallest=[[0, 1, 11]], largest=[[0, 10, 20]])
    a, b = statistics.together(whole, thin)
    for name in ("epochs", "values", "smallest", "largest"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@pytest.mark.parametrize(("signs", "p"), [([1] * 10, 2 / 1024), ([1] * 5 + [-1] * 5, 1.0), ([1, 0, 0], 1.0)])
def test_the_sign_test(signs, p):
    assert statistics.sign_test(np.array(signs)) == pytest.approx(p)


def test_logarithms_of_ratios():
    with np.errstate(all="raise"):
        found = statistics.log_ratio(np.array([1.0, np.inf, np.inf]), np.array([10.0, np.inf, 1.0]))
    np.testing.assert_array_equal(found, [-1, 0, np.inf])
    assert statistics.middle(np.array([-np.inf, np.inf])) == 0
