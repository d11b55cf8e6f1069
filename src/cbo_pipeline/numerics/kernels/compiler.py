"""How kernels are declared: compiled once, kept on disk, and shared there by parallel jobs without races.

numba keeps the code of a function in files that it numbers 1, 2, ... by its index of them. Two processes that
compile two signatures (float32 and float64) at the same moment may both choose the same number; the index then leads
from one signature to the code of the other, and every later job stops with a TypeError. And a process that is killed
between index and file may leave a new index that leads to old code. Neither can happen if no two files ever have
the same name: an index then leads to the right file, or to none, and the kernel is compiled once more.
"""

import functools
import secrets

from numba import njit
from numba.core import caching

# The decorator of every kernel, bare or with further options: a division by zero gives infinity, as in numpy.
# Code on disk is renewed when its own file changes; after a change here, remove it (`__pycache__/*.nb?`).
kernel = functools.partial(njit, cache=True, error_model="numpy")


def _name_of_its_own(cache_file, number: int) -> str:
    """A name for the code of one signature; numba asks for the number-th one."""
    return cache_file._data_name_pattern.format(number=secrets.randbits(62))


# A numba that does it in another way is left alone; tests/test_startup.py would tell.
if hasattr(caching, "IndexDataCacheFile"):
    caching.IndexDataCacheFile._data_name = _name_of_its_own
