"""Regression of P functions of one variable on shared points: a task is a row of targets."""

import functools
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from cbo_pipeline.numerics.network import Networks
from cbo_pipeline.problems._regression import Regression, flat
from cbo_pipeline.problems.base import Problem


class TaskBatch(NamedTuple):
    """Points in ascending order (``piecewise.SortedPoints``) and the targets there (``task_risks.TaskBasis``)."""

    points: Any
    targets: Any


@dataclass
class ManyTasks(Regression):
    """y_{s,p} = f_p(x_s) + label_noise * xi_{s,p}: P data sets on the same S points, squared loss for each.

    A subclass gives the functions: its ``target`` returns P rows.
    """

    tasks: int = field(kw_only=True)

    @classmethod
    def scratch_bytes(cls, settings, M, N):
        """The targets of all tasks on the whole data set, and the decomposition of them."""
        return super().scratch_bytes(settings, M, N) + 4 * 8 * settings["points"] * settings["tasks"]

    @functools.cached_property
    def _targets(self):
        """The targets of all tasks on the whole data set (``task_risks.TaskBasis``)."""
        from cbo_pipeline.numerics.kernels.task_risks import task_basis

        return task_basis(self.y)

    def batch(self, indices: np.ndarray) -> TaskBatch:
        from cbo_pipeline.numerics.kernels.piecewise import sorted_points

        indices = np.sort(indices)
        targets = self._targets.at(indices)
        return TaskBatch(sorted_points(self.x[indices], targets.reference), targets)

    def batch_of_task(self, batch: TaskBatch, task: int) -> TaskBatch:
        return TaskBatch(batch.points, batch.targets.of(task))

    def risks(self, networks: Networks, batch: TaskBatch, alpha: float | None = None) -> np.ndarray:
        """All N x P risks; network n is evaluated once, not once per task."""
        from cbo_pipeline.numerics.kernels.task_risks import squared_task_risks

        return squared_task_risks(*flat(networks), self.scale, *batch)

    risks_and_gradients = Problem.risks_and_gradients  # none: every task has a gradient of its own
