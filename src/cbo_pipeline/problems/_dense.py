"""Two-layer networks of many inputs on data of one's own: what MNIST and a table share.

On a CPU the networks are numpy arrays and the kernels of ``numerics.kernels.dense_networks`` evaluate them; on a GPU
they are torch tensors (``_dense_torch``). Both are imported only where data is held.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cbo_pipeline.errors import ConfigError
from cbo_pipeline.numerics.network import Networks
from cbo_pipeline.problems.base import Problem


@dataclass
class Dense(Problem):
    """A problem whose subclass says what the data is: ``load`` sets ``training`` by ``hold``."""

    scaling: str = "mean_field"
    outer_bias: bool = False
    device: str = "cpu"

    loss: ClassVar[str] = "cross_entropy"
    activation: ClassVar[str] = "relu"

    @classmethod
    def scratch_bytes(cls, settings, M, N):
        """The lists of a batch, twice; the losses of all networks on it; weights and layers of eight networks."""
        batch, lanes = settings["batch_size"], min(N, 8)
        return 8 * (4 * batch * cls.features + batch * N + lanes * M * (4 * cls.features + 400))

    @property
    def scale(self) -> float:
        """The factor before the sum over the neurons."""
        return 1.0 / self.M if self.scaling == "mean_field" else 1.0

    def check_device(self) -> None:
        """Refuse a device that this machine does not have."""
        if self.device != "cpu":
            import torch

            if not torch.cuda.is_available():
                words = f"device: {self.device} is not available on this machine; set device: cpu"
                raise ConfigError(words, code="no-device", key="device")

    def hold(self, x: np.ndarray, targets: np.ndarray, divisor: float = 1.0, shift: float = 0.0):
        """The inputs x / divisor + shift and their targets where the networks are evaluated."""
        if self.device == "cpu":
            from cbo_pipeline.problems._dense_compiled import Held
        else:
            from cbo_pipeline.problems._dense_torch import Held
        return Held(x, targets, self.precision, divisor, shift, self.device)

    def shape(self):
        """What the networks compute and what is asked of it, as the kernels want it."""
        from cbo_pipeline.numerics.kernels.dense_networks import Shape

        return Shape(self.scale, self.activation, self.loss)

    def initial(self, law, bound, N, rng) -> Networks:
        return self.training.place(super().initial(law, bound, N, rng))

    def batch(self, indices: np.ndarray) -> Any:
        return self.training.rows(indices)

    def everything(self) -> Any:
        return self.training.everything

    def risks(self, networks: Networks, batch: Any, alpha: float | None = None) -> np.ndarray:
        return batch.risks(networks, self.shape(), alpha)

    def risks_and_gradients(self, networks: Networks, batch: Any, out: Networks) -> np.ndarray:
        return batch.risks_and_gradients(networks, self.shape(), out)

    def predictions(self, networks: Networks, x: np.ndarray) -> np.ndarray:
        """Values (N, S, O) of networks in main memory at inputs in the units that they were trained with."""
        from cbo_pipeline.problems._dense_compiled import Held

        inputs = Held(x, np.zeros(len(x), np.int64), networks["w"].dtype)
        return inputs.everything.outputs(networks, self.shape())
