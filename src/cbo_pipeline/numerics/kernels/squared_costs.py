"""Squared Euclidean costs between atoms, compiled."""

import numpy as np

from cbo_pipeline.numerics.kernels.compiler import kernel


@kernel
def squared_costs(x, y):
    """|x_{n,i} - y_j|^2 for the atoms x (N, M, D) and y (M, D), as (N, M, M).

    By differences, not by scalar products: equal atoms cost exactly nothing.
    """
    N, M, D = x.shape
    columns = np.ascontiguousarray(y.T)
    costs = np.empty((N, M, M))
    for n in range(N):
        for i in range(M):
            row = costs[n, i]
            row[:] = 0.0
            for d in range(D):
                here, there = x[n, i, d], columns[d]
                for j in range(M):
                    away = here - there[j]
                    row[j] += away * away
    return costs
