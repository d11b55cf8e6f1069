"""Losses of networks on rows, and the derivatives of the risk by their outputs, see ``dense_networks``.

``values`` (O, Q) are the outputs on a chunk of rows: each 0 <= q < size stands for one network on one row.
"""

from cbo_pipeline.numerics.kernels.dense_layers import fused
from cbo_pipeline.numerics.kernels.elementary import exponential, logarithm
from cbo_pipeline.numerics.kernels.lanes import choose

LOSSES = ("cross_entropy", "squared")
CROSS_ENTROPY, SQUARED = range(2)
NO_LOSS = 2
# A probability below it changes no parameter. It is taken for zero: products with it would soon be so small that
# processors take a hundred times as long for each.
LEAST = 1e-30


@fused
def cross_entropy(logits, size, here, sums, losses):
    """log sum_o exp(logits) - logits[label], the largest logit taken out first; ``here`` (Q,) are the labels.

    The logits are overwritten by their exponentials; ``sums`` (Q,) gets the sums of these.
    """
    outs = len(logits)
    for q in range(size):
        sums[q] = logits[0, q]
    for o in range(1, outs):
        for q in range(size):
            sums[q] = choose(logits[o, q] > sums[q], logits[o, q], sums[q])
    for o in range(outs):
        for q in range(size):
            logits[o, q] -= sums[q]
    for q in range(size):
        losses[q] = logits[here[q], q]
    for o in range(outs):
        for q in range(size):
            logits[o, q] = exponential(logits[o, q])
    for q in range(size):
        sums[q] = logits[0, q]
    for o in range(1, outs):
        for q in range(size):
            sums[q] += logits[o, q]
    for q in range(size):
        losses[q] = logarithm(sums[q]) - losses[q]


@fused
def cross_entropy_gains(exponentials, size, here, sums, share):
    """The derivatives by the logits: (softmax - [the right class]) / S, in place of the exponentials."""
    zero, least = exponentials.dtype.type(0), exponentials.dtype.type(LEAST)
    for q in range(size):
        sums[q] = share / sums[q]
    for o in range(len(exponentials)):
        for q in range(size):
            exponentials[o, q] = choose(exponentials[o, q] < least, zero, exponentials[o, q]) * sums[q]
    for q in range(size):
        exponentials[here[q], q] -= share


@fused
def squared(values, size, aims, here, losses):
    """|g - y|^2, Eq. (eq:MSE); ``here`` (Q,) are the rows. The values are overwritten by the differences."""
    for q in range(size):
        losses[q] = 0
    for o in range(len(values)):
        for q in range(size):
            values[o, q] -= aims[here[q], o]
        for q in range(size):
            losses[q] += values[o, q] * values[o, q]


@fused
def squared_gains(differences, size, share):
    """The derivatives by the outputs: 2 (g - y) / S, in place of the differences."""
    for o in range(len(differences)):
        for q in range(size):
            differences[o, q] *= 2 * share
