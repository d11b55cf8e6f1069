"""From runs to summaries: what figures and claims read.

A *curve* is a variant at one M and N; its runs differ in the seed alone. ``summarise_curve`` gathers the runs of a
curve, ``join`` puts the curves of an experiment into one dataset. Epochs are addressed by their numbers, never by
their place: runs may store every epoch or only some.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from cbo_pipeline import problems
from cbo_pipeline.config import Run
from cbo_pipeline.errors import FileRefused
from cbo_pipeline.numerics.streams import Streams
from cbo_pipeline.results import contract, netcdf, runs
from cbo_pipeline.results.code import summary_digest
from cbo_pipeline.results.examples import example

STATISTICS = ("min", "q25", "median", "q75", "max", "mean")
SERIES = (
    "risk", "risk_loop", "risk_smallest", "risk_largest", "risk_loop_smallest", "risk_loop_largest",
    "risk_min", "risk_median", "risk_test", "accuracy", "variance", "rounds", "better_starts", "alpha", "sigma",
)  # fmt: skip
LARGE_IS_GOOD = ("accuracy",)


def summarise_curve(paths: Sequence[str | Path]) -> xr.Dataset:
    """All runs of one curve: every seed's series, their statistics over the seeds, an example.

    The example is what is shown of the typical run, the one whose final risk is the median.
    """
    data = [runs.read(path) for path in paths]
    of_files = [runs.run_of(d) for d in data]
    first = of_files[0]
    for path, run in zip(paths, of_files, strict=True):
        if curve_settings(run) != curve_settings(first):
            words = f"{path}: its settings are not those of {paths[0]}; {netcdf.AGAIN}"
            raise FileRefused(words, code="other-settings", key="settings", file=str(path))
    seeds_seen: dict[int, str | Path] = {}
    for path, run in zip(paths, of_files, strict=True):
        if run.name.seed in seeds_seen:
            words = (
                f"{path}: a second run of seed {run.name.seed}, beside {seeds_seen[run.name.seed]}; name one of them"
            )
            raise FileRefused(words, code="twice", key="seed", file=str(path))
        seeds_seen[run.name.seed] = path
    order = np.argsort([run.name.seed for run in of_files])
    seeds = [of_files[i].name.seed for i in order]
    per_seed = xr.concat([_series(data[i]) for i in order], xr.Variable("seed", seeds), join="outer")
    typical = order[_typical(per_seed["risk"].isel(epoch=-1).values)]
    result = per_seed.merge(_over_seeds(per_seed)).merge(_example(of_files[typical], data[typical]))
    result["example_seed"] = of_files[typical].name.seed
    result["settings"] = curve_settings(first)
    result["run_code"] = ("seed", np.array([data[i].attrs["code"] for i in order], object))
    curve = first.name.curve
    result = result.expand_dims(curve=[curve.stem]).assign_coords(
        variant=("curve", [curve.variant]),
        method=("curve", [first.method]),
        M=("curve", [curve.M]),
        N=("curve", [curve.N]),
    )
    title = f"{curve.experiment}/{curve.variant}, M = {curve.M}, N = {curve.N}"
    return _stamped(result, curve.experiment, title, summary_digest(first.problem))


def join(summaries: Sequence[xr.Dataset]) -> xr.Dataset:
    """Several curves of one experiment in one dataset, along the dimension ``curve``."""
    plain = [data.drop_indexes("variant") if "variant" in data.indexes else data for data in summaries]
    result = xr.concat(plain, "curve", join="outer", data_vars="all", fill_value=_FILL, combine_attrs="override")
    experiment = summaries[0].attrs["experiment"]
    return with_index(_stamped(result, experiment, experiment, summary_digest()))


_FILL = {"diverged": 0, "settings": "", "run_code": ""}


def read(path: str | Path) -> xr.Dataset:
    """Read a summary; curves can be selected by ``curve`` and by ``variant``."""
    return with_index(netcdf.read(path, "summary"))


def refuse_mixture(paths: Sequence[str | Path], found: Sequence[xr.Dataset]) -> None:
    """Refuse, by its file, a summary of another experiment than the first, or a curve that comes twice."""
    origin: dict[str, str | Path] = {}
    for path, data in zip(paths, found, strict=True):
        experiment, first = data.attrs["experiment"], found[0].attrs["experiment"]
        if experiment != first:
            words = f"{path}: of the experiment {experiment}, while {paths[0]} is of {first}; join one at a time"
            raise FileRefused(words, code="other-experiment", key="experiment", file=str(path))
        for curve in map(str, data["curve"].values):
            if curve in origin:
                words = f"{path}: holds the curve {curve}, as {origin[curve]} does; name one of them"
                raise FileRefused(words, code="twice", key="curve", file=str(path))
            origin[curve] = path


def with_index(data: xr.Dataset) -> xr.Dataset:
    """The summary with an index of the variants, so that ``summary.sel(variant="cbo")`` works."""
    return data if "variant" in data.indexes else data.set_xindex("variant")


def curve_settings(run: Run) -> str:
    """The settings of a run without its seed, as text."""
    return run.with_seed(0).json


def _stamped(data: xr.Dataset, experiment: str, name: str, code: str) -> xr.Dataset:
    return contract.stamp(data, "summary", name, code, experiment=experiment)


def _series(data: xr.Dataset) -> xr.Dataset:
    """The series of one run that are kept for every seed; those over tasks become medians over the tasks."""
    kept = xr.Dataset({name: _over_tasks(data[name]) for name in SERIES if name in data})
    kept["diverged"] = data["diverged"].max("epoch")
    if "task" in data["risk"].dims:
        risk = data["risk"]
        kept["risk_task_min"] = risk.min("task")
        kept["risk_task_max"] = risk.max("task")
        kept["risk_task_final"] = risk.isel(epoch=-1, drop=True)
    return kept.drop_attrs()  # the summary is described when it is whole


def _over_tasks(values: xr.DataArray) -> xr.DataArray:
    return values.median("task") if "task" in values.dims else values


def _over_seeds(per_seed: xr.Dataset) -> xr.Dataset:
    """Statistics over the seeds. A diverged run counts as infinitely bad, not as missing."""
    result = {}
    for name, values in per_seed.data_vars.items():
        if "epoch" not in values.dims:
            continue
        worst = -np.inf if name in LARGE_IS_GOOD else np.inf
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
    """What is shown of a run."""
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
