"""Optimal-transport CBO, Section 5 of the paper: networks are measures, their barycentre is the consensus."""

import importlib.util
import warnings
from dataclasses import dataclass
from math import sqrt
from typing import final

import numpy as np

from cbo_pipeline.methods._tasks import in_blocks
from cbo_pipeline.methods._weighted import WeightedMethod, risks_in
from cbo_pipeline.methods.base import Clock, State, View, best_particles
from cbo_pipeline.numerics import transport
from cbo_pipeline.numerics.consensus import gibbs_weights
from cbo_pipeline.numerics.network import atoms, of_atoms, size
from cbo_pipeline.numerics.schedules import falling
from cbo_pipeline.numerics.steps import transport_step


def complaint(settings) -> tuple[str, str] | None:
    """What no method with barycentres can take, for their ``check``."""
    if settings.get("outer_bias"):
        return "outer_bias", "a network with an outer bias is not a measure of its neurons; set it to false"
    if settings.get("solver") == "lapx" and importlib.util.find_spec("lap") is None:
        return "solver", "lapx is not installed; set it to auto"
    return None


@dataclass(frozen=True)
class BarycentreMethod(WeightedMethod):
    """Particles move along optimal transport maps to the weighted barycentre of all of them, one for every task.

    The noise is additive, so sigma falls by a schedule: times ``sigma_factor`` every ``sigma_every`` iterations or
    epochs (``sigma_unit``). From epoch ``quiet_from`` on the scheme is noise-free, as in Eq. (sec4:ot_dynamics), with
    the Gibbs weights or with equal ones (``quiet_weights``): the setting of Proposition 3. The ``solver`` of the
    assignments changes no number. With several ``barycentre_starts`` the record ``better_starts`` counts the
    barycentres so far for which a start other than the particle of largest weight was better.
    """

    sigma_factor: float = 1.0
    sigma_every: int = 1
    sigma_unit: str = "iterations"
    barycentre_rounds: int = 100
    barycentre_starts: int = 1
    solver: str = "auto"
    weight_cut: float = 1e-10
    quiet_from: int | None = None
    quiet_weights: str = "gibbs"

    @classmethod
    @final
    def scratch_bytes(cls, settings, M, N):
        """The atoms in double precision, as they are matched and averaged, and a block of costs."""
        return 8 * (6 * 3 * N * M + 2 * max(transport.BLOCK, M * M))

    @final
    def start(self, problem, N, rng) -> State:
        particles = problem.initial(self.initial, self.initial_bound, N, rng)
        counted = ("unsettled", "better_starts") if self.barycentre_starts > 1 else ("unsettled",)
        return {"particles": particles, "count": {name: np.zeros((), np.int64) for name in counted}}

    @final
    def look(self, state, problem, batch, clock) -> View:
        """Eq. (eq:barycenter) for every task, and the optimal maps T_n of Eq. (sec4:ot_dynamics) to it."""
        particles = state["particles"]
        risks = risks_in(self, state, problem, batch, clock)
        weights = self.weights(risks, clock)
        x = atoms(particles)
        limits = {"rounds": self.barycentre_rounds, "weight_cut": self.weight_cut, "starts": self.barycentre_starts}
        found = [transport.barycentre(x, beta, **limits, solver=self.solver) for beta in weights]
        # In the precision of the particles, so that what is reported is what they move to.
        supports = np.stack([each.support for each in found]).astype(x.dtype)
        task = in_blocks(len(x), len(supports))
        to, squared = np.empty(x.shape[:2], np.int64), np.empty(len(x))
        for p, support in enumerate(supports):
            to[task == p], squared[task == p] = transport.match(x[task == p], support, self.solver)
        unsettled = sum(not each.settled for each in found)
        if unsettled:
            # Python shows the same warning once: one line in the log, not one per iteration.
            warnings.warn(
                f"the barycentre was still moving after barycentre_rounds = {self.barycentre_rounds} rounds; the"
                " record `unsettled` counts how often",
                stacklevel=2,
            )
        counts = {"unsettled": unsettled, "better_starts": sum(each.start > 0 for each in found)}
        consensus = of_atoms(supports, particles)
        return View(
            risks,
            consensus,
            consensus if self.reported == "consensus" else best_particles(particles, risks),
            {
                "rounds": max(each.rounds for each in found),
                **{name: int(before) + counts[name] for name, before in state["count"].items()},
            },
            transport.Matching(to, squared),
        )

    @final
    def move(self, state, view, clock, noise) -> State:
        """Eqs. (eq:OT_discrete_w) to (eq:OT_discrete_c), for every atom of every particle."""
        particles, y, matching = state["particles"], view.consensus, view.carried
        task = in_blocks(size(particles), size(y))
        diffusion = self.sigma_at(clock) * sqrt(self.dt)
        transport_step(particles, y, task, matching.to, noise, self.lambda_ * self.dt, diffusion)
        for name, count in state["count"].items():
            count[...] = view.extra[name]
        return state

    @final
    def variance(self, state, view) -> float:
        """V of Proposition 3, by the maps that are there already."""
        return transport.ensemble_variance(view.carried.squared)

    @final
    def weights(self, risks: np.ndarray, clock: Clock) -> np.ndarray:
        """The weights (P, N) of the barycentres: Gibbs weights, Eq. (eq:barycenter), or equal ones."""
        alpha = 0.0 if self.quiet(clock) and self.quiet_weights == "equal" else self.alpha_at(clock)
        return gibbs_weights(risks, alpha)

    @final
    def quiet(self, clock: Clock) -> bool:
        """Whether the noise-free part of the run has begun."""
        return self.quiet_from is not None and clock.epoch >= self.quiet_from

    @final
    def sigma_at(self, clock: Clock) -> float:
        if self.quiet(clock):
            return 0.0
        count = clock.iteration if self.sigma_unit == "iterations" else clock.epoch
        return falling(sqrt(self.sigma_squared), self.sigma_factor, self.sigma_every, count)

    @final
    def parameters(self, clock) -> dict[str, float]:
        return {"alpha": self.alpha_at(clock), "sigma": self.sigma_at(clock)}
