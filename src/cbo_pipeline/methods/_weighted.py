"""What methods that weigh particles by their risks share: settings, schedules and the look at one ensemble."""

from abc import abstractmethod
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, final

import numpy as np

from cbo_pipeline.methods.base import Clock, Method, State, View, best_particles, spread
from cbo_pipeline.numerics.consensus import SUM, consensus_point
from cbo_pipeline.numerics.schedules import growing
from cbo_pipeline.numerics.steps import SEPARATE_TERMS


@dataclass(frozen=True)
class WeightedMethod(Method):
    """Particles with Gibbs weights exp(-alpha R), which drift with lambda and explore with sigma.

    alpha is multiplied by ``alpha_factor`` every ``alpha_every`` epochs or iterations (``alpha_unit``) until it
    reaches ``alpha_max``.
    """

    dt: float
    alpha: float
    lambda_: float
    sigma_squared: float
    initial: str
    initial_bound: float
    alpha_factor: float = 1.0
    alpha_every: int = 1
    alpha_max: float = float("inf")
    alpha_unit: str = "epochs"
    reported: str = "consensus"

    @final
    def alpha_at(self, clock: Clock) -> float:
        count = clock.iteration if self.alpha_unit == "iterations" else clock.epoch
        return growing(self.alpha, self.alpha_factor, self.alpha_every, self.alpha_max, count)


@dataclass(frozen=True)
class ConsensusMethod(WeightedMethod):
    """CBO and its relatives: the consensus point is a weighted mean, the noise grows with the distance from it.

    ``step_form`` and ``mean_form`` say in which order step and mean are computed, which matters in single precision
    (``numerics.steps`` and ``numerics.consensus``).
    """

    step_form: str = SEPARATE_TERMS
    mean_form: str = SUM

    anisotropic_noise: ClassVar[bool] = True

    @property
    def drift(self) -> float:
        return self.lambda_ * self.dt

    @property
    def diffusion(self) -> float:
        return sqrt(self.sigma_squared) * sqrt(self.dt)

    @final
    def consensus(self, particles, risks: np.ndarray, clock: Clock, weighed: np.ndarray | None = None) -> View:
        """The view of particles whose risks are known; ``weighed`` are other risks for the weights, if given."""
        by = risks if weighed is None else weighed
        V = consensus_point(by, self.alpha_at(clock), particles, self.mean_form)
        return View(risks, V, V if self.reported == "consensus" else best_particles(particles, by))

    @final
    def parameters(self, clock) -> dict[str, float]:
        return {"alpha": self.alpha_at(clock), "sigma": sqrt(self.sigma_squared)}


@dataclass(frozen=True)
class OneEnsemble(ConsensusMethod):
    """One ensemble and one task; how the particles ``move`` is left to the method."""

    @classmethod
    @final
    def check(cls, settings, M, N):
        return None

    @classmethod
    @final
    def scratch_bytes(cls, settings, M, N):
        return 0

    @final
    def start(self, problem, N, rng) -> State:
        return {"particles": problem.initial(self.initial, self.initial_bound, N, rng)}

    @final
    def look(self, state, problem, batch, clock) -> View:
        """Eq. (cbo:consensus_point): V = sum_n beta_n theta_n."""
        return self.consensus(state["particles"], risks_in(self, state, problem, batch, clock), clock)

    @abstractmethod
    def move(self, state, view, clock, noise) -> State:
        """One step of every particle."""

    @final
    def variance(self, state, view) -> float:
        return spread(state["particles"], view.consensus)


def risks_in(method: WeightedMethod, state: State, problem, batch, clock: Clock) -> np.ndarray:
    """The risks of all particles; where not all are needed, infinity for those that cannot have any weight."""
    alpha = {} if clock.all_risks else {"alpha": method.alpha_at(clock)}
    return problem.risks(state["particles"], batch, **alpha)
