"""Adam, Section 3.2 of the paper."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from cbo_pipeline.methods.base import Method, State, View
from cbo_pipeline.numerics.consensus import Diverged
from cbo_pipeline.numerics.network import zeros_like
from cbo_pipeline.numerics.steps import adam_rates, adam_step


@final
@dataclass(frozen=True)
class Adam(Method):
    """Eqs. (eq:adam_moments) and (eq:adam_moments_normal) with learning rate dt: the steps of torch.optim.Adam."""

    dt: float
    initial: str
    initial_bound: float = 1.0
    beta1: float = 0.9
    beta2: float = 0.999
    delta: float = 1e-8

    needs_gradients: ClassVar[bool] = True
    copies: ClassVar[int] = 6  # parameters, gradient, two moments, and two more in the records of an epoch
    scratch: ClassVar[tuple[str, ...]] = ("gradient",)

    @classmethod
    def check(cls, settings, M, N):
        return ("N", f"Adam trains one network: N must be 1, not {N}") if N != 1 else None

    @classmethod
    def scratch_bytes(cls, settings, M, N):
        return 0

    def start(self, problem, N, rng) -> State:
        particles = problem.initial(self.initial, self.initial_bound, N, rng)
        moments = {"first": zeros_like(particles), "second": zeros_like(particles)}
        return self.restored({"particles": particles, **moments})

    def look(self, state, problem, batch, clock) -> View:
        """The risk and its gradient d^k, Eq. (eq:stochastic_gradient)."""
        particles = state["particles"]
        risks = problem.risks_and_gradients(particles, batch, state["gradient"])
        if not np.isfinite(risks).all():
            raise Diverged
        return View(risks, particles, particles)

    def move(self, state, view, clock, noise) -> State:
        """theta = theta - dt s^ / (sqrt(r^) + delta)."""
        groups = (state[group] for group in ("particles", "first", "second", "gradient"))
        adam_step(*groups, adam_rates(self.dt, self.beta1, self.beta2, self.delta, clock.iteration))
        return state

    def variance(self, state, view) -> float:
        return 0.0

    def parameters(self, clock) -> dict[str, float]:
        return {}
