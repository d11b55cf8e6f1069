"""One step of an ensemble, in place: Adam's, CBO's, their hybrid's, and that along transport maps.

Each is written twice: as plain lines, for tensors on a device, and compiled, for numpy arrays (``kernels.steps``).
Both round every operation to the type of the particles, from left to right, so that on a CPU they agree to the last
bit (but for torch's square root, which is not always the nearest number). In single precision this order matters
(docs/reproduction.md), so it is a setting:

    separate_terms   theta - lambda dt d + sigma sqrt(dt) d xi      with d = theta - V
    one_factor       theta + d (sigma sqrt(dt) xi - lambda dt)
"""

from typing import NamedTuple

import numpy as np

from cbo_pipeline.numerics.network import Networks

SEPARATE_TERMS, ONE_FACTOR = "separate_terms", "one_factor"


class Rates(NamedTuple):
    """The numbers of Eqs. (eq:adam_moments) and (eq:adam_moments_normal) in one step of Adam."""

    dt: float
    beta1: float
    rest1: float  # 1 - beta1
    beta2: float
    rest2: float  # 1 - beta2
    correction1: float  # 1 - beta1^k in step k = 1, 2, ...
    correction2: float  # 1 - beta2^k
    delta: float


def adam_rates(dt: float, beta1: float, beta2: float, delta: float, iteration: int) -> Rates:
    """The rates of an iteration; iterations count from 0."""
    k = iteration + 1
    return Rates(dt, beta1, 1 - beta1, beta2, 1 - beta2, 1 - beta1**k, 1 - beta2**k, delta)


def adam_step(particles: Networks, first: Networks, second: Networks, gradient: Networks, rates: Rates) -> None:
    """theta = theta - dt s^ / (sqrt(r^) + delta), Section 3.2; the moments s and r are updated too."""
    for name, theta in particles.items():
        s, r, g = first[name], second[name], gradient[name]
        if isinstance(theta, np.ndarray):
            from cbo_pipeline.numerics.kernels import steps as kernels

            kernels.adam(*map(_matrix, (theta, s, r, g)), _typed(rates, theta))
        else:
            theta.copy_(theta - _adam(s, r, g, rates))


def _adam(s, r, g, rates: Rates):
    """dt s^ / (sqrt(r^) + delta) on tensors."""
    s.copy_(rates.beta1 * s + rates.rest1 * g)
    r.copy_(rates.beta2 * r + rates.rest2 * g * g)
    return rates.dt * (s / rates.correction1) / ((r / rates.correction2).sqrt() + rates.delta)


def cbo_step(
    particles: Networks, V: Networks, noise, drift: float, diffusion: float, form: str, task: np.ndarray | None = None
) -> None:
    """Eq. (cbo:sde), with drift = lambda dt and diffusion = sigma sqrt(dt).

    Particle n moves to the consensus point V[task[n]], Eq. (eq:multi_task_cbo); without tasks there is one for all.
    """
    for layer, (name, theta) in enumerate(particles.items()):
        own = np.zeros(len(theta), np.int64) if task is None else task
        if isinstance(theta, np.ndarray):
            from cbo_pipeline.numerics.kernels import steps as kernels

            numbers = _typed((drift, diffusion), theta)
            kernels.cbo(_matrix(theta), _matrix(V[name]), own, *numbers, form == ONE_FACTOR, *_chosen(noise, layer))
        else:
            for rows, xi in noise.blocks(theta, layer):
                x = theta[rows]
                d = x - (V[name] if task is None else V[name][own[rows]])
                if form == ONE_FACTOR:
                    theta[rows] = x + d * (diffusion * xi - drift)
                else:
                    theta[rows] = x - drift * d + diffusion * d * xi


def hybrid_step(
    particles: Networks, first: Networks, second: Networks, gradient: Networks, V: Networks, noise,
    drift: float, diffusion: float, form: str, gamma: float, rates: Rates,
) -> None:  # fmt: skip
    """theta - gamma dt s^ / (sqrt(r^) + delta) + (1 - gamma) (-lambda dt d + sigma sqrt(dt) d xi), Section 3.4.1."""
    rates = rates._replace(dt=gamma * rates.dt)
    for layer, (name, theta) in enumerate(particles.items()):
        s, r, g = first[name], second[name], gradient[name]
        if isinstance(theta, np.ndarray):
            from cbo_pipeline.numerics.kernels import steps as kernels

            numbers = _typed((drift, diffusion), theta)
            kernels.hybrid(
                *map(_matrix, (theta, s, r, g, V[name])), *numbers, form == ONE_FACTOR,
                theta.dtype.type(1 - gamma), _typed(rates, theta), *_chosen(noise, layer),
            )  # fmt: skip
        else:
            for rows, xi in noise.blocks(theta, layer):
                x = theta[rows]
                d = x - V[name]
                explored = d * (diffusion * xi - drift) if form == ONE_FACTOR else -drift * d + diffusion * d * xi
                theta[rows] = x - _adam(s[rows], r[rows], g[rows], rates) + (1 - gamma) * explored


def transport_step(
    particles: Networks, y: Networks, task: np.ndarray, to: np.ndarray, noise, drift: float, diffusion: float
) -> None:
    """Eqs. (eq:OT_discrete_w) to (eq:OT_discrete_c): theta_i - lambda dt (theta_i - y_to(i)) + sigma sqrt(dt) xi.

    Atom i of particle n moves to the atom to[n, i] of the barycentre y[task[n]].
    """
    from cbo_pipeline.numerics.kernels import steps as kernels

    for layer, (name, theta) in enumerate(particles.items()):
        atoms, goals = (_shared(x, (*x.shape[:2], -1)) for x in (theta, y[name]))
        kernels.transport(atoms, goals, task, to, *_typed((drift, diffusion), theta), *_chosen(noise, layer))


def _matrix(x: np.ndarray) -> np.ndarray:
    return _shared(x, (len(x), -1))


def _shared(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The same memory in another shape."""
    if not x.flags.c_contiguous:
        raise ValueError("the arrays of an ensemble must be contiguous: they are updated in place")
    return x.reshape(shape)


def _typed(numbers, theta: np.ndarray) -> tuple:
    """Python's numbers in the type of the particles, as they would be in an operation with them."""
    return tuple(theta.dtype.type(number) for number in numbers)


def _chosen(noise, layer: int):
    return noise.iteration, layer, np.array(noise.key, np.uint32)
