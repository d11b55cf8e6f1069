"""The versions of everything that can change a number or a byte of results."""

import functools
import platform
from importlib import metadata

import cbo_pipeline

LIBRARIES = ("numpy", "numba", "scipy", "torch", "lapx", "pot", "xarray", "netCDF4")


@functools.cache
def versions() -> dict[str, str]:
    """The version of the package, of Python and of every library by name; libraries may be missing."""
    found = {"cbo_pipeline": cbo_pipeline.__version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def differences(stored: dict[str, str], now: dict[str, str] | None = None) -> list[str]:
    """What differs between two sets of versions, in words. The package's own code is compared by its digest instead.

    >>> differences({"numpy": "2.0"}, {"numpy": "2.1"})
    ['numpy 2.0 -> 2.1']
    """
    now = versions() if now is None else now
    names = [n for n in {**stored, **now} if n != "cbo_pipeline" and stored.get(n) != now.get(n)]
    return [f"{name} {stored.get(name, 'not recorded')} -> {now.get(name, 'not recorded')}" for name in names]
