"""Ensembles of two-layer networks of many inputs on a table: outputs, risks and gradients.

The inner layers take nearly all of the time, (W x + b) for N M neurons on S rows. Here

- only the entries of x that are not zero are looked at (``sparse_lists``);
- eight networks (four in double precision) go side by side as the lanes of vectors (``lanes``), their weights
  copied to an order in which they are read one after the other, in parts that stay in the first-level cache;
- a few networks, which would leave lanes empty, have neurons in the lanes of the inner layer and rows of the table in
  those of the outer one. The results have the same bits either way;
- where only consensus weights are needed, a network whose weight is certainly zero is dropped (``risks``).

Every number is a sum over its terms in one fixed order, so the result for a network depends neither on the other
networks nor on its place among them: the networks are shared among threads without a change of any bit. A table
x / deviation + shift has no zeros, but W (x + shift) + b = W x + (b + shift sum_p w_p): one correction per neuron.
"""

from typing import NamedTuple

import numpy as np

from cbo_pipeline.numerics.kernels.dense_layers import (
    ACTIVATIONS,
    activate,
    add_lanes,
    add_rows,
    clear,
    clear_columns,
    fused,
    inner_gradients,
    inner_gradients_by_row,
    inner_products,
    lane_matrix_product,
    multiply,
    scale_and_shift,
    through_activation,
)
from cbo_pipeline.numerics.kernels.dense_losses import (
    CROSS_ENTROPY,
    LOSSES,
    NO_LOSS,
    SQUARED,
    cross_entropy,
    cross_entropy_gains,
    squared,
    squared_gains,
)
from cbo_pipeline.numerics.kernels.dense_packing import (
    pack_networks,
    pack_neurons,
    pack_outer,
    store,
    swap_to_neurons,
    swap_to_rows,
    unpack_networks,
    unpack_neurons,
)
from cbo_pipeline.numerics.kernels.lanes import REGISTER_BYTES, aligned, lanes
from cbo_pipeline.numerics.kernels.sparse_lists import CHUNK, ColumnLists, Lists, permuted
from cbo_pipeline.numerics.kernels.threads import share
from cbo_pipeline.numerics.network import Networks

UNDERFLOW = 746.0  # exp(-746) is zero in float64


class Shape(NamedTuple):
    """What the networks compute: scale * c^T activation(W x + b) + a, and what is asked of it."""

    scale: float
    activation: str = "relu"
    loss: str = "cross_entropy"


def outputs(networks: Networks, shape: Shape, table: Lists) -> np.ndarray:
    """The outputs (N, S, O) of N networks on the rows of a table."""
    N, outs = len(networks["b"]), networks["c"].shape[2]
    values = np.empty((N, table.rows, outs), networks["c"].dtype)
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
    with np.errstate(over="ignore", invalid="ignore"):
        order = np.argsort(-np.nan_to_num(kept[:L].mean(axis=0)), kind="stable")
    table, targets = permuted(table, order), targets[order]
    # These rows tell which networks are good. They are evaluated first, and give the bound.
    _run(networks, shape, table, targets, totals, chunks=(0, 1), kept=kept, order=order)
    good_first = np.argsort(np.where(np.isnan(totals), np.inf, totals), kind="stable")
    the_rest = {"chunks": (1, len(table.first)), "margin": (1 + 1e-9) * S * UNDERFLOW / alpha}
    _run(networks, shape, table, targets, totals, who=good_first, kept=kept, order=order, **the_rest)
    return totals / S


def risks_and_gradients(
    networks: Networks, shape: Shape, table: Lists, columns: ColumnLists | None, targets: np.ndarray, out: Networks
) -> np.ndarray:
    """The risks as in ``risks``, and their gradients by back-propagation, written to ``out``.

    ``columns`` are the lists by column; for few networks (see ``needs_columns``) None will do.
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
    N, _, outs = c.shape
    dtype = w.dtype
    who = np.arange(N) if who is None else who
    loss = NO_LOSS if targets is None else LOSSES.index(shape.loss)
    labels, aims = np.zeros(1, np.int64), np.zeros((1, outs), dtype)
    if loss == CROSS_ENTROPY:
        labels = np.ascontiguousarray(targets, np.int64)
    elif loss == SQUARED:
        aims = np.ascontiguousarray(targets, dtype).reshape(-1, outs)
    # Arrays of one layout only: every other layout would be compiled separately.
    flat, cube = np.empty((0, 0), dtype), np.empty((0, 0, 0), dtype)
    gradient = out is not None
    out = out if gradient else {}
    if columns is None:
        columns = ColumnLists(np.empty((0, 0), np.int64), table.index[:0], table.value[:0])
    the_rest = (
        *(chunks or (0, len(table.first))), margin, len(who) < _lanes(networks) // 2,
        w, b, c, networks.get("a", flat),
        dtype.type(shape.scale), ACTIVATIONS.index(shape.activation), loss,
        table.first, table.index, table.value, table.rows, dtype.type(table.shift), labels, aims, totals,
        flat if kept is None else kept, np.arange(table.rows) if order is None else order,
        cube if values is None else values, gradient, *columns,
        out.get("w", cube), out.get("b", flat), out.get("c", cube), out.get("a", flat),
    )  # fmt: skip
    share(who, _lanes(networks), lambda some: _evaluate(some, *the_rest))


@fused
def _evaluate(
    who, first_chunk, end_chunk, margin, narrow,
    w, b, c, a, scale, activation, loss,
    first, index, value, S, shift, labels, aims, totals,
    kept, order, values, gradient, column_first, row_index, row_value, dw, db, dc, da,
):  # fmt: skip
    """Add the losses of the networks ``who`` on some chunks of rows to ``totals``, and put them into ``kept``.

    With a finite ``margin`` networks that exceed the best by it are dropped, and get infinity; the totals of the
    others are then summed in the order of the rows before they were sorted by ``order``.
    A tile is what is worked on together, L networks or, if ``narrow``, one. For a tile z holds the inner weights,
    one row per column of the table, h the hidden layers, one row per row of the table, and g the gradients of the
    inner weights, laid out as z.
    """
    L, (_, M, d), outs = lanes(w), w.shape, c.shape[2]
    tile = 1 if narrow else L
    vectors = -(-M // L) if narrow else M  # of a hidden layer
    K = vectors * L
    Q = CHUNK if narrow else CHUNK * L  # outputs of a tile on a chunk
    z, h = aligned(d * K, w), aligned((CHUNK + 1) * K, w)
    outer, bias, hidden = np.empty(outs * M * L, w.dtype), np.zeros((outs, Q), w.dtype), h
    logits, sums, losses = np.empty((outs, Q), w.dtype), np.empty(Q, w.dtype), np.empty(Q, w.dtype)
    flat, here, best = logits.reshape(-1), np.zeros(Q, np.int64), np.inf
    slopes = aligned(CHUNK * K if gradient else 0, w)
    lane_slopes = slopes
    if narrow:
        hidden = np.empty(CHUNK * M, w.dtype)
        lane_slopes = np.empty(CHUNK * M, w.dtype)
    g, g_bias = aligned(d * K if gradient else 0, w), np.empty(K, w.dtype)
    g_outer, g_outer_bias = np.empty(outer.size, w.dtype), np.empty(outs * L, w.dtype)
    share = w.dtype.type(1) / w.dtype.type(S)
    for n in range(0, len(who), tile):
        present = min(tile, len(who) - n)
        if narrow:
            pack_neurons(w, b, who[n], shift, z, h)
        else:
            pack_networks(w, b, who, n, shift, z, h)
        pack_outer(c, a, who, n, narrow, outer, bias)
        if gradient:
            for x in (g, g_bias, g_outer, g_outer_bias):
                clear(x, x.size)
        left = False
        for chunk in range(first_chunk, end_chunk):
            begin = chunk * CHUNK
            rows = min(S - begin, CHUNK)
            used = -(-rows // L) if narrow else rows  # vectors of an output
            size = used * L
            inner_products(z, vectors, d, first[chunk], index, value, rows, h)
            if narrow:
                swap_to_rows(h, K, M, rows, hidden)
            activate(hidden, size * M, activation)
            clear_columns(logits, 0, size)
            lane_matrix_product(flat, L, Q, hidden, M * L, L, outer, M * L, L, used, outs, M)
            scale_and_shift(logits, size, scale, bias)
            if values.size:
                store(logits, begin, rows, who, n, present, narrow, values)
            if loss == NO_LOSS:
                continue
            for q in range(size):
                s = begin + min(q if narrow else q // L, rows - 1)  # lanes that fill up the last vector repeat a row
                here[q] = labels[s] if loss == CROSS_ENTROPY else s
            if loss == CROSS_ENTROPY:
                cross_entropy(logits, size, here, sums, losses)
            else:
                squared(logits, size, aims, here, losses)
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
                if loss == CROSS_ENTROPY:
                    cross_entropy_gains(logits, size, here, sums, share)
                else:
                    squared_gains(logits, size, share)
                if narrow:
                    clear_columns(logits, rows, size)
                if da.size:
                    add_lanes(logits, size, g_outer_bias)
                multiply(logits, size, scale)
                lane_matrix_product(g_outer, L, M * L, hidden, L, M * L, flat, Q, L, M, outs, used)
                clear(lane_slopes, size * M)
                lane_matrix_product(lane_slopes, M * L, L, flat, L, Q, outer, L, M * L, used, M, outs)
                through_activation(lane_slopes, hidden, size * M, activation)
                if narrow:
                    swap_to_neurons(lane_slopes, M, K, rows, slopes)
                add_rows(slopes, rows, K, g_bias)
                if narrow:
                    inner_gradients_by_row(slopes, vectors, first[chunk], index, value, rows, g)
                else:
                    inner_gradients(slopes, vectors, column_first[chunk], row_index, row_value, g)
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
                unpack_neurons(g, g_bias, g_outer, g_outer_bias, K, shift, who[n], dw, db, dc, da)
            else:
                unpack_networks(g, g_bias, g_outer, g_outer_bias, shift, who, n, present, dw, db, dc, da)
