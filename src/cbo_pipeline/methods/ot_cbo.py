"""Optimal-transport CBO, Section 5 of the paper: networks are measures, their barycentre is the consensus."""

import warnings
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np

from cbo_pipeline.errors import ConfigError
from cbo_pipeline.methods._taskwise import TaskwiseCBO
from cbo_pipeline.methods.base import Clock, State, View, best_particles
from cbo_pipeline.numerics import transport
from cbo_pipeline.numerics.consensus import gibbs_weights
from cbo_pipeline.numerics.network import Networks
from cbo_pipeline.numerics.schedules import falling


@dataclass(frozen=True)
class OTCBO(TaskwiseCBO):
    """Particles move along optimal transport maps to the weighted barycentre of all of them.

    The noise is additive, so sigma falls by a schedule: times ``sigma_factor`` every ``sigma_every`` iterations or
    epochs (``sigma_unit``). From epoch ``quiet_from`` on the scheme is noise-free, as in Eq. (sec4:ot_dynamics),
    with the Gibbs weights or with equal ones (``quiet_weights``): the setting of Proposition 3.
    """

    sigma_factor: float = 1.0
    sigma_every: int = 1
    sigma_unit: str = "iterations"
    barycentre_rounds: int = 100
    weight_cut: float = 1e-10
    quiet_from: int | None = None
    quiet_weights: str = "gibbs"

    many_tasks: ClassVar[bool] = False
    anisotropic_noise: ClassVar[bool] = False

    @classmethod
    def scratch_bytes(cls, settings, M, N):
        """The atoms in double precision, as they are matched and averaged, and a block of costs."""
        return 8 * (6 * 3 * N * M + 2 * max(transport.BLOCK, M * M))

    def start(self, problem, N, rng) -> State:
        if problem.outer_bias:
            raise ConfigError("ot_cbo: a network with an outer bias is no measure of its neurons")
        return {**super().start(problem, N, rng), "count": {"unsettled": np.zeros((), np.int64)}}

    def look(self, state, problem, batch, clock) -> View:
        """Eq. (eq:barycenter) for every task, and the optimal maps T_n of Eq. (sec4:ot_dynamics) to it."""
        particles = state["particles"]
        risks = problem.risks(particles, batch)
        weights = self.weights(risks, clock)
        x = atoms(particles)
        found = [transport.barycentre(x, beta, self.barycentre_rounds, self.weight_cut) for beta in weights]
        # In the precision of the particles, so that what is reported is what they move to.
        supports = np.stack([each.support for each in found]).astype(x.dtype)
        task = self.assigned(len(x), len(supports))
        to, squared = np.empty(x.shape[:2], np.int64), np.empty(len(x))
        for p, support in enumerate(supports):
            to[task == p], squared[task == p] = transport.match(x[task == p], support)
        unsettled = sum(not each.settled for each in found)
        if unsettled:
            # Python shows the same warning once: one line in the log, not one an iteration.
            warnings.warn(
                f"the barycentre was still moving after barycentre_rounds = {self.barycentre_rounds} rounds; the"
                " record `unsettled` counts how often",
                stacklevel=2,
            )
        consensus = networks(supports, particles)
        return View(
            risks,
            consensus,
            consensus if self.reported == "consensus" else best_particles(particles, risks),
            {"rounds": max(each.rounds for each in found), "unsettled": int(state["count"]["unsettled"]) + unsettled},
            transport.Matching(to, squared),
        )

    def move(self, state, view, clock, noise) -> State:
        """Eqs. (eq:OT_discrete_w) to (eq:OT_discrete_c).

        theta_i += -lambda dt (theta_i - y_pi(i)) + sigma sqrt(dt) xi for every atom i of every particle.
        """
        sigma = self.sigma_at(clock)
        for layer, (name, theta) in enumerate(state["particles"].items()):
            y = view.consensus[name]
            task = self.assigned(len(theta), len(y))[:, None]
            for rows, xi in noise.blocks(theta, layer):
                xi *= sigma * sqrt(self.dt)
                xi -= self.lambda_ * self.dt * (theta[rows] - y[task[rows], view.carried.to[rows]])
                theta[rows] += xi
        state["count"]["unsettled"][...] = view.extra["unsettled"]
        return state

    def variance(self, state, view) -> float:
        """V of Proposition 3, by the maps that are there already."""
        return transport.ensemble_variance(view.carried.squared)

    def weights(self, risks: np.ndarray, clock: Clock) -> np.ndarray:
        """The weights (P, N) of the barycentres: Gibbs weights, Eq. (eq:barycenter), or equal ones."""
        alpha = 0.0 if self.quiet(clock) and self.quiet_weights == "equal" else self.alpha_at(clock)
        return gibbs_weights(risks, alpha)

    def quiet(self, clock: Clock) -> bool:
        """Whether the noise-free part of the run has begun."""
        return self.quiet_from is not None and clock.epoch >= self.quiet_from

    def sigma_at(self, clock: Clock) -> float:
        if self.quiet(clock):
            return 0.0
        count = clock.iteration if self.sigma_unit == "iterations" else clock.epoch
        return falling(sqrt(self.sigma_squared), self.sigma_factor, self.sigma_every, count)

    def parameters(self, clock) -> dict[str, float]:
        return {"alpha": self.alpha_at(clock), "sigma": self.sigma_at(clock)}


def atoms(particles: Networks) -> np.ndarray:
    """The atoms (w, b, c) of every network, Eq. (eq:empirical_measures_experiment): (N, M, d + 1 + O)."""
    return np.concatenate([particles["w"], particles["b"][:, :, None], particles["c"]], axis=2)


def networks(points: np.ndarray, like: Networks) -> Networks:
    """The inverse of ``atoms``, with the features and outputs of the networks ``like``."""
    d = like["w"].shape[2]
    parts = {"w": points[:, :, :d], "b": points[:, :, d], "c": points[:, :, d + 1 :]}
    return {name: np.ascontiguousarray(parts[name]) for name in like}
