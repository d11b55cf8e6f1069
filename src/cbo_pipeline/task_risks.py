"""Squared risks of N networks for P tasks at once, without the N x P x S differences.

The targets of the tasks, less those of the first, span a space of some rank q, which is small where the tasks are
alike: 1 for shifts of one function. In an orthonormal basis B of that space on the batch, y_p = y_1 + a_p B, and with
r = g - y_1, its coordinates k = B r and what the basis cannot reach, e = r - k B,

    |g - y_p|^2 = |e|^2 + |k - a_p|^2        for every task p.

That takes O(S q + P q) work a network instead of O(P S). It is Pythagoras' theorem and no approximation; as both
terms are sums of squares nothing cancels, however small the risk or however far away the particle. All sums are
float64.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from cbo_pipeline.piecewise import SortedPoints, predictions

ROWS = 32  # networks evaluated together: their values stay in the second-level cache


class TaskBasis(NamedTuple):
    """Targets of P tasks on S points, as y_p = reference + coordinates_p basis."""

    reference: np.ndarray  # (S,)
    coordinates: np.ndarray  # (P, q)
    basis: np.ndarray  # (q, S)

    def at(self, indices: np.ndarray) -> "TaskBasis":
        """The same targets at some of the points, with a basis that is orthonormal there."""
        basis, triangle = np.linalg.qr(self.basis[:, indices].T)
        return TaskBasis(self.reference[indices], self.coordinates @ triangle.T, np.ascontiguousarray(basis.T))

    def of(self, task: int) -> "TaskBasis":
        """The targets of one task, by itself."""
        target = self.reference + self.coordinates[task] @ self.basis
        return TaskBasis(target, np.zeros((1, 0)), np.zeros((0, len(target))))


def task_basis(targets: np.ndarray) -> TaskBasis:
    """The basis of the targets (P, S). What is left out is below the rounding of the targets themselves."""
    left, values, right = np.linalg.svd(targets - targets[0], full_matrices=False)
    rounding = np.finfo(np.float64).eps * np.abs(targets).max() * np.sqrt(targets.size)
    rank = int(np.count_nonzero(values > rounding))
    return TaskBasis(targets[0], left[:, :rank] * values[:rank], np.ascontiguousarray(right[:rank]))


def squared_task_risks(
    w: np.ndarray, b: np.ndarray, c: np.ndarray, scale: float, points: SortedPoints, tasks: TaskBasis
) -> np.ndarray:
    """Eq. (eq:empirical_risk) with Eq. (eq:MSE) of N networks of one input for P tasks: (N, P)."""
    risks = np.empty((len(w), len(tasks.coordinates)))
    values = np.empty((min(ROWS, len(w)), len(tasks.reference)))
    x, _, first, low, bins_per_unit = points
    for start in range(0, len(w), ROWS):
        rows = slice(start, start + ROWS)
        part = values[: len(w[rows])]
        predictions(w[rows], b[rows], c[rows], scale, x, first, low, bins_per_unit, part)
        _fill_risks(part, *tasks, risks[rows])
    return risks


@njit(cache=True, error_model="numpy", nogil=True)
def _fill_risks(values, reference, coordinates, basis, out):
    """Fill ``out`` (N, P) from the values (N, S) of the networks, which are overwritten."""
    rank, size = basis.shape
    found = np.empty(rank)
    for n in range(len(values)):
        rest = values[n]
        for s in range(size):
            rest[s] -= reference[s]
        for q in range(rank):
            found[q] = _dot(basis[q], rest)
        for q in range(rank):
            for s in range(size):
                rest[s] -= found[q] * basis[q, s]
        unreached = _dot(rest, rest)
        for p in range(len(coordinates)):
            total = unreached
            for q in range(rank):
                away = found[q] - coordinates[p, q]
                total += away * away
            out[n, p] = total / size


@njit(cache=True, error_model="numpy")
def _dot(u, v):
    """The scalar product, in four partial sums that do not wait for each other."""
    a0 = a1 = a2 = a3 = 0.0
    whole = u.size - u.size % 4
    for s in range(0, whole, 4):
        a0 += u[s] * v[s]
        a1 += u[s + 1] * v[s + 1]
        a2 += u[s + 2] * v[s + 2]
        a3 += u[s + 3] * v[s + 3]
    for s in range(whole, u.size):
        a0 += u[s] * v[s]
    return (a0 + a1) + (a2 + a3)
