"""What a publication keeps of results: summaries for readers, smaller, and what else claims are judged by.

summary/{experiment}.nc                              the paper as we read it
readings/{reading}/summary/{experiment}/{curve}.nc   other readings of it
cost/, checks/                                       measured costs, numerical checks
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import xarray as xr

from cbo_pipeline.results import ledger, netcdf, rounding
from cbo_pipeline.results import summaries as summary_files

MEASURED = ("cost", "checks")  # folders: what claims are judged by beside the summaries
# Statistics over the seeds that figures show; those of other series follow from the seeds' own.
STATISTICS_OF = ("risk", "accuracy", "risk_task_min", "variance")
# Of other readings, what verdicts need: they are many, and nothing else of them is shown.
JUDGED = (
    "risk", "risk_smallest", "risk_largest", "risk_loop", "risk_loop_smallest", "risk_loop_largest",
    "risk_over_seeds", "risk_task_min", "risk_task_max", "risk_task_final", "diverged", "settings", "run_code",
)  # fmt: skip


def summaries_in(results: Path) -> dict[str, xr.Dataset]:
    """The summaries of a folder's experiments, by the names of their files."""
    return {path.name: summary_files.read(path) for path in sorted((results / "summary").glob("*.nc"))}


def readings_in(results: Path) -> list[Path]:
    """The summaries of other readings, from the folder on."""
    return sorted(path.relative_to(results) for path in results.glob(f"{ledger.READINGS}/*/summary/*/*.nc"))


def measured_in(results: Path) -> list[Path]:
    """The files of measured costs and of numerical checks."""
    return [path for name in MEASURED for path in sorted((results / name).rglob("*.json"))]


def store(results: Path, summaries: Mapping[str, xr.Dataset], output: Path) -> list[Path]:
    """Put all that is published of a folder of results into the folder ``output``, over what it holds.

    Returns the summaries that were not there, or were others, from the folder on.
    """
    for path in measured_in(results):
        copy = output / path.relative_to(results)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    stored = [
        Path("summary", name) for name, data in summaries.items() if _put(lean(data), output / "summary" / name)
    ]
    for path in readings_in(results):
        stored += [path] if _put(lean_reading(summary_files.read(results / path)), output / path) else []
    return stored


def with_published(summaries: Mapping[str, xr.Dataset], output: Path) -> dict[str, xr.Dataset]:
    """Each summary together with the curves of the published one of its name that it does not hold itself."""
    return {name: _joined(data, output / "summary" / name) for name, data in summaries.items()}


def _joined(data: xr.Dataset, path: Path) -> xr.Dataset:
    published = summary_files.read(path) if path.is_file() else None
    others = None if published is None else _other_curves(published, data)
    if others is None:
        return data
    order = dict.fromkeys([*published["curve"].values, *data["curve"].values])
    return summary_files.join([lean(data), others]).sel(curve=list(order))


def _other_curves(published: xr.Dataset, data: xr.Dataset) -> xr.Dataset | None:
    others = ~np.isin(published["curve"].values, data["curve"].values)
    return published.isel(curve=others) if others.any() else None


def replaced(summaries: Mapping[str, xr.Dataset], results: Path, output: Path) -> set[Path]:
    """The files of a publication that are replaced, whole or in part, once these results are added."""
    found = [path.relative_to(results) for path in measured_in(results)] + readings_in(results)
    return {output / path for path in (*found, *(Path("summary", name) for name in summaries))}


def kept(summaries: Mapping[str, xr.Dataset], output: Path) -> dict[str, xr.Dataset]:
    """Of those replaced in part, the curves that stay, by the names of their files."""
    paths = {name: output / "summary" / name for name in summaries}
    published = {name: summary_files.read(path) for name, path in paths.items() if path.is_file()}
    found = {name: _other_curves(data, summaries[name]) for name, data in published.items()}
    return {name: data for name, data in found.items() if data is not None}


def not_published(summaries: Mapping[str, xr.Dataset], output: Path) -> list[str]:
    """The curves whose settings are not those of a published one."""
    published = {text for data in summaries_in(output).values() for text in map(str, data["settings"].values)}
    return [
        f"{data.attrs['experiment']}/{curve}"
        for data in summaries.values()
        for curve, text in zip(data["curve"].values, map(str, data["settings"].values), strict=True)
        if text not in published
    ]


def _put(data: xr.Dataset, path: Path) -> bool:
    """Write a summary; returns whether the file is another one now."""
    before = path.read_bytes() if path.is_file() else None
    netcdf.write(data, path)
    return path.read_bytes() != before


def lean(data: xr.Dataset) -> xr.Dataset:
    """A summary for readers, a third as large: other statistics left out, numbers rounded to six digits."""
    left_out = [n for n in data if n.endswith("_over_seeds") and n.removesuffix("_over_seeds") not in STATISTICS_OF]
    return rounding.published(data.drop_vars(left_out))


def lean_reading(data: xr.Dataset) -> xr.Dataset:
    """A summary of another reading: what it is judged by, rounded likewise.

    Examples, which depend on the code of the problem, are left out: the digest is that of a summary without them.
    """
    return rounding.published(summary_files.join([data[[name for name in JUDGED if name in data]]]))
