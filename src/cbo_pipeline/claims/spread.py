"""How far the particles of CBO on the sine still differ, parameter by parameter: results/checks/spread.json.

The variance of an ensemble is a sum over its parameters, and a few that the risk does not see make most of it. The
median over the parameters tells whether the particles agree.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from cbo_pipeline.numerics.network import PARAMETERS
from cbo_pipeline.results import runs


def check_spread(paths: Sequence[Path]) -> dict[str, Any]:
    """The spread of every run at the epochs at which its particles were kept, with the risk there.

    ``unit`` is the distance from one to the next larger number in the precision of the particles.
    """
    return {"rows": [_row(runs.read(path)) for path in paths]}


def _row(data: xr.Dataset) -> dict[str, Any]:
    run, epochs = runs.run_of(data), data["kept_epoch"].values
    precision = run.settings["precision"]
    return {
        "precision": precision,
        "unit": float(np.finfo(precision).eps),
        "seed": run.name.seed,
        "epochs": epochs.tolist(),
        "spread": [spread(_particles(data, k)) for k in range(len(epochs))],
        "risk": data["risk"].sel(epoch=epochs).values.tolist(),
    }


def _particles(data: xr.Dataset, k: int) -> np.ndarray:
    """All parameters of all particles at the k-th epoch at which they were kept, a row for each particle."""
    kept = (data[f"particle_{name}"] for name in PARAMETERS if f"particle_{name}" in data)
    flat = [one.isel(kept_epoch=k).values.reshape(data.sizes["particle"], -1) for one in kept]
    return np.concatenate(flat, axis=1).astype(np.float64)


def spread(particles: np.ndarray) -> float:
    """The standard deviation of a parameter over the particles, relative to its mean: the median over the parameters.

    >>> spread(np.array([[1.0, 5.0, 0.0], [3.0, 5.0, 8.0]]))
    0.5
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = particles.std(axis=0) / np.abs(particles.mean(axis=0))
    return float(np.median(relative))
