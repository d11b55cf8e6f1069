"""From the config to its runs."""

from collections.abc import Iterator
from typing import Any

from cbo_pipeline import methods, problems
from cbo_pipeline.config import epoch_lists, file_keys, keys, messages, run_checks, tables
from cbo_pipeline.config.names import Curve, RunName
from cbo_pipeline.config.normalise import normalised
from cbo_pipeline.config.run import Run


def runs(config: dict) -> Iterator[RunName]:
    """Every run of the config, once, in a fixed order."""
    for experiment, content in config["experiments"].items():
        for variant in content["methods"]:
            yield from runs_of_variant(config, experiment, variant)


def curves(config: dict) -> tuple[Curve, ...]:
    """Every curve of the config, once, in the order of the runs."""
    return tuple(dict.fromkeys(name.curve for name in runs(config)))


def runs_of_variant(config: dict, experiment: str, variant: str) -> list[RunName]:
    """The runs of one variant of one experiment: its grid times its seeds."""
    place = _place(config, experiment, variant)
    merged = merged_settings(config, experiment, variant)
    if "grid" in merged:
        grid = merged["grid"]
    elif "M" in merged and "N" in merged:
        grid = [{"M": merged["M"], "N": merged["N"]}]
    else:
        raise messages.refuse(place, "M and N are missing; give both, or a grid of them", "missing")
    if "seeds" not in merged:
        raise messages.refuse(f"{place}.seeds", "missing; give a number of runs or a list of seeds", "missing")
    seeds = merged["seeds"]
    seeds = list(range(seeds)) if isinstance(seeds, int) else seeds
    pairs = [(M, N) for block in grid for M in _as_list(block["M"]) for N in _as_list(block["N"])]
    return [RunName(experiment, variant, M, N, seed) for M, N in dict.fromkeys(pairs) for seed in seeds]


def resolve(config: dict, name: RunName, changes: dict[str, Any] | None = None) -> Run:
    """The run of that name with all its settings; ``changes`` win over the config."""
    place = _place(config, name.experiment, name.variant)
    problem, method = kinds(config, name.experiment, name.variant)
    own = config["experiments"][name.experiment]["methods"][name.variant]
    taken = keys.run_keys(problem, method)
    for key in {**own, **(changes or {})}:
        if key not in taken and key not in (*keys.GRID_KEYS, "method"):
            words = f"{method} on {problem} takes no such key{messages.closest(key, taken)}"
            raise messages.refuse(f"{place}.{key}", words, "not-taken")
    merged = {**merged_settings(config, name.experiment, name.variant), **(changes or {})}
    given = {key: merged[key] for key in taken if key in merged}
    tables.check_size(problem, given, place)
    given = file_keys.with_digests(given, taken, place)
    given = tables.filled_in(problem, method, given, place)
    run = Run(name, problem, method, normalised(problem, method, given))
    run_checks.check_run(run, place)
    epoch_lists.check_level(changes or {}, run.settings["epochs"], place)
    return run


def kinds(config: dict, experiment: str, variant: str) -> tuple[str, str]:
    """The problem and the method of a variant."""
    content = config["experiments"][experiment]
    own = content["methods"][variant]
    problem, method = content.get("problem", experiment), own.get("method", variant)
    place, inner = f"experiments.{experiment}", f"experiments.{experiment}.methods.{variant}"
    messages.require_known(
        problem, problems.names(), f"{place}.problem" if "problem" in content else place, "problem"
    )
    messages.require_known(method, methods.names(), f"{inner}.method" if "method" in own else inner, "method")
    return problem, method


# What may not be changed for one run by hand, and the option that says it instead.
_OTHER_OPTIONS = {
    "seeds": "use --seed",
    "grid": "use --width and --particles",
    "method": "use --method with a variant of the config, or a config of your own",
    "problem": "use --experiment, or a config of your own",
    "from": "use a config of your own",
    "sweep": "use a config of your own",
}


def chosen_run(
    config: dict,
    experiment: str,
    variant: str,
    seed: int = 0,
    M: int | None = None,
    N: int | None = None,
    changes: dict[str, Any] | None = None,
) -> Run:
    """One run that is asked for by hand: M and N default to the first of the config, ``changes`` win over it."""
    changes = dict(changes or {})
    for key, advice in _OTHER_OPTIONS.items():
        if key in changes:
            raise messages.refuse(f"--set {key}", f"cannot be changed for one run; {advice}", "other-option")
    first = runs_of_variant(config, experiment, variant)[0]
    sizes = {}
    for key, option, given, default in (("M", "--width", M, first.M), ("N", "--particles", N, first.N)):
        if key in changes and given is not None and changes[key] != given:
            raise messages.refuse(f"--set {key}", f"{option} {given} says otherwise", "conflict")
        sizes[key] = changes.pop(key, default if given is None else given)
        if isinstance(sizes[key], list):
            raise messages.refuse(f"--set {key}", "a run has one value, not a list", "wrong-type")
    return resolve(config, RunName(first.experiment, first.variant, seed=seed, **sizes), changes)


def merged_settings(config: dict, experiment: str, variant: str) -> dict:
    """Settings of the experiment, with those of the variant laid over them; a table has defaults below both."""
    content = config["experiments"][experiment]
    outer = {key: value for key, value in content.items() if key not in ("methods", "problem")}
    outer = laid_over(tables.defaults(*kinds(config, experiment, variant)), outer)
    inner = {key: value for key, value in content["methods"][variant].items() if key != "method"}
    return laid_over(outer, inner)


def laid_over(outer: dict, inner: dict) -> dict:
    """The inner settings win; M or N of the inner ones replace an outer grid, and a grid outer M and N."""
    if "grid" in inner:
        outer = {key: value for key, value in outer.items() if key not in ("M", "N")}
    elif {"M", "N"} & set(inner):
        outer = {key: value for key, value in outer.items() if key != "grid"}
    return {**outer, **inner}


def _place(config: dict, experiment: str, variant: str) -> str:
    """Where the variant stands in the config; refused if it is not there."""
    place = f"experiments.{experiment}.methods"
    messages.require_known(experiment, config["experiments"], "experiments", "experiment")
    messages.require_known(variant, config["experiments"][experiment]["methods"], place, "variant")
    return f"{place}.{variant}"


def _as_list(value) -> list:
    return value if isinstance(value, list) else [value]
