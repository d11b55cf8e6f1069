"""What the figures and pages show of single runs: approximations, ensembles, digits. Evaluated once, for the summary.

Each function takes a problem with its data and the dataset of one run, and returns variables as (dimensions, values).
"""

import functools

import numpy as np
import xarray as xr

from cbo_pipeline.numerics.network import PARAMETERS, Networks
from cbo_pipeline.problems._many_tasks import ManyTasks
from cbo_pipeline.problems._regression import Regression
from cbo_pipeline.problems.mnist import MNIST
from cbo_pipeline.problems.one_neuron import MINIMISERS, OneNeuron

Variables = dict[str, tuple[tuple[str, ...], np.ndarray]]
GRID = np.linspace(0.0, 1.0, 401)  # where the last approximation is shown
COARSE = np.linspace(0.0, 1.0, 101)  # where those during training are
SAMPLES = 200  # training points that are shown
DIGITS = 20  # test images that are shown


@functools.singledispatch
def example(problem, run: xr.Dataset) -> Variables:
    """What is shown of a run. Nothing for a problem that is not known here."""
    return {}


@example.register
def _(problem: Regression, run: xr.Dataset) -> Variables:
    """The last approximation and the target, some training points, and how approximations and particles changed."""
    shown = np.arange(0, problem.points, max(1, problem.points // SAMPLES))
    return {
        "x": (("x",), GRID),
        "target": (("x",), problem.target(GRID)),
        "prediction": (("x",), _values(problem, networks_at(run, -1), GRID)[0]),
        "sample": (("sample",), shown + 1),
        "sample_x": (("sample",), problem.x[shown]),
        "sample_y": (("sample",), problem.y[shown]),
        "coarse_x": (("coarse_x",), COARSE),
        "prediction_over_time": (
            ("snapshot", "coarse_x"),
            np.stack([_values(problem, networks_at(run, k), COARSE)[0] for k in range(run.sizes["snapshot"])]),
        ),
        **_ensembles(problem, run),
    }


@example.register
def _(problem: ManyTasks, run: xr.Dataset) -> Variables:
    """Every task's approximation, by its own network, and its target; and how the approximations changed."""
    return {
        "x": (("x",), GRID),
        "target": (("task", "x"), problem.target(GRID)),
        "prediction": (("task", "x"), _values(problem, networks_at(run, -1), GRID)),
        "coarse_x": (("coarse_x",), COARSE),
        "prediction_over_time": (
            ("snapshot", "task", "coarse_x"),
            np.stack([_values(problem, networks_at(run, k), COARSE) for k in range(run.sizes["snapshot"])]),
        ),
    }


@example.register
def _(problem: MNIST, run: xr.Dataset) -> Variables:
    """Some test images, and the probability of each class during training."""
    pixels, labels = problem.test_images(DIGITS)
    probabilities = [problem.probabilities(networks_at(run, k), DIGITS)[0] for k in range(run.sizes["snapshot"])]
    return {
        "digit_pixels": (("digit", "row", "column"), pixels.reshape(-1, 28, 28).astype(np.uint8)),
        "digit_label": (("digit",), labels.astype(np.int8)),
        "digit_probability": (("snapshot", "digit", "class"), np.stack(probabilities).astype(np.float32)),
    }


@example.register
def _(problem: OneNeuron, run: xr.Dataset) -> Variables:
    """The particles as points of the plane (kink, slope), the last consensus points, the minimisers."""
    last = networks_at(run, -1)
    return {
        "particle_kink": (("kept_epoch", "particle"), -run["particle_b"].values[:, :, 0]),
        "particle_slope": (("kept_epoch", "particle"), run["particle_c"].values[:, :, 0, 0]),
        "consensus_kink": (("task",), -last["b"][:, 0]),
        "consensus_slope": (("task",), last["c"][:, 0, 0]),
        "minimiser_kink": (("task",), MINIMISERS[: problem.tasks, 0]),
        "minimiser_slope": (("task",), MINIMISERS[: problem.tasks, 1]),
    }


def networks_at(run: xr.Dataset, snapshot: int) -> Networks:
    """The reported networks of a run at one of its snapshots: one, or one for each task."""
    found = {name: run[name].isel(snapshot=snapshot) for name in PARAMETERS if name in run}
    return {name: x.values if "task" in x.dims else x.values[None] for name, x in found.items()}


def _values(problem, networks: Networks, x: np.ndarray) -> np.ndarray:
    """The values (N, S) of networks of one input and one output."""
    return problem.predictions(networks, x[:, None])[:, :, 0]


def _ensembles(problem, run: xr.Dataset) -> Variables:
    """The values of all particles at the epochs at which they were kept."""
    names = [name for name in PARAMETERS if f"particle_{name}" in run]
    if not names:
        return {}
    values = [
        _values(problem, {name: run[f"particle_{name}"].isel(kept_epoch=k).values for name in names}, COARSE)
        for k in range(run.sizes["kept_epoch"])
    ]
    return {"particle_prediction": (("kept_epoch", "particle", "coarse_x"), np.stack(values).astype(np.float32))}
