"""A run on a table that is asked for by hand, without a config."""

from typing import Any

from cbo_pipeline.config import resolving
from cbo_pipeline.config.run import Run
from cbo_pipeline.problems import _table_arrays
from cbo_pipeline.problems.table import Table

# Settings that are told in words, or are no choice.
_TOLD = ("data", "data_digest", "inputs", "targets", "classes", "rows", "tasks")


def remember(data: Any) -> str:
    """Keep a table of this session under a name that stands for a file."""
    return _table_arrays.remember(data)


def chosen_run(
    data: str,
    targets: list[str],
    inputs: list[str] | None,
    method: str,
    seed: int = 0,
    M: int | None = None,
    N: int | None = None,
    changes: dict[str, Any] | None = None,
) -> Run:
    """The run of a method on a table, with the defaults of ``table.yaml``; ``changes`` win over them."""
    content = {"problem": "table", "data": data, "targets": targets, "methods": {method: {}}}
    if inputs is not None:
        content["inputs"] = inputs
    return resolving.chosen_run({"experiments": {"table": content}}, "table", method, seed, M, N, changes)


def words(run: Run) -> str:
    """The table and the settings of a run, as they are told before it starts."""
    settings = run.settings
    size = Table.training_rows(settings)
    kinds = [f"{len(names)} classes" for names in settings["classes"]] or ["numbers"] * len(settings["targets"])
    targets = ", ".join(f"{name} ({kind})" for name, kind in zip(settings["targets"], kinds, strict=True))
    chosen = {key: value for key, value in settings.items() if key not in _TOLD and value not in (None, [])}
    listed = ", ".join(f"{key}={value}" for key, value in {"M": run.name.M, "N": run.name.N, **chosen}.items())
    return (
        f"{settings['data']}: {size} rows to train on, {settings['rows'] - size} to test on,"
        f" {len(settings['inputs'])} inputs, {targets}\n{run.method} with {listed}"
    )
