"""From runs to summaries: what figures and claims read.

A *curve* is a method at one M and N; its runs differ in the seed alone. ``summarise_curve`` gathers the runs of
a curve, ``join`` puts the curves of an experiment into one file.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from cbo_pipeline import problems
from cbo_pipeline.config import Run
from cbo_pipeline.errors import FileRefused
from cbo_pipeline.numerics.streams import Streams
from cbo_pipeline.results import trajectory
from cbo_pipeline.results.examples import example

STATISTICS = ("min", "q25", "median", "q75", "max", "mean")
SERIES = (
    "risk", "risk_loop", "risk_smallest", "risk_largest", "risk_loop_smallest", "risk_loop_largest",
    "risk_min", "risk_median", "accuracy", "variance", "rounds", "alpha", "sigma",
)  # fmt: skip


def summarise_curve(paths: Sequence[str | Path]) -> xr.Dataset:
    """All runs of one curve: every seed's series, their statistics over the seeds, an example.

    The example is the last network of the typical run: the one whose final risk is the median."""
    data = [trajectory.read(path, "run") for path in paths]
    found = [trajectory.run_of(d) for d in data]
    first = found[0]
    for path, run in zip(paths, found, strict=True):
        if _curve_settings(run) != _curve_settings(first):
            raise FileRefused(f"{path}: its settings are not those of {paths[0]}; delete it and make it again")
    order = np.argsort([run.name.seed for run in found])
    per_seed = xr.concat(
        [_series(data[i]) for i in order],
        xr.Variable("seed", [found[i].name.seed for i in order]),
        join="outer",
    )
    typical = order[_typical(per_seed["risk"].isel(epoch=-1).values)]
    result = per_seed.merge(_over_seeds(per_seed)).merge(_example(found[typical], data[typical]))
    result["example_seed"] = found[typical].name.seed
    result["settings"] = _curve_settings(first)
    name = first.name.curve.stem
    result = result.expand_dims(curve=[name]).assign_coords(
        method=("curve", [first.name.variant]), M=("curve", [first.name.M]), N=("curve", [first.name.N])
    )
    result.attrs = {
        "title": f"Summary of {first.name.experiment}/{first.name.variant}, M = {first.name.M}, N = {first.name.N}",
        "kind": "summary",
        "experiment": first.name.experiment,
    }
    return trajectory.described(result)


def join(summaries: Sequence[xr.Dataset]) -> xr.Dataset:
    """Several curves of one experiment in one dataset, along the dimension ``curve``."""
    result = xr.concat(summaries, "curve", join="outer", data_vars="all", fill_value=_FILL, combine_attrs="drop")
    experiment = summaries[0].attrs["experiment"]
    result.attrs = {"title": f"Summary of {experiment}", "kind": "summary", "experiment": experiment}
    return result


_FILL = {"diverged": 0, "settings": ""}


def _curve_settings(run: Run) -> str:
    """The settings of a run without its seed, as text."""
    return run.with_seed(0).json


def _series(data: xr.Dataset) -> xr.Dataset:
    """The series of one run that are kept for every seed; those over tasks become statistics of the tasks."""
    kept = xr.Dataset({name: data[name] for name in SERIES if name in data and "task" not in data[name].dims})
    kept["diverged"] = data["diverged"].max("epoch")
    if "task" in data["risk"].dims:
        risk = data["risk"]
        kept["risk"] = risk.median("task")
        kept["risk_task_min"] = risk.min("task")
        kept["risk_task_max"] = risk.max("task")
        kept["risk_task_final"] = risk.isel(epoch=-1, drop=True)
    return kept


def _over_seeds(per_seed: xr.Dataset) -> xr.Dataset:
    """Statistics over the seeds. A diverged run counts as infinitely bad, not as missing."""
    result = {}
    for name, values in per_seed.data_vars.items():
        if "epoch" not in values.dims:
            continue
        worst = -np.inf if name == "accuracy" else np.inf
        filled = values.where(np.isfinite(values), worst).transpose("seed", "epoch").values
        with np.errstate(invalid="ignore"):
            table = [
                filled.min(0),
                *np.quantile(filled, [0.25, 0.5, 0.75], axis=0, method="median_unbiased"),
                filled.max(0),
                filled.mean(0),
            ]
        result[f"{name}_over_seeds"] = (("statistic", "epoch"), np.stack(table))
    return xr.Dataset(result, coords={"statistic": list(STATISTICS)})


def _typical(risks: np.ndarray) -> int:
    """The position of the (lower) median; runs without a finite risk come last."""
    return int(np.argsort(np.where(np.isfinite(risks), risks, np.inf), kind="stable")[(len(risks) - 1) // 2])


def _example(run: Run, data: xr.Dataset) -> xr.Dataset:
    """What the problem shows of the last network of a run."""
    if not data.sizes.get("snapshot"):
        return xr.Dataset()
    problem_class = problems.find(run.problem)
    problem = problem_class(M=run.name.M, **run.part(problem_class))
    problem.load(Streams(run.name.seed, run.settings["data_seed"]))
    shown = xr.Dataset(example(problem, data))
    missing = {dim: size for dim, size in shown.sizes.items() if dim not in shown.coords}
    return shown.assign_coords(
        {dim: data[dim].values if dim in data.coords else np.arange(1, size + 1) for dim, size in missing.items()}
    )
