"""Optimal transport between networks as measures: matchings, W2, the barycentre, the variance of an ensemble.

A network is the measure of its atoms, Eq. (eq:empirical_measures_experiment): M points of equal mass 1/M in R^D, an
array (M, D). An ensemble is (N, M, D). For such measures an optimal plan is a permutation, and
W2^2 = (1/M) sum_i |x_i - y_pi(i)|^2. Atoms may be float32; costs and sums are float64.
"""

from typing import NamedTuple

import numpy as np

from cbo_pipeline.numerics.assignment import assignments

BLOCK = 1 << 20  # costs held together, in numbers: a few problems, so that they stay in the cache
LARGEST = 1e150  # atoms beyond it have no finite cost


class Matching(NamedTuple):
    """Optimal permutations between the atoms of each particle and those of one measure."""

    to: np.ndarray  # (N, M): atom i of particle n goes to the atom to[n, i]
    squared: np.ndarray  # (N,): W2^2


class Barycentre(NamedTuple):
    """A weighted barycentre, and how it was found."""

    support: np.ndarray  # (M, D), float64
    rounds: int  # matchings of the ensemble to the support; 0 if one particle has all the weight
    settled: bool  # whether the support stopped moving
    start: int = 0  # the place of the start that gave it, among the starts that were tried


def match(x: np.ndarray, y: np.ndarray, solver: str = "auto") -> Matching:
    """Match the atoms of every particle x (N, M, D) to the atoms y (M, D).

    A particle with atoms that are not finite keeps its order; its distance is not finite either.
    """
    from cbo_pipeline.numerics.kernels.squared_costs import squared_costs

    x, y = x.astype(np.float64), np.ascontiguousarray(y, np.float64)
    N, M, _ = x.shape
    to = np.tile(np.arange(M), (N, 1))
    usable = np.flatnonzero(np.abs(x).max(axis=(1, 2)) < LARGEST) if np.abs(y).max() < LARGEST else []
    for first in range(0, len(usable), max(1, BLOCK // M**2)):
        rows = usable[first : first + max(1, BLOCK // M**2)]
        to[rows] = assignments(squared_costs(x[rows], y), solver)
    with np.errstate(over="ignore", invalid="ignore"):
        away = x - y[to]
        return Matching(to, np.einsum("nmd,nmd->n", away, away) / M)


def squared_w2(x: np.ndarray, y: np.ndarray) -> float:
    """W2^2 between the measures of the atoms x and y, both (M, D)."""
    return float(match(x[None], y).squared[0])


def barycentre(
    x: np.ndarray,
    weights: np.ndarray,
    rounds: int,
    weight_cut: float = 0.0,
    start: np.ndarray | None = None,
    starts: int = 1,
    solver: str = "auto",
) -> Barycentre:
    """The barycentre of Eq. (eq:barycenter) of the particles x (N, M, D) by the fixed point of Proposition 2.

    Start at the particle of largest weight (or at ``start``, atoms (M, D)); match every particle to the support,
    replace each support point by the weighted mean of the atoms matched to it, and repeat until the support stops
    moving (to the precision of the atoms) or ``rounds`` are over. Particles of weight at most ``weight_cut`` are left
    out. No round raises the objective, so what is found is a local minimum. The problem is not convex, and another
    start may find another: with several ``starts`` the particles of largest weight are tried, one after the other,
    and the best result is taken.
    """
    used = np.flatnonzero(weights > weight_cut)
    if len(used) <= 1:
        return Barycentre(x[int(np.argmax(weights))].astype(np.float64), 0, True)
    kept, share = x[used].astype(np.float64), weights[used] / weights[used].sum()
    resolution = float(np.finfo(x.dtype).eps)
    if start is not None:
        return _fixed_point(kept, share, start.astype(np.float64), rounds, resolution, solver)
    heaviest = np.argsort(-share, kind="stable")[:starts]
    found = [_fixed_point(kept, share, kept[n], rounds, resolution, solver) for n in heaviest]
    if len(found) == 1:
        return found[0]
    values = [float(share @ match(kept, each.support, solver).squared) for each in found]
    best = int(np.argmin(values))
    return found[best]._replace(start=best)


def _fixed_point(
    x: np.ndarray, share: np.ndarray, support: np.ndarray, rounds: int, resolution: float, solver: str
) -> Barycentre:
    """The fixed point of Proposition 2 from one start."""
    for done in range(1, rounds + 1):
        before = support
        support = _mean(x, share, match(x, before, solver).to)
        if np.abs(support - before).max() <= resolution * np.abs(before).max():
            return Barycentre(support, done, True)
    return Barycentre(support, rounds, False)


def _mean(x: np.ndarray, share: np.ndarray, to: np.ndarray) -> np.ndarray:
    """Proposition 2: the support points y_j = sum_n beta_n x_{n,i}, atom i of particle n being matched to j."""
    aligned = np.empty_like(x)
    np.put_along_axis(aligned, to[:, :, None], x, axis=1)
    return (share @ aligned.reshape(len(x), -1)).reshape(x.shape[1:])


def objective(x: np.ndarray, weights: np.ndarray, y: np.ndarray) -> float:
    """What the barycentre minimises, Eq. (eq:min_func_measures): (1/2) sum_n beta_n W2^2(y, x_n)."""
    return 0.5 * float(weights @ match(x, y).squared)


def ensemble_variance(squared: np.ndarray) -> float:
    """V of Proposition 3, (1/2) mean_n W2^2(mu_n, barycentre), from the squared distances (N,)."""
    return 0.5 * float(np.mean(squared))
