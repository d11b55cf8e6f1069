"""What every problem offers to the methods."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cbo_pipeline.numerics import network
from cbo_pipeline.numerics.network import Networks
from cbo_pipeline.numerics.streams import Streams


@dataclass
class Problem(ABC):
    """A data set, a network and a loss. The fields of a subclass are its settings, M comes with the run."""

    M: int
    precision: str = "float32"

    outputs: ClassVar[int] = 1
    features: ClassVar[int] = 1
    outer_bias: ClassVar[bool] = False
    tasks: ClassVar[int] = 1  # P; a setting of a problem that has several

    @abstractmethod
    def load(self, streams: Streams) -> None:
        """Make or read the data set. Called once, before anything else."""

    @classmethod
    def data_size(cls, settings: dict[str, Any]) -> int:
        """The number of training points S, known before the data is there."""
        return settings["points"]

    @classmethod
    def check(cls, settings: dict[str, Any], M: int, N: int) -> tuple[str, str] | None:
        """A complaint (key, words) about settings that do not fit together, or nothing."""
        return None

    @classmethod
    def scratch_bytes(cls, settings: dict[str, Any], M: int, N: int) -> int:
        """Memory that the evaluation of a batch needs; an estimate, for ``memory``.

        By default: some copies of the batch, and of one network's values on it."""
        return 8 * settings["batch_size"] * 4 * (cls.features + cls.outputs)

    @abstractmethod
    def batch(self, indices: np.ndarray) -> Any:
        """The training points of these indices, in the form that ``risks`` takes."""

    def batch_of_task(self, batch: Any, task: int) -> Any:
        """The batch for one task (from 0) by itself: ``risks`` of it are (N,) or (N, 1)."""
        return batch

    @abstractmethod
    def everything(self) -> Any:
        """The whole training set as one batch."""

    @abstractmethod
    def risks(self, networks: Networks, batch: Any, alpha: float | None = None) -> np.ndarray:
        """The empirical risk, Eq. (eq:empirical_risk), of every particle on a batch: (N,) or (N, P), float64.

        Given ``alpha``, a risk may be infinite instead where exp(-alpha R) is zero beside the largest, in float64.
        """

    def risks_and_gradients(self, networks: Networks, batch: Any, out: Networks) -> np.ndarray:
        """Risks as in ``risks``; their gradients are written to ``out``, shaped like ``networks``."""
        raise AttributeError(f"the problem {type(self).__name__} has no gradient")

    def final_measures(self, networks: Networks) -> dict[str, float]:
        """Further numbers recorded each epoch for the reported network, by name (test accuracy)."""
        return {}

    def predictions(self, networks: Networks, x: np.ndarray) -> np.ndarray:
        """What the networks compute, (N, S, O), at the points x (S, d). Figures and predictions ask this alone."""
        raise AttributeError(f"the problem {type(self).__name__} does not say what its networks compute")

    def initial(self, law: str, bound: float, N: int, rng: np.random.Generator) -> Networks:
        """N networks of the initial law ``uniform`` (on [-bound, bound]) or ``pytorch``."""
        shape = network.shapes(self.M, self.features, self.outputs, self.outer_bias)
        if law == "pytorch":
            return network.pytorch_default(shape, N, rng, self.precision)
        return network.uniform(shape, N, bound, rng, self.precision)
