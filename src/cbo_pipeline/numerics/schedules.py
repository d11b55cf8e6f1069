"""How alpha grows and sigma falls during training: pure functions of the counters."""

import math


def growing(initial: float, factor: float, every: int, limit: float, count: int) -> float:
    """``initial * factor^floor(count / every)``, but not beyond ``limit``: alpha of Section 4; ``count`` as below.

    >>> [growing(1e5, 10, 100, 1e7, epoch) for epoch in (0, 99, 100, 200, 900)]
    [100000.0, 100000.0, 1000000.0, 10000000.0, 10000000.0]
    """
    if initial >= limit or factor <= 1:
        return float(min(initial, limit))
    steps = math.ceil(math.log(limit / initial) / math.log(factor))  # more than these would overflow
    return float(min(initial * factor ** min(count // every, steps), limit))


def falling(initial: float, factor: float, every: int, count: int) -> float:
    """``initial * factor^floor(count / every)``: sigma of Section 5.3, ``count`` in iterations or epochs.

    >>> [round(falling(1.0, 0.9, 100, k), 3) for k in (0, 99, 100, 250)]
    [1.0, 1.0, 0.9, 0.81]
    """
    return float(initial * factor ** (count // every))
