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
    kept = {*starts.tolist(), len(epochs) - 1}
    for values in series:
        low = np.where(np.isfinite(values), values, np.inf)
        high = np.where(np.isfinite(values), values, -np.inf)
        for first, end in zip(starts, [*starts[1:], len(epochs)], strict=True):
            kept.add(first + int(np.argmin(low[first:end])))
            kept.add(first + int(np.argmax(high[first:end])))
    return np.array(sorted(kept))


def columns_for(lines: int, points: int, least: int = 120, most: int = 800) -> int:
    """How many columns so many lines may have if they are to keep about so many points together."""
    return int(np.clip(points / (2 * max(lines, 1)), least, most))


def rounded(values: np.ndarray, digits: int = 4) -> list[float | None]:
    """Numbers with so many decimal digits; None for what is not finite."""
    values = np.asarray(values, float)
    return [float(f"{v:.{digits}g}") if np.isfinite(v) else None for v in values.tolist()]
