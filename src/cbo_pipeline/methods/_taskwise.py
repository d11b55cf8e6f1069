"""CBO for several tasks: a consensus point for every task, and a task for every particle to move to."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cbo_pipeline.methods.cbo import CBO
from cbo_pipeline.numerics.network import select, size, squared_distances


@dataclass(frozen=True)
class TaskwiseCBO(CBO):
    """What the methods with P consensus points share: each particle moves to that of its own task."""

    many_tasks: ClassVar[bool] = True

    def assigned(self, N: int, P: int) -> np.ndarray:
        """The task of every particle, (N,), both from 0: the first N / P to the first task, and so on."""
        return np.arange(N) * P // N

    def goal(self, V, rows, N):
        """Eq. (eq:multi_task_cbo): particle n moves to the consensus point of its task p."""
        return V[self.assigned(N, len(V))[rows]]

    def variance(self, state, view) -> float:
        """Spread about the consensus points: (1/2) mean_n |theta_n - V(T_p)|^2, p the task of particle n."""
        particles, V = state["particles"], view.consensus
        own = select(V, self.assigned(size(particles), size(V)))
        return 0.5 * float(np.mean(squared_distances(particles, own)))
