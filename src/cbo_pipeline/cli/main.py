"""The command line: one subcommand a stage. Nothing else parses arguments.

Heavy modules are imported inside the commands that use them.
"""

import argparse
import difflib
import os
import re
import shlex
import sys
import warnings
from pathlib import Path

import cbo_pipeline
from cbo_pipeline.errors import ConfigError, UserError

# One thread a job: no result depends on the number of cores, and parallel runs do not fight for them.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

DESCRIPTION = """\
Reproduce "Mean-Field Model for Two-Layer Neural Networks Trained with Consensus-Based Optimization".

The whole paper, or one figure of it, is made by Snakemake, in a checkout:
  snakemake --cores 8                    everything
  snakemake --cores 8 fig2               one figure
A single run, and a look at it:
  cbo-pipeline train --experiment sine --method cbo --seed 0 --output run.nc
  cbo-pipeline show run.nc
"""
# The commands in the order of the help, by what they are for.
GROUPS = {
    "by hand": ("train", "show", "check", "fetch-mnist", "completion"),
    "stages of the workflow": (
        "cost", "summarise", "join", "figure", "check-barycentres", "claims", "record",
    ),
    "documentation": ("publish", "reference"),
}  # fmt: skip


class Parser(argparse.ArgumentParser):
    """A parser that answers a mistake in one line, with what may have been meant."""

    def error(self, message: str):
        unknown = re.match(r"argument COMMAND: invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if unknown:
            close = difflib.get_close_matches(unknown[1], re.findall(r"[a-z-]+", unknown[2]), 1)
            message = f"no command {unknown[1]!r}" + (f"; did you mean {close[0]}?" if close else "")
        message = message.replace("the following arguments are required: ", "missing: ")
        self.exit(2, f"cbo-pipeline: {' '.join(message.split())} (see {self.prog} --help)\n")


def main(arguments: list[str] | None = None) -> int:
    """Run one command; a user's mistake becomes one line on standard error and exit code 2."""
    for name in ONE_THREAD:
        os.environ[name] = "1"
    # A file has one writer and is renamed when whole: HDF5 need not lock it, which some clusters forbid.
    os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")
    options = _parser().parse_args(arguments)
    warnings.showwarning = _show_warning
    try:
        return options.command(options) or 0
    except UserError as error:
        print(f"cbo-pipeline: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            return 0
        where = f"{error.filename}: " if error.filename else ""
        print(f"cbo-pipeline: {where}{error.strerror or error}", file=sys.stderr)
        return 2
    except MemoryError as error:
        print(f"cbo-pipeline: not enough memory ({error})", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
    print(f"cbo-pipeline: warning: {message}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="cbo-pipeline",
        usage="cbo-pipeline COMMAND [options]; cbo-pipeline COMMAND --help explains one",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {cbo_pipeline.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", prog="cbo-pipeline", help=argparse.SUPPRESS)

    train = _command(commands, "train", "train one network ensemble and store its trajectory")
    _add_run_options(train)
    train.add_argument("--output", required=True, type=Path, help="the NetCDF file to write")
    train.add_argument(
        "--checkpoint",
        type=Path,
        metavar="FILE",
        help="where an interrupted run is kept (default: OUTPUT.checkpoint)",
    )
    train.add_argument(
        "--checkpoint-seconds",
        type=_seconds,
        default=60.0,
        metavar="S",
        help="time between checkpoints (default 60)",
    )
    train.epilog = "Ctrl-C leaves a checkpoint, from which the same command goes on to the same bytes."
    train.set_defaults(command=_train)

    cost = _command(commands, "cost", "measure memory and time of a run, on a few of its iterations")
    _add_run_options(cost)
    cost.add_argument("--output", required=True, type=Path, help="the JSON file to write")
    cost.add_argument(
        "--seconds", type=_seconds, default=1.0, metavar="S", help="time to spend on iterations (default 1)"
    )
    cost.set_defaults(command=_cost)

    summarise = _command(commands, "summarise", "gather the runs of one curve (a method at one M and N)")
    summarise.add_argument("runs", nargs="+", type=Path, help="trajectories that differ in their seed alone")
    summarise.add_argument("--output", required=True, type=Path, help="the NetCDF file to write")
    summarise.set_defaults(command=_summarise)

    join = _command(commands, "join", "join the curves of one experiment into one summary")
    join.add_argument("summaries", nargs="+", type=Path, help="summaries of single curves")
    join.add_argument("--output", required=True, type=Path, help="the NetCDF file to write")
    join.set_defaults(command=_join)

    figure = _command(commands, "figure", "draw one figure of the paper")
    figure.add_argument("label", help="the figure's label, such as sine_training")
    figure.add_argument("summaries", nargs="*", type=Path, help="summaries of the curves that it shows")
    figure.add_argument(
        "--costs", nargs="*", default=[], type=Path, help="costs of these curves, where it shows them"
    )
    figure.add_argument("--output", required=True, nargs="+", type=Path, help="files to write (.pdf, .png)")
    figure.set_defaults(command=_figure)

    check = _command(commands, "check-barycentres", "check Proposition 2 on small ensembles")
    check.add_argument("--output", required=True, type=Path, help="the JSON file to write")
    check.set_defaults(command=_check_barycentres)

    claims = _command(commands, "claims", "judge the claims of the paper by summaries, costs and checks")
    claims.add_argument("evidence", nargs="+", type=Path, help="summaries (.nc), costs and checks (.json)")
    for name, what in (
        ("json", "the verdicts as data"),
        ("markdown", "the verdicts as a table"),
        ("html", "the verdicts as a page"),
        ("speed", "crossing, epochs to given risks and costs as data"),
    ):
        claims.add_argument(f"--{name}", type=Path, metavar="FILE", help=what)
    claims.set_defaults(command=_claims)

    record = _command(commands, "record", "write versions and config as a page of the report")
    record.add_argument("--settings", required=True, metavar="JSON", help="the whole config")
    record.add_argument("--output", required=True, type=Path, help="the HTML file to write")
    record.set_defaults(command=_record)

    fetch = _command(commands, "fetch-mnist", "get the files of MNIST, and check those that are there")
    fetch.add_argument(
        "--data-dir",
        type=Path,
        metavar="DIR",
        help="the files go to DIR/MNIST/raw (default: the environment variable CBO_DATA_DIR, or data)",
    )
    fetch.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="DIR",
        help="folder that has the files, raw or as .gz (it is only read)",
    )
    fetch.add_argument("--output", type=Path, metavar="FILE", help="write what was checked, as md5sum does")
    fetch.set_defaults(command=_fetch_mnist)

    show = _command(commands, "show", "print a run, a summary, costs or verdicts as a short table, and a small plot")
    show.add_argument("file", type=Path, help="a trajectory or a summary (.nc), a cost or claims.json")
    show.set_defaults(command=_show)

    publish = _command(commands, "publish", "gather figures, verdicts, summaries and costs in one folder")
    publish.add_argument("--results", type=Path, default=Path("results"), help="folder of results (default: results)")
    publish.add_argument("--output", required=True, type=Path, help="folder to fill; what it holds is replaced")
    publish.add_argument("--readme", type=Path, metavar="FILE", help="page whose part on the results is made anew")
    publish.set_defaults(command=_publish)

    reference = _command(commands, "reference", "print the reference of all settings as Markdown")
    reference.set_defaults(command=_reference)

    completion = _command(commands, "completion", 'completion for bash: eval "$(cbo-pipeline completion)"')
    completion.set_defaults(command=_completion)

    check = _command(commands, "check", "check a config and count its runs")
    check.add_argument("--config", action="append", default=[], metavar="FILE", help="settings laid over config.yaml")
    check.set_defaults(command=_check)
    parser.epilog = "\n".join(
        line
        for group, names in GROUPS.items()
        for line in (f"{group}:", *(f"  {name:18} {commands.choices[name].description}" for name in names), "")
    )
    return parser


def _command(commands, name: str, what: str) -> argparse.ArgumentParser:
    return commands.add_parser(name, description=what)


def _add_run_options(command: argparse.ArgumentParser) -> None:
    """The options that say which run is meant."""
    command.add_argument("--experiment", help="experiment of the config, such as sine")
    command.add_argument("--method", help="method of that experiment, such as cbo or adam")
    command.add_argument("--seed", type=int, default=0, help="seed of data, start, batches and noise (default 0)")
    command.add_argument(
        "--width", type=int, metavar="M", help="width M of the network (default: the config's first)"
    )
    command.add_argument("--particles", type=int, metavar="N", help="particles N (default: the config's first)")
    command.add_argument(
        "--config", action="append", default=[], metavar="FILE", help="settings laid over config.yaml"
    )
    command.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="other settings, such as epochs=10",
    )
    command.add_argument(
        "--settings", metavar="JSON", help="the complete settings of the run, as the workflow gives them"
    )


def _seconds(text: str) -> float:
    """A time that argparse refuses unless it is a number, zero or more."""
    if not float(text) >= 0:
        raise ValueError(text)
    return float(text)


def _train(options) -> int:
    from cbo_pipeline import files
    from cbo_pipeline.cli import progress
    from cbo_pipeline.config import memory
    from cbo_pipeline.results import code, netcdf, runs
    from cbo_pipeline.training import checkpoint

    run = _run_of(options)
    memory.check(run, run.name.place)
    kept = options.checkpoint or options.output.with_name(f"{options.output.name}.checkpoint")
    files.check_writable(options.output)
    checkpoint.refuse_output(kept, options.output)
    # Now: a source that is edited later is not what runs here.
    digest, fingerprint = code.run_digest(run.method, run.problem), code.fingerprint(run.method, run.problem)
    training, remark = checkpoint.resume_or_start(run, kept, fingerprint)
    if remark:
        print(remark, file=sys.stderr)
    done = training.iteration // training.batches_per_epoch
    show = progress.Progress(str(run.name), training.history.epochs, done)
    with checkpoint.Keeper(kept, options.checkpoint_seconds, fingerprint) as keeper:
        for step in training.steps():
            if step.ends_epoch:
                show(step.epoch, training.history)
            if keeper.stops(training):
                found = "starts again" if keeper.failed else f"continues from {kept}"
                print(f"\nstopped by {keeper.signal.name}; the same command {found}", file=sys.stderr)
                return 128 + keeper.signal
    history = training.history
    netcdf.write(runs.dataset(run, history, digest), options.output)
    checkpoint.remove(run, kept)
    print(_result(run, history, options.output), file=sys.stderr)
    if sys.stderr.isatty():
        print(f"To look at it: cbo-pipeline show {shlex.quote(str(options.output))}", file=sys.stderr)
    return 0


def _cost(options) -> int:
    from cbo_pipeline.results import costs
    from cbo_pipeline.training import cost

    costs.write(cost.measure(_run_of(options), options.seconds), options.output)
    return 0


def _run_of(options):
    from cbo_pipeline.config import Run, check_config, chosen_run, load_config

    if options.settings is not None:
        return Run.from_json(options.settings)
    if options.experiment is None or options.method is None:
        raise ConfigError("--experiment and --method are needed, such as --experiment sine --method cbo")
    config = load_config(*options.config)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about experiments that are not asked for
        check_config(config)
    if options.experiment in config["experiments"]:
        check_config({"experiments": {options.experiment: config["experiments"][options.experiment]}})
    changes = _changes(options.set)
    return chosen_run(
        config, options.experiment, options.method, options.seed, options.width, options.particles, changes
    )


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


def _result(run, history, output) -> str:
    import numpy as np

    if history.diverged >= 0:
        return f"{run.name}: no particle has a finite risk from epoch {history.diverged} on; recorded in {output}"
    first, last = (float(np.median(history.records["risk"][e])) for e in (0, -1))
    what = "median risk over the tasks" if history.tasks > 1 else "risk"
    return (
        f"{run.name}: {what} {first:.3e} at the start, {last:.3e} after {history.epochs} epochs; written to {output}"
    )


def _summarise(options) -> int:
    from cbo_pipeline.results import netcdf, summaries

    netcdf.write(summaries.summarise_curve(options.runs), options.output)
    return 0


def _join(options) -> int:
    from cbo_pipeline.results import netcdf, summaries

    netcdf.write(summaries.join([summaries.read(path) for path in options.summaries]), options.output)
    return 0


def _check_barycentres(options) -> int:
    from cbo_pipeline.claims import barycentres
    from cbo_pipeline.results import checks

    checks.write("barycentres", barycentres.check_barycentres(), options.output)
    return 0


def _claims(options) -> int:
    from cbo_pipeline import claims
    from cbo_pipeline.claims import files, speed
    from cbo_pipeline.pages import claims as pages

    evidence = files.read(options.evidence)
    rows, measured = claims.judge_all(evidence), speed.speed(evidence)
    if options.json:
        pages.write_json(rows, options.json)
    if options.speed:
        pages.write_json(measured, options.speed)
    if options.markdown:
        pages.write_markdown(rows, measured, options.markdown)
    if options.html:
        pages.write_html(rows, measured, options.html)
    print(pages.tally(rows), file=sys.stderr)
    return 0


def _record(options) -> int:
    import json

    from cbo_pipeline.pages import settings as record
    from cbo_pipeline.results.versions import versions

    try:
        config = json.loads(options.settings)
    except ValueError:
        raise ConfigError("--settings: not valid JSON") from None
    record.write_record(config, versions(), options.output)
    return 0


def _figure(options) -> int:
    from cbo_pipeline import figures

    figures.draw(options.label, options.summaries, options.output, options.costs)
    return 0


def _fetch_mnist(options) -> int:
    from cbo_pipeline.problems import _mnist_files as mnist_data

    mnist_data.fetch(
        options.data_dir or mnist_data.folder(), options.source, lambda text: print(text, file=sys.stderr)
    )
    if options.output:
        mnist_data.write_manifest(options.output)
    return 0


def _show(options) -> int:
    from cbo_pipeline.pages import show

    print(show.text(options.file))
    return 0


def _publish(options) -> int:
    from cbo_pipeline.pages import publish

    made = publish.publish(options.results, options.output, options.readme)
    size = sum(path.stat().st_size for path in made) / 1e6
    print(
        f"{len(made)} files, {size:.1f} MB, in {options.output}" + (f"; {options.readme}" if options.readme else "")
    )
    return 0


def _reference(options) -> int:
    from cbo_pipeline.pages import reference

    print(reference.markdown(), end="")
    return 0


def _completion(options) -> int:
    from cbo_pipeline.cli import completion

    print(completion.script(_parser()))
    return 0


def _check(options) -> int:
    from cbo_pipeline.config import check_config, load_config, runs

    config = load_config(*options.config)
    check_config(config)
    print(f"{sum(1 for _ in runs(config))} runs, every setting in bounds")
    return 0
