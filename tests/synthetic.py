"""Summaries made up for the tests of the claims: laid out like real ones, with any numbers."""

import json

import numpy as np
import xarray as xr


def curve(experiment, name, risk, *, M, N, method=None, settings=None, stored=None, **others):
    """A curve with the risks (seed, epoch) at ``stored`` epochs; ``others`` are further series, or values by task."""
    risk = np.asarray(risk, float)
    seeds, epochs = risk.shape
    stored = np.arange(epochs) if stored is None else np.asarray(stored)
    described = {
        "name": {"experiment": experiment, "variant": name, "M": M, "N": N, "seed": 0},
        "problem": experiment,
        "method": method or name,
        "settings": {"epochs": int(stored[-1]), **(settings or {})},
    }
    variables = {"risk": (("seed", "epoch"), risk), "settings": json.dumps(described)}
    for key, values in others.items():
        dims = ("seed", "task") if key == "risk_task_final" else ("seed", "epoch")
        variables[key] = (dims, np.asarray(values, float))
    data = xr.Dataset(variables, coords={"seed": np.arange(seeds), "epoch": stored})
    if "risk_task_final" in data:
        data = data.assign_coords(task=np.arange(1, data.sizes["task"] + 1))
    data = data.expand_dims(curve=[f"{name}_M{M}_N{N}"])
    coordinates = {"variant": name, "method": method or name, "M": M, "N": N}
    return data.assign_coords({key: ("curve", [value]) for key, value in coordinates.items()})


def summary(*curves):
    """Curves of one experiment, joined as the pipeline joins them."""
    return xr.concat(
        curves, "curve", join="outer", data_vars="all", fill_value={"settings": ""}, combine_attrs="drop"
    )


def decay(start, end, epochs, seeds, *, noise=0.0, seed=0):
    """Risks that fall geometrically from start to end, (seed, epoch), with noise on their logarithm."""
    rng = np.random.default_rng(seed)
    line = np.geomspace(start, end, epochs + 1)
    return line * np.exp(noise * rng.standard_normal((seeds, epochs + 1)))


def settling(start, floor, epochs, seeds, *, half=20, noise=0.0, seed=0):
    """Risks that fall fast to a floor and stay there."""
    rng = np.random.default_rng(seed)
    line = floor + (start - floor) * 0.5 ** (np.arange(epochs + 1) / half)
    return line * np.exp(noise * rng.standard_normal((seeds, epochs + 1)))


def cost(experiment, variant, M, N, *, iteration=1e-3, epoch=1e-2, state=10**6, peak=2 * 10**6):
    return {
        "experiment": experiment, "variant": variant, "method": variant, "M": M, "N": N,
        "seconds_per_iteration": iteration, "seconds_per_epoch": epoch, "state_bytes": state, "peak_bytes": peak,
    }  # fmt: skip
