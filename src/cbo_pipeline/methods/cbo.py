"""Consensus-based optimisation, Section 3.3 of the paper."""

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

from cbo_pipeline.methods.base import Clock, Method, State, View, best_particles
from cbo_pipeline.numerics.consensus import gibbs_weights, weighted_mean
from cbo_pipeline.numerics.network import in_numpy
from cbo_pipeline.numerics.schedules import growing


@dataclass(frozen=True)
class CBO(Method):
    """Particles drift to the consensus point and explore in proportion to their distance from it.

    alpha is multiplied by ``alpha_factor`` every ``alpha_every`` epochs until it reaches ``alpha_max``.
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
    reported: str = "consensus"

    anisotropic_noise: ClassVar[bool] = True

    def start(self, problem, N, rng) -> State:
        return {"particles": problem.initial(self.initial, self.initial_bound, N, rng)}

    def look(self, state, problem, batch, clock) -> View:
        """Eq. (cbo:consensus_point): V = sum_n beta_n theta_n."""
        particles = state["particles"]
        risks = problem.risks(particles, batch)
        return self.consensus(particles, risks, clock)

    def consensus(self, particles, risks, clock) -> View:
        """The view of particles whose risks are known."""
        weights = gibbs_weights(risks, self.alpha_at(clock))
        V = weighted_mean(weights, particles)
        return View(risks, V, V if self.reported == "consensus" else best_particles(particles, risks))

    def move(self, state, view, clock, noise) -> State:
        """Eq. (cbo:sde): theta += -lambda dt (theta - V) + sigma sqrt(dt) (theta - V) * xi."""
        for layer, (name, theta) in enumerate(state["particles"].items()):
            theta, V = in_numpy(theta), in_numpy(view.consensus[name])
            for rows, xi in noise.blocks(theta, layer):
                theta[rows] += self.step(theta[rows] - self.goal(V, rows, len(theta)), xi)
        return state

    def goal(self, V, rows: slice, N: int):
        """The consensus point that the particles in these rows, of N, move to: one for all."""
        return V

    def step(self, away, xi):
        """(-lambda dt + sigma sqrt(dt) xi) * away, computed in place of xi."""
        xi *= sqrt(self.sigma_squared * self.dt)
        xi -= self.lambda_ * self.dt
        xi *= away
        return xi

    def alpha_at(self, clock: Clock) -> float:
        return growing(self.alpha, self.alpha_factor, self.alpha_every, self.alpha_max, clock.epoch)

    def parameters(self, clock) -> dict[str, float]:
        return {"alpha": self.alpha_at(clock), "sigma": sqrt(self.sigma_squared)}
