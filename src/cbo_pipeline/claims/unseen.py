"""How an ensemble spreads in directions that the risk does not see: results/checks/unseen.json.

CBO of example 2, but with nothing except such directions: the consensus point is a particle taken at random. If it
is another one in each step, the mean square grows by (1 - lambda dt)^2 + 2 sigma^2 dt; while it is the same one
again, it shrinks by (1 - lambda dt)^2 + sigma^2 dt. And the mean is carried by ever fewer directions that spread ever
further, so that the sum over as many as there are falls behind it. What comes out is measured here.
"""

from typing import Any

import numpy as np

from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.methods.base import Clock, View
from cbo_pipeline.methods.cbo import CBO
from cbo_pipeline.numerics.streams import Streams

# As many as weights of pixels that are blank in all images of example 2 (111 pixels, 20 neurons).
DIRECTIONS, STEPS, REPEATS = 2220, 1000, 3
AGAIN = (0.0, 0.1, 0.2)  # probabilities with which the last winner wins again


def check_unseen(
    repeats: int = REPEATS, directions: int = DIRECTIONS, steps: int = STEPS, N: int = 1000
) -> dict[str, Any]:
    """The factor per step by which the variance, summed over the directions, has grown in the end."""
    run = resolve(load_config(), RunName("mnist", "cbo", 20, N, seed=0))
    method = CBO(**run.part(CBO))
    rows = [
        {"again": again, "repeat": seed, "growth": growth(method, Streams(seed), N, directions, steps, again)}
        for again in AGAIN
        for seed in range(repeats)
    ]
    settings = {key: run.settings[key] for key in ("dt", "lambda", "sigma_squared")}
    return {"N": N, "directions": directions, "steps": steps, **settings, "rows": rows}


def growth(method: CBO, streams: Streams, N: int, directions: int, steps: int, again: float) -> float:
    """The factor per step, in the mean over the steps."""
    rng = streams.initial()
    x = rng.uniform(-1, 1, (N, directions)).astype(np.float32)
    state, before, winner = {"particles": {"b": x}}, _summed_variance(x), 0
    for step in range(steps):
        winner = winner if rng.uniform() < again else rng.integers(N)
        view = View(risks=np.empty(0), consensus={"b": x[winner][None].copy()}, reported={})
        state = method.move(state, view, Clock(0, step), streams.noise(step))
    return (_summed_variance(x) / before) ** (1 / steps)


def _summed_variance(x: np.ndarray) -> float:
    return float(x.var(axis=0, dtype=np.float64).sum())
