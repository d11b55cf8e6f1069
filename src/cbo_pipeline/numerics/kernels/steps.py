"""The steps of Adam, CBO, the hybrid and optimal-transport CBO, each in one pass over the ensemble, in place.

Noise, drift, diffusion and moments of a few hundred parameters are computed together, while they are in the
first-level cache. Every operation is rounded to the type of the particles, from left to right, as plain array lines
would (``cbo_pipeline.numerics.steps``): no contraction, no reordering.

Shapes: ``theta`` and what belongs to it are (N, D); ``V`` is (P, D), and particle n moves to the row task[n] of it.
Scalars have the type of the particles. ``iteration``, ``layer`` and ``key`` choose the noise (``noise.Noise``).
"""

import numpy as np

from cbo_pipeline.numerics.kernels.compiler import kernel
from cbo_pipeline.numerics.kernels.noise import CHUNK, chunk_space, normals_of_chunk


@kernel(nogil=True)
def cbo(theta, V, task, drift, diffusion, one_factor, iteration, layer, key):
    """Eq. (cbo:sde), with one consensus point per task, Eq. (eq:multi_task_cbo)."""
    N, D = theta.shape
    flat = theta.reshape(N * D)
    space = chunk_space()
    xi = space[2].reshape(CHUNK)
    n, d = 0, 0
    for first in range(0, N * D, CHUNK):
        normals_of_chunk(first // CHUNK, iteration, layer, key, space)
        at, stop = first, min(first + CHUNK, N * D)
        while at < stop:
            length = min(D - d, stop - at)
            x, v, noise = flat[at : at + length], V[task[n], d : d + length], xi[at - first : at - first + length]
            if one_factor:
                _one_factor(x, v, noise, drift, diffusion)
            else:
                _separate_terms(x, v, noise, drift, diffusion)
            at, d = at + length, d + length
            if d == D:
                n, d = n + 1, 0


@kernel
def _separate_terms(x, v, xi, drift, diffusion):
    for i in range(x.size):
        away = x[i] - v[i]
        x[i] = (x[i] - drift * away) + (diffusion * away) * xi[i]


@kernel
def _one_factor(x, v, xi, drift, diffusion):
    for i in range(x.size):
        x[i] = x[i] + (x[i] - v[i]) * (diffusion * xi[i] - drift)


@kernel(nogil=True)
def hybrid(theta, s, r, g, V, drift, diffusion, one_factor, share, rates, iteration, layer, key):
    """Section 3.4.1: ``rates`` are those of ``adam``, with gamma dt for dt; ``share`` is 1 - gamma, of CBO's step."""
    N, D = theta.shape
    flat, first_moment, second_moment = theta.reshape(N * D), s.reshape(N * D), r.reshape(N * D)
    gradient = g.reshape(N * D)
    space = chunk_space()
    xi = space[2].reshape(CHUNK)
    d = 0
    for first in range(0, N * D, CHUNK):
        normals_of_chunk(first // CHUNK, iteration, layer, key, space)
        at, stop = first, min(first + CHUNK, N * D)
        while at < stop:
            length = min(D - d, stop - at)
            here = slice(at, at + length)
            v, noise = V[0, d : d + length], xi[at - first : at - first + length]
            _hybrid(
                flat[here], first_moment[here], second_moment[here], gradient[here], v, noise,
                drift, diffusion, one_factor, share, rates,
            )  # fmt: skip
            at, d = at + length, d + length
            if d == D:
                d = 0


@kernel
def _hybrid(x, s, r, g, v, xi, drift, diffusion, one_factor, share, rates):
    if one_factor:
        for i in range(x.size):
            away = x[i] - v[i]
            x[i] = (x[i] - _adam(s, r, g, i, rates)) + share * (away * (diffusion * xi[i] - drift))
    else:
        for i in range(x.size):
            away = x[i] - v[i]
            x[i] = (x[i] - _adam(s, r, g, i, rates)) + share * (-drift * away + (diffusion * away) * xi[i])


@kernel(nogil=True)
def adam(theta, s, r, g, rates):
    """Section 3.2, with the ``rates`` of the step (``cbo_pipeline.numerics.steps.Rates``)."""
    size = theta.size
    x, first, second, gradient = theta.reshape(size), s.reshape(size), r.reshape(size), g.reshape(size)
    for i in range(size):
        x[i] = x[i] - _adam(first, second, gradient, i, rates)


@kernel(inline="always")
def _adam(s, r, g, i, rates):
    """Update the moments of one parameter, Eq. (eq:adam_moments); dt s^ / (sqrt(r^) + delta)."""
    dt, beta1, rest1, beta2, rest2, correction1, correction2, delta = rates
    s[i] = beta1 * s[i] + rest1 * g[i]
    r[i] = beta2 * r[i] + (rest2 * g[i]) * g[i]
    return dt * (s[i] / correction1) / (np.sqrt(r[i] / correction2) + delta)


@kernel(nogil=True)
def transport(theta, y, task, to, drift, diffusion, iteration, layer, key):
    """Eqs. (eq:OT_discrete_w) to (eq:OT_discrete_c), for all atoms; ``theta`` is (N, M, K), ``y`` is (P, M, K).

    Atom i of particle n moves to the atom to[n, i] of its barycentre y[task[n]].
    """
    N, M, K = theta.shape
    space = chunk_space()
    xi = space[2].reshape(CHUNK)
    position = 0
    for n in range(N):
        target = y[task[n]]
        for i in range(M):
            goal = target[to[n, i]]
            for k in range(K):
                if position % CHUNK == 0:
                    normals_of_chunk(position // CHUNK, iteration, layer, key, space)
                x = theta[n, i, k]
                theta[n, i, k] = (x - drift * (x - goal[k])) + diffusion * xi[position % CHUNK]
                position += 1
