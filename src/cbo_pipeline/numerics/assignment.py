"""Exact assignment problems in batches, and the same permutation from whichever library solves them.

A batch is an array of costs (K, M, M); its solution is ``columns`` (K, M): row i of problem k goes to the column
``columns[k, i]``, with the least total cost. lapx solves a batch in compiled code without leaving it; where it is
not installed scipy solves one problem after the other.

Where several permutations are optimal the libraries may choose differently. Then the first of all optimal
permutations in lexicographic order is taken, whatever the library found (``kernels.ties``). To find out whether
there are several costs half as much as the solution itself, so large problems are asked only if two of their rows
could exchange their columns at no cost, as is the case for coinciding atoms. What is guaranteed is therefore: the
same total cost always (to rounding); the same permutation for M <= ``SMALL``, and beyond it unless the only ties
are cycles of three or more rows in which no two could exchange. Lattices have such ties now and then, atoms that
carry noise have none.
"""

import functools
from collections.abc import Callable

import numpy as np

SMALL = 32  # rows up to which every problem is searched for ties
Solver = Callable[[np.ndarray], np.ndarray]


def assignments(costs: np.ndarray, solver: Solver | None = None) -> np.ndarray:
    """The optimal permutations ``columns`` (K, M) of the finite costs (K, M, M), float64.

    >>> assignments(np.array([[[3.0, 1.0], [1.0, 4.0]], [[1.0, 1.0], [1.0, 1.0]]])).tolist()
    [[1, 0], [0, 1]]
    """
    from cbo_pipeline.numerics.kernels.ties import has_exchange, smallest_optima

    columns = (solver or best_solver())(costs)
    suspects = has_exchange(costs, columns) if costs.shape[1] > SMALL else np.ones(len(costs), bool)
    smallest_optima(costs, columns, suspects)
    return columns


def by_lapx(costs: np.ndarray) -> np.ndarray:
    """Jonker and Volgenant's algorithm of lapx, on this thread alone."""
    from lap import lapjvr_batch

    return np.array(lapjvr_batch(costs, return_cost=False, n_threads=1)[1], dtype=np.int64).reshape(costs.shape[:2])


def by_scipy(costs: np.ndarray) -> np.ndarray:
    """scipy's linear_sum_assignment, problem by problem."""
    from scipy.optimize import linear_sum_assignment

    found = [linear_sum_assignment(problem)[1] for problem in costs]
    return np.array(found, dtype=np.int64).reshape(costs.shape[:2])


@functools.cache
def best_solver() -> Solver:
    """lapx where it is installed, else scipy."""
    try:
        from lap import lapjvr_batch  # noqa: F401
    except ImportError:
        return by_scipy
    return by_lapx
