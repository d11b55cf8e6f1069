"""What every method offers to the training loop.

An iteration has two halves. ``look`` evaluates the ensemble on a batch and finds the consensus, ``move`` takes
the step; between them the loop may record. Methods know problems only through their interface, hold no
state of their own, and draw noise only from the ``noise`` they are given.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from cbo_pipeline.numerics.network import Networks, select, squared_distances, zeros_like
from cbo_pipeline.problems.base import Problem

State = dict[str, Networks]  # "particles", and what else a method carries from step to step


class Clock(NamedTuple):
    """Where training stands; epochs and iterations count from 0.

    Where ``all_risks`` is false the loop does not need the risk of every particle, and a method may ask the problem
    to leave out those that cannot have any weight.
    """

    epoch: int
    iteration: int
    all_risks: bool = True


class View(NamedTuple):
    """What ``look`` saw: risks of the particles, the consensus points, the network(s) to report.

    ``extra`` holds numbers that are recorded under their names, ``carried`` what only ``move`` needs.
    """

    risks: np.ndarray  # (N,), or (N, P) for P tasks
    consensus: Networks  # P networks
    reported: Networks  # P networks
    extra: Mapping[str, float] = MappingProxyType({})
    carried: Any = None


@dataclass(frozen=True)
class Method(ABC):
    """An optimiser; the fields of a subclass are its settings.

    A subclass is abstract or final, and overrides nothing that is written out in another class: what methods share
    are functions (``numerics.consensus``, ``numerics.steps``) and the small abstract classes of ``_weighted``.
    """

    many_tasks: ClassVar[bool] = False  # whether it solves several tasks at once
    needs_gradients: ClassVar[bool] = False  # then the problem must have them
    anisotropic_noise: ClassVar[bool] = False  # then consensus needs 2 lambda > sigma^2
    copies: ClassVar[int] = 3  # the memory of a step, in ensembles: the particles, those averaged, the step
    scratch: ClassVar[tuple[str, ...]] = ()  # groups of the state, shaped like the particles, that carry nothing over

    @classmethod
    @abstractmethod
    def check(cls, settings: dict[str, Any], M: int, N: int) -> tuple[str, str] | None:
        """A complaint (key, words) about settings that do not fit together, or nothing."""

    @classmethod
    @abstractmethod
    def scratch_bytes(cls, settings: dict[str, Any], M: int, N: int) -> int:
        """Memory that a step needs beside the copies of the ensemble; an estimate, for ``memory``."""

    @abstractmethod
    def start(self, problem: Problem, N: int, rng: np.random.Generator) -> State:
        """The initial ensemble, and what else a checkpoint must keep."""

    @abstractmethod
    def look(self, state: State, problem: Problem, batch: Any, clock: Clock) -> View:
        """Evaluate the ensemble on a batch."""

    @abstractmethod
    def move(self, state: State, view: View, clock: Clock, noise) -> State:
        """One step of the method. The arrays of ``state`` are updated in place, and returned."""

    @abstractmethod
    def variance(self, state: State, view: View) -> float:
        """Spread of the ensemble about the consensus point: (1/2) mean_n |theta_n - V|^2."""

    @abstractmethod
    def parameters(self, clock: Clock) -> dict[str, float]:
        """The scheduled parameters in force (alpha, sigma), recorded each epoch."""

    @final
    def arrays(self, state: State) -> State:
        """Everything that a checkpoint must keep of the state, as arrays by name and layer."""
        return {group: x for group, x in state.items() if group not in self.scratch}

    @final
    def restored(self, arrays: State) -> State:
        """The inverse of ``arrays``: a state from which a run can continue."""
        return {**arrays, **{group: zeros_like(arrays["particles"]) for group in self.scratch}}


def best_particles(particles: Networks, risks: np.ndarray) -> Networks:
    """A copy of the particle of smallest finite risk, for each task."""
    rows = np.atleast_1d(np.argmin(np.where(np.isfinite(risks), risks, np.inf), axis=0))
    return select(particles, rows)


def spread(particles: Networks, points: Networks) -> float:
    """(1/2) mean_n |theta_n - v_n|^2; ``points`` has one row for all particles, or one for each."""
    return 0.5 * float(np.mean(squared_distances(particles, points)))
