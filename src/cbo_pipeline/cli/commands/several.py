"""``train --seeds``: several runs of one curve in one process, so that its start is paid once.

Each run has its own file and its own checkpoint, and the bytes that it would have alone. A run that fails does not
keep the others from being trained. Until all are whole, each whole one is also kept beside its checkpoint: whoever
deletes the outputs of a command that failed, as Snakemake does, loses none of them.
"""

import traceback
from pathlib import Path

from cbo_pipeline.cli import streams
from cbo_pipeline.cli.commands.training import train_one
from cbo_pipeline.config.names import short_list
from cbo_pipeline.errors import ConfigError, UserError

SEED = "{seed}"
FAILED = 1  # exit code


def train_all(run, seeds: list[int], options) -> int:
    """Train the run with each of the seeds; the exit code tells whether all are whole."""
    from cbo_pipeline.results import whole_runs

    places = _places(options.output, seeds)
    if options.checkpoint is not None and SEED not in str(options.checkpoint):
        words = f"--checkpoint {options.checkpoint}: every run needs its own; with --seeds the name contains {SEED}"
        raise ConfigError(words, code="no-seed", key="--checkpoint")
    failed, kept_runs = [], []
    for seed, output in zip(seeds, places, strict=True):
        kept = _filled(options.checkpoint, seed) or output.with_name(f"{output.name}.checkpoint")
        one, whole = run.with_seed(seed), whole_runs.beside(kept)
        try:
            code = train_one(one, output, kept, options, whole)
        except (Exception, SystemExit) as error:  # SystemExit by a method or problem of the user
            streams.say(_reason(one, error))
            failed.append(seed)
            continue
        if code:
            return code
        kept_runs.append((whole, one))
    if failed:
        streams.say(f"cbo-pipeline: {len(failed)} of {len(seeds)} runs failed: seeds {short_list(failed)}")
        return FAILED
    for whole, one in kept_runs:
        whole_runs.remove(whole, one)
    return 0


def _places(given: list[Path], seeds: list[int]) -> list[Path]:
    """The file of each seed: as listed, or from the one name that contains {seed}."""
    if len(given) == 1 and SEED in str(given[0]):
        return [_filled(given[0], seed) for seed in seeds]
    if len(given) != len(seeds) or len(set(given)) != len(given):
        words = f"--output: {len(seeds)} seeds need as many files, or one name that contains {SEED}"
        raise ConfigError(words, code="which-files", key="--output")
    return given


def _filled(pattern: Path | None, seed: int) -> Path | None:
    return None if pattern is None else Path(str(pattern).replace(SEED, str(seed)))


def _reason(run, error: BaseException) -> str:
    """Why a run failed: a line about what the user can fix, the traceback of anything else."""
    if isinstance(error, (UserError, OSError, MemoryError)):
        return f"cbo-pipeline: {run.name}: {' '.join(str(error).split()) or type(error).__name__}; the others go on"
    if isinstance(error, SystemExit):
        return f"cbo-pipeline: {run.name}: ended by SystemExit: {error}; the others go on"
    return f"cbo-pipeline: {run.name}: a bug; the others go on\n{''.join(traceback.format_exception(error))}"
