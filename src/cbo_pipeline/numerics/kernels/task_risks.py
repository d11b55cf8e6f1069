"""Squared risks of N networks for P tasks at once, without the N x P x S differences.

The targets of the tasks, less those of the first, span a space of some rank q, which is small where the tasks are
alike: 1 for shifts of one function. In an orthonormal basis B of that space on the batch, y_p = y_1 + a_p B, and with
r = g - y_1, its coordinates k = B r and what the basis cannot reach, e = r - k B,

    |g - y_p|^2 = |e|^2 + |k - a_p|^2        for every task p.

That takes O(S q + P q) work per network instead of O(P S). It is Pythagoras' theorem, not an approximation; as both
terms are sums of squares nothing cancels, however small the risk or however far away the particle. All sums are
float64.
"""

from typing import NamedTuple

import numpy as np

from cbo_pipeline.numerics.kernels.compiler import kernel
from cbo_pipeline.numerics.kernels.piecewise import SortedPoints, add_networks


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
    """The basis of the targets (P, S): the largest row that is left, taken out of all rows, until none is left.

    What is left at the end is a few units in the last place of the targets, in every entry. (The errors of a
    singular value decomposition are larger: it would see a second direction in shifts of one function.)
    """
    rest = targets - targets[0]
    rounding = 8 * np.finfo(np.float64).eps * np.abs(targets).max()
    coordinates, basis = np.zeros((len(targets), 0)), np.zeros((0, targets.shape[1]))
    while np.abs(rest).max() > rounding and len(basis) < len(targets):
        largest = rest[np.argmax(np.abs(rest).max(axis=1))]
        direction = largest / np.sqrt(largest @ largest)
        along = np.zeros(len(rest))
        for _ in range(2):  # the second time takes out what the rounding of the first sums has left
            step = rest @ direction
            rest -= np.outer(step, direction)
            along += step
        coordinates, basis = np.column_stack([coordinates, along]), np.vstack([basis, direction])
    return TaskBasis(targets[0], coordinates, basis)


def squared_task_risks(
    w: np.ndarray, b: np.ndarray, c: np.ndarray, a: np.ndarray, scale: float, points: SortedPoints, tasks: TaskBasis
) -> np.ndarray:
    """Eq. (eq:empirical_risk) with Eq. (eq:MSE) of N networks of one input for P tasks: (N, P)."""
    risks = np.empty((len(tasks.coordinates), len(w)))  # a task's risks lie together, as the weights need them
    x, _, first, low, bins_per_unit = points
    _fill_risks(w, b, c, a, scale, x, first, low, bins_per_unit, *tasks, risks)
    return risks.T


@kernel(nogil=True)
def _fill_risks(w, b, c, a, scale, x, first, low, bins_per_unit, reference, coordinates, basis, out):
    """Fill ``out`` (P, N). Four networks go side by side, as in ``piecewise.squared_risks``."""
    size, width, count, rank = x.size - 1, w.shape[1], w.shape[0], basis.shape[0]
    slope, offset = np.empty((size + 1, 4)), np.empty((size + 1, 4))
    kink, place = np.empty(width), np.empty(width, np.int64)
    rest, found, total = np.empty((size, 4)), np.empty((rank, 4)), np.empty(4)
    for n in range(0, count, 4):
        add_networks(n, w, b, c, a, scale, x, first, low, bins_per_unit, slope, offset, kink, place)
        _residuals(slope, offset, x, reference, rest)
        for q in range(rank):
            _take_out(basis[q], rest, found[q])
        _squares(rest, total)
        for lane in range(4):
            k = min(n + lane, count - 1)
            for p in range(len(coordinates)):
                square = total[lane]
                for q in range(rank):
                    away = found[q, lane] - coordinates[p, q]
                    square += away * away
                out[p, k] = square / size


@kernel
def _residuals(slope, offset, x, reference, rest):
    """g(x_s) - reference_s of four networks from their scattered kinks."""
    line0 = line1 = line2 = line3 = 0.0
    constant0 = constant1 = constant2 = constant3 = 0.0
    for s in range(len(rest)):
        line0, line1 = line0 + slope[s, 0], line1 + slope[s, 1]
        line2, line3 = line2 + slope[s, 2], line3 + slope[s, 3]
        constant0, constant1 = constant0 + offset[s, 0], constant1 + offset[s, 1]
        constant2, constant3 = constant2 + offset[s, 2], constant3 + offset[s, 3]
        rest[s, 0] = line0 * x[s] + constant0 - reference[s]
        rest[s, 1] = line1 * x[s] + constant1 - reference[s]
        rest[s, 2] = line2 * x[s] + constant2 - reference[s]
        rest[s, 3] = line3 * x[s] + constant3 - reference[s]


@kernel
def _take_out(direction, rest, found):
    """The coordinates of four residuals along a unit vector, which are taken out of them."""
    k0 = k1 = k2 = k3 = 0.0
    for s in range(len(rest)):
        k0, k1 = k0 + direction[s] * rest[s, 0], k1 + direction[s] * rest[s, 1]
        k2, k3 = k2 + direction[s] * rest[s, 2], k3 + direction[s] * rest[s, 3]
    for s in range(len(rest)):
        rest[s, 0] -= k0 * direction[s]
        rest[s, 1] -= k1 * direction[s]
        rest[s, 2] -= k2 * direction[s]
        rest[s, 3] -= k3 * direction[s]
    found[0], found[1], found[2], found[3] = k0, k1, k2, k3


@kernel
def _squares(rest, total):
    """The squared lengths of four residuals."""
    t0 = t1 = t2 = t3 = 0.0
    for s in range(len(rest)):
        t0, t1 = t0 + rest[s, 0] * rest[s, 0], t1 + rest[s, 1] * rest[s, 1]
        t2, t3 = t2 + rest[s, 2] * rest[s, 2], t3 + rest[s, 3] * rest[s, 3]
    total[0], total[1], total[2], total[3] = t0, t1, t2, t3
