"""Ensembles of two-layer networks of many inputs on a table: outputs, risks and gradients, one thread.

The inner layers take nearly all of the time, (W x + b) for N M neurons on S rows. Here

- only the entries of x that are not zero are looked at (``sparse_lists``);
- eight networks (four in double precision) go side by side as the lanes of vectors (``lanes``), their weights
  copied to an order in which they are read one after the other, in parts that stay in the first-level cache;
- a few networks, which would leave lanes empty, have neurons in the lanes of the inner layer and rows of the table in
  those of the outer one. The numbers are the same bits either way;
- where only consensus weights are needed, a network whose weight is certainly zero is left (``risks``).

Every number is a sum over its terms in one fixed order, so the result for a network depends neither on the other
networks nor on its place among them. A table x / deviation + shift has no zeros, but
W (x + shift) + b = W x + (b + shift sum_p w_p): one correction per neuron.
"""

from math import exp, log1p, tanh
from typing import NamedTuple

import numpy as np

from cbo_pipeline.numerics.kernels.compiler import kernel
from cbo_pipeline.numerics.kernels.elementary import exponential, logarithm
from cbo_pipeline.numerics.kernels.lanes import (
    MOST_VECTORS,
    REGISTER_BYTES,
    add_lane_products,
    add_row,
    add_to_rows,
    choose,
    lanes,
    transpose_in,
    transpose_out,
)
from cbo_pipeline.numerics.kernels.sparse_lists import CHUNK, ColumnLists, Lists, permuted
from cbo_pipeline.numerics.network import Networks

ACTIVATIONS = ("relu", "tanh", "sigmoid", "softplus", "identity")
LOSSES = ("cross_entropy", "squared")
NO_LOSS = len(LOSSES)
_RELU, _TANH, _SIGMOID, _SOFTPLUS = range(4)
_CROSS_ENTROPY, _SQUARED = range(2)
UNDERFLOW = 746.0  # exp(-746) is zero in float64

# A product and the sum that it goes into may be rounded once, as the vector code does; nothing is reordered.
fused = kernel(nogil=True, fastmath={"contract"})


class Shape(NamedTuple):
    """What the networks compute: scale * c^T activation(W x + b) + a, and what is asked of it."""

    scale: float
    activation: str = "relu"
    loss: str = "cross_entropy"


def outputs(networks: Networks, shape: Shape, table: Lists) -> np.ndarray:
    """The outputs (N, S, O) of N networks on the rows of a table."""
    N, O = len(networks["b"]), networks["c"].shape[2]
    values = np.empty((N, table.rows, O), networks["c"].dtype)
    _run(networks, shape, table, None, np.zeros(N), values=values)
    return values


def risks(
    networks: Networks, shape: Shape, table: Lists, targets: np.ndarray, alpha: float | None = None
) -> np.ndarray:
    """The risks (N,), Eq. (eq:empirical_risk), summed over the rows in float64.

    With ``alpha`` only the Gibbs weights of Eq. (cbo:consensus_point) need to be right. Losses are not negative, so a
    sum over some of the rows is a lower bound. A network that exceeds the smallest known risk by 746 / alpha
    has weight exp(-746) = 0: its risk is given as infinity. All other risks have the same bits as without ``alpha``.
    """
    N, S, L = len(networks["b"]), table.rows, _lanes(networks)
    totals = np.zeros(N)
    if not alpha or N <= 2 * L or S <= 2 * CHUNK:
        _run(networks, shape, table, targets, totals)
        return totals / S
    kept = np.empty((N, S), networks["w"].dtype)  # losses by network and row
    # Some networks tell which rows are hard: there the sums grow fastest.
    _run(networks, shape, table, targets, np.zeros(N), who=np.arange(L), kept=kept)
    order = np.argsort(-np.nan_to_num(kept[:L].mean(axis=0)), kind="stable")
    table, targets = permuted(table, order), targets[order]
    # These rows tell which networks are good. They are evaluated first, and give the bound.
    _run(networks, shape, table, targets, totals, chunks=(0, 1), kept=kept, order=order)
    good_first = np.argsort(np.where(np.isnan(totals), np.inf, totals), kind="stable")
    chunks, margin = (1, len(table.first)), (1 + 1e-9) * S * UNDERFLOW / alpha
    _run(networks, shape, table, targets, totals, who=good_first, chunks=chunks, margin=margin, kept=kept, order=order)
    return totals / S


def risks_and_gradients(
    networks: Networks, shape: Shape, table: Lists, columns: ColumnLists | None, targets: np.ndarray, out: Networks
) -> np.ndarray:
    """The risks as in ``risks``, and their gradients by back-propagation, written to ``out``.

    ``columns`` are the lists by column; few networks (``needs_columns``) do without them.
    """
    totals = np.zeros(len(networks["b"]))
    _run(networks, shape, table, targets, totals, columns=columns, out=out)
    return totals / table.rows


def needs_columns(networks: Networks) -> bool:
    """Whether ``risks_and_gradients`` of so many networks needs the lists by column."""
    return len(networks["b"]) >= _lanes(networks) // 2


def _lanes(networks: Networks) -> int:
    return REGISTER_BYTES // networks["w"].dtype.itemsize


def _run(
    networks, shape, table, targets, totals, *, who=None, chunks=None, margin=np.inf, kept=None, order=None,
    columns=None, out=None, values=None,
):  # fmt: skip
    """Call the kernel with arrays for everything; empty ones for what is not wanted."""
    w, b, c = (networks[name] for name in "wbc")
    N, M, O = c.shape
    dtype = w.dtype
    who = np.arange(N) if who is None else who
    loss = NO_LOSS if targets is None else LOSSES.index(shape.loss)
    labels, aims = np.zeros(1, np.int64), np.zeros((1, O), dtype)
    if loss == _CROSS_ENTROPY:
        labels = np.ascontiguousarray(targets, np.int64)
    elif loss == _SQUARED:
        aims = np.ascontiguousarray(targets, dtype).reshape(-1, O)
    # Arrays of one layout only: each other one would be compiled by itself.
    flat, cube = np.empty((0, 0), dtype), np.empty((0, 0, 0), dtype)
    gradient = out is not None
    out = out if gradient else {}
    if columns is None:
        columns = ColumnLists(np.empty((0, 0), np.int64), table.index[:0], table.value[:0])
    _evaluate(
        who, *(chunks or (0, len(table.first))), margin, len(who) < _lanes(networks) // 2,
        w, b, c, networks.get("a", flat),
        dtype.type(shape.scale), ACTIVATIONS.index(shape.activation), loss,
        table.first, table.index, table.value, table.rows, dtype.type(table.shift), labels, aims, totals,
        flat if kept is None else kept, np.arange(table.rows) if order is None else order,
        cube if values is None else values, gradient, *columns,
        out.get("w", cube), out.get("b", flat), out.get("c", cube), out.get("a", flat),
    )  # fmt: skip


@fused
def _evaluate(
    who, first_chunk, end_chunk, margin, narrow,
    w, b, c, a, scale, activation, loss,
    first, index, value, S, shift, labels, aims, totals,
    kept, order, values, gradient, column_first, row_index, row_value, dw, db, dc, da,
):  # fmt: skip
    """Add the losses of the networks ``who`` on some chunks of rows to ``totals``, and put them into ``kept``.

    With a finite ``margin`` networks that exceed the best by it are left, and get infinity; the totals of the others
    are then summed in the order of the rows before they were sorted by ``order``.
    Names: a tile is what is worked on together, L networks or, if ``narrow``, one. z, h, g hold inner weights, hidden
    layers and gradients of the inner weights of a tile, one row per column of the table, row of it, column of it.
    """
    L, (N, M, d), O = lanes(w), w.shape, c.shape[2]
    tile = 1 if narrow else L
    vectors = -(-M // L) if narrow else M  # of a hidden layer
    K = vectors * L
    Q = CHUNK if narrow else CHUNK * L  # outputs of a tile on a chunk
    z, h = np.empty(d * K, w.dtype), np.empty((CHUNK + 1) * K, w.dtype)
    outer, bias, hidden = np.empty(O * M * L, w.dtype), np.zeros((O, Q), w.dtype), h
    logits, sums, losses = np.empty((O, Q), w.dtype), np.empty(Q, w.dtype), np.empty(Q, w.dtype)
    flat, here, best = logits.reshape(-1), np.zeros(Q, np.int64), np.inf
    slopes = np.empty(CHUNK * K if gradient else 0, w.dtype)
    lane_slopes = slopes
    if narrow:
        hidden = np.empty(CHUNK * M, w.dtype)
        lane_slopes = np.empty(CHUNK * M, w.dtype)
    g, g_bias = np.empty(d * K if gradient else 0, w.dtype), np.empty(K, w.dtype)
    g_outer, g_outer_bias = np.empty(outer.size, w.dtype), np.empty(O * L, w.dtype)
    share = w.dtype.type(1) / w.dtype.type(S)
    for n in range(0, len(who), tile):
        present = min(tile, len(who) - n)
        if narrow:
            _pack_neurons(w, b, who[n], shift, z, h)
        else:
            _pack_networks(w, b, who, n, shift, z, h)
        _pack_outer(c, a, who, n, narrow, outer, bias)
        if gradient:
            g[:], g_bias[:], g_outer[:], g_outer_bias[:] = 0, 0, 0, 0
        left = False
        for chunk in range(first_chunk, end_chunk):
            begin = chunk * CHUNK
            rows = min(S - begin, CHUNK)
            used = -(-rows // L) if narrow else rows  # vectors of an output
            size = used * L
            _inner_products(z, vectors, d, first[chunk], index, value, rows, h)
            if narrow:
                _swap_to_rows(h, K, M, rows, hidden)
            _activate(hidden, size * M, activation)
            logits[:, :size] = 0
            _lane_matrix_product(flat, L, Q, hidden, M * L, L, outer, M * L, L, used, O, M)
            _scale_and_shift(logits, size, scale, bias)
            if values.size:
                _store(logits, begin, rows, who, n, present, narrow, values)
            if loss == NO_LOSS:
                continue
            for q in range(size):
                s = begin + min(q if narrow else q // L, rows - 1)  # lanes that fill up the last vector repeat a row
                here[q] = labels[s] if loss == _CROSS_ENTROPY else s
            if loss == _CROSS_ENTROPY:
                _cross_entropy(logits, size, here, sums, losses)
            else:
                _squared(logits, size, aims, here, losses)
            for t in range(present):
                total = totals[who[n + t]]
                for s in range(rows):
                    total += losses[s * tile + t]
                totals[who[n + t]] = total
                if kept.size:
                    losses_of = kept[who[n + t]]
                    for s in range(rows):
                        losses_of[order[begin + s]] = losses[s * tile + t]
            if gradient:
                if loss == _CROSS_ENTROPY:
                    _cross_entropy_gains(logits, size, here, sums, share)
                else:
                    _squared_gains(logits, size, share)
                if narrow:
                    logits[:, rows:size] = 0
                if da.size:
                    _add_lanes(logits, size, g_outer_bias)
                _multiply(logits, size, scale)
                _lane_matrix_product(g_outer, L, M * L, hidden, L, M * L, flat, Q, L, M, O, used)
                lane_slopes[: size * M] = 0
                _lane_matrix_product(lane_slopes, M * L, L, flat, L, Q, outer, L, M * L, used, M, O)
                _through_activation(lane_slopes, hidden, size * M, activation)
                if narrow:
                    _swap_to_neurons(lane_slopes, M, K, rows, slopes)
                _add_rows(slopes, rows, K, g_bias)
                if narrow:
                    _inner_gradients_by_row(slopes, vectors, first[chunk], index, value, rows, g)
                else:
                    _inner_gradients(slopes, vectors, column_first[chunk], row_index, row_value, g)
            if margin < np.inf:
                left = True
                for t in range(present):
                    left &= not (totals[who[n + t]] <= best + margin)
                if left:
                    break
        if margin < np.inf:
            for t in range(present):
                total = totals[who[n + t]]
                if left or not (total <= best + margin):
                    totals[who[n + t]] = np.inf
                else:
                    best = min(best, total)
                    total = 0.0
                    for s in range(S):
                        total += kept[who[n + t], s]
                    totals[who[n + t]] = total
        if gradient:
            if narrow:
                _unpack_neurons(g, g_bias, g_outer, g_outer_bias, K, shift, who[n], dw, db, dc, da)
            else:
                _unpack_networks(g, g_bias, g_outer, g_outer_bias, shift, who, n, present, dw, db, dc, da)


# Weights into and out of the order in which they are read.


@fused
def _pack_networks(w, b, who, n, shift, z, h):
    """Networks in the lanes: neuron m of network t is number m L + t; parts of some neurons follow one another in z."""
    L, (N, M, d) = lanes(z), w.shape
    K, parts, whole, flat, places = M * L, -(-M // MOST_VECTORS), d // L * L, w.reshape(-1), np.empty(L, np.int64)
    for part in range(parts):
        m0, m1 = part * M // parts, (part + 1) * M // parts
        width, base = (m1 - m0) * L, m0 * L * d
        for m in range(m0, m1):
            for t in range(L):
                places[t] = (who[min(n + t, len(who) - 1)] * M + m) * d
            to = base + (m - m0) * L
            for p in range(0, whole, L):
                transpose_in(z, to + p * width, width, flat, places)
                places += L
            for p in range(whole, d):
                for t in range(L):
                    z[to + p * width + t] = flat[places[t] + p - whole]
    for m in range(M):
        for t in range(L):
            k = who[min(n + t, len(who) - 1)]
            h[CHUNK * K + m * L + t] = b[k, m] + _correction(w[k, m], shift)


@fused
def _pack_neurons(w, b, k, shift, z, h):
    """Neurons of one network in the lanes; those that fill up the last vector are zero."""
    L, (N, M, d) = lanes(z), w.shape
    vectors = -(-M // L)
    K, parts = vectors * L, -(-vectors // MOST_VECTORS)
    z[:] = 0
    for part in range(parts):
        v0, v1 = part * vectors // parts, (part + 1) * vectors // parts
        width, base = (v1 - v0) * L, v0 * L * d
        for p0 in range(0, d, 16):
            for m in range(v0 * L, min(v1 * L, M)):
                weights = w[k, m]
                for p in range(p0, min(p0 + 16, d)):
                    z[base + p * width + m - v0 * L] = weights[p]
    h[CHUNK * K :] = 0
    for m in range(M):
        h[CHUNK * K + m] = b[k, m] + _correction(w[k, m], shift)


@fused
def _correction(weights, shift):
    """shift * sum_p w_p, summed in float64."""
    if shift == 0:
        return weights.dtype.type(0)
    total = 0.0
    for p in range(len(weights)):
        total += weights[p]
    return weights.dtype.type(shift * total)


@fused
def _pack_outer(c, a, who, n, narrow, outer, bias):
    """Outer weights (O, M, L), and biases (O, Q) if there are any; one network is repeated in all lanes."""
    L, (N, M, O) = lanes(outer), c.shape
    for t in range(L):
        k = who[n] if narrow else who[min(n + t, len(who) - 1)]
        for o in range(O):
            for m in range(M):
                outer[(o * M + m) * L + t] = c[k, m, o]
            if a.size:
                bias[o, t::L] = a[k, o]


@fused
def _unpack_networks(g, g_bias, g_outer, g_outer_bias, shift, who, n, present, dw, db, dc, da):
    """The gradients of the networks of a tile. Lanes beyond the last network repeat it, and write the same numbers."""
    L, (N, M, d), O = lanes(g), dw.shape, dc.shape[2]
    K, whole, flat, places = M * L, d // L * L, dw.reshape(-1), np.empty(L, np.int64)
    if shift != 0:
        for p in range(d):
            for k in range(K):
                g[p * K + k] += shift * g_bias[k]
    for m in range(M):
        for t in range(L):
            places[t] = (who[min(n + t, len(who) - 1)] * M + m) * d
        for p in range(0, whole, L):
            transpose_out(flat, places, g, p * K + m * L, K)
            places += L
        for p in range(whole, d):
            for t in range(L):
                flat[places[t] + p - whole] = g[p * K + m * L + t]
    for t in range(present):
        k = who[n + t]
        for m in range(M):
            db[k, m] = g_bias[m * L + t]
            for o in range(O):
                dc[k, m, o] = g_outer[(o * M + m) * L + t]
        if da.size:
            for o in range(O):
                da[k, o] = g_outer_bias[o * L + t]


@fused
def _unpack_neurons(g, g_bias, g_outer, g_outer_bias, K, shift, k, dw, db, dc, da):
    L, (N, M, d), O = lanes(g), dw.shape, dc.shape[2]
    for p0 in range(0, d, 16):
        for m in range(M):
            more = shift * g_bias[m]
            for p in range(p0, min(p0 + 16, d)):
                dw[k, m, p] = g[p * K + m] + more
    for m in range(M):
        db[k, m] = g_bias[m]
        for o in range(O):
            at = (o * M + m) * L
            dc[k, m, o] = g_outer[at : at + L].sum()
    if da.size:
        for o in range(O):
            da[k, o] = g_outer_bias[o * L : (o + 1) * L].sum()


@fused
def _swap_to_rows(h, K, M, rows, hidden):
    """From neurons in the lanes to rows in the lanes; rows that fill up the last vector are zero."""
    L = lanes(h)
    for group in range(-(-rows // L)):
        for t in range(L):
            s = group * L + t
            for m in range(M):
                hidden[(group * M + m) * L + t] = h[s * K + m] if s < rows else 0


@fused
def _swap_to_neurons(lane_slopes, M, K, rows, slopes):
    L = lanes(slopes)
    slopes[: rows * K] = 0
    for s in range(rows):
        base = s // L * M * L + s % L
        for m in range(M):
            slopes[s * K + m] = lane_slopes[base + m * L]


@fused
def _store(logits, begin, rows, who, n, present, narrow, values):
    L = lanes(logits)
    for s in range(rows):
        for o in range(len(logits)):
            if narrow:
                values[who[n], begin + s, o] = logits[o, s]
            else:
                for t in range(present):
                    values[who[n + t], begin + s, o] = logits[o, s * L + t]


# Layers.


@fused
def _inner_products(z, vectors, d, first, index, value, rows, h):
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
def _inner_gradients(slopes, vectors, column_first, row_index, row_value, g):
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
def _inner_gradients_by_row(slopes, vectors, first, index, value, rows, g):
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
def _lane_matrix_product(out, oi, oj, left, li, lq, right, rj, rq, rows, columns, terms):
    """out[i, j] += sum_q left[i, q] right[j, q], vector by vector; the strides of the vectors are given."""
    whole_rows, whole_columns = rows // 2 * 2, columns // 5 * 5
    for i in range(0, whole_rows, 2):
        for j in range(0, whole_columns, 5):
            add_lane_products(out, i * oi + j * oj, oi, oj, left, i * li, li, lq, right, j * rj, rj, rq, terms, 1)
    for i in range(rows):
        for j in range(whole_columns if i < whole_rows else 0, columns):
            add_lane_products(out, i * oi + j * oj, oi, oj, left, i * li, li, lq, right, j * rj, rj, rq, terms, 0)


@fused
def _activate(x, size, activation):
    zero = x.dtype.type(0)
    if activation == _RELU:
        for i in range(size):
            x[i] = choose(x[i] < zero, zero, x[i])  # what is not a number stays so
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
def _through_activation(slopes, activated, size, activation):
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
def _scale_and_shift(values, size, scale, bias):
    for o in range(len(values)):
        for q in range(size):
            values[o, q] = values[o, q] * scale + bias[o, q]


@fused
def _multiply(values, size, factor):
    for o in range(len(values)):
        for q in range(size):
            values[o, q] *= factor


@fused
def _add_rows(x, rows, width, total):
    for s in range(rows):
        row = x[s * width : (s + 1) * width]
        for k in range(width):
            total[k] += row[k]


@fused
def _add_lanes(values, size, total):
    """total (O, L) += the sums over the rows, lane by lane."""
    L = lanes(values)
    for o in range(len(values)):
        for q in range(0, size, L):
            for t in range(L):
                total[o * L + t] += values[o, q + t]


# Losses. ``values`` (O, Q): the outputs on a chunk of rows; in each number 0 <= q < size one network meets one row.


@fused
def _cross_entropy(logits, size, here, sums, losses):
    """log sum_o exp(logits) - logits[label], the largest logit taken out first; ``here`` (Q,) are the labels.

    The logits are overwritten by their exponentials; ``sums`` (Q,) gets the sums of these.
    """
    O = len(logits)
    for q in range(size):
        sums[q] = logits[0, q]
    for o in range(1, O):
        for q in range(size):
            sums[q] = choose(logits[o, q] > sums[q], logits[o, q], sums[q])
    for o in range(O):
        for q in range(size):
            logits[o, q] -= sums[q]
    for q in range(size):
        losses[q] = logits[here[q], q]
    for o in range(O):
        for q in range(size):
            logits[o, q] = exponential(logits[o, q])
    for q in range(size):
        sums[q] = logits[0, q]
    for o in range(1, O):
        for q in range(size):
            sums[q] += logits[o, q]
    for q in range(size):
        losses[q] = logarithm(sums[q]) - losses[q]


@fused
def _cross_entropy_gains(exponentials, size, here, sums, share):
    """What the risk gains with a logit: (softmax - [the right class]) / S, in place of the exponentials."""
    for q in range(size):
        sums[q] = share / sums[q]
    for o in range(len(exponentials)):
        for q in range(size):
            exponentials[o, q] *= sums[q]
    for q in range(size):
        exponentials[here[q], q] -= share


@fused
def _squared(values, size, aims, here, losses):
    """|g - y|^2, Eq. (eq:MSE); ``here`` (Q,) are the rows. The values are overwritten by the differences."""
    for q in range(size):
        losses[q] = 0
    for o in range(len(values)):
        for q in range(size):
            values[o, q] -= aims[here[q], o]
        for q in range(size):
            losses[q] += values[o, q] * values[o, q]


@fused
def _squared_gains(differences, size, share):
    """2 (g - y) / S, in place of the differences."""
    for o in range(len(differences)):
        for q in range(size):
            differences[o, q] *= 2 * share
