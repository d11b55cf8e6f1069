"""Which keys of the config a run takes: the fields of three dataclasses, the loop, the problem and the method."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from cbo_pipeline import methods, problems

# Keys that unfold into several runs.
GRID_KEYS = ("M", "N", "grid", "seeds")
# Lists of epochs; entries beyond the last epoch of a run do not concern it.
EPOCH_LISTS = ("snapshots", "keep_ensembles")


@dataclass(frozen=True)
class Loop:
    """The keys of the training loop itself, with their defaults."""

    epochs: int
    batch_size: int
    batches: str = "partition"
    data_seed: int | None = None
    snapshots: tuple[int, ...] = ()
    keep_ensembles: tuple[int, ...] = ()
    record_first: int = 0
    record_every: int = 1


def taken_keys(cls: type) -> dict[str, str]:
    """The config keys of a problem or method: its dataclass fields, where ``lambda_`` stands for ``lambda``."""
    return {f.name.rstrip("_"): f.name for f in dataclasses.fields(cls) if f.name not in ("M", "N")}


def needed_keys(cls: type) -> set[str]:
    """The keys among ``taken_keys`` that have no default."""
    missing = dataclasses.MISSING
    return {
        f.name.rstrip("_")
        for f in dataclasses.fields(cls)
        if f.default is missing and f.default_factory is missing and f.name not in ("M", "N")
    }


def defaults(cls: type) -> dict[str, Any]:
    """The defaults among ``taken_keys`` that a config could write out: not an infinite alpha_max."""
    found = {}
    for f in dataclasses.fields(cls):
        if f.name in ("M", "N"):
            continue
        value = f.default if f.default_factory is dataclasses.MISSING else f.default_factory()
        if value is not dataclasses.MISSING and not (isinstance(value, float) and math.isinf(value)):
            found[f.name.rstrip("_")] = list(value) if isinstance(value, tuple) else value
    return found


def parts(problem: str, method: str) -> tuple[type, type, type]:
    """The dataclasses whose fields are the settings of a run."""
    return Loop, problems.find(problem), methods.find(method)


def run_keys(problem: str, method: str) -> set[str]:
    """All keys that decide the numbers of a run of this method on this problem."""
    return {key for cls in parts(problem, method) for key in taken_keys(cls)}
