"""The consensus point: Gibbs weights of the risks and the weighted mean of the particles."""

from collections.abc import Callable
from typing import Any

import numpy as np

from cbo_pipeline.numerics.network import Networks

UNDERFLOW = -746.0  # the exponential of this, and of all below, is zero in float64
COLUMNS = 1 << 12  # parameters averaged together: bounds the memory of products
TORCH_COLUMNS = 64  # torch sums this many columns at a time in one order, and those left over in another

SUM, QUOTIENT, MATRIX_PRODUCT, FLOAT64_SUM = MEAN_FORMS = ("sum", "quotient", "matrix_product", "float64_sum")


class Diverged(Exception):
    """No particle has a finite risk: the run ends here, and is recorded as diverged."""


def gibbs_factors(risks: np.ndarray, alpha: float) -> np.ndarray:
    """exp(-alpha (R_n - min R)) for the risks (N,) or, with P tasks, (N, P): factors (P, N), float64.

    The smallest risk is subtracted first, so that no sum of the factors is zero, however large alpha R. A particle
    whose risk is not finite gets the factor zero.
    """
    by_task = np.atleast_2d(risks.T)
    finite = np.isfinite(by_task)
    if not finite.any(axis=1).all():
        raise Diverged
    smallest = np.min(by_task, axis=1, where=finite, initial=np.inf, keepdims=True)
    with np.errstate(over="ignore", invalid="ignore"):
        exponents = -alpha * (by_task - smallest)
        # Most exponentials would underflow, and those are the slow ones.
        return np.exp(exponents, out=np.zeros_like(exponents), where=finite & (exponents > UNDERFLOW))


def gibbs_weights(risks: np.ndarray, alpha: float) -> np.ndarray:
    """beta of Eq. (cbo:consensus_point): the factors divided by their sum, (P, N), float64."""
    factors = gibbs_factors(risks, alpha)
    factors /= factors.sum(axis=1, keepdims=True)
    return factors


def consensus_point(risks: np.ndarray, alpha: float, networks: Networks, form: str = SUM) -> Networks:
    """V of Eq. (cbo:consensus_point) for every task: P networks, of particles whose risks are (N,) or (N, P)."""
    weigh = gibbs_factors if form == QUOTIENT else gibbs_weights
    return weighted_mean(weigh(risks, alpha), networks, form)


def weighted_mean(weights: np.ndarray, networks: Networks, form: str = SUM) -> Networks:
    """V = sum_n beta_n theta_n for the weights (P, N): P networks. ``form`` says how the sum is computed:

        sum              the line (beta[:, None] * theta).sum(0) of PyTorch: everything in the particles' type
        quotient         the same sum of unnormalised weights, divided by the sum of these
        float64_sum      in double precision, rounded at the end
        matrix_product   beta @ theta, in an order that the library chooses

    Particles of weight zero are left out, so that one that has run off to infinity does no harm. In double
    precision, particles that agree to the last bit would have exactly their common value as consensus point and never
    move again; in single precision the rounding of this sum keeps them apart (figure ``precision``).
    """
    like = next(iter(networks.values()))
    if form == MATRIX_PRODUCT:
        sums = _products(weights)
    elif isinstance(like, np.ndarray):
        sums = _compiled_sums(weights.astype(np.float64 if form == FLOAT64_SUM else like.dtype))
    else:
        sums = _plain_sums(weights, like, form == FLOAT64_SUM)
    mean = {name: sums(x.reshape(len(x), -1)) for name, x in networks.items()}
    if form == QUOTIENT:
        ones = np.ones((len(like), 1), like.dtype) if isinstance(like, np.ndarray) else like.new_ones(len(like), 1)
        total = sums(ones)
        mean = {name: x / total for name, x in mean.items()}
    return {name: mean[name].reshape(len(weights), *x.shape[1:]) for name, x in networks.items()}


Sums = Callable[[Any], Any]  # from the particles (N, D) to their weighted sums (P, D)


def _compiled_sums(weights: np.ndarray) -> Sums:
    from cbo_pipeline.numerics.kernels.weighted_sums import heavy, level_power, weighted_sums

    columns, starts = heavy(weights)
    power = level_power(weights.shape[1])

    def sums(x: np.ndarray) -> np.ndarray:
        out = np.empty((len(weights), x.shape[1]), x.dtype)
        weighted_sums(weights, columns, starts, power, np.ascontiguousarray(x), out)
        return out

    return sums


def _plain_sums(weights: np.ndarray, like, double: bool) -> Sums:
    """The same lines for tensors on a device; on a CPU the same numbers."""
    import torch

    factors = torch.as_tensor(weights, device=like.device).to(torch.float64 if double else like.dtype)[:, :, None]

    def sums(x):
        parts = []
        for part in x.split(COLUMNS, dim=1):
            width = part.shape[1]
            part = torch.nn.functional.pad(part, (0, -width % TORCH_COLUMNS))
            terms = (torch.where(beta != 0, beta * part, 0) for beta in factors)
            parts.append(torch.stack([term.sum(0)[:width] for term in terms]))
        return torch.cat(parts, dim=1).to(x.dtype)

    return sums


def _products(weights: np.ndarray) -> Sums:
    used = np.flatnonzero(weights.any(axis=0))
    weights = np.ascontiguousarray(weights[:, used])

    def sums(x):
        if isinstance(x, np.ndarray):
            factors = weights.astype(x.dtype)
            mean = np.empty((len(weights), x.shape[1]), x.dtype)
            for first in range(0, x.shape[1], COLUMNS):
                mean[:, first : first + COLUMNS] = factors @ x[used, first : first + COLUMNS]
            return mean
        import torch

        factors = torch.as_tensor(weights, device=x.device, dtype=x.dtype)
        rows = torch.as_tensor(used, device=x.device)
        return torch.cat([factors @ part.index_select(0, rows) for part in x.split(COLUMNS, dim=1)], dim=1)

    return sums
