"""Example 3 of the paper (Section 4.3): shifted sines on [0, 1]."""

from dataclasses import dataclass

import numpy as np

from cbo_pipeline.problems._many_tasks import ManyTasks


@dataclass
class MultiTask(ManyTasks):
    """Approximate x -> sin(2 pi x) + shift_p for P shifts, evenly spaced from ``shift_low`` to ``shift_high``."""

    shift_low: float = -1.0
    shift_high: float = 1.0

    def target(self, x: np.ndarray) -> np.ndarray:
        return np.sin(2 * np.pi * x) + np.linspace(self.shift_low, self.shift_high, self.tasks)[:, None]
