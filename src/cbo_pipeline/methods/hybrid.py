"""The hybrid of Adam and CBO, Section 3.3.1 of the paper."""

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

from cbo_pipeline.methods.base import State
from cbo_pipeline.methods.cbo import CBO
from cbo_pipeline.numerics.network import in_numpy, zeros_like


@dataclass(frozen=True, kw_only=True)
class Hybrid(CBO):
    """Every particle takes gamma of Adam's step, with moments of its own, and 1 - gamma of CBO's.

    The same minibatch gives the gradients and the consensus point.
    """

    gamma: float
    beta1: float = 0.9
    beta2: float = 0.999
    delta: float = 1e-8

    needs_gradients: ClassVar[bool] = True
    # Particles, two moments, gradient; all but the last twice more where a run goes on from a checkpoint.
    copies: ClassVar[int] = 10

    def start(self, problem, N, rng) -> State:
        particles = super().start(problem, N, rng)["particles"]
        moments = {"first": zeros_like(particles), "second": zeros_like(particles)}
        return self.restored({"particles": particles, **moments})

    def look(self, state, problem, batch, clock):
        """The consensus point, Eq. (cbo:consensus_point), and the gradient d_n of every particle."""
        if self.gamma == 0:
            return super().look(state, problem, batch, clock)
        risks = problem.risks_and_gradients(state["particles"], batch, state["gradient"])
        return self.consensus(state["particles"], risks, clock)

    def move(self, state, view, clock, noise) -> State:
        """theta += gamma * (Adam's step) + (1 - gamma) * (CBO's step, Eq. (cbo:sde))."""
        if self.gamma == 0:
            return super().move(state, view, clock, noise)
        for layer, name in enumerate(state["particles"]):
            theta, s, r, d = (in_numpy(state[group][name]) for group in ("particles", "first", "second", "gradient"))
            V = in_numpy(view.consensus[name])
            for rows, xi in noise.blocks(theta, layer):
                step = self.step(theta[rows] - V, xi)
                step *= 1 - self.gamma
                step += self.adam_step(s[rows], r[rows], d[rows], clock.iteration + 1)
                theta[rows] += step
        return state

    def adam_step(self, s, r, d, k: int):
        """-gamma dt s^ / (sqrt(r^) + delta) in step k >= 1, Eqs. (eq:adam_moments) and (eq:adam_moments_normal).

        The moments s and r are updated, and the gradient d is used up, in place.
        """
        s *= self.beta1
        s += (1 - self.beta1) * d
        d *= d
        d *= 1 - self.beta2
        r *= self.beta2
        r += d
        size = r**0.5
        size *= 1 / sqrt(1 - self.beta2**k)
        size += self.delta
        step = s / size
        step *= -self.gamma * self.dt / (1 - self.beta1**k)
        return step

    def arrays(self, state) -> State:
        """The gradient is made anew in every iteration."""
        return {group: state[group] for group in ("particles", "first", "second")}

    def restored(self, arrays) -> State:
        return {**arrays, "gradient": zeros_like(arrays["particles"])}
