"""What a run is: the config, checked once, becomes frozen runs; nothing later asks the config again."""

import copy
import dataclasses
import difflib
import functools
import json
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cbo_pipeline import methods, problems
from cbo_pipeline.config import memory
from cbo_pipeline.errors import ConfigError

# Keys of the training loop itself; the others belong to a problem or a method.
LOOP_KEYS = (
    "epochs", "batch_size", "batches", "snapshots", "keep_ensembles", "record_first", "record_every", "data_seed",
)  # fmt: skip
LOOP_DEFAULTS = {
    "batches": "partition",
    "snapshots": [],
    "keep_ensembles": [],
    "record_first": 0,
    "record_every": 1,
    "data_seed": None,
}
# Keys that unfold into several runs.
GRID_KEYS = ("M", "N", "grid", "seeds")


@dataclass(frozen=True, order=True)
class RunName:
    """The address of a run: results/runs/{experiment}/{method}/M{M}_N{N}_seed{seed}.nc."""

    experiment: str
    method: str
    M: int
    N: int
    seed: int

    def __str__(self) -> str:
        return f"{self.experiment}/{self.method}/M{self.M}_N{self.N}_seed{self.seed}"


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
        parts = {"name": dataclasses.asdict(self.name), "problem": self.problem, "method": self.method}
        return json.dumps({**parts, "settings": self.settings}, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Run":
        """The inverse of ``Run.json``, checked like a config."""
        try:
            parts = json.loads(text)
            name = RunName(**parts["name"])
            run = cls(name, parts["problem"], parts["method"], {**LOOP_DEFAULTS, **parts["settings"]})
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ConfigError(f"settings: not the settings of a run ({_one_line(error)})") from None
        where = f"experiments.{name.experiment}.methods.{name.method}"
        _known(run.problem, problems.names(), f"{where}.problem", "problem")
        _known(run.method, methods.names(), f"{where}.method", "method")
        for key in run.settings:
            if key not in run_keys(run.problem, run.method):
                raise ConfigError(f"{where}.{key}: {run.method} on {run.problem} takes no such key")
        check_run(run, where)
        return run

    def part(self, cls: type) -> dict[str, Any]:
        """The settings that the dataclass ``cls`` takes, under its names."""
        return {name: self.settings[key] for key, name in taken_keys(cls).items() if key in self.settings}


def taken_keys(cls: type) -> dict[str, str]:
    """The config keys of a problem or method: its dataclass fields, where ``lambda_`` stands for ``lambda``."""
    return {f.name.rstrip("_"): f.name for f in dataclasses.fields(cls) if f.name != "M" and f.name != "N"}


def needed_keys(cls: type) -> set[str]:
    """The keys among ``taken_keys`` that have no default."""
    missing = dataclasses.MISSING
    return {
        f.name.rstrip("_")
        for f in dataclasses.fields(cls)
        if f.default is missing and f.default_factory is missing and f.name not in ("M", "N")
    }


def run_keys(problem: str, method: str) -> set[str]:
    """All keys that decide the numbers of a run of this method on this problem."""
    return {*LOOP_KEYS, *taken_keys(problems.find(problem)), *taken_keys(methods.find(method))}


def project_file(name: str) -> Path:
    """A file of the project: beside the installed package, or in the checkout that it belongs to."""
    here = Path(__file__).parents[1]
    candidates = (here / Path(name).name, here.parents[1] / name)
    for path in candidates:
        if path.is_file():
            return path
    raise ConfigError(f"{name}: not found; run inside a checkout or name the file with --config")


def load_config(*overlays: str | Path) -> dict:
    """The project's config.yaml with other files laid over it, as Snakemake's --configfile does."""
    config: dict = {}
    for path in (project_file("config.yaml"), *overlays):
        _lay_over(config, _read_yaml(Path(path)))
    return without_left_out(config)


def without_left_out(config: Any) -> Any:
    """The config without the experiments and methods that are set to null: an overlay leaves them out so."""
    experiments = config.get("experiments") if isinstance(config, dict) else None
    if not isinstance(experiments, dict):
        return config
    kept = {name: content for name, content in experiments.items() if content is not None}
    for name, content in kept.items():
        if isinstance(content, dict) and isinstance(content.get("methods"), dict):
            chosen = {method: own for method, own in content["methods"].items() if own is not None}
            kept[name] = {**content, "methods": chosen}
    return {**config, "experiments": kept}


def _read_yaml(path: Path) -> dict:
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        problem = getattr(error, "problem", None) or error
        raise ConfigError(f"{path}{line}: not valid YAML ({problem})") from None
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: a config is a mapping of keys to values, not {_kind(content)}")
    return content


def _lay_over(config: dict, other: dict) -> None:
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(config.get(key), dict):
            _lay_over(config[key], value)
        else:
            config[key] = copy.deepcopy(value)


@functools.cache
def schema() -> dict:
    """The schema of the config, with the keys that methods and problems outside it declare themselves.

    A dataclass field may carry ``metadata={"schema": {...}}`` for a key that config.schema.yaml does not have.
    """
    content = _read_yaml(project_file("workflow/schemas/config.schema.yaml"))
    known = content["x-settings"]
    for find, names in ((methods.find, methods.names()), (problems.find, problems.names())):
        for name in names:
            for field in dataclasses.fields(find(name)):
                key = field.name.rstrip("_")
                if "schema" in field.metadata and key not in known:
                    for place in (
                        known,
                        *(content["$defs"][d]["properties"] for d in ("experiment", "method")),
                    ):
                        place[key] = field.metadata["schema"]
    return content


def check_config(config: dict) -> None:
    """Refuse a config with one line that names the key, or return quietly. Nothing has started by then."""
    _check_schema(config)
    seen = set()
    for name in runs(config):
        curve = (name.experiment, name.method, name.M, name.N)
        if curve not in seen:  # runs that differ in their seed alone are checked once
            seen.add(curve)
            memory.check(resolve(config, name), f"experiments.{name.experiment}.methods.{name.method}")
    _warn_where_consensus_is_not_guaranteed(config)


def runs(config: dict) -> Iterator[RunName]:
    """Every run of the config, once, in a fixed order."""
    for experiment, content in config["experiments"].items():
        for method in content["methods"]:
            yield from experiment_runs(config, experiment, method)


def experiment_runs(config: dict, experiment: str, method: str) -> list[RunName]:
    """The runs of one method of one experiment: its grid times its seeds."""
    content = _lookup(config["experiments"], experiment, "experiments", "experiment")
    _lookup(content["methods"], method, f"experiments.{experiment}.methods", "method")
    merged = _merged(config, experiment, method)
    path = f"experiments.{experiment}.methods.{method}"
    if "grid" in merged:
        sweeps = merged["grid"]
    elif "M" in merged and "N" in merged:
        sweeps = [{"M": merged["M"], "N": merged["N"]}]
    else:
        raise ConfigError(f"{path}: M and N are missing; give both, or a grid of them")
    if "seeds" not in merged:
        raise ConfigError(f"{path}.seeds: missing; give a number of runs or a list of seeds")
    seeds = merged["seeds"]
    seeds = list(range(seeds)) if isinstance(seeds, int) else seeds
    pairs = [(m, n) for sweep in sweeps for m in _as_list(sweep["M"]) for n in _as_list(sweep["N"])]
    return [RunName(experiment, method, m, n, seed) for m, n in dict.fromkeys(pairs) for seed in seeds]


def resolve(config: dict, name: RunName, changes: dict[str, Any] | None = None) -> Run:
    """The run of that name with all its settings; ``changes`` win over the config (``--set``)."""
    path = f"experiments.{name.experiment}"
    experiment = _lookup(config["experiments"], name.experiment, "experiments", "experiment")
    own = _lookup(experiment["methods"], name.method, f"{path}.methods", "method")
    problem = experiment.get("problem", name.experiment)
    method = own.get("method", name.method)
    _known(problem, problems.names(), f"{path}.problem" if "problem" in experiment else path, "problem")
    where = f"{path}.methods.{name.method}"
    _known(method, methods.names(), f"{where}.method" if "method" in own else where, "method")
    taken = run_keys(problem, method)
    for key in {**own, **(changes or {})}:
        if key not in taken and key not in (*GRID_KEYS, "method"):
            hint = _closest(key, taken)
            raise ConfigError(f"{where}.{key}: {method} on {problem} takes no such key{hint}")
    merged = {**LOOP_DEFAULTS, **_merged(config, name.experiment, name.method), **(changes or {})}
    run = Run(name, problem, method, {key: merged[key] for key in sorted(taken) if key in merged})
    check_run(run, where)
    return run


def check_run(run: Run, where: str) -> None:
    """Check one run by itself: every key it needs is there, in bounds, and the sizes fit together."""
    problem, method = problems.find(run.problem), methods.find(run.method)
    needed = {"epochs", "batch_size", *needed_keys(problem), *needed_keys(method)}
    for key in sorted(needed - set(run.settings)):
        raise ConfigError(f"{where}.{key}: missing ({_describe(key)})")
    keys = schema()["x-settings"]
    for key, value in {**run.settings, "M": run.name.M, "N": run.name.N, "seeds": [run.name.seed]}.items():
        _check_value(value, keys[key], f"{where}.{key}")
    size = problem.data_size(run.settings)
    if size % run.settings["batch_size"]:
        raise ConfigError(f"{where}.batch_size: {run.settings['batch_size']} does not divide the {size} data points")
    tasks = run.settings.get("tasks", 1)
    if tasks > 1 and not method.many_tasks:
        raise ConfigError(f"{where}.tasks: {run.method} solves one task, not {tasks}")
    for check in (problem.check, method.check):
        complaint = check(run.settings, run.name.M, run.name.N)
        if complaint:
            key, text = complaint
            raise ConfigError(f"{where}.{key}: {text}")


def _merged(config: dict, experiment: str, method: str) -> dict:
    """Settings of the experiment, with those of the method laid over them; a grid replaces M and N."""
    outer = {k: v for k, v in config["experiments"][experiment].items() if k not in ("methods", "problem")}
    inner = {k: v for k, v in config["experiments"][experiment]["methods"][method].items() if k != "method"}
    if {"M", "N"} & set(inner) and "grid" not in inner:
        outer.pop("grid", None)
    return {**outer, **inner}


def _as_list(value) -> list:
    return value if isinstance(value, list) else [value]


def _check_schema(config: Any) -> None:
    _check_value(config, schema(), "")
    taken = set(LOOP_KEYS) | set(GRID_KEYS)
    for name, experiment in config["experiments"].items():
        where = f"experiments.{name}"
        problem = experiment.get("problem", name)
        _known(problem, problems.names(), f"{where}.problem" if "problem" in experiment else where, "problem")
        used = taken | set(taken_keys(problems.find(problem)))
        for variant, own in experiment["methods"].items():
            method = own.get("method", variant)
            place = f"{where}.methods.{variant}"
            _known(method, methods.names(), f"{place}.method" if "method" in own else place, "method")
            used |= set(taken_keys(methods.find(method)))
        for key in experiment:
            if key not in used and key not in ("methods", "problem"):
                raise ConfigError(f"{where}.{key}: neither the problem nor a method of {name} takes it")


def _check_value(value: Any, rule: dict, path: str) -> None:
    """Raise the first complaint of the schema about ``value`` as one line that starts with the key."""
    _check_plain(value, path)
    errors = sorted(
        _validator(json.dumps(rule)).iter_errors(value),
        key=lambda e: (len(e.absolute_path), str(e.absolute_path)),
    )
    if errors:
        error = errors[0]
        place = ".".join(str(p) for p in error.absolute_path)
        where = ".".join(p for p in (path, place) if p) or "the config"
        raise ConfigError(f"{where}{_complaint(error)}")


def _check_plain(value: Any, path: str, depth: int = 0) -> None:
    """Refuse what YAML can say but no setting means: infinities, dates, keys that are not text, loops."""
    where = path or "the config"
    if depth > 20:
        raise ConfigError(f"{where}: nested too deeply")
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{where}: {value} is not a finite number")
    if isinstance(value, list):
        for index, item in enumerate(value):
            _check_plain(item, f"{path}[{index}]", depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise ConfigError(f"{where}: the key {key!r} is {_kind(key)}, not text; write it in quotes")
            _check_plain(item, f"{path}.{key}" if path else key, depth + 1)
    elif value is not None and not isinstance(value, str | bool | int | float):
        raise ConfigError(f"{where}: {_short(value)} is {_kind(value)}; no setting takes that")


@functools.cache
def _validator(rule: str):
    """The schema's validator, for which 3.0 is not an integer: sizes and seeds stand in file names."""
    import jsonschema

    draft = jsonschema.Draft202012Validator
    whole = draft.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    strict = jsonschema.validators.extend(draft, type_checker=whole)
    return strict({**json.loads(rule), "$defs": schema()["$defs"]})


def _complaint(error) -> str:
    """The words after the key for one error of the JSON-schema validator."""
    value, limit = error.instance, error.validator_value
    match error.validator:
        case "additionalProperties":
            allowed = error.schema.get("properties", {})
            unknown = next(key for key in value if key not in allowed)
            return f".{unknown}: unknown key{_closest(str(unknown), allowed)}"
        case "required":
            missing = next(key for key in limit if key not in value)
            return f".{missing}: missing"
        case "type":
            wanted = " or ".join(limit) if isinstance(limit, list) else limit
            hint = " (YAML reads 1e-3 as text: write 1.0e-3)" if _looks_like_number(value) else ""
            return f": {_short(value)} is {_kind(value)}, not {_ARTICLES.get(wanted, wanted)}{hint}"
        case "enum":
            return f": {_short(value)} is not one of {', '.join(map(str, limit))}"
        case "minimum":
            return f": {_short(value)} is below {limit}"
        case "maximum":
            return f": {_short(value)} is above {limit}"
        case "exclusiveMinimum":
            return f": {_short(value)} is not above {limit}"
        case "exclusiveMaximum":
            return f": {_short(value)} is not below {limit}"
        case "minItems" | "minProperties":
            return ": empty; at least one entry is needed"
        case "uniqueItems":
            return f": {_short(value)} has an entry twice"
        case "pattern":
            return f": {_short(value)} is no name (small letters, digits and _, first a letter)"
        case "anyOf":
            kinds = [e for e in error.context if e.validator != "type" or e.path]
            nested = kinds[0] if kinds else error.context[0]
            place = "".join(f"[{p}]" for p in nested.path)
            if nested.validator == "type" and not kinds:
                hint = " (YAML reads 1e3 as text: write 1000)" if _looks_like_number(value) else ""
                return f": {_short(value)} is {_kind(value)}, not an integer or a list of integers{hint}"
            return f"{place}{_complaint(nested)}"
    return f": {_one_line(error.message)}"


_ARTICLES = {
    "integer": "an integer",
    "number": "a number",
    "string": "text",
    "object": "a mapping",
    "array": "a list",
}


def _kind(value: Any) -> str:
    kinds = {dict: "a mapping", list: "a list", str: "text", bool: "a truth value", type(None): "nothing"}
    return kinds.get(type(value), "a number" if isinstance(value, int | float) else f"a {type(value).__name__}")


def _short(value: Any) -> str:
    """A value as it is shown in a complaint."""
    if isinstance(value, int) and abs(value) >= 10**30:
        return "a number of more than 30 digits"
    return _one_line(repr(value))


def _one_line(text: Any, length: int = 80) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= length else f"{line[: length - 3]}..."


def _looks_like_number(value: Any) -> bool:
    try:
        float(value if isinstance(value, str) else "")
    except ValueError:
        return False
    return True


def _closest(word: str, known) -> str:
    near = difflib.get_close_matches(str(word), list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _known(name: str, known: tuple[str, ...], path: str, kind: str) -> None:
    if name not in known:
        hint = _closest(name, known) or f"; known: {', '.join(known)}"
        raise ConfigError(f"{path}: unknown {kind} {_short(name)}{hint}")


def _lookup(table: dict, name: str, path: str, kind: str) -> dict:
    _known(name, tuple(table), path, kind)
    return table[name]


def _describe(key: str) -> str:
    return schema()["x-settings"].get(key, {}).get("description", "no description").rstrip(".")


def _warn_where_consensus_is_not_guaranteed(config: dict) -> None:
    """Section 3.3: anisotropic noise needs 2 lambda > sigma^2 for consensus, in any dimension."""
    for experiment, content in config["experiments"].items():
        for method, own in content["methods"].items():
            merged = _merged(config, experiment, method)
            anisotropic = getattr(methods.find(own.get("method", method)), "anisotropic_noise", False)
            drift, diffusion = merged.get("lambda"), merged.get("sigma_squared")
            if anisotropic and drift is not None and diffusion is not None and 2 * drift <= diffusion:
                warnings.warn(
                    f"experiments.{experiment}.methods.{method}: 2 lambda = {2 * drift:g} <= sigma_squared ="
                    f" {diffusion:g}: consensus is not guaranteed",
                    stacklevel=2,
                )
