"""Experiments on a table (``problem: table``): what they need not say, because a default or the file says it.

``table.yaml`` has the defaults of the methods. From the file come the columns, the number of rows and the classes,
and, where they are left out, a batch size and a number of epochs that suit its size.
"""

import functools
import math
from pathlib import Path
from typing import Any

from cbo_pipeline import methods, problems
from cbo_pipeline.config import memory, messages, schema, yaml_files
from cbo_pipeline.errors import FileRefused
from cbo_pipeline.problems import _table_files, _table_profile
from cbo_pipeline.problems.table import Table

FOUND = ("rows", "classes", "tasks")  # keys that are filled in and may not be written
FEWEST, MOST = 32, 1000  # rows of a batch, if nothing is said
FEWEST_EPOCHS = 20  # however large a table is


def is_table(problem: str) -> bool:
    """Whether a problem is a table, or extends it."""
    return problem in problems.names() and issubclass(problems.find(problem), Table)


@functools.cache
def _file() -> dict:
    return yaml_files.read(Path(__file__).with_name("table.yaml"))


def add_methods(config: dict) -> None:
    """Give the experiments on tables that name no methods those of ``table.yaml``."""
    experiments = config.get("experiments")
    for experiment in experiments.values() if isinstance(experiments, dict) else ():
        if isinstance(experiment, dict) and experiment.get("problem") == "table":
            experiment.setdefault("methods", {name: {} for name in _file()["compared"]})


def defaults(problem: str, method: str) -> dict[str, Any]:
    """The settings of a method on a table that says nothing itself."""
    if not is_table(problem):
        return {}
    return {**_file()["all"], **_file()["methods"].get(method, {})}


def check_size(problem: str, settings: dict[str, Any], place: str) -> None:
    """Refuse a file that does not fit into memory, before it is read."""
    if not is_table(problem) or not isinstance(settings.get("data"), str):
        return
    needed, there = _table_files.memory_needed(settings["data"]), memory.available()
    if needed > there:
        words = f"reading it needs {memory.size(needed)} of memory, but only {memory.size(there)} is available"
        path = settings["data"]
        raise FileRefused(f"{path}: {words}", code="memory", key=f"{place}.data", file=path)


def filled_in(problem: str, method: str, settings: dict[str, Any], place: str) -> dict[str, Any]:
    """The settings of a run on a table with all that its file says."""
    if not is_table(problem):
        return settings
    for key in FOUND:
        if key in settings:
            raise messages.refuse(f"{place}.{key}", "is filled in from the table's file; leave it out", "filled-in")
    for key in ("data", "targets"):
        if key not in settings:
            raise messages.refuse(f"{place}.{key}", f"missing ({schema.description(key)})", "missing")
    for key in ("data", "targets", "inputs", "loss", "batch_size", "test_share"):
        if settings.get(key) is not None:
            schema.check_setting(key, settings[key], f"{place}.{key}")
    inputs, targets = (_as_list(settings.get(key)) for key in ("inputs", "targets"))
    found = _table_profile.profile(settings["data"], inputs, targets, settings.get("loss"))
    several = methods.find(method).many_tasks and len(found.targets) > 1
    full = {
        **settings,
        "inputs": list(found.inputs),
        "targets": list(found.targets),
        "loss": found.loss,
        "rows": found.rows,
        "classes": [list(names) for names in found.classes],
        "tasks": len(found.targets) if several else 1,
    }
    size = Table.training_rows({"test_share": Table.test_share, **full})
    batch = full.setdefault("batch_size", _batch_size(methods.find(method).needs_gradients, size))
    if batch > size or size < 1:
        words = f"{size} rows to train on, fewer than batch_size, {batch}; make batch_size or test_share smaller"
        path = full["data"]
        raise FileRefused(f"{path}: {words}", code="too-few-rows", key=f"{place}.batch_size", file=path)
    wanted = _file()["iterations"].get(method, _file()["iterations"]["others"])
    full.setdefault("epochs", max(FEWEST_EPOCHS, math.ceil(wanted / math.ceil(size / batch))))
    return full


def _batch_size(gradients: bool, size: int) -> int:
    """A tenth of the training part for gradients; all of it where particles are compared by their risks alone."""
    return min(size, MOST, max(FEWEST, math.ceil(size / 10)) if gradients else MOST)


def _as_list(value: str | list[str] | None) -> list[str] | None:
    return [value] if isinstance(value, str) else value
