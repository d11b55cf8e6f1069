"""Several threads for one run, where a run is long and cores are idle.

Kernels that treat networks one by one release Python's lock, and the networks are dealt to the threads. Each number
is computed by one thread as it would be by any other, so the results have the same bits with any number of threads.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

_pools: dict[int, ThreadPoolExecutor] = {}  # empty, or the threads of this process under their number


def use(threads: int) -> None:
    """How many threads kernels may use from now on, in this process; one unless told otherwise."""
    for pool in _pools.values():
        pool.shutdown()
    _pools.clear()
    if threads > 1:
        _pools[threads] = ThreadPoolExecutor(threads)


def share(items: np.ndarray, group: int, work: Callable[[np.ndarray], None]) -> None:
    """Call ``work`` with all items or, in each thread, with some of them: groups are dealt like cards.

    >>> parts = []
    >>> use(2)
    >>> share(np.arange(10), 4, parts.append)
    >>> use(1)
    >>> sorted(part.tolist() for part in parts)
    [[0, 1, 2, 3, 8, 9], [4, 5, 6, 7]]
    """
    if not _pools or len(items) <= group:
        work(items)
        return
    ((threads, pool),) = _pools.items()
    groups = [items[first : first + group] for first in range(0, len(items), group)]
    hands = [np.concatenate(groups[k::threads]) for k in range(min(threads, len(groups)))]
    for _ in pool.map(work, hands):
        pass
