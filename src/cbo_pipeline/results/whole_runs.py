"""Whole runs that are kept beside their checkpoints until the job that makes several of them has ended.

Snakemake deletes all outputs of a job that failed, and all outputs of a job before it starts it again. So a run of
such a job is written here first and then linked to its place; whoever trains it again finds it and links it anew.
"""

import json
import os
import shutil
from pathlib import Path

from cbo_pipeline.config import Run
from cbo_pipeline.errors import UserError
from cbo_pipeline.files import whole_file
from cbo_pipeline.results.versions import versions

ENDING = ".whole"


def beside(checkpoint: Path) -> Path:
    """Where a whole run is kept.

    >>> beside(Path("results/checkpoints/sine/cbo/M5_N8_seed0.npz")).name
    'M5_N8_seed0.npz.whole'
    """
    return checkpoint.with_name(f"{checkpoint.name}{ENDING}")


def fits(path: Path, run: Run, digest: str) -> bool:
    """Whether this very run is kept here, made by the code and the libraries of today; a damaged file is not."""
    if not path.is_file():
        return False
    try:
        found = _attributes(path)
    except (UserError, OSError):
        return False
    wanted = {"settings": run.json, "code": digest, "versions": json.dumps(versions(), sort_keys=True)}
    return all(found.get(key) == value for key, value in wanted.items())


def put(kept: Path, output: Path) -> None:
    """Put a kept run into its place: the same bytes, as a second name of the same file where that can be."""
    with whole_file(output) as partial:
        try:
            os.link(kept, partial)
        except OSError:
            shutil.copyfile(kept, partial)
        os.utime(partial)


def remove(path: Path, run: Run) -> None:
    """Remove a kept run that is in its place for good; one of other settings stays."""
    if path.is_file():
        try:
            settings = _attributes(path)["settings"]
        except (UserError, OSError):
            return
        if settings == run.json:
            path.unlink(missing_ok=True)


def _attributes(path: Path) -> dict:
    from cbo_pipeline.results import netcdf  # here: the driver, which asks only for names, loads no NetCDF

    return netcdf.read(path, "run").attrs
