"""What is made under fire: the runs of all methods at a scale of a second, and their summaries.

Where runs share jobs, one run of every curve is left over and has a job to itself. On Slurm these jobs are sent as
array jobs, as the runs of the config are; jobs of several runs are not.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import yaml

from cbo_pipeline.config import load_config, runs
from cbo_pipeline.workflow.plan import Plan

SMALL = {"points": 80, "batch_size": 40, "snapshots": [0, 1]}
# Each experiment with its variants: every method of the package is among them. The smallest width is 4.
EXPERIMENTS = {
    "sine": {
        "epochs": 400,
        "methods": {"cbo": {"N": 6}, "cbo_float64": {"N": 6}, "adam": {"N": 1, "epochs": 100}, "hybrid": {"N": 6}},
    },
    "multi_task": {"epochs": 200, "tasks": 2, "methods": {"multi_task_cbo": {"N": 6}}},
    "multi_task_memory": {"N": 6, "epochs": 200, "methods": {"separate_2": {}}},
    "square": {"epochs": 30, "methods": {"ot_cbo": {}}},
    "multi_task_ot": {"N": 6, "epochs": 20, "tasks": 2, "methods": {"multi_task_ot_cbo": {}}},
}


@dataclass(frozen=True)
class Workload:
    """An overlay of the config, and the files that it makes."""

    overlay: Path
    targets: tuple[str, ...]
    runs: int


def make(folder: Path, wanted: int, runs_per_job: int = 1, widths: int = 1) -> Workload:
    """A workload of at least that many runs, its overlay written to a folder. There is a curve for each width."""
    curves = widths * sum(len(experiment["methods"]) for experiment in EXPERIMENTS.values())
    seeds = math.ceil(wanted / curves)
    if runs_per_job > 1:
        seeds = runs_per_job * math.ceil((seeds - 1) / runs_per_job) + 1  # one is left over
    text = yaml.safe_dump(_overlay(seeds, runs_per_job, widths), sort_keys=False)
    overlay = folder / "soak.yaml"
    overlay.write_text(f"# Made by tests/soak/workload.py.\n{text}", encoding="utf-8")
    config = load_config(overlay)
    config.pop("runs_per_job", None)
    plan = Plan(config)
    files = [f"results/runs/{name}.nc" for name in plan.runs]
    files += [f"results/summary/{curve}.nc" for curve in plan.curves]
    return Workload(overlay, (*files, *plan.summaries()), len(plan.runs))


def _overlay(seeds: int, runs_per_job: int, widths: int) -> dict:
    full = load_config()
    experiments = {}
    for name, changes in EXPERIMENTS.items():
        others = {run.variant: None for run in runs(full) if run.experiment == name}
        methods = {**others, **{variant: {**of, "seeds": seeds} for variant, of in changes["methods"].items()}}
        sizes = {"M": [4 + more for more in range(widths)]}
        sizes = {"grid": [{**sizes, "N": 6}]} if name == "square" else sizes
        experiments[name] = {"seeds": seeds, **SMALL, **sizes, **changes, "methods": methods}
    overlay = {"only_experiments": list(EXPERIMENTS), "experiments": experiments}
    return overlay if runs_per_job == 1 else {"runs_per_job": runs_per_job, **overlay}
