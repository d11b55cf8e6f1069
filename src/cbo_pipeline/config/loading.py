"""The config: config.yaml with other files laid over it, and what they abbreviate written out."""

import copy
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cbo_pipeline import plugins
from cbo_pipeline.config import epoch_lists, file_keys, inheritance, messages, schema, sweeps, tables, yaml_files
from cbo_pipeline.config.schema import project_file


def load_config(*overlays: str | Path) -> dict:
    """The project's config.yaml with other files laid over it, everything that they abbreviate written out.

    Mappings are merged key by key, anything else is replaced; ``null`` leaves an experiment or a variant out.
    """
    paths = [project_file("config.yaml"), *map(Path, overlays)]
    return assembled([(yaml_files.read(path), path.parent) for path in paths])


def config_of_workflow(overlays: Iterable[str | Path], changes: dict) -> dict:
    """The config as ``load_config`` reads it for Snakemake, whose ``--config`` gives the last changes."""
    paths = [project_file("config.yaml"), *map(Path, overlays)]
    contents = [(yaml_files.read(path), path.parent) for path in paths]
    return assembled([*contents, (changes, Path())] if changes else contents)


def assembled(contents: Sequence[tuple[dict, Path]]) -> dict:
    """One config of several, each with the folder that its relative paths start from."""
    for content, folder in contents:
        plugins.add(*file_keys.plugin_folders(content, folder))
    merged: dict = {}
    left_out: set[tuple[str, ...]] = set()
    for content, folder in contents:
        content = file_keys.with_paths(copy.deepcopy(content), folder)
        shorter = epoch_lists.without_own_lists(content)
        _take_out_nulls(content, merged, left_out)
        lay_over(merged, content)
        epoch_lists.cut(merged, shorter, left_out)
    merged.pop("plugins", None)
    tables.add_methods(merged)
    return written_out(merged, left_out)


def lay_over(config: dict, other: dict) -> None:
    """Merge ``other`` into ``config``: mappings key by key, anything else is replaced.

    A grid replaces M and N, and these replace a grid."""
    for key in ("M", "N") if "grid" in other else ("grid",) if {"M", "N"} & set(other) else ():
        config.pop(key, None)
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(config.get(key), dict):
            lay_over(config[key], value)
        else:
            config[key] = copy.deepcopy(value)


def written_out(config: Any, left_out: Iterable[tuple[str, ...]] = ()) -> dict:
    """The config with nothing abbreviated: no ``from``, no ``sweep``, only the experiments that are run.

    A variant that is left out, or whose experiment is, can still be what another one starts from.
    """
    schema.check_config_shape(config)
    full = {**config, "experiments": {}}
    for experiment, content in config["experiments"].items():
        chosen = (v for v in content["methods"] if not {(experiment,), (experiment, v)} & set(left_out))
        own = {variant: inheritance.own_settings(config["experiments"], experiment, variant) for variant in chosen}
        full["experiments"][experiment] = {**content, "methods": own}
    only = full.pop("only_experiments", None)
    for index, name in enumerate(only or ()):
        messages.require_known(name, full["experiments"], f"only_experiments[{index}]", "experiment")
    full["experiments"] = {
        name: content
        for name, content in full["experiments"].items()
        if (name,) not in left_out and (only is None or name in only)
    }
    return sweeps.unfolded(full)


def _take_out_nulls(content: dict, earlier: dict, left_out: set[tuple[str, ...]]) -> None:
    """Note the experiments and variants that ``content`` sets to null, and take them out of it.

    What a later file says about them again brings them back."""
    experiments = content.get("experiments")
    if not isinstance(experiments, dict):
        return
    before = earlier.get("experiments")
    before = before if isinstance(before, dict) else {}
    for experiment, own in list(experiments.items()):
        _note(experiments, experiment, before, (experiment,), "experiments", left_out)
        variants = own.get("methods") if isinstance(own, dict) else None
        known = before.get(experiment)
        known = known.get("methods") if isinstance(known, dict) else None
        for variant in list(variants) if isinstance(variants, dict) else ():
            place = f"experiments.{experiment}.methods"
            _note(variants, variant, known or {}, (experiment, variant), place, left_out)


def _note(table: dict, name: Any, before: dict, path: tuple, place: str, left_out: set) -> None:
    left_out.discard(path)
    if table[name] is not None:
        return
    if name not in before:
        words = f"there is nothing of this name to leave out{messages.closest(str(name), map(str, before))}"
        raise messages.refuse(f"{place}.{name}", words, "unknown-name")
    del table[name]
    left_out.add(path)
