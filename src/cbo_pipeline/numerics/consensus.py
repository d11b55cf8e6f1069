"""The consensus point: Gibbs weights of the risks and the weighted mean of the particles."""

import numpy as np

from cbo_pipeline.numerics.network import Networks

UNDERFLOW = -746.0  # the exponential of this, and of all below, is zero in float64
COLUMNS = 1 << 12  # parameters averaged together: bounds the copy of those that have a weight


class Diverged(Exception):
    """No particle has a finite risk: the run ends here, and is recorded as diverged."""


def gibbs_weights(risks: np.ndarray, alpha: float) -> np.ndarray:
    """beta of Eq. (cbo:consensus_point) for the risks (N,) or, with P tasks, (N, P): weights (P, N), float64.

    The smallest risk is subtracted first, so that alpha * R may be as large as it likes. A particle whose risk
    is not finite gets weight zero.
    """
    by_task = np.atleast_2d(risks.T)
    finite = np.isfinite(by_task)
    if not finite.any(axis=1).all():
        raise Diverged
    smallest = np.min(by_task, axis=1, where=finite, initial=np.inf, keepdims=True)
    with np.errstate(over="ignore", invalid="ignore"):
        exponents = -alpha * (by_task - smallest)
        # Most exponentials would underflow, and those are the slow ones.
        weights = np.exp(exponents, out=np.zeros_like(exponents), where=finite & (exponents > UNDERFLOW))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def weighted_mean(weights: np.ndarray, networks: Networks) -> Networks:
    """V = sum_n beta_n theta_n of Eq. (cbo:consensus_point) for the weights (P, N): P networks.

    Particles of weight zero are left out, so that one that has run off to infinity does no harm.
    """
    used = np.flatnonzero(weights.any(axis=0))
    weights = np.ascontiguousarray(weights[:, used])
    return {name: _product(weights, x, used) for name, x in networks.items()}


def _product(weights: np.ndarray, x, used: np.ndarray):
    """weights @ x[used] over the first axis of x, summed in the type of x.

    Not in float64: particles that agree to the last bit would then have exactly their common value as consensus
    point and never move again. In float32 the rounding of this sum keeps them apart by a few units in the last
    place, and once alpha has grown the ensemble expands from there (figure ``precision``).
    """
    flat = x.reshape(len(x), -1)
    if isinstance(x, np.ndarray):
        factors = weights.astype(x.dtype)
        mean = np.empty((len(weights), flat.shape[1]), x.dtype)
        for first in range(0, flat.shape[1], COLUMNS):
            mean[:, first : first + COLUMNS] = factors @ flat[used, first : first + COLUMNS]
    else:
        import torch

        factors = torch.as_tensor(weights, device=x.device, dtype=x.dtype)
        rows = torch.as_tensor(used, device=x.device)
        mean = torch.cat([factors @ part.index_select(0, rows) for part in flat.split(COLUMNS, dim=1)], dim=1)
    return mean.reshape(len(weights), *x.shape[1:])
