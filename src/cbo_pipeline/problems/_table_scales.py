"""Standardisation: every column with mean zero and variance one on the training part."""

from typing import NamedTuple

import numpy as np


class Scales(NamedTuple):
    """A column x is seen as (x - mean) / scale."""

    mean: np.ndarray
    scale: np.ndarray

    def apply(self, x: np.ndarray) -> np.ndarray:
        return (x - self.mean) / self.scale

    def undo(self, x: np.ndarray) -> np.ndarray:
        return x * self.scale + self.mean


def learnt(x: np.ndarray) -> Scales:
    """The scales of the columns of x (S, d); a column that is constant on these rows keeps its unit.

    Its deviation need not be zero: the mean is rounded.

    >>> scales = learnt(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> scales.mean.tolist(), scales.scale.tolist()
    ([2.0, 5.0], [1.0, 1.0])
    """
    return Scales(x.mean(axis=0), np.where(np.ptp(x, axis=0) > 0, x.std(axis=0), 1.0))


def none(columns: int) -> Scales:
    """The scales of columns that are taken as they are."""
    return Scales(np.zeros(columns), np.ones(columns))
