"""Training as a film: what a few networks do at the stored epochs of single runs, small enough for a page.

``playback.json`` is made from runs, and can be published without them. Its parts, each there if a run has it:

    gathering    all particles' approximations of the target, and that of the reported network
    multi_task   the reported networks of a few tasks, with their targets
    mnist        answers to some test images, by variant
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from cbo_pipeline import problems
from cbo_pipeline.errors import FileRefused
from cbo_pipeline.files import whole_file
from cbo_pipeline.numerics.network import Networks, evaluate
from cbo_pipeline.problems import _mnist_files as mnist_files
from cbo_pipeline.problems.mnist import DEVIATION, MEAN
from cbo_pipeline.results import trajectory

FRAMES = 28
PARTICLES = 80
POINTS = 51  # at which approximations are shown
UNIT = 0.01  # values are stored as whole multiples of it: a pixel of the chart
TASKS = 5
IMAGES = 24
LEAST = 3  # epochs that make a film
PARAMETERS = "wbca"


def read(path: Path) -> dict[str, Any]:
    """The parts of the file; none if there is no file."""
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["kind"] != "playback":
            raise FileRefused(f"{path}: not a playback of this pipeline")
        return content["parts"]
    except (ValueError, KeyError, TypeError):
        raise FileRefused(f"{path}: not a playback of this pipeline; delete it and make it again") from None


def write(runs: Iterable[str | Path], path: Path) -> None:
    """Make the file from those of the runs that have enough to show."""
    content = {"kind": "playback", "parts": parts(trajectory.read(run, "run") for run in runs)}
    with whole_file(path) as partial:
        partial.write_text(json.dumps(content, separators=(",", ":"), allow_nan=False) + "\n", encoding="utf-8")


def parts(runs: Iterable[xr.Dataset]) -> dict[str, Any]:
    """What each run shows, by part; of several runs that show the same the first counts."""
    found: dict[str, Any] = {}
    for data in runs:
        problem = trajectory.run_of(data).problem
        if "particle_w" in data and data.sizes["kept_epoch"] >= LEAST and "task" not in data.dims:
            found.setdefault("gathering", gathering(data))
        elif data.sizes.get("snapshot", 0) >= LEAST and problem == "multi_task":
            found.setdefault("multi_task", tasks(data))
        elif data.sizes.get("snapshot", 0) >= LEAST and problem == "mnist":
            shown = found.setdefault("mnist", {**_test_images(), "variants": {}})
            shown["variants"].setdefault(_variant(data), answers(data))
    return found


def gathering(data: xr.Dataset, frames: int = FRAMES, particles: int = PARTICLES, points: int = POINTS) -> dict:
    """Approximations by the particles of a run that kept its ensembles: (frame, particle, x) in units of UNIT."""
    problem, x = _problem(data), np.linspace(0.0, 1.0, points)
    shown = _evenly(data.sizes["kept_epoch"], frames)
    chosen = _evenly(data.sizes["particle"], particles)
    epochs = data["kept_epoch"].values[shown]
    ensembles = [
        {k: data[f"particle_{k}"].values[frame][chosen] for k in PARAMETERS if f"particle_{k}" in data}
        for frame in shown
    ]
    return {
        **_of_run(data),
        "particles_in_all": data.sizes["particle"],
        "epochs": epochs.tolist(),
        "risk": _risk_at(data, epochs),
        "target": _units(problem.target(x)),
        "particles": [_units(evaluate(one, x[:, None], problem.scale)[..., 0]) for one in ensembles],
        "reported": [
            _units(evaluate(network, x[:, None], problem.scale)[0, :, 0]) if network else None
            for network in (_reported(data, epoch) for epoch in epochs)
        ],
    }


def tasks(data: xr.Dataset) -> dict:
    """Approximations of a few tasks at the snapshots of a run: (frame, task, x) in units of UNIT."""
    problem, x = _problem(data), np.linspace(0.0, 1.0, POINTS)
    shown = sorted({(data.sizes["task"] - 1) * k // (TASKS - 1) for k in range(TASKS)})
    epochs = data["snapshot"].values[_evenly(data.sizes["snapshot"], FRAMES)]
    return {
        **_of_run(data),
        "tasks": [task + 1 for task in shown],
        "epochs": epochs.tolist(),
        "risk": _risk_at(data, epochs),
        "target": _units(problem.target(x)[shown]),
        "reported": [
            _units(evaluate(_reported(data, epoch), x[:, None], problem.scale)[shown, :, 0]) for epoch in epochs
        ],
    }


def answers(data: xr.Dataset) -> dict:
    """What the reported network says of the first test images, and how sure it is, at the snapshots of a run."""
    settings = trajectory.run_of(data).settings
    x = _images(IMAGES).reshape(IMAGES, -1) / 255
    if settings.get("pixels") == "standardised":
        x = (x - MEAN) / DEVIATION
    scale = 1 / data.sizes["neuron"] if settings["scaling"] == "mean_field" else 1.0
    epochs = data["snapshot"].values[_evenly(data.sizes["snapshot"], FRAMES)]
    says, sure = [], []
    for epoch in epochs:
        values = evaluate(_reported(data, epoch), x, scale)[0]
        weights = np.exp(values - values.max(1, keepdims=True))
        says.append(values.argmax(1).tolist())
        sure.append((100 * weights.max(1) / weights.sum(1)).round().astype(int).tolist())
    accuracy = data["accuracy"].sel(epoch=epochs).values if "accuracy" in data else np.full(len(epochs), np.nan)
    return {
        **_of_run(data),
        "epochs": epochs.tolist(),
        "accuracy": [round(float(a), 4) if np.isfinite(a) else None for a in accuracy],
        "answers": says,
        "percent": sure,
    }


def _test_images() -> dict[str, Any]:
    labels = mnist_files.raw(mnist_files.folder(), "t10k-labels-idx1-ubyte").read_bytes()
    return {"labels": list(labels[8 : 8 + IMAGES]), "images": _images(IMAGES).reshape(IMAGES, -1).tolist()}


def _images(count: int) -> np.ndarray:
    """The first test images, (count, 28, 28), from the IDX file: a header of 16 bytes, then the pixels."""
    path = mnist_files.raw(mnist_files.folder(), "t10k-images-idx3-ubyte")
    return np.fromfile(path, np.uint8, count * 784, offset=16).reshape(count, 28, 28)


def _problem(data: xr.Dataset):
    """The problem of a run without its data: only what it is to approximate."""
    run = trajectory.run_of(data)
    problem_class = problems.find(run.problem)
    return problem_class(M=run.name.M, **run.part(problem_class))


def _reported(data: xr.Dataset, epoch: int) -> Networks | None:
    """The reported networks at an epoch, one row per task, if they were stored then."""
    if epoch not in data["snapshot"].values:
        return None
    one = {name: data[name].sel(snapshot=epoch).values for name in PARAMETERS if name in data}
    return one if "task" in data["w"].dims else {name: values[None] for name, values in one.items()}


def _risk_at(data: xr.Dataset, epochs: np.ndarray) -> list[float | None]:
    """The risk (the median over the tasks) nearest to these epochs."""
    risk = data["risk"].median("task") if "task" in data["risk"].dims else data["risk"]
    values = risk.sel(epoch=epochs, method="nearest").values
    return [float(f"{v:.4g}") if np.isfinite(v) else None for v in values]


def _of_run(data: xr.Dataset) -> dict[str, Any]:
    run = trajectory.run_of(data)
    return {
        "experiment": run.name.experiment,
        "variant": _variant(data),
        "M": run.name.M,
        "N": run.name.N,
        "seed": run.name.seed,
    }


def _variant(data: xr.Dataset) -> str:
    attributes: Mapping[str, Any] = data.attrs
    return str(attributes.get("variant", attributes["method"]))


def _evenly(size: int, most: int) -> np.ndarray:
    """Positions of at most so many of ``size`` things, the first and the last among them."""
    return np.unique(np.linspace(0, size - 1, min(size, most)).round().astype(int))


def _units(values: np.ndarray) -> list:
    """Whole multiples of UNIT; what has flown off the chart stays just beyond its edge."""
    with np.errstate(invalid="ignore"):
        clipped = np.clip(np.nan_to_num(values, nan=1e3, posinf=1e3, neginf=-1e3), -1e3, 1e3)
    return (clipped / UNIT).round().astype(int).tolist()
