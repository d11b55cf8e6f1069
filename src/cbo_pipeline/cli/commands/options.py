"""Options that several commands share."""

import argparse
from collections.abc import Iterable
from pathlib import Path

from cbo_pipeline.cli import outputs
from cbo_pipeline.errors import ConfigError


def add_command(commands, name: str, what: str, run, epilog: str | None = None) -> argparse.ArgumentParser:
    """A command with its description and the function that runs it."""
    command = commands.add_parser(name, description=what, epilog=epilog, allow_abbrev=False)
    command.set_defaults(command=run)
    return command


def add_output(command: argparse.ArgumentParser, what: str) -> None:
    """``--output`` for one file, and ``--force``."""
    command.add_argument(
        "--output", required=True, type=outputs.file_name, metavar="FILE", help=f"the {what} file to write"
    )
    add_force(command)


def add_outputs(command: argparse.ArgumentParser, what: str) -> None:
    """``--output`` for several files, and ``--force``."""
    command.add_argument("--output", required=True, nargs="+", type=outputs.file_name, metavar="FILE", help=what)
    add_force(command)


def add_force(command: argparse.ArgumentParser) -> None:
    command.add_argument("--force", action="store_true", help="replace files that this pipeline did not make")


def check_output(options, kind: str, inputs: Iterable[Path] = ()) -> None:
    """Refuse ``--output`` unless it is new or a result of that kind; see ``outputs``."""
    outputs.check([outputs.Output("--output", options.output, kind)], inputs, options.force)


def add_config(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--config", action="append", default=[], metavar="FILE", help="settings laid over config.yaml"
    )


# The options of ``add_run`` but for --settings, by their names.
RUN_OPTIONS = ("experiment", "method", "seed", "width", "particles", "config", "set", "data", "target", "inputs")


def add_run(command: argparse.ArgumentParser) -> None:
    """The options that say which run is meant."""
    command.add_argument("--experiment", help="experiment of the config, such as sine")
    command.add_argument("--method", help="method or variant of that experiment, such as cbo or adam")
    command.add_argument("--seed", type=seed, help="seed of data, start, batches and noise (default 0)")
    command.add_argument(
        "--width", type=int, metavar="M", help="width M of the network (default: the config's first)"
    )
    command.add_argument("--particles", type=int, metavar="N", help="particles N (default: the config's first)")
    add_config(command)
    command.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="other settings, such as epochs=10",
    )
    command.add_argument("--data", metavar="FILE", help="instead of an experiment: a table (.csv, .npz, .nc)")
    command.add_argument(
        "--target", action="append", default=[], metavar="NAME", help="its target column; may be repeated"
    )
    command.add_argument("--inputs", metavar="NAMES", help="its input columns, a,b,c (default: all others)")
    command.add_argument(
        "--settings", metavar="JSON", help="the complete settings of the run, as the workflow gives them"
    )


def chosen_run(options):
    """The run that the options name."""
    from cbo_pipeline import config as settings

    if options.settings is not None:
        given = [name for name in RUN_OPTIONS if getattr(options, name) not in (None, [])]
        if given:
            words = f"--{given[0]}: --settings holds all of a run; give one or the other"
            raise ConfigError(words, code="conflict", key=f"--{given[0]}")
        return settings.Run.from_json(options.settings)
    if options.data is not None:
        return _run_on_table(options)
    for name in ("target", "inputs"):
        if getattr(options, name) not in (None, []):
            raise ConfigError(f"--{name}: goes with --data, which names a table", code="conflict", key=f"--{name}")
    if options.experiment is None or options.method is None:
        words = "--experiment and --method are needed, such as --experiment sine --method cbo"
        raise ConfigError(words, code="missing", key="--experiment")
    config = settings.load_config(*options.config)
    if options.experiment in config["experiments"]:  # the others are not asked for
        settings.check_config({"experiments": {options.experiment: config["experiments"][options.experiment]}})
    return settings.chosen_run(
        config,
        options.experiment,
        options.method,
        options.seed or 0,
        options.width,
        options.particles,
        _changes(options.set),
    )


def _run_on_table(options):
    """The run on a table that is named by --data."""
    from cbo_pipeline.config import table_runs

    if options.experiment is not None or options.config:
        name = "--experiment" if options.experiment is not None else "--config"
        words = f"{name}: --data names a table by itself; in a config write problem: table and data: {options.data}"
        raise ConfigError(words, code="conflict", key=name)
    if options.method is None or not options.target:
        name = "--method" if options.method is None else "--target"
        words = f"{name}: needed beside --data, such as --target y --method cbo"
        raise ConfigError(words, code="missing", key=name)
    inputs = None if options.inputs is None else [name.strip() for name in options.inputs.split(",")]
    return table_runs.chosen_run(
        options.data,
        options.target,
        inputs,
        options.method,
        options.seed or 0,
        options.width,
        options.particles,
        _changes(options.set),
    )


def data_files(run) -> list[Path]:
    """The files of data that a run reads: inputs of its command."""
    return [Path(run.settings["data"])] if "data" in run.settings else []


def _changes(assignments) -> dict:
    """The settings of --set by key; none is given twice."""
    from cbo_pipeline.config.normalise import assignment

    changes: dict = {}
    for text in assignments:
        key, value = assignment(text)
        if key in changes:
            raise ConfigError(f"--set {key}: given twice", code="twice", key=key)
        changes[key] = value
    return changes


def seconds(text: str) -> float:
    """A time that argparse refuses unless it is a number, zero or more."""
    if not float(text) >= 0:
        raise ValueError(text)
    return float(text)


def seed(text: str) -> int:
    """A whole number that argparse refuses if it is below zero."""
    if int(text) < 0:
        raise ValueError(text)
    return int(text)


def count(text: str) -> int:
    """A whole number that argparse refuses unless it is one or more."""
    if int(text) < 1:
        raise ValueError(text)
    return int(text)
