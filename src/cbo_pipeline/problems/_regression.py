"""Regression of a function of one variable with the squared loss: what sine and square share."""

import functools
from dataclasses import dataclass, field

import numpy as np

from cbo_pipeline.numerics.network import Networks, evaluate
from cbo_pipeline.numerics.streams import Streams
from cbo_pipeline.problems.base import Problem


@dataclass
class Regression(Problem):
    """y_s = f(x_s) + label_noise * xi_s on S points, x_s uniform on [0, 1]; squared loss, Eq. (eq:MSE)."""

    points: int = field(kw_only=True)
    label_noise: float = field(kw_only=True)
    scaling: str = "mean_field"
    outer_bias: bool = False

    @staticmethod
    def target(x: np.ndarray) -> np.ndarray:
        """The function f to be approximated."""
        raise NotImplementedError

    def load(self, streams: Streams) -> None:
        self.draw(streams.data())

    def draw(self, rng: np.random.Generator) -> None:
        """Draw the data set. The points are kept in ascending order, which the evaluation needs."""
        self.x = np.sort(rng.uniform(0.0, 1.0, self.points))
        values = self.target(self.x)
        self.y = values + self.label_noise * rng.standard_normal(values.shape)

    @property
    def scale(self) -> float:
        """The factor before the sum over the neurons."""
        return 1.0 / self.M if self.scaling == "mean_field" else 1.0

    def batch(self, indices: np.ndarray):
        from cbo_pipeline.numerics.kernels.piecewise import sorted_points

        indices = np.sort(indices)
        return sorted_points(self.x[indices], self.y[indices])

    def everything(self):
        return self._everything

    @functools.cached_property
    def _everything(self):
        return self.batch(np.arange(self.points))

    def predictions(self, networks: Networks, x: np.ndarray) -> np.ndarray:
        return evaluate(networks, x, self.scale)

    def risks(self, networks: Networks, batch, alpha: float | None = None) -> np.ndarray:
        from cbo_pipeline.numerics.kernels.piecewise import squared_risks

        out = np.empty(len(networks["b"]))
        squared_risks(*flat(networks), self.scale, *batch, out)
        return out

    def risks_and_gradients(self, networks: Networks, batch, out: Networks) -> np.ndarray:
        from cbo_pipeline.numerics.kernels.piecewise import squared_gradients

        risks = np.empty(len(networks["b"]))
        squared_gradients(*flat(networks), self.scale, *batch, risks, *flat(out))
        return risks


def flat(networks: Networks) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """w, b and c as (N, M), a as (N,), zero where there is none: one feature, one output."""
    b = networks["b"]
    a = networks["a"].reshape(len(b)) if "a" in networks else np.zeros(len(b), b.dtype)
    return networks["w"].reshape(b.shape), b, networks["c"].reshape(b.shape), a
