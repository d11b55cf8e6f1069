"""Parameters of a few networks in the order in which ``dense_networks`` reads them, and gradients back.

A tile is what is worked on together: L networks side by side, L being the lanes of a vector, or one network with its
neurons side by side. z holds the inner weights, a row for each column of the table; the last row of h the biases.
"""

import numpy as np

from cbo_pipeline.numerics.kernels.dense_layers import clear, fused
from cbo_pipeline.numerics.kernels.lanes import MOST_VECTORS, lanes, transpose_in, transpose_out
from cbo_pipeline.numerics.kernels.sparse_lists import CHUNK


@fused
def pack_networks(w, b, who, n, shift, z, h):
    """Networks in the lanes: neuron m of network t is number m L + t. Parts of some neurons lie one after another."""
    L, (_, M, d) = lanes(z), w.shape
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
                _advance(places, L)
            for p in range(whole, d):
                for t in range(L):
                    z[to + p * width + t] = flat[places[t] + p - whole]
    for m in range(M):
        for t in range(L):
            k = who[min(n + t, len(who) - 1)]
            h[CHUNK * K + m * L + t] = b[k, m] + _correction(w[k, m], shift)


@fused
def pack_neurons(w, b, k, shift, z, h):
    """Neurons of one network in the lanes; those that fill up the last vector are zero."""
    L, (_, M, d) = lanes(z), w.shape
    vectors = -(-M // L)
    K, parts = vectors * L, -(-vectors // MOST_VECTORS)
    clear(z, z.size)
    for part in range(parts):
        v0, v1 = part * vectors // parts, (part + 1) * vectors // parts
        width, base = (v1 - v0) * L, v0 * L * d
        for p0 in range(0, d, 16):
            for m in range(v0 * L, min(v1 * L, M)):
                weights = w[k, m]
                for p in range(p0, min(p0 + 16, d)):
                    z[base + p * width + m - v0 * L] = weights[p]
    for m in range(K):
        h[CHUNK * K + m] = b[k, m] + _correction(w[k, m], shift) if m < M else 0


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
def pack_outer(c, a, who, n, narrow, outer, bias):
    """Outer weights (O, M, L), and biases (O, Q) if there are any; one network is repeated in all lanes."""
    L, (_, M, outs) = lanes(outer), c.shape
    for t in range(L):
        k = who[n] if narrow else who[min(n + t, len(who) - 1)]
        for o in range(outs):
            for m in range(M):
                outer[(o * M + m) * L + t] = c[k, m, o]
            if a.size:
                for q in range(t, bias.shape[1], L):
                    bias[o, q] = a[k, o]


@fused
def unpack_networks(g, g_bias, g_outer, g_outer_bias, shift, who, n, present, dw, db, dc, da):
    """The gradients of the networks of a tile; lanes beyond the last network repeat it, and write the same."""
    L, (_, M, d), outs = lanes(g), dw.shape, dc.shape[2]
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
            _advance(places, L)
        for p in range(whole, d):
            for t in range(L):
                flat[places[t] + p - whole] = g[p * K + m * L + t]
    for t in range(present):
        k = who[n + t]
        for m in range(M):
            db[k, m] = g_bias[m * L + t]
            for o in range(outs):
                dc[k, m, o] = g_outer[(o * M + m) * L + t]
        if da.size:
            for o in range(outs):
                da[k, o] = g_outer_bias[o * L + t]


@fused
def unpack_neurons(g, g_bias, g_outer, g_outer_bias, K, shift, k, dw, db, dc, da):
    L, (_, M, d), outs = lanes(g), dw.shape, dc.shape[2]
    for p0 in range(0, d, 16):
        for m in range(M):
            more = shift * g_bias[m]
            for p in range(p0, min(p0 + 16, d)):
                dw[k, m, p] = g[p * K + m] + more
    for m in range(M):
        db[k, m] = g_bias[m]
        for o in range(outs):
            at = (o * M + m) * L
            dc[k, m, o] = _sum(g_outer, at, L)
    if da.size:
        for o in range(outs):
            da[k, o] = _sum(g_outer_bias, o * L, L)


@fused
def swap_to_rows(h, K, M, rows, hidden):
    """From neurons in the lanes to rows in the lanes; rows that fill up the last vector are zero."""
    L = lanes(h)
    for group in range(-(-rows // L)):
        for t in range(L):
            s = group * L + t
            for m in range(M):
                hidden[(group * M + m) * L + t] = h[s * K + m] if s < rows else 0


@fused
def swap_to_neurons(lane_slopes, M, K, rows, slopes):
    L = lanes(slopes)
    clear(slopes, rows * K)
    for s in range(rows):
        base = s // L * M * L + s % L
        for m in range(M):
            slopes[s * K + m] = lane_slopes[base + m * L]


@fused
def store(logits, begin, rows, who, n, present, narrow, values):
    L = lanes(logits)
    for s in range(rows):
        for o in range(len(logits)):
            if narrow:
                values[who[n], begin + s, o] = logits[o, s]
            else:
                for t in range(present):
                    values[who[n + t], begin + s, o] = logits[o, s * L + t]


@fused
def _advance(places, step):
    for t in range(len(places)):
        places[t] += step


@fused
def _sum(x, begin, count):
    total = x[begin]
    for i in range(begin + 1, begin + count):
        total += x[i]
    return total
