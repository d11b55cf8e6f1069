"""Multi-Task CBO, Section 3.3.2 of the paper: one ensemble, a consensus point for every task."""

from dataclasses import dataclass

import numpy as np

from cbo_pipeline.methods._taskwise import TaskwiseCBO
from cbo_pipeline.methods.base import View


@dataclass(frozen=True)
class MultiTaskCBO(TaskwiseCBO):
    """Every task finds its consensus point among the same particles; every particle moves to one task's.

    ``assignment`` says to which: ``blocks``, the first N / P particles to the first task and so on, or ``cyclic``,
    one after the other. ``consensus_over`` says which particles a task weighs: ``all``, or those ``assigned`` to it.
    """

    assignment: str = "blocks"
    consensus_over: str = "all"

    @classmethod
    def check(cls, settings, M, N):
        tasks = settings.get("tasks", 1)
        return ("N", f"{N} particles for {tasks} tasks: every task needs at least one") if tasks > N else None

    @classmethod
    def scratch_bytes(cls, settings, M, N):
        """The risks of all particles for all tasks, the weights, and what lies between them."""
        return 4 * 8 * N * settings.get("tasks", 1)

    def assigned(self, N, P):
        """The task of every particle, (N,), both from 0.

        >>> common = {"dt": 0.1, "alpha": 1, "lambda_": 1, "sigma_squared": 1}
        >>> law = {"initial": "uniform", "initial_bound": 1}
        >>> MultiTaskCBO(**common, **law).assigned(8, 3).tolist()
        [0, 0, 0, 1, 1, 1, 2, 2]
        >>> MultiTaskCBO(**common, **law, assignment="cyclic").assigned(8, 3).tolist()
        [0, 1, 2, 0, 1, 2, 0, 1]
        """
        return super().assigned(N, P) if self.assignment == "blocks" else np.arange(N) % P

    def consensus(self, particles, risks, clock) -> View:
        """V(T_p) of Section 3.3.2 for all tasks p: P rows of weights, one product."""
        if self.consensus_over == "all" or risks.ndim == 1:
            return super().consensus(particles, risks, clock)
        own = self.assigned(*risks.shape)[:, None] == np.arange(risks.shape[1])
        return super().consensus(particles, np.where(own, risks, np.inf), clock)._replace(risks=risks)
