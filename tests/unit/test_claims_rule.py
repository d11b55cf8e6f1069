"""The rule of evidence: exact where orders can be counted, and tried where the truth is known."""

import itertools
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbo_pipeline.claims import rule, rule_errors
from cbo_pipeline.claims.rule import FAILS, HOLDS, IN_PART, UNDECIDED, Interval

FINITE = st.floats(-5, 5)


@pytest.mark.parametrize("count", range(1, 13))
def test_the_interval_of_the_median_errs_as_often_as_the_signs_say(count):
    """All patterns of signs are equally likely with the true median at 0: count those in which an end errs."""
    wrong = sum(
        rule.verdict(rule.median_interval(np.array(signs, float))) == HOLDS
        for signs in itertools.product([-1, 1], repeat=count)
    )
    assert wrong / 2**count <= rule.ERROR
    looser = sum(comb(count, k) for k in range(rule.sign_rank(count) + 2)) / 2**count
    assert looser > rule.ERROR  # no narrower interval would do


@pytest.mark.parametrize(("first", "second"), [(1, 5), (1, 19), (2, 4), (2, 5), (3, 3), (4, 4), (5, 5), (3, 7)])
def test_the_interval_of_a_shift_errs_as_often_as_the_orders_say(first, second):
    """All orders of the two samples are equally likely with no shift."""
    total = wrong = 0
    for chosen in itertools.combinations(range(first + second), first):
        others = [value for value in range(first + second) if value not in chosen]
        interval = rule.shift_interval(np.array(chosen, float), np.array(others, float))
        total += 1
        wrong += rule.verdict(interval) == HOLDS
    assert wrong / total <= rule.ERROR
    assert (wrong > 0) == (1 / total <= rule.ERROR)


def test_the_interval_of_a_shift_agrees_with_scipy():
    from scipy.stats import mannwhitneyu

    rng = np.random.default_rng(3)
    for first, second in ((5, 5), (6, 9), (2, 30)):
        a, b = rng.standard_normal(first) - 0.8, rng.standard_normal(second)
        p = mannwhitneyu(a, b, alternative="less", method="exact").pvalue
        assert (rule.verdict(rule.shift_interval(a, b)) == HOLDS) == (p <= rule.ERROR)


def test_the_interval_of_a_contrast_is_student_s():
    """Of the difference of two means of a small spread: the paired test of scipy on relative risks."""
    from scipy.stats import ttest_1samp

    rng = np.random.default_rng(0)
    risks = 1e-3 * (1 + 1e-3 * rng.standard_normal((10, 2))) * [1.0, 0.9995]
    relative = (risks / risks.mean(axis=0)) @ [-1, 1] / np.log(10)
    expected = ttest_1samp(relative, 0).confidence_interval(1 - 2 * rule.SKEWED * rule.ERROR)
    interval = rule.contrast_interval(risks, [-1, 1])
    shift = rule.contrast(risks, [-1, 1])
    np.testing.assert_allclose(interval, np.array(expected) + shift, rtol=1e-6)


@given(st.lists(FINITE, min_size=5, max_size=30))
def test_the_median_lies_in_its_interval(values):
    low, high = rule.median_interval(np.array(values))
    assert min(values) <= low <= np.median(values) <= high <= max(values)


@given(st.lists(st.sampled_from([HOLDS, FAILS, UNDECIDED]), min_size=1, max_size=5))
def test_a_claim_of_parts_has_the_verdict_that_every_outcome_of_its_open_parts_would_give(parts):
    def settled(verdicts):
        return HOLDS if set(verdicts) == {HOLDS} else FAILS if set(verdicts) == {FAILS} else IN_PART

    choices = [[part] if part != UNDECIDED else [HOLDS, FAILS] for part in parts]
    outcomes = {settled(verdicts) for verdicts in itertools.product(*choices)}
    assert rule.combined(parts) == (outcomes.pop() if len(outcomes) == 1 else UNDECIDED)


@given(st.lists(st.sampled_from([HOLDS, FAILS, UNDECIDED]), min_size=1, max_size=4))
def test_a_statement_of_criteria_has_the_verdict_that_every_outcome_of_the_open_ones_would_give(verdicts):
    """As for the parts of a claim, but one criterion that fails is enough."""
    criteria = [rule.Part(str(k), float(k), rule.EVERYTHING, found) for k, found in enumerate(verdicts)]
    options = [[HOLDS, FAILS] if found == UNDECIDED else [found] for found in verdicts]
    outcomes = {HOLDS if set(outcome) == {HOLDS} else FAILS for outcome in itertools.product(*options)}
    expected = outcomes.pop() if len(outcomes) == 1 else UNDECIDED
    assert rule.all_of("all", criteria, criteria[-1]).verdict == expected
    assert rule.all_of("all", criteria, criteria[-1]).value == len(criteria) - 1


def test_both_sides_need_the_same_evidence():
    for interval in (Interval(-2, -1), Interval(-1, 1), Interval(1, 2), rule.EVERYTHING):
        mirrored = Interval(-interval.high, -interval.low)
        swap = {HOLDS: FAILS, FAILS: HOLDS, UNDECIDED: UNDECIDED}
        assert rule.verdict(mirrored) == swap[rule.verdict(interval)]
        assert rule.above("", 0.0, mirrored).verdict == rule.verdict(interval)


def test_the_largest_of_several_numbers():
    """With intervals of one width the upper end is the largest one's, the lower end pays for having a choice."""
    normal = [lambda error, m=m: Interval(m - 1 / error, m + 1 / error) for m in (0.0, 3.0)]
    assert rule.largest_interval(normal) == Interval(3 - 2 / rule.ERROR, 3 + 1 / rule.ERROR)


def test_one_of_several_numbers_pays_for_the_others_only_where_one_is_enough():
    assert rule.one_of(lambda error: Interval(-1 / error, 1 / error), 4) == Interval(-4 / rule.ERROR, 1 / rule.ERROR)


def test_infinite_risks_have_an_order():
    values = np.array([1.0, np.inf, 2.0, np.inf, 3.0])
    assert rule.median_interval(values) == Interval(1.0, np.inf)
    assert rule.difference(np.array([np.inf]), np.array([np.inf])) == 0
    assert rule.contrast_interval(np.array([[1.0, np.inf], [1.0, 2.0]]), [1, -1]) == rule.EVERYTHING


def test_the_table_of_errors_keeps_its_promise():
    """Fewer samples than the check has, so with room for chance: three standard deviations."""
    samples = 200
    table = rule_errors.rule_errors(samples, seeds=(5, 10))
    room = 3 * np.sqrt(rule.ERROR / samples)
    used = [row for row in table["rows"] if row["used"]]
    assert max(max(row["false_holds"], row["false_fails"]) for row in used) <= rule.ERROR + room
    for row in used:
        assert row["exact"] is None or row["exact"] <= rule.ERROR
    others = [row for row in table["rows"] if row["law"] == "all steps flat" and not row["used"]]
    assert min(row["false_fails"] for row in others) > 0.5  # why steps are not judged by counting resamples
    assert max(row["right"] for row in used) > 0.6
