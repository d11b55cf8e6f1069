"""What unit tests share: they read no files but their own, so their digits are drawn."""

import numpy as np
import pytest

from cbo_pipeline.problems import _mnist_arrays

TRAINING, TEST = 2000, 500
# The bars of a seven-segment display, as rows and columns of a 28 x 28 image, and the bars that each digit lights.
BARS = {
    "top": (slice(5, 7), slice(9, 19)),
    "middle": (slice(13, 15), slice(9, 19)),
    "bottom": (slice(21, 23), slice(9, 19)),
    "upper left": (slice(5, 15), slice(9, 11)),
    "upper right": (slice(5, 15), slice(17, 19)),
    "lower left": (slice(13, 23), slice(9, 11)),
    "lower right": (slice(13, 23), slice(17, 19)),
}
DARK = {
    0: ["middle"],
    1: ["top", "middle", "bottom", "upper left", "lower left"],
    2: ["upper left", "lower right"],
    3: ["upper left", "lower left"],
    4: ["top", "bottom", "lower left"],
    5: ["upper right", "lower left"],
    6: ["upper right"],
    7: ["middle", "bottom", "upper left", "lower left"],
    8: [],
    9: ["lower left"],
}


def drawn(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Images (count, 784) of digits, moved and shaded at random, and their labels."""
    labels = rng.integers(0, 10, count)
    images = np.zeros((count, 28, 28), np.uint8)
    for image, label in zip(images, labels, strict=True):
        for name, place in BARS.items():
            if name not in DARK[int(label)]:
                image[place] = 1
    shades = rng.integers(60, 256, images.shape)
    moves = rng.integers(-4, 5, (count, 2))
    shown = [np.roll(image, move, (0, 1)) for image, move in zip(images * shades, moves, strict=True)]
    return np.reshape(shown, (count, 784)), labels


@pytest.fixture(scope="session")
def mnist_folder(tmp_path_factory):
    """A data folder like MNIST's, of drawn digits: nothing is fetched. The real ones are for tests/workflow."""
    folder, rng = tmp_path_factory.mktemp("digits"), np.random.default_rng(0)
    (training_images, training_labels), (test_images, test_labels) = drawn(TRAINING, rng), drawn(TEST, rng)
    _mnist_arrays.write(_mnist_arrays.Arrays(test_images, test_labels, training_labels, training_images), folder)
    return folder
