"""Ties of assignment problems: does an optimal permutation have rivals, and which of them all is the first?

Every optimal permutation uses only edges that are tight for the potentials of any other one (complementary
slackness). So the optimal permutations are the perfect matchings of the tight edges, and the first of them in
lexicographic order does not depend on the permutation or on the potentials that one starts from.
"""

import numpy as np

from cbo_pipeline.numerics.kernels.compiler import kernel

TIGHT = 1e-12  # of the largest matched cost: below it a difference is taken for rounding
MINIMA = {"nnan", "nsz"}  # lets the compiler vectorise a running minimum; sums keep their order


@kernel(fastmath=MINIMA)
def has_exchange(costs, columns):
    """For every problem (K,): could two rows exchange their columns (within ``TIGHT``) at no cost?"""
    K, M = columns.shape
    found = np.zeros(K, np.bool_)
    aligned = np.empty((M, M))
    for k in range(K):
        c, column = costs[k], columns[k]
        largest = 0.0
        for i in range(M):
            for j in range(M):
                aligned[i, j] = c[i, column[j]]
            largest = max(largest, abs(aligned[i, i]))
        least = np.inf
        for i in range(M):
            row, own = aligned[i], aligned[i, i]
            for j in range(i + 1, M):
                gain = (row[j] - own) + (aligned[j, i] - aligned[j, j])
                least = gain if gain < least else least
        found[k] = least <= TIGHT * largest
    return found


@kernel
def smallest_optima(costs, columns, suspects):
    """Replace the permutations of the suspect problems, in place, by the first among their optimal ones."""
    for k in np.flatnonzero(suspects):
        columns[k] = _smallest_optimum(costs[k], columns[k])


@kernel
def _smallest_optimum(costs, column):
    """The lexicographically first among the optimal permutations of the costs (M, M), given one of them."""
    M = column.size
    tight = _tight_edges(costs, column)
    column = column.copy()
    row = np.empty(M, np.int64)
    for i in range(M):
        row[column[i]] = i
    step = np.empty(M, np.int64)  # the column that a row would go to on its way to the column of row i
    queue = np.empty(M, np.int64)
    for i in range(M):
        # The later rows that can make room, one for the next, until somebody takes the column of row i.
        step[:] = -1
        queue[0] = column[i]
        head, tail = 0, 1
        while head < tail:
            wanted = queue[head]
            head += 1
            for r in range(i + 1, M):
                if step[r] < 0 and tight[r, wanted]:
                    step[r] = wanted
                    queue[tail] = column[r]
                    tail += 1
        for j in range(M):
            if tight[i, j] and (row[j] == i or (row[j] > i and step[row[j]] >= 0)):
                taken, mover = j, row[j]
                while mover != i:
                    goes = step[mover]
                    following = row[goes]
                    column[mover], row[goes] = goes, mover
                    mover = following
                column[i], row[taken] = taken, i
                break
    return column


@kernel
def _tight_edges(costs, column):
    """The edges (M, M) without slack, for potentials found by Bellman-Ford relaxation.

    p[k] <= p[j] + costs[i, k] - costs[i, j] for the row i in column j: there are no negative cycles, as the
    permutation is optimal, but for rounding, which the margin takes care of.
    """
    M = column.size
    largest = 0.0
    for i in range(M):
        largest = max(largest, abs(costs[i, column[i]]))
    margin = 0.01 * TIGHT * largest
    p = np.zeros(M)
    for _ in range(M):
        changed = False
        for i in range(M):
            base = p[column[i]] - costs[i, column[i]]
            for k in range(M):
                if base + costs[i, k] < p[k] - margin:
                    p[k] = base + costs[i, k]
                    changed = True
        if not changed:
            break
    tight = np.empty((M, M), np.bool_)
    for i in range(M):
        base = p[column[i]] - costs[i, column[i]]
        for k in range(M):
            tight[i, k] = base + costs[i, k] - p[k] <= TIGHT * largest
    return tight
