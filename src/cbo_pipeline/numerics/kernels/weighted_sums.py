"""Weighted sums of the rows of a matrix, every operation rounded as PyTorch rounds it.

In single precision the order of the additions decides the last bits, and the last bits decide how CBO ends
(docs/reproduction.md). ``torch.sum`` over the first dimension adds on four levels: groups of rows, groups of such
groups, and so on. (It does so for columns in blocks of 32 or 64. What is left over at the end of a row it adds in
an order that depends on the processor; here all columns are added alike.) A row of weight zero adds nothing, so it
is skipped; the others keep their places in the groups.
"""

import numpy as np

from cbo_pipeline.numerics.kernels.compiler import kernel

LEVELS = 4
COLUMNS = 2048  # columns summed together: the levels stay in the first-level cache


@kernel
def heavy(weights):
    """The columns of the non-zero entries of ``weights`` (P, N), row after row, and where each row of them begins."""
    P, N = weights.shape
    columns, starts = np.empty(P * N, np.int64), np.empty(P + 1, np.int64)
    count = 0
    for p in range(P):
        starts[p] = count
        row = weights[p]
        for n in range(N):
            columns[count] = n
            count += row[n] != 0
    starts[P] = count
    return columns[:count], starts


@kernel(nogil=True)
def weighted_sums(weights, columns, starts, power, x, out):
    """Fill ``out`` (P, D) with (weights[p][:, None] * x).sum(0) for the matrix ``x`` (N, D).

    Sums have the type of the weights (P, N). ``columns`` and ``starts`` come from ``heavy``; a group of level j has
    2^(j power) rows.
    """
    D = x.shape[1]
    sums = np.empty((LEVELS, min(COLUMNS, D)), weights.dtype)
    for first in range(0, D, COLUMNS):
        width = min(COLUMNS, D - first)
        for p in range(len(weights)):
            rows, place = columns[starts[p] : starts[p + 1]], out[p, first : first + width]
            _sum_of_rows(weights[p], rows, power, x, first, sums[:, :width], place)


@kernel
def _sum_of_rows(weights, rows, power, x, first, sums, out):
    """torch's cascade sum (``multi_row_sum`` of aten/src/ATen/native/cpu/SumKernel.cpp) over the given rows."""
    width, top, before = sums.shape[1], 0, 0
    sums[0] = 0
    for k in range(len(rows)):
        n = rows[k]
        level = 1
        while level < LEVELS and (before >> (level * power)) != (n >> (level * power)):
            # A group of this level ended between the two rows: its sum moves up.
            if level > top:
                sums[level] = 0
                top = level
            lower, upper = sums[level - 1], sums[level]
            for d in range(width):
                upper[d] += lower[d]
                lower[d] = 0
            level += 1
        before = n
        weight, row, total = weights[n], x[n, first : first + width], sums[0]
        for d in range(width):
            total[d] += weight * row[d]
    total = sums[0]
    for level in range(1, top + 1):
        upper = sums[level]
        for d in range(width):
            total[d] += upper[d]
    for d in range(width):
        out[d] = total[d]


def level_power(N: int) -> int:
    """The logarithm to base 2 of the rows of a group, as torch chooses it for N rows.

    >>> [level_power(N) for N in (1, 200, 1000, 2**19, 2**20 + 1)]
    [4, 4, 4, 4, 5]
    """
    return max(4, (N - 1).bit_length() // LEVELS)
