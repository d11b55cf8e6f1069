"""Lists of epochs (``snapshots``, ``keep_ensembles``) beside the number of epochs.

An entry that no variant reaches is a mistake and refused. But a file that only changes ``epochs``, or leaves out the
longest variants, need not repeat the lists of the file below it: those are cut.
"""

from typing import Any

from cbo_pipeline.config import messages
from cbo_pipeline.config.keys import EPOCH_LISTS


def without_own_lists(content: dict) -> list[tuple[str, str]]:
    """The (experiment, key) for which a file changes epochs or leaves variants out, but not the list of that key."""
    found = []
    experiments = content.get("experiments")
    for name, experiment in experiments.items() if isinstance(experiments, dict) else ():
        levels = _levels(experiment)
        if any("epochs" in level for level in levels) or None in _variants(experiment).values():
            found += [(name, key) for key in EPOCH_LISTS if not any(key in level for level in levels)]
    return found


def cut(config: dict, shorter: list[tuple[str, str]], left_out: set[tuple[str, ...]]) -> None:
    """Cut these lists at the largest number of epochs of their experiment, without variants that are left out."""
    for name, key in shorter:
        experiment = config["experiments"].get(name)
        variants = _variants(experiment)
        used = _with_bases(variants, {variant for variant in variants if (name, variant) not in left_out})
        levels = _levels(experiment, used)
        longest = max((level["epochs"] for level in levels if type(level.get("epochs")) is int), default=0)
        for level in levels:
            if isinstance(level.get(key), list) and longest:
                level[key] = [entry for entry in level[key] if type(entry) is not int or entry <= longest]


def check(config: dict, epochs_of: dict[tuple[str, str], int]) -> None:
    """Refuse entries that are never reached; ``epochs_of`` has the epochs of every (experiment, variant)."""
    for name, experiment in config["experiments"].items():
        place = f"experiments.{name}"
        for key in EPOCH_LISTS:
            using = [epochs_of[name, v] for v, own in experiment["methods"].items() if key not in own]
            _check(experiment, key, max(using, default=0), place)
        for variant, own in experiment["methods"].items():
            check_level(own, epochs_of[name, variant], f"{place}.methods.{variant}")


def check_level(level: dict, epochs: int, place: str) -> None:
    """Refuse entries of these settings, sound by themselves, that lie beyond the last epoch."""
    for key in EPOCH_LISTS:
        _check(level, key, epochs, place)


def _check(level: dict, key: str, epochs: int, place: str) -> None:
    for entry in level.get(key) or ():
        if entry > epochs:
            words = f"epoch {entry} is beyond the {epochs} epochs of training"
            raise messages.refuse(f"{place}.{key}", words, "never-reached")


def _levels(experiment: Any, used: set | None = None) -> list[dict]:
    """The mappings of an experiment that may hold settings; ``used``: of these variants alone."""
    if not isinstance(experiment, dict):
        return []
    inner = (level for variant, level in _variants(experiment).items() if used is None or variant in used)
    return [experiment, *(level for level in inner if isinstance(level, dict))]


def _variants(experiment: Any) -> dict:
    variants = experiment.get("methods") if isinstance(experiment, dict) else None
    return variants if isinstance(variants, dict) else {}


def _with_bases(variants: dict, chosen: set) -> set:
    """These variants, and those of the same experiment that they start from, which may set their epochs."""
    found, waiting = set(), list(chosen)
    while waiting:
        variant = waiting.pop()
        if variant in variants and variant not in found:
            found.add(variant)
            own = variants[variant]
            base = own.get("from") if isinstance(own, dict) else None
            waiting += [base] if isinstance(base, str) else []
    return found
