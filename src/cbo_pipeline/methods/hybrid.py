"""The hybrid of Adam and CBO, Section 3.4.1 of the paper."""

from dataclasses import dataclass
from typing import ClassVar, final

from cbo_pipeline.methods._weighted import ConsensusMethod
from cbo_pipeline.methods.base import State, View, spread
from cbo_pipeline.numerics.network import zeros_like
from cbo_pipeline.numerics.steps import adam_rates, hybrid_step


@final
@dataclass(frozen=True, kw_only=True)
class Hybrid(ConsensusMethod):
    """Every particle takes gamma of Adam's step, with moments of its own, and 1 - gamma of CBO's.

    The same minibatch gives the gradients and the consensus point.
    """

    gamma: float
    beta1: float = 0.9
    beta2: float = 0.999
    delta: float = 1e-8

    needs_gradients: ClassVar[bool] = True
    # Particles, two moments, gradient; all but the last twice more where a run continues from a checkpoint.
    copies: ClassVar[int] = 10
    scratch: ClassVar[tuple[str, ...]] = ("gradient",)

    @classmethod
    def check(cls, settings, M, N):
        return None

    @classmethod
    def scratch_bytes(cls, settings, M, N):
        return 0

    def start(self, problem, N, rng) -> State:
        particles = problem.initial(self.initial, self.initial_bound, N, rng)
        moments = {"first": zeros_like(particles), "second": zeros_like(particles)}
        return self.restored({"particles": particles, **moments})

    def look(self, state, problem, batch, clock) -> View:
        """The consensus point, Eq. (cbo:consensus_point), and the gradient d_n of every particle."""
        risks = problem.risks_and_gradients(state["particles"], batch, state["gradient"])
        return self.consensus(state["particles"], risks, clock)

    def move(self, state, view, clock, noise) -> State:
        """theta = theta - gamma dt s^ / (sqrt(r^) + delta) + (1 - gamma) * (CBO's step, Eq. (cbo:sde))."""
        groups = (state[group] for group in ("particles", "first", "second", "gradient"))
        rates = adam_rates(self.dt, self.beta1, self.beta2, self.delta, clock.iteration)
        cbo = (self.drift, self.diffusion, self.step_form)
        hybrid_step(*groups, view.consensus, noise, *cbo, self.gamma, rates)
        return state

    def variance(self, state, view) -> float:
        return spread(state["particles"], view.consensus)
