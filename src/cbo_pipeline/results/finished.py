"""The dataset of a training: the records of the run and what its problem wants kept beside them."""

import xarray as xr

from cbo_pipeline.results import runs
from cbo_pipeline.training.loop import Training


def dataset(training: Training, code: str) -> xr.Dataset:
    """What the file of the run holds. A problem with a method ``kept`` adds variables of its own.

    ``code`` is the digest of the code that decided it.
    """
    data = runs.dataset(training.run, training.history, code)
    kept = getattr(training.problem, "kept", None)
    return data if kept is None else data.assign(kept())
