"""A run with all its settings."""

import dataclasses
import functools
import json
from dataclasses import dataclass
from typing import Any

from cbo_pipeline import methods, problems
from cbo_pipeline.config import keys, messages, run_checks, schema
from cbo_pipeline.config.names import RunName
from cbo_pipeline.config.normalise import normalised


@dataclass(frozen=True)
class Run:
    """One training run. ``settings`` holds everything that decides its numbers, and nothing else."""

    name: RunName
    problem: str
    method: str
    settings: dict[str, Any]

    @functools.cached_property
    def json(self) -> str:
        """Canonical text: equal texts mean equal results."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Run":
        """The inverse of ``Run.json``, checked like a config."""
        try:
            content = json.loads(text, object_pairs_hook=_without_repetition)
            name = RunName(**content["name"])
            problem, method, settings = content["problem"], content["method"], {**content["settings"]}
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            words = f"not the settings of a run ({messages.one_line(error)})"
            raise messages.refuse("settings", words, "not-a-run") from None
        schema.check_name(name.experiment, "settings.name.experiment")
        schema.check_name(name.variant, "settings.name.variant")
        own = "if it is your own, name its folder in CBO_PLUGINS"
        messages.require_known(problem, problems.names(), f"{name.place}.problem", "problem", own)
        messages.require_known(method, methods.names(), f"{name.place}.method", "method", own)
        for key in settings:
            if key not in keys.run_keys(problem, method):
                words = f"{method} on {problem} takes no such key"
                raise messages.refuse(f"{name.place}.{key}", words, "not-taken")
        run = cls(name, problem, method, normalised(problem, method, settings))
        run_checks.check_run(run, name.place)
        return run

    def with_seed(self, seed: int) -> "Run":
        """The same run with another seed."""
        return dataclasses.replace(self, name=self.name.curve.run(seed))

    def part(self, cls: type) -> dict[str, Any]:
        """The settings that the dataclass ``cls`` takes, under its names."""
        return {name: self.settings[key] for key, name in keys.taken_keys(cls).items() if key in self.settings}


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A mapping of JSON; a key that appears twice would lose its first value without a word."""
    names = [key for key, _ in pairs]
    for key in names:
        if names.count(key) > 1:
            raise ValueError(f"{key} appears twice")
    return dict(pairs)
