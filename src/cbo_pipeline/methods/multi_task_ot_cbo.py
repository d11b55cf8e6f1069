"""Optimal-transport CBO for several tasks: the multi-task equation of Section 5.1, which the paper does not run."""

from dataclasses import dataclass
from typing import ClassVar, final

from cbo_pipeline.methods._barycentre import BarycentreMethod, complaint
from cbo_pipeline.methods._tasks import enough_particles


@final
@dataclass(frozen=True)
class MultiTaskOTCBO(BarycentreMethod):
    """A barycentre for every task, weighed over all particles with that task's risk; every particle moves to one.

    As in Multi-Task CBO the first N / P particles move to the barycentre of the first task, and so on. With one
    task this is optimal-transport CBO.
    """

    many_tasks: ClassVar[bool] = True

    @classmethod
    def check(cls, settings, M, N):
        return enough_particles(settings, N) or complaint(settings)
