"""Adopt code that gives the same numbers: remake a run of each curve, compare every bit, then enter it in the ledger.

A folder of results is compared with its runs. A publication has none: there the series in its summaries are
compared, in all digits that are published. Nothing else writes the ledger, and nothing rewrites the digest in a file
of results.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from cbo_pipeline.config import Run
from cbo_pipeline.errors import FileRefused, UserError
from cbo_pipeline.results import code, finished, ledger, rounding, runs, summaries
from cbo_pipeline.results.versions import versions
from cbo_pipeline.training.loop import Training

EPOCHS = ("epoch", "snapshot", "kept_epoch")  # dimensions that count epochs


@dataclass(frozen=True)
class Outcome:
    """What became of one curve: whether its new code was adopted, and why (or why not)."""

    curve: str  # as the ledger has it
    adopted: bool
    words: str


@dataclass(frozen=True)
class Kept:
    """What is kept of one run: who made it, and how its numbers are compared with those of the run made again.

    ``compare`` takes the dataset of that run and the last epoch; it returns how many numbers are the same bits, and
    the first difference, or nothing.
    """

    path: Path
    run: Run
    made_by: dict[str, Any]  # the code and the versions
    compare: Callable[[xr.Dataset, int], tuple[int, str]]


def adopt(folder: str | Path, epochs: int | None = None) -> Iterator[Outcome]:
    """Remake one run (or its first epochs) of each curve whose files were made by other code or other libraries.

    Where every number is the same, bit by bit, the ledger of the folder gets an entry with both digests. Yields an
    outcome for each such curve, as soon as it is known; curves that fit already are passed over.
    """
    folder = Path(folder)
    for curve, kept in _by_curve(folder).items():
        try:
            yield from _adopt_curve(folder, curve, kept, epochs)
        except UserError as error:
            yield Outcome(curve, False, str(error))


def _by_curve(folder: Path) -> dict[str, Iterable[Kept]]:
    """What is kept of the runs below a folder, by curve, in the order of their seeds; those of readings, too."""
    readings = sorted(path for path in (folder / ledger.READINGS).glob("*") if path.is_dir())
    owners = [(folder, ""), *((path, f"{path.name}/") for path in readings)]
    found = {curve: kept for owner, prefix in owners for curve, kept in _runs_below(owner, prefix).items()}
    # Summaries of runs that are not there: those of a publication.
    for owner, prefix in owners:
        for path in sorted((owner / "summary").glob("*/*.nc" if prefix else "*.nc")):
            for curve, kept in _series_in(path, prefix).items():
                found.setdefault(curve, kept)
    if not found:
        where = folder / "runs"
        raise FileRefused(f"{where}: holds no runs; name a folder of results", code="no-runs", file=str(where))
    return dict(sorted(found.items()))


def _runs_below(owner: Path, prefix: str) -> dict[str, Iterable[Kept]]:
    found: dict[str, dict[int, Path]] = {}
    for path in sorted((owner / "runs").rglob("*.nc")):
        if not path.name.startswith("."):
            name = runs.run_of(runs.read(path)).name
            found.setdefault(f"{prefix}{name.curve}", {})[name.seed] = path
    return {curve: map(_kept_run, [paths[seed] for seed in sorted(paths)]) for curve, paths in found.items()}


def _kept_run(path: Path) -> Kept:
    data = runs.read(path)
    made_by = {"code": data.attrs["code"], "versions": json.loads(data.attrs["versions"])}
    return Kept(path, runs.run_of(data), made_by, lambda again, last: compare(data, again, last))


def _series_in(path: Path, prefix: str) -> dict[str, Iterable[Kept]]:
    data = summaries.read(path)
    parts = [data.isel(curve=k) for k in range(data.sizes["curve"])]
    return {
        f"{prefix}{Run.from_json(part['settings'].item()).name.curve}": _kept_series(path, part) for part in parts
    }


def _kept_series(path: Path, curve: xr.Dataset) -> Iterator[Kept]:
    first, stored = Run.from_json(curve["settings"].item()), json.loads(curve.attrs["versions"])
    for seed in curve["seed"].values.tolist():
        one = curve.sel(seed=seed)
        if one["run_code"].item():
            made_by = {"code": one["run_code"].item(), "versions": stored}
            yield Kept(path, first.with_seed(seed), made_by, lambda a, last, one=one: compare_series(one, a, last))


def _adopt_curve(folder: Path, curve: str, kept: Iterable[Kept], epochs: int | None) -> Iterator[Outcome]:
    """One remade run for every other code (or set of versions) among the files of a curve."""
    tried = []
    for one in kept:
        run, old, entries = one.run, one.made_by, ledger.read(folder)
        new = {"code": code.run_digest(run.method, run.problem), "versions": versions()}
        if old in tried or _is_known(curve, old, new, entries):
            continue
        tried.append(old)
        last = run.settings["epochs"] if epochs is None else min(epochs, run.settings["epochs"])
        compared, difference = one.compare(remade(run, last, new["code"]), last)
        if difference:
            yield Outcome(curve, False, f"{one.path}: {difference}")
            continue
        entry = {"curve": curve, "old": old, "new": new, "run": str(run.name), "epochs": last, "numbers": compared}
        ledger.add(folder, [entry])
        yield Outcome(curve, True, f"{compared} numbers of {run.name}, epochs 0 to {last}, are the same")


def _is_known(curve: str, old: Mapping[str, Any], new: Mapping[str, Any], entries: ledger.Ledger) -> bool:
    """Whether code and versions are the same, or were adopted for this curve before."""
    same_code = len({ledger.effective_digest(curve, made["code"], entries) for made in (old, new)}) == 1
    return same_code and ledger.same_versions(curve, old["versions"], new["versions"], entries)


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


def compare_series(stored: xr.Dataset, again: xr.Dataset, last: int) -> tuple[int, str]:
    """The same for the series that a summary has of a run: in the digits that it has, where it is published."""
    count = 0
    for name, values in summaries._series(_up_to(again, last)).items():
        if name in stored and "epoch" in values.dims:
            one, other = stored[name].sel(epoch=values["epoch"]), values.astype(stored[name].dtype)
            if rounding.is_published(stored):
                other = other.copy(data=rounding.as_published(str(name), other.values))
            if not np.array_equal(one.values, other.values, equal_nan=True):
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
