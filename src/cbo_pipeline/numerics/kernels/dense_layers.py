"""The layers of a tile of networks on a chunk of rows, forwards and backwards, see ``dense_networks``.

Arrays are flat and hold vectors of L lanes, except for values (O, Q), the outputs: each q stands for one network on
one row.
"""

from math import exp, log1p, tanh

from cbo_pipeline.numerics.kernels.compiler import kernel
from cbo_pipeline.numerics.kernels.lanes import (
    MOST_VECTORS,
    add_lane_products,
    add_row,
    add_to_rows,
    choose,
    lanes,
)
from cbo_pipeline.numerics.kernels.sparse_lists import CHUNK

ACTIVATIONS = ("relu", "tanh", "sigmoid", "softplus", "identity")
_RELU, _TANH, _SIGMOID, _SOFTPLUS = range(4)

# A product and the sum that it goes into may be rounded once, as the vector code does; nothing is reordered.
fused = kernel(nogil=True, fastmath={"contract"})


@fused
def inner_products(z, vectors, d, first, index, value, rows, h):
    """W x + b for the rows of a chunk; the biases are the last row of h."""
    L = lanes(z)
    K, parts = vectors * L, -(-vectors // MOST_VECTORS)
    for part in range(parts):
        v0, v1 = part * vectors // parts, (part + 1) * vectors // parts
        base, width = v0 * L * d, (v1 - v0) * L
        for block in range(len(first)):
            at = first[block]
            for s in range(rows):
                to = s * K + v0 * L
                start = to if block else CHUNK * K + v0 * L
                add_row(h, to, h, start, z, base, width, index, value, at[s], at[s + 1], v1 - v0)


@fused
def inner_gradients(slopes, vectors, column_first, row_index, row_value, g):
    """g[p] += sum over the rows s of a chunk of x[s, p] slopes[s]."""
    L = lanes(g)
    K, parts = vectors * L, -(-vectors // MOST_VECTORS)
    for part in range(parts):
        v0, v1 = part * vectors // parts, (part + 1) * vectors // parts
        for p in range(len(column_first) - 1):
            begin, end = column_first[p], column_first[p + 1]
            if begin < end:
                to = p * K + v0 * L
                add_row(g, to, g, to, slopes, v0 * L, K, row_index, row_value, begin, end, v1 - v0)


@fused
def inner_gradients_by_row(slopes, vectors, first, index, value, rows, g):
    """The same from the lists by row: for one network they need not be sorted by column."""
    L = lanes(g)
    K, parts = vectors * L, -(-vectors // MOST_VECTORS)
    for part in range(parts):
        v0, v1 = part * vectors // parts, (part + 1) * vectors // parts
        target = g[v0 * L :]
        for block in range(len(first)):
            at = first[block]
            for s in range(rows):
                add_to_rows(target, K, slopes, s * K + v0 * L, index, value, at[s], at[s + 1], v1 - v0)


@fused
def lane_matrix_product(out, oi, oj, left, li, lq, right, rj, rq, rows, columns, terms):
    """out[i, j] += sum_q left[i, q] right[j, q], vector by vector; the strides of the vectors are given."""
    whole_rows, whole_columns = rows // 2 * 2, columns // 5 * 5
    for i in range(0, whole_rows, 2):
        for j in range(0, whole_columns, 5):
            add_lane_products(out, i * oi + j * oj, oi, oj, left, i * li, li, lq, right, j * rj, rj, rq, terms, 1)
    for i in range(rows):
        for j in range(whole_columns if i < whole_rows else 0, columns):
            add_lane_products(out, i * oi + j * oj, oi, oj, left, i * li, li, lq, right, j * rj, rj, rq, terms, 0)


@fused
def activate(x, size, activation):
    zero = x.dtype.type(0)
    if activation == _RELU:
        for i in range(size):
            x[i] = choose(x[i] < zero, zero, x[i])  # NaN stays NaN
    elif activation == _TANH:
        for i in range(size):
            x[i] = tanh(x[i])
    elif activation == _SIGMOID:
        for i in range(size):
            x[i] = 1 / (1 + exp(-x[i]))
    elif activation == _SOFTPLUS:
        for i in range(size):
            x[i] = max(x[i], zero) + log1p(exp(-abs(x[i])))


@fused
def through_activation(slopes, activated, size, activation):
    """Multiply by the derivative of the activation, written in terms of its value."""
    zero, one = slopes.dtype.type(0), slopes.dtype.type(1)
    if activation == _RELU:
        for i in range(size):
            slopes[i] = choose(activated[i] > zero, slopes[i], zero)
    elif activation == _TANH:
        for i in range(size):
            slopes[i] *= one - activated[i] * activated[i]
    elif activation == _SIGMOID:
        for i in range(size):
            slopes[i] *= activated[i] * (one - activated[i])
    elif activation == _SOFTPLUS:
        for i in range(size):
            slopes[i] *= one - exp(-activated[i])


@fused
def scale_and_shift(values, size, scale, bias):
    for o in range(len(values)):
        for q in range(size):
            values[o, q] = values[o, q] * scale + bias[o, q]


@fused
def multiply(values, size, factor):
    for o in range(len(values)):
        for q in range(size):
            values[o, q] *= factor


@fused
def add_rows(x, rows, width, total):
    for s in range(rows):
        row = x[s * width : (s + 1) * width]
        for k in range(width):
            total[k] += row[k]


@fused
def add_lanes(values, size, total):
    """total (O, L) += the sums over the rows, lane by lane."""
    L = lanes(values)
    for o in range(len(values)):
        for q in range(0, size, L):
            for t in range(L):
                total[o * L + t] += values[o, q + t]


@fused
def clear(x, size):
    for i in range(size):
        x[i] = 0


@fused
def clear_columns(values, begin, end):
    for o in range(len(values)):
        for q in range(begin, end):
            values[o, q] = 0
