"""Multi-Task CBO, Section 3.4.2 of the paper: one ensemble, a consensus point for every task."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from cbo_pipeline.methods._tasks import enough_particles, in_blocks, in_turn, spread_about
from cbo_pipeline.methods._weighted import ConsensusMethod, risks_in
from cbo_pipeline.methods.base import State, View
from cbo_pipeline.numerics import network
from cbo_pipeline.numerics.steps import cbo_step


@final
@dataclass(frozen=True)
class MultiTaskCBO(ConsensusMethod):
    """Every task finds its consensus point among the same particles; every particle moves to one task's.

    ``assignment`` says to which: ``blocks``, the first N / P particles to the first task and so on, or ``cyclic``,
    one after the other. ``consensus_over`` says which particles a task weighs: ``all``, or those ``assigned`` to it.
    """

    assignment: str = "blocks"
    consensus_over: str = "all"

    many_tasks: ClassVar[bool] = True

    @classmethod
    def check(cls, settings, M, N):
        return enough_particles(settings, N)

    @classmethod
    def scratch_bytes(cls, settings, M, N):
        """The risks of all particles for all tasks, the weights, and what lies between them."""
        return 4 * 8 * N * settings.get("tasks", 1)

    def assigned(self, N: int, P: int) -> np.ndarray:
        """The task of every particle, (N,), both from 0."""
        return in_blocks(N, P) if self.assignment == "blocks" else in_turn(N, P)

    def start(self, problem, N, rng) -> State:
        return {"particles": problem.initial(self.initial, self.initial_bound, N, rng)}

    def look(self, state, problem, batch, clock) -> View:
        """V(T_p) of Section 3.4.2 for all tasks p."""
        risks = risks_in(self, state, problem, batch, clock)
        if self.consensus_over == "all" or risks.ndim == 1:
            return self.consensus(state["particles"], risks, clock)
        own = self.assigned(*risks.shape)[:, None] == np.arange(risks.shape[1])
        return self.consensus(state["particles"], risks, clock, weighed=np.where(own, risks, np.inf))

    def move(self, state, view, clock, noise) -> State:
        """Eq. (eq:multi_task_cbo): particle n moves to the consensus point of its task p."""
        task = self._tasks(state, view)
        cbo_step(state["particles"], view.consensus, noise, self.drift, self.diffusion, self.step_form, task)
        return state

    def variance(self, state, view) -> float:
        return spread_about(state["particles"], view.consensus, self._tasks(state, view))

    def _tasks(self, state: State, view: View) -> np.ndarray:
        return self.assigned(network.size(state["particles"]), network.size(view.consensus))
