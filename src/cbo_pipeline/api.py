"""What the front door offers to people who write Python: train a run, open results."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import xarray as xr

from cbo_pipeline import config as settings
from cbo_pipeline.cli import streams
from cbo_pipeline.cli.progress import Progress
from cbo_pipeline.config import memory, table_runs
from cbo_pipeline.errors import ConfigError
from cbo_pipeline.results import code, finished, predictions, runs, summaries
from cbo_pipeline.training.loop import Training


def train(
    experiment: str | None = None,
    method: str = "cbo",
    *,
    data: Any = None,
    target: str | Iterable[str] | None = None,
    inputs: str | Iterable[str] | None = None,
    seed: int = 0,
    M: int | None = None,
    N: int | None = None,
    config: str | Path | Iterable[str | Path] = (),
    progress: bool = True,
    **changes: Any,
) -> xr.Dataset:
    """Train one run and return the dataset that its file would hold.

    ``experiment`` and ``method`` (or the name of a variant) choose the settings of config.yaml; files named in
    ``config`` are laid over it, and ``changes`` win over both. ``lambda`` is a keyword of Python: write ``lambda_``.
    ``M`` is the width, ``N`` the number of particles. Without ``progress`` nothing is printed.

    Instead of an experiment, ``data`` is a table of one's own: a path (.csv, .npz, .nc), a data frame, an
    xarray.Dataset or a mapping of arrays. ``target`` names the column, or columns, to be computed, ``inputs`` those
    that the network sees (all others if left out).

    >>> run = train("sine", "cbo", seed=1, M=10, N=8, epochs=2, progress=False)
    >>> run["risk"].sizes["epoch"], run.attrs["experiment"]
    (3, 'sine')
    """
    overlays = [config] if isinstance(config, str | Path) else list(config)
    given = {key.rstrip("_"): value for key, value in changes.items()}
    if data is not None:
        run = _run_on_table(data, target, inputs, method, seed, M, N, given, experiment, overlays)
    else:
        _refuse_without_data(experiment, target, inputs)
        run = settings.chosen_run(settings.load_config(*overlays), experiment, method, seed, M, N, given)
    memory.check(run, run.name.place)
    if data is not None and progress:
        streams.say(table_runs.words(run))
    training = Training.start(run)
    show = Progress(str(run.name), training.history.epochs) if progress else None
    for step in training.steps():
        if show and step.ends_epoch:
            show(step.epoch, training.history)
    return finished.dataset(training, code.run_digest(run.method, run.problem))


def predict(run: xr.Dataset | str | Path, data: Any) -> xr.Dataset:
    """The targets of new rows by the last reported network of a run on a table, in the units of the table.

    ``run`` is what ``train`` returned, or a file; ``data`` a table as for ``train`` with the same inputs. Classes
    come by name, with their probabilities.
    """
    return predictions.predict(open_run(run) if isinstance(run, str | Path) else run, data)


def _run_on_table(data, target, inputs, method, seed, M, N, given, experiment, overlays):
    if experiment is not None or overlays:
        name = "config" if overlays else "experiment"
        raise ConfigError(f"{name}: data names a table by itself; give one or the other", code="conflict", key=name)
    if target is None:
        raise ConfigError('target: needed with data, such as target="y"', code="missing", key="target")
    path = str(data) if isinstance(data, str | Path) else table_runs.remember(data)
    return table_runs.chosen_run(path, _listed(target), _listed(inputs), method, seed, M, N, given)


def _refuse_without_data(experiment, target, inputs) -> None:
    for name, value in (("target", target), ("inputs", inputs)):
        if value is not None:
            raise ConfigError(f"{name}: goes with data, which is a table", code="conflict", key=name)
    if experiment is None:
        words = 'experiment: needed, such as "sine"; or data and target, for a table of your own'
        raise ConfigError(words, code="missing", key="experiment")


def _listed(names: str | Iterable[str] | None) -> list[str] | None:
    return [names] if isinstance(names, str) else None if names is None else list(names)


def open_run(path: str | Path) -> xr.Dataset:
    """The trajectory in a file of a run; a file that is damaged or not ours is refused by name."""
    return runs.read(path)


def open_summary(path: str | Path) -> xr.Dataset:
    """The curves in a file of a summary, to be selected by ``curve`` or by ``variant``."""
    return summaries.read(path)
