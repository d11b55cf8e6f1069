"""Numbers of summaries that are published: rounded to six digits, they take a third of the room."""

import numpy as np
import xarray as xr

# Claim 15 compares the variances of neighbouring steps to the last bit.
EXACT = ("variance",)
DIGITS = 20  # binary ones of what is rounded: six decimal ones
COMMENT = "published: numbers but for the variance rounded to six digits"


def published(data: xr.Dataset) -> xr.Dataset:
    """A summary with rounded numbers, which says so."""
    result = data.copy()
    for name, variable in data.data_vars.items():
        if variable.dtype.kind == "f":
            result[name] = variable.copy(data=as_published(str(name), variable.values))
    result.attrs["comment"] = COMMENT
    return result


def is_published(data: xr.Dataset) -> bool:
    """Whether the numbers of a summary are rounded."""
    return data.attrs.get("comment") == COMMENT


def as_published(name: str, values: np.ndarray) -> np.ndarray:
    """The values of a variable as they are published."""
    return values if name in EXACT else rounded(values)


def rounded(x: np.ndarray) -> np.ndarray:
    """Numbers with DIGITS binary digits, which compress well; no exponent is lost.

    >>> rounded(np.array([1 / 3, 0.5])).tolist()
    [0.33333349227905273, 0.5]
    """
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.round(mantissa * 2**DIGITS) / 2**DIGITS, exponent).astype(x.dtype)
