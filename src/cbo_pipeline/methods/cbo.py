"""Consensus-based optimisation, Section 3.3 of the paper."""

from dataclasses import dataclass
from typing import final

from cbo_pipeline.methods._weighted import OneEnsemble
from cbo_pipeline.methods.base import State
from cbo_pipeline.numerics.steps import cbo_step


@final
@dataclass(frozen=True)
class CBO(OneEnsemble):
    """Particles drift to the consensus point and explore in proportion to their distance from it."""

    def move(self, state, view, clock, noise) -> State:
        """Eq. (cbo:sde): theta = theta - lambda dt (theta - V) + sigma sqrt(dt) (theta - V) * xi."""
        cbo_step(state["particles"], view.consensus, noise, self.drift, self.diffusion, self.step_form)
        return state
