"""Two-layer ReLU networks of one input, evaluated exactly and fast.

For d = 1 the network of Eq. (intro:disc_nn) is piecewise linear. The neuron c relu(w x + b) is zero on one
side of its kink t = -b / w and the line c w x + c b on the other. On sorted inputs it is therefore enough to
add each neuron's slope and offset at its kink and to take one running sum: O(M + S) work for a network of
M neurons on S points instead of O(M S), exact to rounding. The same kinks give the gradient of the squared
loss from running sums of the residuals.

Shapes: ``w``, ``b``, ``c`` are (N, M); ``x`` and ``y`` are (S,), sorted by x. ``scale`` is the factor before the
sum over the neurons, 1/M in the paper. Parameters may be float32; all sums are float64.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

BINS_PER_POINT = 4  # so many that a bin seldom holds two points


class SortedPoints(NamedTuple):
    """Inputs in ascending order, with a table that finds the place of a kink in constant time."""

    x: np.ndarray  # (S + 1,), ascending, ended by infinity
    y: np.ndarray  # (S,) targets, or (P, S) for P tasks
    first: np.ndarray  # (B + 1,): first[k] is the first index with x >= low + k / bins_per_unit
    low: float
    bins_per_unit: float


def sorted_points(x: np.ndarray, y: np.ndarray) -> SortedPoints:
    """Prepare points for the kernels. ``x`` must be ascending; ``y`` follows the same order."""
    low, high = float(x[0]), float(x[-1])
    bins_per_unit = BINS_PER_POINT * len(x) / (high - low) if high > low else 0.0
    ended, first = _lookup_table(x, bins_per_unit)
    return SortedPoints(ended, y, first, low, bins_per_unit)


@njit(cache=True, error_model="numpy")
def _lookup_table(x, bins_per_unit):
    size = x.size
    ended = np.empty(size + 1)
    ended[:size] = x
    ended[size] = np.inf
    first = np.empty(BINS_PER_POINT * size + 1, np.int64)
    done = 0
    for index in range(size):
        bin_of_x = int((x[index] - x[0]) * bins_per_unit)
        while done <= bin_of_x and done < first.size:
            first[done] = index
            done += 1
    first[done:] = size
    return ended, first


@njit(cache=True, error_model="numpy", inline="always")
def _place(kink, x, first, low, bins_per_unit):
    """The first index with x > kink; 0 for a kink that is not a number. Written without branches that
    depend on chance: they cost more than the arithmetic."""
    bin_of_kink = (kink - low) * bins_per_unit
    bin_of_kink = bin_of_kink if bin_of_kink > 0.0 else 0.0
    bin_of_kink = bin_of_kink if bin_of_kink < first.size - 1 else first.size - 1.0
    index = first[np.uint64(bin_of_kink)]
    index += np.int64(x[index] <= kink)
    while x[index] <= kink and index < x.size - 1:
        index += 1
    while index > 0 and x[index - 1] > kink:
        index -= 1
    return index


@njit(cache=True, error_model="numpy")
def _add_neurons(w, b, c, scale, x, first, low, bins_per_unit, slope, offset, place):
    """Scatter the slopes and offsets of one network's neurons, over M, to the points where they change.

    Neuron m is active where w x + b > 0: from place[m] on if w > 0, before place[m] if w < 0, everywhere or
    nowhere if w = 0 (then place[m] is 0 or S).
    """
    slope[:] = 0.0
    offset[:] = 0.0
    width = w.size
    everywhere_slope, everywhere_offset = 0.0, 0.0
    for m in range(width):
        wm, bm, cm = np.float64(w[m]), np.float64(b[m]), np.float64(c[m]) * scale
        kink = -bm / wm
        index = _place(kink, x, first, low, bins_per_unit)
        if wm == 0.0:
            index = x.size - 1 if bm <= 0.0 else 0
        while wm < 0.0 and index > 0 and x[index - 1] == kink:
            index -= 1
        rising = -1.0 if wm < 0.0 else 1.0
        everywhere_slope += cm * wm if wm < 0.0 else 0.0
        everywhere_offset += cm * bm if wm < 0.0 else 0.0
        slope[index] += rising * cm * wm
        offset[index] += rising * cm * bm
        place[m] = index
    slope[0] += everywhere_slope
    offset[0] += everywhere_offset


@njit(cache=True, error_model="numpy", nogil=True)
def predictions(w, b, c, scale, x, first, low, bins_per_unit, out):
    """The values of N networks: fill ``out`` (N, S) with scale * sum_m c_m relu(w_m x + b_m)."""
    size = x.size - 1
    slope, offset = np.empty(size + 1), np.empty(size + 1)
    place = np.empty(w.shape[1], np.int64)
    for n in range(w.shape[0]):
        _add_neurons(w[n], b[n], c[n], scale, x, first, low, bins_per_unit, slope, offset, place)
        line, constant = 0.0, 0.0
        for s in range(size):
            line += slope[s]
            constant += offset[s]
            out[n, s] = line * x[s] + constant


@njit(cache=True, error_model="numpy", nogil=True)
def squared_risks(w, b, c, scale, x, y, first, low, bins_per_unit, out):
    """Eq. (eq:empirical_risk) with Eq. (eq:MSE) for N networks: fill ``out`` (N,) with mean (y - g)^2."""
    size = x.size - 1
    slope, offset = np.empty(size + 1), np.empty(size + 1)
    place = np.empty(w.shape[1], np.int64)
    for n in range(w.shape[0]):
        _add_neurons(w[n], b[n], c[n], scale, x, first, low, bins_per_unit, slope, offset, place)
        line, constant, total = 0.0, 0.0, 0.0
        for s in range(size):
            line += slope[s]
            constant += offset[s]
            residual = line * x[s] + constant - y[s]
            total += residual * residual
        out[n] = total / size


@njit(cache=True, error_model="numpy", nogil=True)
def squared_gradients(w, b, c, scale, x, y, first, low, bins_per_unit, out, dw, db, dc):
    """Risks as in ``squared_risks``, and their gradients with respect to w, b and c, each (N, M).

    With r_s = g(x_s) - y_s and A_m the points where neuron m is active, the derivatives are
    2 scale / S times c_m sum_A r x, c_m sum_A r and w_m sum_A r x + b_m sum_A r. As A_m is an end of the
    sorted points, both sums are differences of running sums.
    """
    size, width = x.size - 1, w.shape[1]
    slope, offset = np.empty(size + 1), np.empty(size + 1)
    place = np.empty(width, np.int64)
    sum_r, sum_rx = np.empty(size + 1), np.empty(size + 1)
    factor = 2.0 * scale / size
    for n in range(w.shape[0]):
        _add_neurons(w[n], b[n], c[n], scale, x, first, low, bins_per_unit, slope, offset, place)
        line, constant, total, r, rx = 0.0, 0.0, 0.0, 0.0, 0.0
        for s in range(size):
            sum_r[s], sum_rx[s] = r, rx
            line += slope[s]
            constant += offset[s]
            residual = line * x[s] + constant - y[s]
            total += residual * residual
            r += residual
            rx += residual * x[s]
        sum_r[size], sum_rx[size] = r, rx
        out[n] = total / size
        for m in range(width):
            wm, bm, cm = np.float64(w[n, m]), np.float64(b[n, m]), np.float64(c[n, m])
            ar, arx = sum_r[place[m]], sum_rx[place[m]]
            if not wm < 0:
                ar, arx = r - ar, rx - arx
            dw[n, m] = factor * cm * arx
            db[n, m] = factor * cm * ar
            dc[n, m] = factor * (wm * arx + bm * ar)
