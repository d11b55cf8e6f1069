"""Everything random in a run, as a function of its seed and of counters.

No stream carries a state from one epoch to the next, so that a run can continue from any iteration, and for one
seed every method sees the same data set and the same batches.
"""

import functools
from dataclasses import dataclass

import numpy as np

_DATA, _INITIAL, _BATCHES, _NOISE = range(4)


@dataclass(frozen=True)
class Streams:
    """Independent random streams of one seed.

    ``data_seed`` fixes the data set by itself, so that several seeds can share one.
    """

    seed: int
    data_seed: int | None = None

    def _sequence(self, *key: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(self.seed, spawn_key=key)

    def data(self) -> np.random.Generator:
        """The stream that makes the data set."""
        seed = self.seed if self.data_seed is None else self.data_seed
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_DATA,)))

    def initial(self) -> np.random.Generator:
        """The stream that draws the initial ensemble."""
        return np.random.default_rng(self._sequence(_INITIAL))

    def batches(self, epoch: int) -> np.random.Generator:
        """The stream that cuts the data of one epoch into batches."""
        return np.random.default_rng(self._sequence(_BATCHES, epoch))

    def noise(self, iteration: int):
        """The standard normal noise of one iteration, see ``cbo_pipeline.numerics.kernels.noise``."""
        from cbo_pipeline.numerics.kernels.noise import Noise

        return Noise(self._noise_key, iteration)

    @functools.cached_property
    def _noise_key(self) -> tuple[int, int]:
        low, high = self._sequence(_NOISE).generate_state(2, np.uint32)
        return int(low), int(high)
