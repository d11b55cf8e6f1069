"""Which files of the package a stage runs: the workflow takes them as inputs, so that editing the science
reruns what depends on it, and only that."""

import ast
import functools
import os
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Editing these cannot change a result: they parse, find, report and store.
PLUMBING = {"errors", "files", "plugins"}
PLUMBING_FLOORS = ("cli", "config", "pages", "workflow", "training.checkpoint", "results.code")


def files(*modules: str) -> list[str]:
    """The files of these modules (such as "methods.cbo") and of all modules of the package that they import.

    The paths are relative to the working directory: a checkout that moves takes its finished work along.
    """
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if (
            module not in found
            and module not in PLUMBING
            and not module.startswith(PLUMBING_FLOORS)
            and _path(module)
        ):
            found.add(module)
            waiting += _imports(module)
    return sorted(os.path.relpath(_path(module)) for module in found)


def of_run(method: str, problem: str) -> list[str]:
    """The files that decide what a run of this method on this problem gives."""
    return files("training.loop", "results.trajectory", f"methods.{method}", f"problems.{problem}")


def _path(module: str) -> Path | None:
    base = ROOT.joinpath(*module.split("."))
    return next((p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file()), None)


@functools.cache
def _imports(module: str) -> tuple[str, ...]:
    names: list[str] = []
    for node in ast.walk(ast.parse(_path(module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    inside = (n.removeprefix("cbo_pipeline.") for n in names if n.startswith("cbo_pipeline."))
    return tuple(n for n in inside if _path(n))
