"""Exact assignment problems in batches, and the same permutation from whichever library solves them.

A batch is an array of costs (K, M, M); its solution is ``columns`` (K, M): row i of problem k goes to the column
``columns[k, i]``, with the least total cost. lapx solves a batch in compiled code without leaving it; scipy and POT
solve one problem after the other. ``auto`` is lapx, or scipy where lapx is not installed.

Where several permutations are optimal the libraries may choose differently. Then the first of all optimal
permutations in lexicographic order is taken, whatever the library found (``kernels.ties``). The search for ties takes
half as long as the solution itself, so large problems are searched only if two of their rows could exchange their
columns at no cost, as with coinciding atoms. What is guaranteed is therefore: the same total cost always (to
rounding); the same permutation for M <= ``SMALL``, and beyond it unless the only ties are cycles of three or more
rows in which no two could exchange. Lattices have such ties now and then, atoms that carry noise have none.
"""

import functools
import os
from collections.abc import Callable

import numpy as np

from cbo_pipeline.errors import UserError

SMALL = 32  # rows up to which every problem is searched for ties
Solver = Callable[[np.ndarray], np.ndarray]


def assignments(costs: np.ndarray, solver: str = "auto") -> np.ndarray:
    """The optimal permutations ``columns`` (K, M) of the finite costs (K, M, M), float64.

    >>> assignments(np.array([[[3.0, 1.0], [1.0, 4.0]], [[1.0, 1.0], [1.0, 1.0]]])).tolist()
    [[1, 0], [0, 1]]
    """
    from cbo_pipeline.numerics.kernels.ties import has_exchange, smallest_optima

    columns = solver_of(solver)(costs)
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


def by_pot(costs: np.ndarray) -> np.ndarray:
    """The network simplex of POT, problem by problem. With masses of one its optimal plans are permutations."""
    ot = pot()
    mass = np.ones(costs.shape[1])
    found = [ot.emd(mass, mass, np.ascontiguousarray(problem), PIVOTS).argmax(axis=1) for problem in costs]
    return np.array(found, dtype=np.int64).reshape(costs.shape[:2])


def pot():
    """The package POT, kept from loading the machine-learning libraries that are installed beside it."""
    for name in ("PYTORCH", "JAX", "CUPY", "TENSORFLOW"):
        os.environ.setdefault(f"POT_BACKEND_DISABLE_{name}", "1")
    import ot

    return ot


PIVOTS = 10_000_000  # a limit that no problem of ours reaches
SOLVERS: dict[str, Solver] = {"lapx": by_lapx, "scipy": by_scipy, "pot": by_pot}


@functools.cache
def solver_of(name: str) -> Solver:
    """The solver of that name; ``auto`` is lapx where it is installed, else scipy."""
    if name in ("auto", "lapx"):
        try:
            from lap import lapjvr_batch  # noqa: F401
        except ImportError:
            if name == "lapx":
                words = "solver: lapx is not installed; set solver to auto"
                raise UserError(words, code="not-installed", key="solver") from None
            return by_scipy
        return by_lapx
    return SOLVERS[name]
