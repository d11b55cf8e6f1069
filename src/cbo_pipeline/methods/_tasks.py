"""Which of several tasks a particle moves to."""

import numpy as np

from cbo_pipeline.methods.base import spread
from cbo_pipeline.numerics import network
from cbo_pipeline.numerics.network import Networks


def in_blocks(N: int, P: int) -> np.ndarray:
    """The task of every particle, (N,), both from 0: the first N / P to the first task, and so on.

    >>> in_blocks(8, 3).tolist()
    [0, 0, 0, 1, 1, 1, 2, 2]
    """
    return np.arange(N) * P // N


def in_turn(N: int, P: int) -> np.ndarray:
    """The task of every particle, one after the other.

    >>> in_turn(8, 3).tolist()
    [0, 1, 2, 0, 1, 2, 0, 1]
    """
    return np.arange(N) % P


def enough_particles(settings: dict, N: int) -> tuple[str, str] | None:
    """A complaint if there are fewer particles than tasks."""
    tasks = settings.get("tasks", 1)
    return ("N", f"{N} particles for {tasks} tasks: every task needs at least one") if tasks > N else None


def spread_about(particles: Networks, V: Networks, task: np.ndarray) -> float:
    """(1/2) mean_n |theta_n - V(T_p)|^2, p the task of particle n."""
    return spread(particles, network.select(V, task))
