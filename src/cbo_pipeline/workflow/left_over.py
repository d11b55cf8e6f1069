"""What faults leave in a folder of results, cleared away before the next plan is made.

- A file of the plan whose seal does not fit (a bit flipped on the disk), or that is empty (a file system that was cut
  off): deleted, so that it is made again. It is worth nothing, and no reader would take it.
- Partial files of processes that are dead, and checkpoints of runs that have ended: two processes may have worked on
  one run, when a node was lost and came back.
- Runs that jobs kept until they had ended, and that are in their places.
- Folders in memory in which a killed process was putting a file together.

A file that is foreign, older or of other settings is not touched: its reader refuses it by name.
"""

import contextlib
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from cbo_pipeline import files
from cbo_pipeline.config import RunName
from cbo_pipeline.results import kinds
from cbo_pipeline.workflow import doubted_runs
from cbo_pipeline.workflow.doubted_runs import CHECKPOINTS
from cbo_pipeline.workflow.plan import Plan, curve_file, run_file

READINGS = Path("results", "readings")  # files of other plans, made by the same rules
HOUR = 3600.0
MEMORY = Path("/dev/shm")  # netcdf.MEMORY; its module loads xarray, which every job of a cluster would wait for
SCRATCH = re.compile(r"cbo_pipeline\.[a-z0-9_]{8}")  # folders of netcdf._encode, as tempfile names them
SCRATCH_FILE = "scratch.nc"  # the only file in them


def clear(plan: Plan, warn: Callable[[str], None]) -> None:
    """Clear all of it from the working directory. What may not be deleted stays."""
    for path in damaged(plan):
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
            warn(f"{path}: damaged (its checksum does not fit); deleted, to be made again.")
    files.clear_remains_below(Path("results"))
    clear_checkpoints(plan)
    doubted_runs.keep()
    doubted_runs.clear_kept()
    clear_scratch()


def damaged(plan: Plan) -> Iterator[Path]:
    """The files of the plan, and of the readings, that are there and are no longer what was written."""
    planned = map(Path, (*map(run_file, plan.runs), *map(curve_file, plan.curves), *plan.summaries()))
    for path in (*planned, *READINGS.rglob("*.nc")):
        with contextlib.suppress(OSError):
            if files.is_damaged(path):
                yield path


def clear_checkpoints(plan: Plan) -> None:
    """Remove the checkpoints of runs that have ended with the settings of the plan."""
    if not CHECKPOINTS.is_dir():
        return
    from cbo_pipeline.training import checkpoint

    for name in plan.runs:
        kept = CHECKPOINTS / f"{name}.npz"
        if any(kept.parent.glob(f"{kept.name}*")) and _has_ended(plan, name):
            checkpoint.remove(plan.run_of_name(name), kept)


def _has_ended(plan: Plan, name: RunName) -> bool:
    with contextlib.suppress(OSError):
        found = kinds.kind_of(Path(run_file(name)))
        return found is not None and found.settings == plan.run_of_name(name).json
    return False


def clear_scratch(now: float | None = None) -> None:
    """Remove folders that a killed process left in memory: writing a file takes seconds, not an hour.

    A folder of another name, or with anything else in it, is not ours.
    """
    oldest = (time.time() if now is None else now) - HOUR
    for folder in {MEMORY, Path(tempfile.gettempdir())}:
        for left in folder.glob("cbo_pipeline.*"):
            with contextlib.suppress(OSError):
                if _is_scratch(left) and left.stat().st_uid == os.geteuid() and left.stat().st_mtime < oldest:
                    (left / SCRATCH_FILE).unlink(missing_ok=True)
                    left.rmdir()


def _is_scratch(folder: Path) -> bool:
    """Whether this is a folder that ``netcdf`` made to put a file together in."""
    if not SCRATCH.fullmatch(folder.name) or folder.is_symlink() or not folder.is_dir():
        return False
    return all(path.name == SCRATCH_FILE and path.is_file() for path in folder.iterdir())
