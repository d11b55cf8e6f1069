"""The numbers that claims need from series of risks: ends, swings, leaps, epochs to a level, crossings.

Series know their epochs: records may be thinned, so nothing here counts positions.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import comb

import numpy as np

RESAMPLES = 1000
END = 0.05  # share of the epochs, the last ones, whose median is where a run ended
LATE = 0.25  # share of the epochs, the last ones, in which swings are looked at
LEAP = 10  # a leap: the risk is above so many times its smallest so far ...
SETTLED = 10  # ... after so many epochs
TINY = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class Series:
    """A record of several runs at the stored epochs, (seed, epoch).

    ``smallest`` and ``largest`` are the extremes over the epochs since the one stored before: the values themselves
    where every epoch is stored.
    """

    seeds: tuple[int, ...]
    epochs: np.ndarray
    values: np.ndarray
    smallest: np.ndarray
    largest: np.ndarray

    @classmethod
    def of(cls, values, epochs=None, seeds=None, smallest=None, largest=None) -> "Series":
        """A series from plain arrays. A value that is not finite counts as infinite: the run diverged."""
        values = _finite_or_infinite(np.atleast_2d(np.asarray(values, float)))
        epochs = np.arange(values.shape[1]) if epochs is None else np.asarray(epochs)
        seeds = range(len(values)) if seeds is None else seeds
        # Where an extreme is not stored every epoch is, and the value is its own extreme.
        low, high = (values if x is None else np.where(np.isnan(x), values, x) for x in (smallest, largest))
        return cls(tuple(map(int, seeds)), epochs, values, low, high)

    @property
    def last(self) -> int:
        """The last epoch."""
        return int(self.epochs[-1])

    def until(self, epoch: int) -> "Series":
        """The series up to an epoch."""
        return self._columns(self.epochs <= epoch)

    def after(self, epoch: float) -> "Series":
        """The series of the epochs after one."""
        return self._columns(self.epochs > epoch)

    def with_seeds(self, seeds) -> "Series":
        """The rows of some of the seeds, in that order."""
        rows = [self.seeds.index(seed) for seed in seeds]
        return replace(
            self,
            seeds=tuple(seeds),
            values=self.values[rows],
            smallest=self.smallest[rows],
            largest=self.largest[rows],
        )

    def thinned(self, epochs: np.ndarray) -> "Series":
        """The series as if only these of its epochs had been stored."""
        places = np.searchsorted(self.epochs, epochs)
        starts = np.concatenate([[0], places[:-1] + 1])
        return Series(
            self.seeds,
            np.asarray(epochs),
            self.values[:, places],
            np.minimum.reduceat(self.smallest[:, : places[-1] + 1], starts, axis=1),
            np.maximum.reduceat(self.largest[:, : places[-1] + 1], starts, axis=1),
        )

    def _columns(self, chosen: np.ndarray) -> "Series":
        return replace(
            self,
            epochs=self.epochs[chosen],
            values=self.values[:, chosen],
            smallest=self.smallest[:, chosen],
            largest=self.largest[:, chosen],
        )


def _finite_or_infinite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, np.inf)


def together(*several: Series) -> list[Series]:
    """The same series on the epochs that all of them have stored."""
    epochs = several[0].epochs
    if all(np.array_equal(series.epochs, epochs) for series in several):
        return list(several)
    for series in several[1:]:
        epochs = np.intersect1d(epochs, series.epochs)
    return [series.thinned(epochs) for series in several]


def end(series: Series, tail: int | None = None) -> np.ndarray:
    """Where each run ended: the median over the last epochs, as single epochs swing with the minibatches.

    ``tail`` is the number of epochs (1: the last alone); by default they are the share ``END`` of all.
    """
    tail = END * series.last if tail is None else tail
    return np.median(series.after(series.last - max(1.0, tail)).values, axis=1)


def swings(series: Series) -> np.ndarray:
    """How much each run swings late in training: spread of the change of log10 risk between stored epochs."""
    late = np.log10(np.maximum(series.after((1 - LATE) * series.last).values, TINY))
    with np.errstate(invalid="ignore"):
        spread = np.std(np.diff(late, axis=1), axis=1)
    return _finite_or_infinite(spread)


def leaps(series: Series) -> np.ndarray:
    """Whether a run leaps at a stored epoch, (seed, epoch): the one definition of a leap.

    The largest risk since the epoch stored before is above ``LEAP`` times the smallest before that, after the first
    ``SETTLED`` epochs.

    >>> leaps(Series.of([1.0] * 11 + [0.1, 0.9, 1.1, 0.05, 0.6])).astype(int)[0, 11:].tolist()
    [0, 0, 1, 0, 1]
    """
    before = np.full_like(series.smallest, np.inf)
    before[:, 1:] = np.minimum.accumulate(series.smallest, axis=1)[:, :-1]
    with np.errstate(invalid="ignore"):
        leaping = series.largest > LEAP * before
    return leaping & _settled(series)


def _settled(series: Series) -> np.ndarray:
    """The stored epochs whose extremes are all from after the first ``SETTLED`` epochs."""
    return np.concatenate([[False], series.epochs[:-1] >= SETTLED])


def share_in_leaps(series: Series) -> np.ndarray:
    """The share of each run's epochs, after the first ``SETTLED``, in which it leaps.

    A stored epoch stands for all epochs since the one stored before.

    >>> thinned = Series.of([[1.0, 1.0, 1.0, 11.0]], epochs=[0, 10, 20, 50])
    >>> share_in_leaps(thinned).tolist()
    [0.75]
    """
    counted = _settled(series)
    if not counted.any():
        return np.zeros(len(series.seeds))
    stands_for = np.diff(series.epochs, prepend=0)[counted]
    return np.average(leaps(series)[:, counted], axis=1, weights=stands_for)


def first_leap(series: Series) -> np.ndarray:
    """The first epoch in which each run leaps; infinite if there is none."""
    leaping = leaps(series)
    return np.where(leaping.any(axis=1), series.epochs[leaping.argmax(axis=1)], np.inf)


def epochs_to_reach(series: Series, level: float) -> np.ndarray:
    """The first stored epoch by which each run has had a risk of at most ``level``; infinite if there is none."""
    reached = series.smallest <= level
    return np.where(reached.any(axis=1), series.epochs[reached.argmax(axis=1)], np.inf)


def divergence(series: Series) -> np.ndarray:
    """The first stored epoch from which on a run has no finite value any more; infinite if it ends with one.

    >>> divergence(Series.of([[1.0, 2.0, 3.0], [1.0, np.inf, np.inf], [np.inf, 2.0, np.inf]])).tolist()
    [inf, 1.0, 2.0]
    """
    finite_later = np.logical_or.accumulate(np.isfinite(series.values)[:, ::-1], axis=1)[:, ::-1]
    return np.where(finite_later[:, -1], np.inf, series.epochs[(~finite_later).argmax(axis=1)])


def crossing(a: Series, b: Series) -> float:
    """The epoch from which the median (over runs) of a stays below that of b; infinite if it does not end below."""
    a, b = together(a, b)
    above = np.flatnonzero(~(np.median(a.values, axis=0) < np.median(b.values, axis=0)))
    first = 0 if len(above) == 0 else int(above[-1]) + 1
    return float(a.epochs[first]) if first < len(a.epochs) else np.inf


def log_ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """log10(a / b); two infinities are equal, and zero is the smallest number there is."""
    with np.errstate(invalid="ignore"):
        ratio = np.log10(np.maximum(a, TINY)) - np.log10(np.maximum(b, TINY))
    return np.where(np.isnan(ratio), 0.0, ratio)


def middle(values: np.ndarray) -> float:
    """The median; between minus and plus infinity it is zero."""
    with np.errstate(invalid="ignore"):
        value = float(np.median(values))
    return 0.0 if np.isnan(value) else value


def resampled(statistic: Callable[..., float], *samples: np.ndarray) -> np.ndarray:
    """The statistic of resampled seeds: reported with a verdict, never the reason for it.

    All samples have the seeds along their first axis and are resampled together, so that pairs stay pairs. The
    resamples are the same at every call: the same results give the same numbers.
    """
    rng = np.random.default_rng(0)
    seeds = len(samples[0])
    rows = (rng.integers(0, seeds, seeds) for _ in range(RESAMPLES))
    return np.array([statistic(*(sample[row] for sample in samples)) for row in rows])


def sign_test(differences: np.ndarray) -> float:
    """The two-sided p-value that positive and negative differences are equally likely; ties are left out."""
    positive, negative = int(np.sum(differences > 0)), int(np.sum(differences < 0))
    count = positive + negative
    tail = sum(comb(count, k) for k in range(min(positive, negative) + 1))
    return min(1.0, 2 * tail / 2**count)
