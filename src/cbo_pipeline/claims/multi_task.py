"""Claims 7 to 9, Section 4.3: Multi-Task CBO."""

import numpy as np

from cbo_pipeline.claims.evidence import Curve, Evidence, NotTested, Scale
from cbo_pipeline.claims.judgement import Judgement, graded
from cbo_pipeline.claims.sine import GOOD
from cbo_pipeline.claims.statistics import bootstrap, log_ratio

MULTI_TASK = Scale(
    "multi_task", "multi_task_cbo", epochs=1000, seeds=10, M=100, N=200, settings={"tasks": 100, "points": 8000}
)
SHOWN = (1, 25, 50, 75, 100)  # the problems of figure 6
WINDOWS = 10
MOST_STEPS = 7  # of the nine from window to window: one or two may be lost to chance


def both_fall(evidence: Evidence) -> Judgement:
    """Claim 7: the median and the minimum over the tasks, in ten windows of training."""
    curve = evidence.one(MULTI_TASK)
    series = {"median": curve.series("risk"), "minimum": curve.series("risk_task_min")}
    falls, steps, spreads = {}, {}, {}
    for name, risk in series.items():
        windows = _windows(risk)
        falls[name] = _fall(windows)
        steps[name] = int(np.sum(np.diff(np.median(windows, axis=0)) < 0))
        _, spreads[name] = bootstrap(_fall, windows)
    weaker = max(falls, key=falls.get)
    below = all(spread[1] < 0 for spread in spreads.values())
    verdict = graded(below and min(steps.values()) >= MOST_STEPS, max(falls.values()) < 0)
    seen = "; ".join(
        f"the {name} over the tasks falls by a factor {10 ** -falls[name]:.2g} from the first to the last tenth of"
        f" training, in {steps[name]} of {WINDOWS - 1} steps"
        for name in series
    )
    return Judgement(verdict, falls[weaker], spreads[weaker], seen, {"falls": falls, "steps": steps})


def five_accurate(evidence: Evidence) -> Judgement:
    """Claim 8: root mean squared errors of the problems that figure 6 shows; there is no label noise."""
    curve = evidence.one(MULTI_TASK)
    final = curve.data["risk_task_final"].sel(seed=list(curve.seeds), task=list(SHOWN)).transpose("seed", "task")
    errors = np.sqrt(np.where(np.isfinite(final.values), final.values, np.inf))
    medians = np.median(errors, axis=0)
    worst = int(np.argmax(medians))
    _, spread = bootstrap(lambda e: float(np.median(e)), errors[:, worst])
    seen = "error as a share of the amplitude: " + ", ".join(
        f"{error:.1%} (problem {task})" for task, error in zip(SHOWN, medians, strict=True)
    )
    verdict = graded(bool((medians <= GOOD).all()), bool((medians <= GOOD).any()))
    return Judgement(verdict, float(medians[worst]), spread, seen, {"errors": dict(zip(SHOWN, medians, strict=True))})


def less_memory(evidence: Evidence) -> Judgement:
    """Claim 9: the same tasks by one ensemble and by one ensemble each; counted, and measured."""
    shared, separate = _largest(evidence, "multi_task_cbo"), _largest(evidence, "separate_cbo")
    for curve in (shared, separate):
        if curve.M < MULTI_TASK.M or curve.N < MULTI_TASK.N:
            raise NotTested(f"multi_task_memory: M = {curve.M}, N = {curve.N}; the paper's scale is 100, 200")
    if shared.settings["tasks"] != separate.settings["tasks"] or shared.settings["tasks"] < 2:
        raise NotTested("multi_task_memory: both methods are needed with the same number of tasks, at least two")
    costs = [evidence.cost(curve) for curve in (shared, separate)]
    if None in costs:
        raise NotTested("multi_task_memory: the memory of its methods was not measured")
    counted = costs[0]["state_bytes"] / costs[1]["state_bytes"]
    measured = costs[0]["peak_bytes"] / max(1, costs[1]["peak_bytes"])
    seen = (
        f"for {shared.settings['tasks']} tasks one ensemble keeps {_mb(costs[0]['state_bytes'])} against"
        f" {_mb(costs[1]['state_bytes'])} of separate ensembles (counted), and the process grows by"
        f" {_mb(costs[0]['peak_bytes'])} against {_mb(costs[1]['peak_bytes'])} (measured)"
    )
    details = {"counted": counted, "measured": measured, "tasks": shared.settings["tasks"]}
    return Judgement(graded(counted < 1 and measured < 1, counted < 1), counted, None, seen, details)


def _windows(risk: np.ndarray) -> np.ndarray:
    """Medians of each run in consecutive parts of training, the initial state apart: (seed, window)."""
    return np.stack([np.median(part, axis=1) for part in np.array_split(risk[:, 1:], WINDOWS, axis=1)], axis=1)


def _fall(windows: np.ndarray) -> float:
    return float(np.median(log_ratio(windows[:, -1], windows[:, 0])))


def _largest(evidence: Evidence, method: str) -> Curve:
    found = evidence.curves("multi_task_memory", method)
    if not found:
        raise NotTested(f"no results of multi_task_memory/{method}")
    return max(found, key=lambda curve: curve.settings["tasks"])


def _mb(size: float) -> str:
    return f"{size / 1e6:.3g} MB"
