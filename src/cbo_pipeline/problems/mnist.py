"""Example 2 of the paper (Section 4.2): the digits of MNIST.

The ensemble lies on ``device`` as torch tensors. All N networks are evaluated together: the inner layers of a
block of networks are one matrix, so that a batch is one matrix product a block. A block is so small that what it
makes of the batch stays in the processor's cache.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from cbo_pipeline.errors import ConfigError
from cbo_pipeline.numerics.network import Networks
from cbo_pipeline.numerics.streams import Streams
from cbo_pipeline.problems import _mnist_arrays
from cbo_pipeline.problems.base import Problem

TRAINING_IMAGES = 60_000
BLOCK = 50  # networks evaluated together
FEW = 4  # so few networks are evaluated sooner than blank pixels are found
MEAN, DEVIATION = 0.1307, 0.3081  # of all training pixels, as PyTorch's own example has them


@dataclass(frozen=True, eq=False)
class Images:
    """S images with their labels. The last column of ``x`` (S, 785) is one: it takes the inner biases."""

    x: Any  # torch tensors: torch is imported only where it is used
    labels: Any

    @cached_property
    def without_blanks(self):
        """The pixels that are not zero in all images (a quarter is, in a batch of 1000), and ``x`` without these."""
        columns = self.x.abs().amax(0).nonzero().squeeze(1)
        return columns[:-1], self.x.index_select(1, columns)


@dataclass
class MNIST(Problem):
    """Classify the first ``images`` training images by 784 -> M -> 10, ReLU, with the cross-entropy of PyTorch."""

    images: int = field(kw_only=True)
    pixels: str = "unit"
    scaling: str = "plain"
    device: str = "cpu"

    features = 784
    outputs = 10
    outer_bias = True

    @classmethod
    def data_size(cls, settings):
        return settings["images"]

    @classmethod
    def scratch_bytes(cls, settings, M, N):
        """A block of networks on a batch: inner layers, hidden layers twice, outputs twice."""
        S = max(settings["batch_size"], settings["images"] // min(N, BLOCK))
        return 4 * min(N, BLOCK) * (M * (cls.features + 1 + 2 * S) + 2 * cls.outputs * S)

    def load(self, streams: Streams) -> None:
        """Read the images. They are the same for every seed."""
        import torch

        if self.device != "cpu" and not torch.cuda.is_available():
            raise ConfigError(f"device: {self.device} is not available on this machine; set device: cpu")
        torch.set_num_threads(1)
        arrays = _mnist_arrays.read()
        self.training = self._images(arrays.training_images[: self.images], arrays.training_labels[: self.images])
        self.test = self._images(arrays.test_images, arrays.test_labels)

    def _images(self, pixels: np.ndarray, labels: np.ndarray) -> Images:
        import torch

        x = torch.ones(len(pixels), self.features + 1, dtype=getattr(torch, self.precision))
        x[:, :-1] = torch.from_numpy(np.array(pixels))
        x[:, :-1] /= 255
        if self.pixels == "standardised":
            x[:, :-1] = (x[:, :-1] - MEAN) / DEVIATION
        return Images(x.to(self.device), torch.from_numpy(labels.astype(np.int64)).to(self.device))

    @property
    def scale(self) -> float:
        """The factor before the sum over the neurons."""
        return 1.0 / self.M if self.scaling == "mean_field" else 1.0

    def initial(self, law, bound, N, rng) -> Networks:
        return self.place(super().initial(law, bound, N, rng))

    def place(self, networks: Networks) -> Networks:
        """Copies in torch's own memory: its alignment can decide the last bit of a matrix product."""
        import torch

        return {name: torch.tensor(x, device=self.device) for name, x in networks.items()}

    def batch(self, indices: np.ndarray) -> Images:
        import torch

        rows = torch.as_tensor(indices, device=self.device)
        return Images(self.training.x.index_select(0, rows), self.training.labels.index_select(0, rows))

    def everything(self) -> Images:
        return self.training

    def risks(self, networks: Networks, batch: Images, alpha: float | None = None) -> np.ndarray:
        """Eq. (eq:cross-entropy) with the softmax inside, as torch.nn.functional.cross_entropy has it."""
        risks = np.empty(len(networks["b"]))
        for rows, block in self._blocks(networks, batch):
            risks[rows], _ = _cross_entropy(block.logits, batch.labels)
        return risks

    def risks_and_gradients(self, networks: Networks, batch: Images, out: Networks) -> np.ndarray:
        """The risks and their gradients by back-propagation, block by block, written out by hand."""
        import torch

        risks, S, slopes = np.empty(len(networks["b"])), len(batch.labels), None
        for rows, block in self._blocks(networks, batch):
            risks[rows], total = _cross_entropy(block.logits, batch.labels)
            # What the risk gains with a logit: (softmax - [the right class]) / S.
            gains = block.logits.div_(total.mul_(S))
            right = batch.labels.expand(len(gains), 1, S)
            gains.scatter_add_(1, right, gains.new_full((), -1 / S).expand(right.shape))
            out["a"][rows] = gains.sum(2)
            gains *= self.scale
            out["c"][rows] = block.hidden.bmm(gains.mT)
            # The same for the hidden layer, where ReLU lets it through, and from there for the inner parameters.
            slopes = torch.empty_like(block.hidden) if slopes is None else slopes[: len(block.hidden)]
            torch.bmm(networks["c"][rows], gains, out=slopes).mul_(block.hidden.sign_())
            inner = torch.mm(slopes.flatten(0, 1), block.x, out=block.inner)
            out["b"][rows] = inner[:, -1].reshape(-1, self.M)
            w = out["w"][rows].flatten(0, 1)
            w.zero_().index_copy_(1, block.pixels, inner[:, :-1])
        return risks

    def final_measures(self, networks: Networks) -> dict[str, float]:
        """The share of the test images that the network classifies correctly."""
        right = [
            (block.logits.argmax(1) == self.test.labels).sum().item()
            for _, block in self._blocks(networks, self.test)
        ]
        return {"accuracy": sum(right) / (len(networks["b"]) * len(self.test.labels))}

    def _blocks(self, networks: Networks, batch: Images) -> Iterator[tuple[slice, "_Block"]]:
        """Evaluate the networks, ``BLOCK`` at a time: c^T relu(W x + b) + a, Eq. (intro:nn_matrix), at every image.

        The memory of a block is used again for the next one.
        """
        import torch

        w, b, c, a = (networks[name] for name in "wbca")
        everything = torch.arange(self.features, device=w.device), batch.x
        pixels, x = everything if len(w) <= FEW else batch.without_blanks
        size, S = min(BLOCK, len(w)), len(x)
        memory = x.new_empty(size * self.M, x.shape[1]), x.new_empty(size, self.M, S), x.new_empty(size, 10, S)
        for first in range(0, len(w), size):
            rows = slice(first, min(first + size, len(w)))
            n = rows.stop - rows.start
            inner, hidden, logits = memory[0][: n * self.M], memory[1][:n], memory[2][:n]
            inner[:, :-1] = w[rows].flatten(0, 1).index_select(1, pixels)
            inner[:, -1] = b[rows].flatten()
            torch.mm(inner, x.mT, out=hidden.flatten(0, 1)).relu_()
            torch.baddbmm(a[rows].unsqueeze(2), c[rows].mT, hidden, alpha=self.scale, out=logits)
            yield rows, _Block(pixels, x, inner, hidden, logits)


class _Block(NamedTuple):
    """A block of n networks on S images: what they saw, their inner layers, hidden layers and outputs."""

    pixels: Any  # (K,) those of the 784 that are looked at
    x: Any  # (S, K + 1)
    inner: Any  # (n M, K + 1), biases last
    hidden: Any  # (n, M, S)
    logits: Any  # (n, 10, S)


def _cross_entropy(logits, labels):
    """The mean over the images of log sum exp(logits) - logits[label], in float64, and the sums of exponentials.

    ``logits`` (n, 10, S) are overwritten by their exponentials, the largest of each image being one.
    """
    import torch

    logits -= logits.amax(1, keepdim=True)
    right = logits.gather(1, labels.expand(len(logits), 1, -1))
    total = logits.exp_().sum(1, keepdim=True)
    losses = total.log() - right
    return losses.sum((1, 2), dtype=torch.float64).div_(len(labels)).cpu().numpy(), total
