"""The few statistics that claims need: bootstrap over seeds, the sign test, risks at the end, crossings."""

from collections.abc import Callable
from math import comb

import numpy as np

RESAMPLES = 1000
INTERVAL = (2.5, 97.5)  # percentiles: 95 in 100 resamples lie between them


def bootstrap(statistic: Callable[..., float], *samples: np.ndarray) -> tuple[np.ndarray, tuple[float, float]]:
    """The statistic of resampled seeds, and its 95 % interval.

    All samples have the seeds along their first axis and are resampled together, so that what was seen in pairs
    stays in pairs. The resamples are the same at every call: the same results give the same verdict.
    """
    rng = np.random.default_rng(0)
    seeds = len(samples[0])
    rows = (rng.integers(0, seeds, seeds) for _ in range(RESAMPLES))
    values = np.array([statistic(*(sample[row] for sample in samples)) for row in rows])
    ordered = np.sort(values)  # by hand: infinite values have an order, but no interpolation
    low, high = (float(ordered[round(p / 100 * (RESAMPLES - 1))]) for p in INTERVAL)
    return values, (low, high)


def sign_test(differences: np.ndarray) -> float:
    """The two-sided p-value that positive and negative differences are equally likely; ties are left out."""
    positive, negative = int(np.sum(differences > 0)), int(np.sum(differences < 0))
    count = positive + negative
    tail = sum(comb(count, k) for k in range(min(positive, negative) + 1))
    return min(1.0, 2 * tail / 2**count)


def final(series: np.ndarray, share: float = 0.05) -> np.ndarray:
    """Where each run (row) ended: the median over the last epochs, as single epochs swing with the minibatches."""
    return np.median(series[:, -max(1, round(share * (series.shape[1] - 1))) :], axis=1)


def log_ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """log10(a / b); two infinities are equal, and zero is the smallest number there is."""
    tiny = np.finfo(float).tiny
    with np.errstate(invalid="ignore"):
        ratio = np.log10(np.maximum(a, tiny)) - np.log10(np.maximum(b, tiny))
    return np.where(np.isnan(ratio), 0.0, ratio)


def swings(series: np.ndarray) -> np.ndarray:
    """How much each run swings late in training: spread of log10 risk from epoch to epoch, last quarter."""
    late = np.log10(np.maximum(series[:, 3 * series.shape[1] // 4 :], np.finfo(float).tiny))
    with np.errstate(invalid="ignore"):
        spread = np.std(np.diff(late, axis=1), axis=1)
    return np.where(np.isfinite(spread), spread, np.inf)


def crossing(a: np.ndarray, b: np.ndarray) -> float:
    """The epoch from which the median (over rows) of a stays below that of b; infinite if it does not end below."""
    above = np.flatnonzero(~(np.median(a, axis=0) < np.median(b, axis=0)))
    first = 0 if len(above) == 0 else int(above[-1]) + 1
    return float(first) if first < a.shape[1] else np.inf


def epochs_to_reach(series: np.ndarray, level: float) -> np.ndarray:
    """The first epoch of each run with a risk of at most ``level``; infinite if there is none."""
    reached = series <= level
    return np.where(reached.any(axis=1), reached.argmax(axis=1), np.inf)


def leaps(series: np.ndarray, factor: float = 10.0) -> np.ndarray:
    """Whether each run, at each epoch, is above so many times its smallest risk up to then."""
    return series > factor * np.minimum.accumulate(series, axis=1)
