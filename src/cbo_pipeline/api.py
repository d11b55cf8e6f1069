"""What the front door offers to people who write Python: train a run, open results."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import xarray as xr

from cbo_pipeline import config as settings
from cbo_pipeline.cli.progress import Progress
from cbo_pipeline.config import memory
from cbo_pipeline.results import code, runs, summaries
from cbo_pipeline.training.loop import Training


def train(
    experiment: str,
    method: str,
    *,
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

    >>> run = train("sine", "cbo", seed=1, M=10, N=8, epochs=2, progress=False)
    >>> run["risk"].sizes["epoch"], run.attrs["experiment"]
    (3, 'sine')
    """
    overlays = [config] if isinstance(config, str | Path) else list(config)
    given = {key.rstrip("_"): value for key, value in changes.items()}
    run = settings.chosen_run(settings.load_config(*overlays), experiment, method, seed, M, N, given)
    memory.check(run, run.name.place)
    training = Training.start(run)
    show = Progress(str(run.name), training.history.epochs) if progress else None
    for step in training.steps():
        if show and step.ends_epoch:
            show(step.epoch, training.history)
    return runs.dataset(run, training.history, code.run_digest(run.method, run.problem))


def open_run(path: str | Path) -> xr.Dataset:
    """The trajectory in a file of a run; a file that is damaged or not ours is refused by name."""
    return runs.read(path)


def open_summary(path: str | Path) -> xr.Dataset:
    """The curves in a file of a summary, to be selected by ``curve`` or by ``variant``."""
    return summaries.read(path)
