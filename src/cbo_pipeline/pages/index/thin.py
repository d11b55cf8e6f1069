"""Curves with as many points as a screen can show, and with every leap."""

import numpy as np


def extremes(epochs: np.ndarray, series: np.ndarray, columns: int) -> np.ndarray:
    """Positions to keep of curves (k, epoch) over shared epochs: in each of so many columns of equal width the first
    epoch and the smallest and the largest value of every curve; also the last epoch of all.

    What a screen of that many columns shows does not change: in a column only the ends of the stroke are seen.
    """
    series = np.atleast_2d(series)
    if len(epochs) <= columns:
        return np.arange(len(epochs))
    span = max(float(epochs[-1] - epochs[0]), 1.0)
    column = np.minimum(((epochs - epochs[0]) * columns / span).astype(int), columns - 1)
    starts = np.flatnonzero(np.r_[True, np.diff(column) > 0])
    ends = np.r_[starts[1:], len(epochs)]
    kept = [starts, [len(epochs) - 1]]
    for values in series:
        # Sorted by column and then by value, the smallest of a column comes first and the largest last.
        kept.append(np.lexsort((np.where(np.isfinite(values), values, np.inf), column))[starts])
        kept.append(np.lexsort((np.where(np.isfinite(values), values, -np.inf), column))[ends - 1])
    return np.unique(np.concatenate(kept))


def in_ratios(count: int, most: int) -> np.ndarray:
    """Positions among so many, first and last included, that are even in ratios: for a logarithmic axis.

    >>> in_ratios(1000, 4).tolist()
    [0, 9, 99, 999]
    """
    return np.geomspace(1, count, most).round().astype(int) - 1


def kept(epochs: np.ndarray, series: np.ndarray, columns: int, ratios: bool) -> np.ndarray:
    """The same, and if the epochs may be shown by their logarithms as many more that are even in ratios."""
    even = extremes(epochs, series, columns)
    return np.union1d(even, in_ratios(len(epochs), columns)) if ratios else even


def columns_for(lines: int, points: int, least: int, most: int = 800) -> int:
    """How many columns so many lines may have if they are to keep about so many points together."""
    return int(np.clip(points / (2 * max(lines, 1)), least, most))


# numpy's own powers are not exact on every processor: on some, 10.0 ** 2 of an array is not 100.
_POWERS = np.array([float(f"1e{k}") for k in range(309)])


def rounded(values: np.ndarray, digits: int = 3) -> list[float | None]:
    """Numbers with so many decimal digits; None for what is not finite.

    >>> rounded([0.00058182, -123456.0, 0.0, float("inf")])
    [0.000582, -123000.0, 0.0, None]
    """
    values = np.asarray(values, float)
    finite = np.isfinite(values)
    size = np.abs(np.where(finite & (values != 0), values, 1.0))
    exponent = np.floor(np.log10(size)).astype(int) - (digits - 1)
    up, down = (_POWERS[np.clip(power, 0, len(_POWERS) - 1)] for power in (-exponent, exponent))
    short = np.round(np.where(finite, values, 0.0) * up / down) / up * down
    return [value if known else None for value, known in zip(short.tolist(), finite.tolist(), strict=True)]
