"""The check of one run by itself: every key it needs is there, in bounds, and what it combines fits together."""

import inspect
from typing import Any

from cbo_pipeline import methods, problems
from cbo_pipeline.config import keys, messages, schema
from cbo_pipeline.problems.base import Problem


def check_run(run, where: str) -> None:
    """Refuse a run (``run.Run``) in one line; ``where`` is its place in the config."""
    problem, method = problems.find(run.problem), methods.find(run.method)
    _check_complete(problem, f"{where}.problem")
    _check_complete(method, f"{where}.method")
    settings, name = run.settings, run.name
    needed = {key for cls in keys.parts(run.problem, run.method) for key in keys.needed_keys(cls)}
    for key in sorted(needed - set(settings)):
        raise messages.refuse(f"{where}.{key}", f"missing ({schema.description(key)})", "missing")
    for key, value in {**settings, "M": name.M, "N": name.N, "seeds": [name.seed]}.items():
        schema.check_setting(key, value, f"{where}.{key}")
    _check_together(run, problem, method, where)
    for check in (problem.check, method.check):
        complaint = check(settings, name.M, name.N)
        if complaint:
            key, words = complaint
            raise messages.refuse(f"{where}.{key}", words, "does-not-fit")


def _check_complete(cls: type, where: str) -> None:
    """A class of one's own that leaves out what every problem or method has cannot be run."""
    if inspect.isabstract(cls):
        missing = ", ".join(sorted(cls.__abstractmethods__))
        raise messages.refuse(where, f"{cls.__name__} does not define {missing}", "broken-plugin")


def _check_together(run, problem: type, method: type, where: str) -> None:
    """Keys that are sound by themselves, but not beside each other."""
    settings: dict[str, Any] = run.settings
    size = problem.data_size(settings)
    if size % settings["batch_size"]:
        words = f"{settings['batch_size']} does not divide the {size} data points"
        raise messages.refuse(f"{where}.batch_size", words, "does-not-fit")
    if settings.get("alpha_max", settings.get("alpha", 0)) < settings.get("alpha", 0):
        words = f"{settings['alpha_max']:g} is below alpha, {settings['alpha']:g}"
        raise messages.refuse(f"{where}.alpha_max", words, "does-not-fit")
    tasks = settings.get("tasks", 1)
    if tasks > 1 and not method.many_tasks:
        raise messages.refuse(f"{where}.tasks", f"{run.method} solves one task, not {tasks}", "does-not-fit")
    if method.needs_gradients and problem.risks_and_gradients is Problem.risks_and_gradients:
        words = f"{run.method} needs gradients, and the problem {run.problem} has none"
        raise messages.refuse(where, words, "no-gradients")
