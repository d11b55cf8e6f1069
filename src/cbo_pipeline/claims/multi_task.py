"""Claims 7 to 9, Section 4.3: Multi-Task CBO."""

import itertools

import numpy as np

from cbo_pipeline.claims import rule
from cbo_pipeline.claims.evidence import CurveResults, Evidence, NotTested
from cbo_pipeline.claims.judgement import Judgement, claim, judged
from cbo_pipeline.claims.sine import GOOD
from cbo_pipeline.claims.statistics import Series, log_ratio, middle

EXPERIMENT, VARIANT, MEMORY = "multi_task", "multi_task_cbo", "multi_task_memory"
SHOWN = (1, 25, 50, 75, 100)  # the problems of figure 6
WINDOWS = 10
MOST = 0.5  # of the steps from window to window
STILL = 1e-5  # a risk that falls by a smaller share stands still: the particles are one, and rounding is left


@claim(
    id=7,
    section="4.3",
    claim="Multi-task: the median and the minimum of the risk over the tasks both fall during training.",
    statistic=f"median over seeds of log10(last / first of {WINDOWS} equal parts of training), the weaker of the two;"
    f" and of the share of the {WINDOWS - 1} steps from part to part in which they fall by more than {STILL:g}",
    threshold=f"below 0, and above {MOST:.0%} of the steps, for both",
    why="to fall during training is more than to end below the start, and single steps may rise by chance; a change"
    " of the sixth digit is a standstill",
    needs=("multi_task/multi_task_cbo",),
)
def both_fall(evidence: Evidence) -> Judgement:
    """Claim 7: the median and the minimum over the tasks, in ten windows of training."""
    curve = evidence.variant(EXPERIMENT, VARIANT)
    parts, sentences = [], []
    for name, series in (("median", "risk"), ("minimum", "risk_task_min")):
        windows = _windows(curve.series(series))
        falls = log_ratio(windows[:, -1], windows[:, 0])
        steps = np.mean(windows[:, 1:] < (1 - STILL) * windows[:, :-1], axis=1)
        fall = rule.below(f"fall of the {name}", middle(falls), rule.median_interval(falls))
        often = rule.above(f"steps of the {name}", middle(steps), rule.median_interval(steps), MOST)
        parts += [fall, often]
        sentences.append(
            f"the {name} over the tasks falls by a factor of {10**-fall.value:.2g} from the first to the last tenth"
            f" of training ({fall.verdict}), in {often.value:.0%} of the steps ({often.verdict})"
        )
    weaker = max(parts[0], parts[2], key=lambda part: part.value)
    return judged(parts, "; ".join(sentences), len(curve.seeds), weaker)


@claim(
    id=8,
    section="4.3",
    claim="Multi-task: the approximations of five of the tasks are accurate.",
    statistic=f"median over seeds of the root mean squared error of problems {', '.join(map(str, SHOWN))} as a share"
    " of the amplitude; the worst of them",
    threshold=f"below {GOOD:.0%}, for all {len(SHOWN)}",
    why="as for claim 3",
    needs=("multi_task/multi_task_cbo",),
)
def five_accurate(evidence: Evidence) -> Judgement:
    """Claim 8: root mean squared errors of the problems that figure 6 shows; there is no label noise."""
    curve = evidence.variant(EXPERIMENT, VARIANT)
    errors = dict(zip(SHOWN, np.sqrt(curve.per_task(SHOWN)).T, strict=True))
    parts = [rule.below(f"problem {task}", middle(e), rule.median_interval(e), GOOD) for task, e in errors.items()]
    seen = "error as a share of the amplitude: " + ", ".join(
        f"{part.value:.1%} ({part.what}, {part.verdict})" for part in parts
    )
    return judged(parts, seen, len(curve.seeds), max(parts, key=lambda part: part.value), errors=errors)


@claim(
    id=9,
    section="3.4.2",
    claim="Multi-task: recycling one ensemble needs less memory than an ensemble for each task.",
    statistic="bytes that the method keeps, one ensemble relative to separate ones: counted, and measured as the"
    " growth of a process",
    threshold="below 1, both",
    why="any saving counts; counted bytes are exact, measured ones include memory that the method needs only briefly",
    needs=("multi_task_memory/*",),
)
def less_memory(evidence: Evidence) -> Judgement:
    """Claim 9: the same tasks by one ensemble and by one ensemble each; counted, and measured."""
    shared, separate = _largest(evidence, "multi_task_cbo"), _largest(evidence, "separate_cbo")
    tasks = shared.settings["tasks"]
    if tasks != separate.settings["tasks"] or tasks < 2:
        raise NotTested(f"{MEMORY}: both methods are needed with the same number of tasks, at least two")
    costs = [evidence.cost(curve) for curve in (shared, separate)]
    if None in costs:
        raise NotTested(f"{MEMORY}: the memory of its methods was not measured")
    parts = []
    for what, key in (("counted", "state_bytes"), ("measured", "peak_bytes")):
        share = costs[0][key] / max(1, costs[1][key])
        parts.append(rule.certain(what, share < 1, share))
    seen = (
        f"for {tasks} tasks one ensemble keeps {_mb(costs[0]['state_bytes'])} against"
        f" {_mb(costs[1]['state_bytes'])} of separate ensembles (counted), and the process grows by"
        f" {_mb(costs[0]['peak_bytes'])} against {_mb(costs[1]['peak_bytes'])} (measured)"
    )
    return judged(parts, seen, None, tasks=tasks)


def _windows(risk: Series) -> np.ndarray:
    """Medians of each run in consecutive parts of training, the initial state apart: (seed, window)."""
    edges = np.linspace(0, risk.last, WINDOWS + 1)
    inside = [risk.after(low).until(high) for low, high in itertools.pairwise(edges)]
    return np.stack([np.median(part.values, axis=1) for part in inside], axis=1)


def _largest(evidence: Evidence, method: str) -> CurveResults:
    found = evidence.curves(MEMORY, method)
    if not found:
        raise NotTested(f"no results of {MEMORY}/{method}")
    best = max(found, key=lambda one: one.settings["tasks"])
    paper = evidence.wanted.get((EXPERIMENT, VARIANT))
    if paper is not None and (best.M < paper.M or best.N < paper.N):
        raise NotTested(f"{MEMORY}: M = {best.M}, N = {best.N}; the paper's scale is {paper.M}, {paper.N}")
    return best


def _mb(size: float) -> str:
    return f"{size / 1e6:.3g} MB"
