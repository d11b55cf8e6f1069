"""The smallest network, for figure 1: one neuron, whose two parameters are a point of the plane."""

from dataclasses import dataclass

import numpy as np

from cbo_pipeline.numerics.network import Networks
from cbo_pipeline.problems.base import Problem

# Kink t and slope c of the networks that the tasks are made of.
MINIMISERS = np.array([[-0.45, 0.62], [0.12, 0.30], [0.52, 0.74]])


@dataclass
class OneNeuron(Problem):
    """Find the kink t = -b and the slope c of g(x) = c relu(x - t) from its values on [-1, 1], for P of three tasks.

    The inner weight is one and stays so: a particle is the point (b, c) of the plane.
    """

    points: int = 81
    tasks: int = 1

    @classmethod
    def check(cls, settings, M, N):
        if M != 1:
            return "M", f"one_neuron has one neuron: M must be 1, not {M}"
        tasks = settings.get("tasks", 1)
        most = len(MINIMISERS)
        return ("tasks", f"one_neuron has {most} tasks at most, not {tasks}") if tasks > most else None

    def load(self, streams) -> None:
        self.x = np.linspace(-1.0, 1.0, self.points)

    def batch(self, indices: np.ndarray) -> np.ndarray:
        return self.x[indices]

    def everything(self) -> np.ndarray:
        return self.x

    def predictions(self, networks: Networks, x: np.ndarray) -> np.ndarray:
        return networks["c"] * np.maximum(x + networks["b"], 0.0)[:, :, None]

    def risks(self, networks: Networks, batch: np.ndarray, alpha: float | None = None) -> np.ndarray:
        """The mean squared error, (N,) for one task and (N, P) for P."""
        values = self.predictions(networks, batch)[:, None, :, 0]
        kinks, slopes = MINIMISERS[: self.tasks].T
        wanted = slopes[:, None] * np.maximum(batch - kinks[:, None], 0.0)
        risks = np.mean((values - wanted) ** 2, axis=-1)
        return risks[:, 0] if self.tasks == 1 else risks

    def initial(self, law, bound, N, rng) -> Networks:
        return {
            name: rng.uniform(-bound, bound, shape).astype(self.precision)
            for name, shape in (("b", (N, 1)), ("c", (N, 1, 1)))
        }
