"""The check of a whole config, before anything starts."""

import warnings

from cbo_pipeline import methods, problems
from cbo_pipeline.config import epoch_lists, keys, loading, memory, messages
from cbo_pipeline.config.names import Curve, RunName
from cbo_pipeline.config.resolving import kinds, merged_settings, resolve, runs


def check_config(config: dict) -> None:
    """Refuse a config with one line that names the key, or return quietly. Nothing has started by then."""
    content = (
        {key: value for key, value in config.items() if key != "families"} if isinstance(config, dict) else config
    )
    config = loading.written_out(content)
    _check_taken(config)
    first: dict[Curve, RunName] = {}
    for name in runs(config):  # runs that differ in their seed alone are checked once
        first.setdefault(name.curve, name)
    epochs = {}
    for name in first.values():
        run = resolve(config, name)
        memory.check(run, name.place)
        epochs[name.experiment, name.variant] = run.settings["epochs"]
    epoch_lists.check(config, epochs)
    _warn_where_consensus_is_not_guaranteed(config)


# Folders of logs and benchmarks beside those of the experiments (``results.job_times``).
STAGES = ("data", "cost", "summary", "figures", "checks", "claims", "settings", "readings", "index", "article")


def _check_taken(config: dict) -> None:
    """Every key of an experiment is taken by somebody, and nobody says both M or N and a grid at one place."""
    for name, experiment in config["experiments"].items():
        place = f"experiments.{name}"
        if name in STAGES:
            raise messages.refuse(place, "a stage of the workflow has this name; choose another", "bad-name")
        used = {*keys.taken_keys(keys.Loop), *keys.GRID_KEYS}
        _check_grid(experiment, place)
        for variant, own in experiment["methods"].items():
            problem, method = kinds(config, name, variant)
            used |= {*keys.taken_keys(problems.find(problem)), *keys.taken_keys(methods.find(method))}
            _check_grid(own, f"{place}.methods.{variant}")
        for key in experiment:
            if key not in used and key not in ("methods", "problem", "expect_no_consensus"):
                words = f"neither the problem nor a method of {name} takes it"
                raise messages.refuse(f"{place}.{key}", words, "not-taken")


def _check_grid(level: dict, place: str) -> None:
    both = [key for key in ("M", "N") if "grid" in level and key in level]
    if both:
        raise messages.refuse(f"{place}.{both[0]}", "given together with a grid, which sets M and N", "conflict")


def _warn_where_consensus_is_not_guaranteed(config: dict) -> None:
    """Section 3.3: anisotropic noise needs 2 lambda > sigma^2 for consensus, in any dimension."""
    for experiment, content in config["experiments"].items():
        for variant in content["methods"]:
            merged = merged_settings(config, experiment, variant)
            anisotropic = methods.find(kinds(config, experiment, variant)[1]).anisotropic_noise
            drift, diffusion = merged.get("lambda"), merged.get("sigma_squared")
            expected = content.get("expect_no_consensus", False)
            if anisotropic and not expected and None not in (drift, diffusion) and 2 * drift <= diffusion:
                warnings.warn(
                    f"experiments.{experiment}.methods.{variant}: 2 lambda = {2 * drift:g} <= sigma_squared ="
                    f" {diffusion:g}: consensus is not guaranteed",
                    stacklevel=2,
                )
