"""Example 4 of the paper (Section 5.3): the square on [0, 1]."""

from dataclasses import dataclass

import numpy as np

from cbo_pipeline.problems._regression import Regression


@dataclass
class Square(Regression):
    """Approximate x -> x^2 from noisy samples."""

    @staticmethod
    def target(x: np.ndarray) -> np.ndarray:
        return x**2
