"""The contract of the files of results: what each kind holds, and the words that describe it.

Attributes follow CF and ACDD where these apply. There are no clock times: equal settings give equal bytes.
"""

import json
from typing import TYPE_CHECKING

import cbo_pipeline
from cbo_pipeline.results.versions import versions

if TYPE_CHECKING:
    import xarray as xr

CONTRACT = 2  # raised when the meaning or the bytes of a file change
# What a file of each kind holds at the least: variables and attributes.
CONTENT = {
    "run": (
        "risk",
        "risk_min",
        "variance",
        "diverged",
        "experiment",
        "variant",
        "method",
        "seed",
        "settings",
        "code",
        "versions",
    ),
    "summary": ("risk", "risk_over_seeds", "experiment", "settings", "variant", "method", "code", "versions"),
}
# The title and the summary of each kind.
WORDS = {
    "run": (
        "Training run {name}",
        "Risk, spread and parameters of one training run, epoch by epoch, with the reported network at some epochs.",
    ),
    "summary": (
        "Summary of {name}",
        "Series of every seed, statistics over the seeds and an example for each curve (a variant at one M and N).",
    ),
}
PAPER = (
    "De Deyn, Herty, Samaey: Mean-Field Model for Two-Layer Neural Networks Trained with Consensus-Based"
    " Optimization, arXiv:2511.21466"
)
COMMON = {
    "Conventions": "CF-1.11, ACDD-1.3",
    "source": f"numerical experiment: cbo_pipeline {cbo_pipeline.__version__}",
    "references": PAPER,
    "keywords": "consensus-based optimization, two-layer neural networks, mean-field limit",
    "license": "MIT",
    "creator_name": "The cbo_pipeline developers",
    "creator_type": "group",
}

# The long name and the unit of every variable and coordinate of a run.
RUN_NAMES = {
    "risk": ("empirical risk of the reported network on the whole training set", "1"),
    "risk_smallest": ("smallest risk of the epochs since the stored one before", "1"),
    "risk_largest": ("largest risk of the epochs since the stored one before", "1"),
    "risk_loop": ("mean over the epoch's minibatches of the risk on each at the consensus point", "1"),
    "risk_loop_smallest": ("smallest risk_loop of the epochs since the stored one before", "1"),
    "risk_loop_largest": ("largest risk_loop of the epochs since the stored one before", "1"),
    "risk_min": ("smallest risk among the particles on the epoch's last minibatch", "1"),
    "risk_median": ("median risk of the particles on the epoch's last minibatch", "1"),
    "variance": ("spread of the ensemble about its consensus, half the mean squared distance", "1"),
    "alpha": ("inverse temperature of the consensus weights", "1"),
    "sigma": ("diffusion parameter", "1"),
    "accuracy": ("share of the test data that the reported network classifies correctly", "1"),
    "risk_test": ("empirical risk of the reported network on the test data", "1"),
    "rounds": ("fixed-point rounds of the barycentre in the epoch's last iteration", "1"),
    "unsettled": ("iterations so far in which the limit on the rounds ended the barycentre", "1"),
    "better_starts": ("barycentres so far for which another start was better than the heaviest particle", "1"),
    "diverged": ("1 from the epoch on in which no particle had a finite risk, else 0", "1"),
    "w": ("inner weights of the reported network", "1"),
    "b": ("inner biases of the reported network", "1"),
    "c": ("outer weights of the reported network", "1"),
    "a": ("outer biases of the reported network", "1"),
    "particle_w": ("inner weights of every particle", "1"),
    "particle_b": ("inner biases of every particle", "1"),
    "particle_c": ("outer weights of every particle", "1"),
    "particle_a": ("outer biases of every particle", "1"),
    "epoch": ("epochs of training, 0 is the initial state", "1"),
    "snapshot": ("epoch at which the reported network was stored", "1"),
    "kept_epoch": ("epoch at which the whole ensemble was stored", "1"),
    "particle": ("particle of the ensemble, from 1", "1"),
    "neuron": ("neuron of the hidden layer, from 1", "1"),
    "feature": ("feature of the input, from 1", "1"),
    "output": ("output of the network, from 1", "1"),
    "task": ("task, from 1", "1"),
}
# Those that only summaries have.
SUMMARY_NAMES = {
    "curve": ("name of the curve: a variant at one M and N", "1"),
    "variant": ("variant of the method: a named set of settings", "1"),
    "method": ("method", "1"),
    "M": ("width of the network", "1"),
    "N": ("number of particles", "1"),
    "seed": ("seed of data, initial ensemble, batches and noise", "1"),
    "statistic": ("statistic over the seeds; a run that diverged counts as infinitely bad", "1"),
    "risk_task_min": ("smallest risk among the tasks", "1"),
    "risk_task_max": ("largest risk among the tasks", "1"),
    "risk_task_final": ("risk of every task at the last epoch", "1"),
    "example_seed": ("seed of the typical run, that of median final risk", "1"),
    "settings": ("settings of the curve, as sorted JSON", "1"),
    "run_code": ("digest of the code that decided each run", "1"),
    "x": ("place at which the target and the typical run's last network are given", "1"),
    "target": ("target of the typical run", "1"),
    "prediction": ("last network of the typical run", "1"),
    "sample": ("data point of the typical run that is shown, from 1", "1"),
    "sample_x": ("inputs of some data points of the typical run", "1"),
    "sample_y": ("labels of some data points of the typical run", "1"),
    "coarse_x": ("place at which networks during training are given", "1"),
    "prediction_over_time": ("reported network of the typical run at its snapshots", "1"),
    "particle_prediction": ("networks of all particles of the typical run at the epochs kept", "1"),
    "digit": ("test image that is shown, from 1", "1"),
    "row": ("row of an image, from 1", "1"),
    "column": ("column of an image, from 1", "1"),
    "class": ("class, from 1", "1"),
    "digit_pixels": ("pixels of the image", "1"),
    "digit_label": ("label of the image", "1"),
    "digit_probability": ("probability that the typical run gives to each class at its snapshots", "1"),
    "particle_kink": ("kink -b of each particle of one neuron", "1"),
    "particle_slope": ("slope c of each particle of one neuron", "1"),
    "consensus_kink": ("kink of the last consensus point of each task", "1"),
    "consensus_slope": ("slope of the last consensus point of each task", "1"),
    "minimiser_kink": ("kink of the minimiser of each task", "1"),
    "minimiser_slope": ("slope of the minimiser of each task", "1"),
}
LONG_NAMES = RUN_NAMES | SUMMARY_NAMES


def stamp(data: "xr.Dataset", kind: str, name: str, code: str, **more) -> "xr.Dataset":
    """Give a dataset the attributes of its kind, and every variable and coordinate its long name and unit."""
    title, summary = WORDS[kind]
    data.attrs = {
        "title": title.format(name=name),
        "summary": summary,
        **COMMON,
        "kind": kind,
        "contract": CONTRACT,
        **more,
        "code": code,
        "versions": json.dumps(versions(), sort_keys=True),
    }
    return described(data)


def described(data: "xr.Dataset") -> "xr.Dataset":
    """Give every variable of a known name its long name and unit."""
    for name, variable in data.variables.items():
        known = LONG_NAMES.get(name) or _over_seeds(name)
        if known and "long_name" not in variable.attrs:
            variable.attrs["long_name"] = known[0]
            if variable.dtype.kind in "fiu":
                variable.attrs["units"] = known[1]
    return data


def _over_seeds(name: str) -> tuple[str, str] | None:
    base = LONG_NAMES.get(str(name).removesuffix("_over_seeds"))
    return (f"statistics over the seeds of: {base[0]}", base[1]) if base else None
