"""Adopt code that gives the same numbers: remake a run of each curve, compare every bit, then enter it in the ledger.

Nothing else writes the ledger, and nothing rewrites the digest in a file of results.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from cbo_pipeline.errors import FileRefused, UserError
from cbo_pipeline.results import code, finished, ledger, runs
from cbo_pipeline.results.versions import versions
from cbo_pipeline.training.loop import Training

EPOCHS = ("epoch", "snapshot", "kept_epoch")  # dimensions that count epochs


@dataclass(frozen=True)
class Outcome:
    """What became of one curve: whether its new code was adopted, and why (or why not)."""

    curve: str  # as the ledger has it
    adopted: bool
    words: str


def adopt(folder: str | Path, epochs: int | None = None) -> Iterator[Outcome]:
    """Remake one run (or its first epochs) of each curve whose files were made by other code or other libraries.

    Where every number is the same, bit by bit, the ledger of the folder gets an entry with both digests. Yields an
    outcome for each such curve, as soon as it is known; curves that fit already are passed over.
    """
    folder = Path(folder)
    for curve, paths in _runs_by_curve(folder).items():
        try:
            yield from _adopt_curve(folder, curve, paths, epochs)
        except UserError as error:
            yield Outcome(curve, False, str(error))


def _runs_by_curve(folder: Path) -> dict[str, list[Path]]:
    """The files of runs below a folder, by curve, in the order of their seeds; those of other readings, too."""
    found: dict[str, dict[int, Path]] = {}
    readings = sorted(path for path in (folder / ledger.READINGS).glob("*") if path.is_dir())
    for owner, prefix in [(folder, ""), *((path, f"{path.name}/") for path in readings)]:
        for path in sorted((owner / "runs").rglob("*.nc")):
            if not path.name.startswith("."):
                name = runs.run_of(runs.read(path)).name
                found.setdefault(f"{prefix}{name.curve}", {})[name.seed] = path
    if not found:
        where = folder / "runs"
        raise FileRefused(f"{where}: holds no runs; name a folder of results", code="no-runs", file=str(where))
    return {curve: [paths[seed] for seed in sorted(paths)] for curve, paths in sorted(found.items())}


def _adopt_curve(folder: Path, curve: str, paths: list[Path], epochs: int | None) -> Iterator[Outcome]:
    """One remade run for every other code (or set of versions) among the files of a curve."""
    tried = []
    for path in paths:
        data = runs.read(path)
        run = runs.run_of(data)
        entries, now = ledger.read(folder), code.run_digest(run.method, run.problem)
        old = {"code": data.attrs["code"], "versions": json.loads(data.attrs["versions"])}
        new = {"code": now, "versions": versions()}
        same_code = len({ledger.effective_digest(curve, c, entries) for c in (old["code"], now)}) == 1
        if (same_code and ledger.same_versions(curve, old["versions"], versions(), entries)) or old in tried:
            continue
        tried.append(old)
        last = run.settings["epochs"] if epochs is None else min(epochs, run.settings["epochs"])
        compared, difference = compare(data, remade(run, last, now), last)
        if difference:
            yield Outcome(curve, False, f"{path}: {difference}")
            continue
        entry = {
            "curve": curve,
            "old": old,
            "new": new,
            "run": str(run.name),
            "epochs": last,
            "numbers": compared,
        }
        ledger.add(folder, [entry])
        yield Outcome(curve, True, f"{compared} numbers of {run.name}, epochs 0 to {last}, are the same")


def remade(run, last: int, digest: str) -> xr.Dataset:
    """The dataset of a run, trained again up to the epoch ``last``."""
    training = Training.start(run)
    training.advance(last * training.batches_per_epoch)
    return finished.dataset(training, digest)


def compare(stored: xr.Dataset, again: xr.Dataset, last: int) -> tuple[int, str]:
    """How many numbers up to the epoch ``last`` are the same bits, and the first difference, or nothing."""
    stored, again = (_up_to(data, last) for data in (stored, again))
    count = 0
    for name in sorted({*stored.variables, *again.variables}, key=str):
        if name not in stored.variables or name not in again.variables:
            return count, f"{name} is only in the {'stored' if name in stored.variables else 'remade'} run"
        one, other = stored[name], again[name]
        if (one.dims, one.shape, one.dtype) != (other.dims, other.shape, other.dtype):
            return count, f"{name} has another shape or type"
        if one.values.tobytes() != other.values.tobytes():
            return count, f"{name} differs{_where(one, other)}"
        count += one.size
    return count, ""


def _up_to(data: xr.Dataset, last: int) -> xr.Dataset:
    """The dataset up to an epoch, without variables of which nothing is left and coordinates that nobody needs."""
    kept = data.sel({dim: data[dim].values[data[dim].values <= last] for dim in EPOCHS if dim in data.dims})
    kept = kept.drop_dims([dim for dim in EPOCHS if dim in kept.dims and not kept.sizes[dim]])
    used = {dim for variable in kept.data_vars.values() for dim in variable.dims}
    return kept.drop_vars([name for name in kept.coords if name not in used])


def _where(one: xr.DataArray, other: xr.DataArray) -> str:
    """The first epoch at which two variables differ, in words."""
    dim = next((dim for dim in EPOCHS if dim in one.dims), None)
    if dim is None:
        return ""
    places = [k for k in range(one.sizes[dim]) if not np.array_equal(one.isel({dim: k}), other.isel({dim: k}), True)]
    return f" from epoch {one[dim].values[places[0]]} on" if places else ""
