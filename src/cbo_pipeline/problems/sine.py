"""Example 1 of the paper (Section 4.1): the sine on [0, 1]."""

from dataclasses import dataclass

import numpy as np

from cbo_pipeline.problems._regression import Regression


@dataclass
class Sine(Regression):
    """Approximate x -> sin(2 pi x) from noisy samples."""

    @staticmethod
    def target(x: np.ndarray) -> np.ndarray:
        return np.sin(2 * np.pi * x)
