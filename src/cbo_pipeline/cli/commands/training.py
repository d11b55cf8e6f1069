"""Commands that train: ``train`` and ``cost``."""

import os
import shlex
import sys
from pathlib import Path

from cbo_pipeline.cli import outputs, streams
from cbo_pipeline.cli.commands.options import (
    add_command,
    add_output,
    add_outputs,
    add_run,
    check_output,
    chosen_run,
    count,
    data_files,
    seconds,
)
from cbo_pipeline.errors import ConfigError

PURPOSE = "by hand"
THREADS = "CBO_THREADS"  # the environment variable in which the workflow tells how many threads a job may use


def declare(commands) -> None:
    again = "Ctrl-C leaves a checkpoint, from which the same command continues to the same bytes."
    command = add_command(commands, "train", "train one ensemble and store its trajectory", _train, epilog=again)
    add_run(command)
    command.add_argument(
        "--seeds",
        metavar="LIST",
        help="in place of --seed: several seeds, such as 0-19,25, trained one after the other in one process",
    )
    add_outputs(command, "the NetCDF file to write; with --seeds one for each, or one name that contains {seed}")
    command.add_argument(
        "--checkpoint",
        type=outputs.file_name,
        metavar="FILE",
        help="where an interrupted run is kept (default: OUTPUT.checkpoint); with --seeds a name with {seed}",
    )
    command.add_argument(
        "--checkpoint-seconds",
        type=seconds,
        default=60.0,
        metavar="S",
        help="time between checkpoints (default 60)",
    )
    command.add_argument(
        "--threads",
        type=count,
        default=os.environ.get(THREADS) or "1",
        metavar="N",
        help=f"threads for a long run on MNIST or a table: the same bytes, sooner (default: ${THREADS}, or 1)",
    )
    command = add_command(commands, "cost", "measure memory and time of a run, on a few of its iterations", _cost)
    add_run(command)
    add_output(command, "JSON")
    command.add_argument(
        "--seconds", type=seconds, default=1.0, metavar="S", help="time to spend on iterations (default 1)"
    )


def _train(options) -> int:
    from cbo_pipeline.cli.commands.several import train_all
    from cbo_pipeline.config.names import seeds_of

    if options.threads > 1:
        from cbo_pipeline.numerics.kernels import threads

        threads.use(options.threads)
        streams.say(f"{options.threads} threads")
    if options.seeds is None:
        if len(options.output) > 1:
            words = f"--output {options.output[1]}: one run is one file; --seeds names several runs"
            raise ConfigError(words, code="twice", key="--output")
        return train_one(chosen_run(options), options.output[0], options.checkpoint, options)
    if options.seed is not None:
        raise ConfigError("--seed: --seeds names them all; give one or the other", code="conflict", key="--seed")
    return train_all(chosen_run(options), seeds_of(options.seeds), options)


def train_one(run, output: Path, kept: Path | None, options, whole: Path | None = None) -> int:
    """Train one run and write its file; 0, or 128 and the number of the signal that stopped it.

    ``kept`` is its checkpoint. A whole run that a job of several left behind is taken as it is. Given ``whole``, the
    run is written there first, and stays there.
    """
    from cbo_pipeline import files
    from cbo_pipeline.cli import progress
    from cbo_pipeline.config import memory, table_runs
    from cbo_pipeline.results import code, finished, netcdf, whole_runs
    from cbo_pipeline.training import checkpoint

    memory.check(run, run.name.place)
    kept = kept or output.with_name(f"{output.name}.checkpoint")
    checkpoint.refuse_output(kept, output)
    files.refuse_irregular(kept)
    inputs = [*options.config, *data_files(run)]
    outputs.check([outputs.Output("--output", output, "run")], inputs, options.force)
    if options.data is not None:
        streams.say(table_runs.words(run))
    outputs.tell_what_is_replaced(output, run.json)
    # Now: a source that is edited later is not what runs here.
    digest, fingerprint = code.run_digest(run.method, run.problem), code.fingerprint(run.method, run.problem)
    left = whole_runs.beside(kept)
    if whole_runs.fits(left, run, digest):
        whole_runs.put(left, output)
        streams.say(f"{run.name}: was trained before, by a job that did not end; written to {output}")
        if whole is None:
            whole_runs.remove(left, run)
        checkpoint.remove(run, kept)
        return 0
    training, remark = checkpoint.resume_or_start(run, kept, fingerprint)
    if remark:
        streams.say(remark)
    done = training.iteration // training.batches_per_epoch
    show = progress.Progress(str(run.name), training.history.epochs, done)
    with checkpoint.Keeper(kept, options.checkpoint_seconds, fingerprint) as keeper:
        for step in training.steps():
            if step.ends_epoch:
                show(step.epoch, training.history)
            if keeper.stops(training):
                then = "starts again" if keeper.failed else f"continues from {kept}"
                streams.say(f"\nstopped by {keeper.signal.name}; the same command {then}")
                return 128 + keeper.signal
    netcdf.write(finished.dataset(training, digest), whole or output)
    if whole is not None:
        whole_runs.put(whole, output)
    checkpoint.remove(run, kept)
    streams.say(_result(run, training.history, output))
    if sys.stderr.isatty():
        streams.say(f"To look at it: cbo-pipeline show {shlex.quote(str(output))}")
    return 0


def _result(run, history, output) -> str:
    """What came out, in a line."""
    import numpy as np

    if history.diverged >= 0:
        return f"{run.name}: no particle has a finite risk from epoch {history.diverged} on; recorded in {output}"
    first, last = (float(np.median(history.records["risk"][e])) for e in (0, -1))
    what = "median risk over the tasks" if history.tasks > 1 else "risk"
    epochs = "1 epoch" if history.epochs == 1 else f"{history.epochs} epochs"
    told = f"{run.name}: {what} {first:.3e} at the start, {last:.3e} after {epochs}"
    for name, word in (("risk_test", "on the test part"), ("accuracy", "classified correctly there")):
        if name in history.records and "data" in run.settings:
            told += f", {float(np.median(history.records[name][-1])):.4g} {word}"
    return f"{told}; written to {output}"


def _cost(options) -> int:
    from cbo_pipeline.config import memory
    from cbo_pipeline.results import costs
    from cbo_pipeline.training import cost

    run = chosen_run(options)
    memory.check(run, run.name.place)
    check_output(options, "cost", [*options.config, *data_files(run)])
    costs.write(cost.measure(run, options.seconds), options.output)
    return 0
