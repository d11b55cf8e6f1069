"""The rule of evidence, written once: five verdicts, and how intervals over the seeds decide between them.

A claim states that a number lies on one side of a line. The number comes with an interval over the seeds whose two
ends err with a probability of at most ``ERROR`` each. The whole interval on the right side: the claim holds. The
whole interval on the wrong side: it does not hold. The line inside: undecided. So a verdict for a claim and a verdict
against it need the same weight of evidence. ``claims.rule_errors`` counts how often the rule errs where the truth is
known.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import numpy as np

HOLDS = "holds"
IN_PART = "holds in part"
UNDECIDED = "undecided"
FAILS = "does not hold"
NOT_TESTED = "not tested at this scale"
VERDICTS = (HOLDS, IN_PART, UNDECIDED, FAILS, NOT_TESTED)

ERROR = 0.05  # the largest probability with which each end of an interval may err
# Risks are skewed, and then Student's interval errs more often than it is asked to: 1.3 times with five seeds and the
# widest risks of the square. So it is asked for less.
SKEWED = 0.7


class Interval(NamedTuple):
    """Both ends; without enough seeds they are infinite."""

    low: float
    high: float


EVERYTHING = Interval(-np.inf, np.inf)


@dataclass(frozen=True)
class Part:
    """One statement of a claim: its number, the interval, the verdict on it alone, and the line that it is about."""

    what: str
    value: float
    interval: Interval
    verdict: str
    line: float | None = None

    def said(self) -> dict:
        """What is told of the statement in data."""
        return {"value": self.value, "interval": self.interval, "verdict": self.verdict}


def below(what: str, value: float, interval: Interval, line: float = 0.0) -> Part:
    """The statement that a number is below the line."""
    return Part(what, value, interval, verdict(interval, line), line)


def above(what: str, value: float, interval: Interval, line: float = 0.0) -> Part:
    """The statement that a number is above the line."""
    return Part(what, value, interval, verdict(Interval(-interval.high, -interval.low), -line), line)


def certain(what: str, is_true: bool, value: float) -> Part:
    """A statement on what was counted or computed: no seeds, no interval."""
    return Part(what, value, Interval(value, value), HOLDS if is_true else FAILS)


def all_of(what: str, criteria: Sequence[Part], headline: Part) -> Part:
    """One statement that is true where all its criteria are; its number is that of the headline.

    One criterion that fails is enough against it, so their intervals are those of ``one_of``.

    >>> few, slow = below("few", -1, Interval(-2, 1)), below("slow", 2, Interval(1, 3))
    >>> all_of("few and slow", [few, slow], few).verdict
    'does not hold'
    """
    verdicts = {part.verdict for part in criteria}
    found = FAILS if FAILS in verdicts else HOLDS if verdicts == {HOLDS} else UNDECIDED
    return Part(what, headline.value, headline.interval, found, headline.line)


def verdict(interval: Interval, line: float = 0.0) -> str:
    """The rule, for the statement "below the line".

    >>> verdict(Interval(-2, -1)), verdict(Interval(-1, 1)), verdict(Interval(1, 2))
    ('holds', 'undecided', 'does not hold')
    """
    if interval.high < line:
        return HOLDS
    return FAILS if interval.low > line else UNDECIDED


def combined(parts: Iterable[Part | str]) -> str:
    """The verdict on a claim of several parts.

    All hold: it holds. None holds: it does not hold. Some hold and some do not: it holds in part. Where parts are
    undecided, the verdict is the one that it would be however they turn out, and undecided if that depends on them.

    >>> combined([HOLDS, HOLDS]), combined([HOLDS, FAILS, UNDECIDED]), combined([HOLDS, UNDECIDED])
    ('holds', 'holds in part', 'undecided')
    """
    verdicts = {part if isinstance(part, str) else part.verdict for part in parts}
    if verdicts == {HOLDS}:
        return HOLDS
    if verdicts == {FAILS}:
        return FAILS
    return IN_PART if {HOLDS, FAILS} <= verdicts else UNDECIDED


def median_interval(values: np.ndarray, error: float = ERROR) -> Interval:
    """An interval for the median of the law that the values are drawn from: two of the values themselves.

    The number of values below the true median is binomial with probability 1/2, whatever the law, so the ends err
    with a known probability: it is the inverted sign test. With fewer than five values there is no such interval at
    5 %, and none is given.

    >>> median_interval(np.array([3.0, 1.0, 5.0, 2.0, 4.0]))
    Interval(low=1.0, high=5.0)
    >>> median_interval(np.array([1.0, 2.0]))
    Interval(low=-inf, high=inf)
    """
    skipped = sign_rank(len(values), error)
    if skipped < 0:
        return EVERYTHING
    ordered = np.sort(values)
    return Interval(float(ordered[skipped]), float(ordered[-1 - skipped]))


@functools.cache
def sign_rank(count: int, error: float = ERROR) -> int:
    """How many values may lie beyond an end of the interval for the median; -1 if even the extremes err too often."""
    allowed, total = error * 2**count, 0
    for rank in range(count + 1):
        total += comb(count, rank)
        if total > allowed:
            return rank - 1
    return count


def shift_interval(a: np.ndarray, b: np.ndarray, error: float = ERROR) -> Interval:
    """An interval for how far the law of ``a`` is shifted from that of ``b``, the two samples not being paired.

    Two of the differences a_i - b_j, chosen by the exact law of the Mann-Whitney statistic. Two values against five
    can decide at 5 % (1 in 21 orders is the extreme one), two against four cannot, and one needs nineteen others.

    >>> shift_interval(np.array([1.0, 2.0]), np.array([5.0, 6.0, 7.0, 8.0, 9.0]))
    Interval(low=-8.0, high=-3.0)
    """
    skipped = rank_sum_rank(len(a), len(b), error)
    if skipped < 0:
        return EVERYTHING
    ordered = np.sort(difference(a[:, None], b[None, :]).ravel())
    return Interval(float(ordered[skipped]), float(ordered[-1 - skipped]))


@functools.cache
def rank_sum_rank(first: int, second: int, error: float = ERROR) -> int:
    """How many differences may lie beyond an end of the interval for a shift; -1 if the extremes err too often."""
    if first < 1 or second < 1:
        return -1
    return int(np.searchsorted(rank_sum_law(first, second), error * (1 + 1e-12), side="right")) - 1


@functools.cache
def rank_sum_law(first: int, second: int) -> np.ndarray:
    """How likely at most 0, 1, 2, ... of the differences of two samples of one law are negative."""
    # law[j]: probabilities of the statistic for i values against j. The largest of all values is among the first
    # sample with probability i / (i + j), and then it exceeds all j others.
    law = [np.ones(1) for _ in range(second + 1)]
    for i in range(1, first + 1):
        row = [np.ones(1)]
        for j in range(1, second + 1):
            mixed = np.zeros(i * j + 1)
            mixed[j:] += i / (i + j) * law[j]
            mixed[: i * (j - 1) + 1] += j / (i + j) * row[j - 1]
            row.append(mixed)
        law = row
    return np.cumsum(law[second])


def contrast(samples: np.ndarray, weights: Sequence[float]) -> float:
    """sum_j w_j log10(mean over the seeds of column j), samples (seed, column)."""
    samples, weights = of_weight(samples, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = float(weights @ np.log10(samples.mean(axis=0)))
    return 0.0 if np.isnan(value) else value


def of_weight(samples: np.ndarray, weights: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """The columns whose weight is not zero, and their weights: a run that diverged says nothing of other columns."""
    weights = np.asarray(weights, float)
    return samples[:, weights != 0], weights[weights != 0]


def contrast_interval(samples: np.ndarray, weights: Sequence[float], error: float = ERROR) -> Interval:
    """Student's interval for a contrast of the logarithms of means over the seeds, samples (seed, column).

    The columns share their seeds, so it is the spread of each seed's own contribution that counts. It is asked for
    ``SKEWED`` of the error, so that it does not err more often than that where the risks are skewed.
    """
    from scipy.special import stdtrit

    samples, weights = of_weight(samples, weights)
    count, means = len(samples), samples.mean(axis=0)
    if count < 2 or not np.all(np.isfinite(samples)) or not np.all(means > 0):
        return EVERYTHING
    own = samples @ (weights / (means * np.log(10)))
    reach = float(stdtrit(count - 1, 1 - SKEWED * error) * np.std(own, ddof=1) / np.sqrt(count))
    value = contrast(samples, weights)
    return Interval(value - reach, value + reach)


def one_of(interval: Callable[[float], Interval], count: int) -> Interval:
    """The interval of one of several numbers that must all be below their lines, from one that is given at an error.

    That all are below errs only if the upper end of a given one does, so the upper ends need not share the error. One
    number above its line speaks against all of them, and each of them could err: the lower ends share it.
    """
    return Interval(interval(ERROR / count).low, interval(ERROR).high)


def largest_interval(intervals: Iterable[Callable[[float], Interval]]) -> Interval:
    """An interval for the largest of several numbers, from functions that give the interval of each at an error.

    The largest number is below the largest upper end unless its own upper end errs. It is above the largest lower end
    unless one of them errs.
    """
    intervals = list(intervals)
    shared = [one_of(interval, len(intervals)) for interval in intervals]
    return Interval(max(one.low for one in shared), max(one.high for one in shared))


def difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a - b, where two equal infinities differ by nothing."""
    with np.errstate(invalid="ignore"):
        result = np.asarray(a, float) - np.asarray(b, float)
    return np.where(np.isnan(result), 0.0, result)


EXPLANATION = (
    f"Every number has an interval over the seeds, each end of which errs in at most {ERROR:.0%} of cases: for"
    " medians two of the values themselves (the inverted sign test; with fewer than five seeds it is unbounded),"
    " for two unpaired samples two of their differences (the inverted Mann-Whitney test), for means Student's"
    f" interval, asked for {SKEWED:g} of that error since risks are skewed (the table of errors tells how often it"
    " errs). The whole interval on the right side of the line: the claim holds. The whole interval on the wrong side:"
    " it does not hold. The line inside: undecided. A claim of several parts holds if all hold, does not hold if none"
    " does, and holds in part if some do and some do not; it is undecided where that depends on parts that are"
    " undecided."
)
