"""Columns of a table, however they were stored."""

from typing import NamedTuple

import numpy as np


class Columns(NamedTuple):
    """Some columns as numbers, others as text, and the row of each in its file."""

    numbers: np.ndarray  # (rows, columns), float64
    texts: list[np.ndarray]  # (rows,) each
    places: np.ndarray  # (rows,)
