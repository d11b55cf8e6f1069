"""Example 2 of the paper (Section 4.2): the digits of MNIST."""

import functools
from dataclasses import dataclass, field

import numpy as np

from cbo_pipeline.numerics.network import Networks
from cbo_pipeline.numerics.streams import Streams
from cbo_pipeline.problems import _mnist_arrays
from cbo_pipeline.problems._dense import Dense

MEAN, DEVIATION = 0.1307, 0.3081  # of all training pixels, as PyTorch's own example has them


@dataclass
class MNIST(Dense):
    """Classify ``images`` training images by 784 -> M -> 10, ReLU, with Eq. (eq:cross-entropy) of PyTorch."""

    images: int = field(kw_only=True)
    subset: str = "first"
    pixels: str = "unit"

    features = 784
    outputs = 10

    @classmethod
    def data_size(cls, settings):
        return settings["images"]

    def load(self, streams: Streams) -> None:
        """Read the images: the first ones, the same for every seed, or a random choice of the data's seed."""
        self.check_device()
        arrays = _mnist_arrays.read()
        rows: slice | np.ndarray = slice(self.images)
        if self.subset == "random":
            rows = np.sort(streams.data().permutation(len(arrays.training_labels))[: self.images])
        self.training = self._held(arrays.training_images[rows], arrays.training_labels[rows])
        self.test = self._held(arrays.test_images, arrays.test_labels).everything

    def _held(self, images: np.ndarray, labels: np.ndarray):
        """Pixels in [0, 1], or standardised: (x / 255 - MEAN) / DEVIATION."""
        divisor, shift = (255 * DEVIATION, -MEAN / DEVIATION) if self.pixels == "standardised" else (255, 0)
        return self.hold(np.array(images), labels.astype(np.int64), divisor, shift)

    def final_measures(self, networks: Networks) -> dict[str, float]:
        """The share of the test images that the network classifies correctly."""
        return {"accuracy": self.test.accuracy(networks, self.shape())}

    def test_images(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The first test images as bytes (count, 784), and their labels."""
        images, labels = self._test_files
        return images[:count], labels[:count]

    def probabilities(self, networks: Networks, count: int) -> np.ndarray:
        """The probabilities (N, count, 10) of the classes of the first test images, by networks in main memory."""
        images, _ = self.test_images(count)
        x = images / 255 if self.pixels == "unit" else (images / 255 - MEAN) / DEVIATION
        logits = self.predictions(networks, x).astype(np.float64)
        exponentials = np.exp(logits - logits.max(2, keepdims=True))
        return exponentials / exponentials.sum(2, keepdims=True)

    @functools.cached_property
    def _test_files(self) -> tuple[np.ndarray, np.ndarray]:
        arrays = _mnist_arrays.read()
        return arrays.test_images, arrays.test_labels
