"""Two-layer ReLU networks of one input, evaluated exactly and fast.

For d = 1 the network of Eq. (intro:disc_nn) is piecewise linear. The neuron c relu(w x + b) is zero on one
side of its kink t = -b / w and the line c w x + c b on the other. On sorted inputs it is therefore enough to
add each neuron's slope and offset at its kink and to take one running sum: O(M + S) work for a network of
M neurons on S points instead of O(M S), exact to rounding. The same kinks give the gradient of the squared
loss from running sums of the residuals.

Shapes: ``w``, ``b``, ``c`` are (N, M), the outer biases ``a`` (N,), zero where networks have none; ``x`` and ``y``
are (S,), sorted by x. ``scale`` is the factor before the sum over the neurons, 1/M in the paper. Parameters may be
float32; all sums are float64.
"""

from typing import NamedTuple

import numpy as np

from cbo_pipeline.numerics.kernels.compiler import kernel

BINS_PER_POINT = 4  # so many that a bin seldom holds two points
LARGEST = np.finfo(np.float64).max  # a kink at infinity would run past the end of the points


class SortedPoints(NamedTuple):
    """Inputs in ascending order, with a table that finds the place of a kink in constant time."""

    x: np.ndarray  # (S + 1,), ascending, with infinity at the end
    y: np.ndarray  # (S,) targets, or (P, S) for P tasks
    first: np.ndarray  # (B + 1,): first[k] is the first index with x >= low + k / bins_per_unit
    low: float
    bins_per_unit: float


def sorted_points(x: np.ndarray, y: np.ndarray) -> SortedPoints:
    """Prepare points for the kernels. ``x`` must be ascending; ``y`` follows the same order."""
    low, high = float(x[0]), float(x[-1])
    bins_per_unit = BINS_PER_POINT * len(x) / (high - low) if high > low else 0.0
    if bins_per_unit == np.inf:  # points that differ by less than the smallest normal number: one bin
        bins_per_unit = 0.0
    ended, first = _lookup_table(x, bins_per_unit)
    return SortedPoints(ended, y, first, low, bins_per_unit)


@kernel
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


@kernel(inline="always")
def _kinks(w, b, low, bins_per_unit, last, kink, bin_of_kink):
    """The kinks of one network's neurons and their bins, clipped to 0 .. last: a loop that vectorises."""
    for m in range(w.size):
        t = -np.float64(b[m]) / np.float64(w[m])
        t = LARGEST if t > LARGEST else t
        position = (t - low) * bins_per_unit
        position = position if position > 0.0 else 0.0  # also where the kink is not a number
        position = position if position < last else last
        kink[m] = t
        bin_of_kink[m] = np.int64(position)


@kernel
def _add_neurons(w, b, c, scale, x, first, low, bins_per_unit, slope, offset, lane, kink, place):
    """Scatter the slopes and offsets of one network's neurons to the points where they change.

    ``slope`` and ``offset`` are (S + 1, lanes), zero in this lane. Neuron m is active where w x + b > 0: from
    place[m] on if w > 0, before place[m] if w < 0, everywhere or nowhere if w = 0 (place[m] is then 0 or S).
    Branches that cannot be predicted are avoided: they would cost more than the arithmetic.
    """
    _kinks(w, b, low, bins_per_unit, np.float64(first.size - 1), kink, place)
    everywhere_slope, everywhere_offset = 0.0, 0.0
    for m in range(w.size):
        wm, bm, cm = np.float64(w[m]), np.float64(b[m]), np.float64(c[m]) * scale
        t = kink[m]
        # Bins are monotone in x, so the place is never before the bin's first point, and seldom beyond the next.
        index = first[np.uint64(place[m])]
        index += np.int64(x[np.uint64(index)] <= t)
        while x[np.uint64(index)] <= t:
            index += 1
        falling = wm < 0.0
        while x[np.uint64(max(index - 1, 0))] == t and falling and index > 0:
            index -= 1
        if wm == 0.0:
            index = x.size - 1 if bm <= 0.0 else 0
        slope_change, offset_change = cm * wm, cm * bm
        everywhere_slope += slope_change if falling else 0.0
        everywhere_offset += offset_change if falling else 0.0
        slope[np.uint64(index), lane] += -slope_change if falling else slope_change
        offset[np.uint64(index), lane] += -offset_change if falling else offset_change
        place[m] = index
    slope[0, lane] += everywhere_slope
    offset[0, lane] += everywhere_offset


@kernel
def add_networks(n, w, b, c, a, scale, x, first, low, bins_per_unit, slope, offset, kink, place):
    """Scatter the networks n, n + 1, ..., one to each lane; the last one again where there are no more."""
    slope[:] = 0.0
    offset[:] = 0.0
    for lane in range(slope.shape[1]):
        k = min(n + lane, len(w) - 1)
        _add_neurons(w[k], b[k], c[k], scale, x, first, low, bins_per_unit, slope, offset, lane, kink, place)
        offset[0, lane] += a[k]


@kernel(nogil=True)
def squared_risks(w, b, c, a, scale, x, y, first, low, bins_per_unit, out):
    """Eq. (eq:empirical_risk) with Eq. (eq:MSE) for N networks: fill ``out`` (N,) with mean (y - g)^2.

    Four networks go side by side: a running sum waits for its last addition, and four of them wait together.
    """
    size, width, count = x.size - 1, w.shape[1], w.shape[0]
    slope, offset = np.empty((size + 1, 4)), np.empty((size + 1, 4))
    kink, place = np.empty(width), np.empty(width, np.int64)
    for n in range(0, count, 4):
        add_networks(n, w, b, c, a, scale, x, first, low, bins_per_unit, slope, offset, kink, place)
        line0 = line1 = line2 = line3 = 0.0
        constant0 = constant1 = constant2 = constant3 = 0.0
        total0 = total1 = total2 = total3 = 0.0
        for s in range(size):
            xs, ys = x[s], y[s]
            line0, line1 = line0 + slope[s, 0], line1 + slope[s, 1]
            line2, line3 = line2 + slope[s, 2], line3 + slope[s, 3]
            constant0, constant1 = constant0 + offset[s, 0], constant1 + offset[s, 1]
            constant2, constant3 = constant2 + offset[s, 2], constant3 + offset[s, 3]
            residual0, residual1 = line0 * xs + constant0 - ys, line1 * xs + constant1 - ys
            residual2, residual3 = line2 * xs + constant2 - ys, line3 * xs + constant3 - ys
            total0, total1 = total0 + residual0 * residual0, total1 + residual1 * residual1
            total2, total3 = total2 + residual2 * residual2, total3 + residual3 * residual3
        for lane, total in enumerate((total0, total1, total2, total3)):
            out[min(n + lane, count - 1)] = total / size


@kernel(nogil=True)
def squared_gradients(w, b, c, a, scale, x, y, first, low, bins_per_unit, out, dw, db, dc, da):
    """Risks as in ``squared_risks``, and their gradients with respect to w, b and c, each (N, M), and a, (N,).

    With r_s = g(x_s) - y_s and A_m the points where neuron m is active, the derivatives are
    2 scale / S times c_m sum_A r x, c_m sum_A r and w_m sum_A r x + b_m sum_A r. As A_m is the
    beginning or the end of the sorted points, both sums are differences of running sums. The derivative with respect
    to a is 2 / S times the sum of all r.
    """
    size, width = x.size - 1, w.shape[1]
    slope, offset = np.empty((size + 1, 1)), np.empty((size + 1, 1))
    kink, place = np.empty(width), np.empty(width, np.int64)
    sum_r, sum_rx = np.empty(size + 1), np.empty(size + 1)
    factor = 2.0 * scale / size
    for n in range(w.shape[0]):
        add_networks(n, w, b, c, a, scale, x, first, low, bins_per_unit, slope, offset, kink, place)
        line, constant, total, r, rx = 0.0, 0.0, 0.0, 0.0, 0.0
        for s in range(size):
            sum_r[s], sum_rx[s] = r, rx
            line += slope[s, 0]
            constant += offset[s, 0]
            residual = line * x[s] + constant - y[s]
            total += residual * residual
            r += residual
            rx += residual * x[s]
        sum_r[size], sum_rx[size] = r, rx
        out[n] = total / size
        da[n] = 2.0 / size * r
        for m in range(width):
            wm, bm, cm = np.float64(w[n, m]), np.float64(b[n, m]), np.float64(c[n, m])
            ar, arx = sum_r[place[m]], sum_rx[place[m]]
            if not wm < 0:
                ar, arx = r - ar, rx - arx
            dw[n, m] = factor * cm * arx
            db[n, m] = factor * cm * ar
            dc[n, m] = factor * (wm * arx + bm * ar)
