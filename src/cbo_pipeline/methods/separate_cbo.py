"""What Multi-Task CBO saves: one CBO ensemble of N particles for each of the P tasks, nothing shared."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from cbo_pipeline.methods._tasks import in_blocks, spread_about
from cbo_pipeline.methods._weighted import ConsensusMethod
from cbo_pipeline.methods.base import State, View
from cbo_pipeline.numerics import network
from cbo_pipeline.numerics.network import Networks, select
from cbo_pipeline.numerics.steps import cbo_step


@final
@dataclass(frozen=True)
class SeparateCBO(ConsensusMethod):
    """P independent runs of CBO, Eq. (cbo:sde), side by side: P * N networks, those of the first task first."""

    many_tasks: ClassVar[bool] = True

    @classmethod
    def check(cls, settings, M, N):
        return None

    @classmethod
    def scratch_bytes(cls, settings, M, N):
        """The ensembles beyond the first: drawn in float64, kept in the run's precision."""
        return 12 * 3 * M * N * (settings.get("tasks", 1) - 1)

    def start(self, problem, N, rng) -> State:
        return {"particles": problem.initial(self.initial, self.initial_bound, N * problem.tasks, rng)}

    def look(self, state, problem, batch, clock) -> View:
        """Eq. (cbo:consensus_point) for every ensemble, with the risks of its own task only."""
        particles, P = state["particles"], problem.tasks
        N = network.size(particles) // P
        views = []
        for task in range(P):
            ensemble = select(particles, slice(task * N, (task + 1) * N))
            risks = problem.risks(ensemble, problem.batch_of_task(batch, task))
            views.append(self.consensus(ensemble, risks.reshape(N), clock))
        return View(
            np.stack([view.risks for view in views], axis=1),
            _joined([view.consensus for view in views]),
            _joined([view.reported for view in views]),
        )

    def move(self, state, view, clock, noise) -> State:
        task = _tasks(state, view)
        cbo_step(state["particles"], view.consensus, noise, self.drift, self.diffusion, self.step_form, task)
        return state

    def variance(self, state, view) -> float:
        return spread_about(state["particles"], view.consensus, _tasks(state, view))


def _tasks(state: State, view: View) -> np.ndarray:
    return in_blocks(network.size(state["particles"]), network.size(view.consensus))


def _joined(parts: list[Networks]) -> Networks:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
