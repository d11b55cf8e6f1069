"""Claims 10 to 13, Section 5.3: the optimal transport formulation on the square, along M and N."""

from collections.abc import Sequence

import numpy as np

from cbo_pipeline.claims import rule
from cbo_pipeline.claims.evidence import Evidence, NotTested, shared_seeds
from cbo_pipeline.claims.judgement import Judgement, claim, judged
from cbo_pipeline.claims.rule import Interval, Part
from cbo_pipeline.claims.statistics import end, middle, resampled

EXPERIMENT, VARIANT, PLAIN = "square", "ot_cbo", "cbo"
LITTLE = 1.25  # a doubling of M or N that divides the risk by less than this brings little
MONOTONE = "largest change of log10 mean risk from one {0} to the next; and its change from the first to the last"


class Sweep:
    """The risks at the last epoch along M or N, (seed, size), on the seeds that all curves have."""

    def __init__(self, evidence: Evidence, along: str):
        curves = evidence.sweep(EXPERIMENT, VARIANT, along)
        seeds = shared_seeds(*curves)
        self.sizes = [getattr(curve, along) for curve in curves]
        self.risks = np.stack(
            [end(curve.series().with_seeds(seeds), evidence.choices.tail) for curve in curves], axis=1
        )
        self.by_mean = evidence.choices.over_seeds == "mean"
        self.epoch = curves[0].epochs
        self.noise = curves[0].settings.get("label_noise", 0.0) ** 2

    @property
    def centres(self) -> np.ndarray:
        return self.risks.mean(axis=0) if self.by_mean else np.median(self.risks, axis=0)

    def contrast(self, weights: Sequence[float]) -> float:
        """A contrast of the logarithms of the mean risks, or the median over seeds of that of their own risks."""
        return rule.contrast(self.risks, weights) if self.by_mean else middle(self._own(weights))

    def interval(self, weights: Sequence[float], error: float = rule.ERROR) -> Interval:
        """The interval of a contrast over the seeds."""
        if self.by_mean:
            return rule.contrast_interval(self.risks, weights, error)
        return rule.median_interval(self._own(weights), error)

    def _own(self, weights: Sequence[float]) -> np.ndarray:
        risks, weights = rule.of_weight(self.risks, weights)
        with np.errstate(invalid="ignore"):
            values = np.log10(risks) @ weights
        return np.where(np.isnan(values), 0.0, values)

    def between(self, low: int, high: int) -> np.ndarray:
        """The weights of log10(risk at size high / risk at size low), by position in the sweep."""
        weights = np.zeros(len(self.sizes))
        weights[[low, high]] = -1.0, 1.0
        return weights

    def per_doubling(self, low: int, high: int) -> np.ndarray:
        """The weights of the fall of log10 risk from one size to another, per doubling of the size."""
        return -self.between(low, high) / np.log2(self.sizes[high] / self.sizes[low])


@claim(
    id=10,
    section="5.3",
    claim="Square: the risk at epoch 600 falls monotonically in the width M.",
    statistic=MONOTONE.format("M"),
    threshold="below 0 (every step falls), both",
    why="monotone means that every step falls; the mean over the runs is what the paper shows",
    needs=("square/ot_cbo",),
)
def monotone_in_M(evidence: Evidence) -> Judgement:
    """Claim 10."""
    return _monotone(Sweep(evidence, "M"), "M")


@claim(
    id=11,
    section="5.3",
    claim="Square: the risk at epoch 600 falls monotonically in the number of particles N.",
    statistic=MONOTONE.format("N"),
    threshold="below 0 (every step falls), both",
    why="as for claim 10",
    needs=("square/ot_cbo",),
)
def monotone_in_N(evidence: Evidence) -> Judgement:
    """Claim 11."""
    return _monotone(Sweep(evidence, "N"), "N")


def _monotone(sweep: Sweep, along: str) -> Judgement:
    """Does every step along the sweep go down, and does its end lie below its start?"""
    steps = [sweep.between(i, i + 1) for i in range(len(sweep.sizes) - 1)]
    interval = rule.largest_interval([lambda error, w=w: sweep.interval(w, error) for w in steps])
    largest = rule.below("every step", max(map(sweep.contrast, steps)), interval)
    ends = sweep.between(0, -1)
    overall = rule.below("first to last", sweep.contrast(ends), sweep.interval(ends))
    each = [rule.below(f"{a} to {b}", sweep.contrast(w), sweep.interval(w)).verdict
            for a, b, w in zip(sweep.sizes[:-1], sweep.sizes[1:], steps, strict=True)]  # fmt: skip
    share = float(np.mean(resampled(lambda rows: float(np.all(np.diff(rows.mean(axis=0)) < 0)), sweep.risks)))
    steps_said = ", ".join(
        f"{a} to {b} {_fall(sweep.contrast(w))} ({verdict})"
        for a, b, w, verdict in zip(sweep.sizes[:-1], sweep.sizes[1:], steps, each, strict=True)
    )
    seen = (
        f"{'mean' if sweep.by_mean else 'median'} risk at epoch {sweep.epoch}, {len(sweep.risks)} runs each, {along}"
        f" = {', '.join(map(str, sweep.sizes))}: {', '.join(f'{m:.3g}' for m in sweep.centres)}; {steps_said}; from"
        f" first to last {_fall(overall.value)} ({overall.verdict}); every step falls in {share:.0%} of resamples"
    )
    return judged([largest, overall], seen, len(sweep.risks), sizes=sweep.sizes, centres=sweep.centres)


def _fall(change: float) -> str:
    """A change of log10 risk in words.

    >>> _fall(-0.301), _fall(0.0414)
    ('-50%', '+10%')
    """
    return f"{10**change - 1:+.0%}"


@claim(
    id=12,
    section="5.3",
    claim="Square: both curves saturate; M = N = 200 is close to the mean-field regimes.",
    statistic="fall of log10 mean risk over the last doubling, the larger of M's and N's; and by how much it exceeds"
    " the average fall over the doublings before",
    threshold=f"below {np.log10(LITTLE):.3f} (a factor of {LITTLE:g}), and below 0: both for M, and both for N",
    why="a curve saturates if further doubling brings little, and less than it used to",
    needs=("square/ot_cbo",),
)
def saturates(evidence: Evidence) -> Judgement:
    """Claim 12, a part for each curve: its last doubling brings little, and less than those before on average."""
    parts, sentences, seeds, criteria = [], [], [], {}
    for along in ("M", "N"):
        sweep = Sweep(evidence, along)
        last, before = sweep.per_doubling(-2, -1), sweep.per_doubling(0, -2)
        little = _criterion(sweep, "last doubling", last, float(np.log10(LITTLE)))
        slower = _criterion(sweep, "last doubling against those before", last - before)
        parts.append(rule.all_of(f"the curve along {along} saturates", [little, slower], little))
        criteria[along] = {part.what: part.said() for part in (little, slower)}
        seeds.append(len(sweep.risks))
        sentences.append(
            f"doubling {along} to {sweep.sizes[-1]} divides the risk by {10**little.value:.3g} ({little.verdict}"
            f"{_beyond_the_noise(sweep)}), the doublings before by {10 ** sweep.contrast(before):.3g} on average"
            f" ({slower.verdict}); that this curve saturates: {parts[-1].verdict}"
        )
    headline = max(parts, key=lambda part: part.value)
    return judged(parts, "; ".join(sentences), min(seeds), headline, criteria=criteria)


def _criterion(sweep: Sweep, what: str, weights: np.ndarray, line: float = 0.0) -> Part:
    """One of the two criteria of saturation: that a contrast is below a line."""
    interval = rule.one_of(lambda error: sweep.interval(weights, error), 2)
    return rule.below(what, sweep.contrast(weights), interval, line)


def _beyond_the_noise(sweep: Sweep) -> str:
    """What the last doubling does to the risk beyond the label noise, which the true function itself has."""
    excess = sweep.centres[-2:] - sweep.noise
    if sweep.noise == 0 or np.any(excess <= 0):
        return ""
    doublings = np.log2(sweep.sizes[-1] / sweep.sizes[-2])
    return f"; less the label noise, {sweep.noise:g}, by {(excess[0] / excess[1]) ** (1 / doublings):.3g}"


@claim(
    id=13,
    section="5.3",
    claim="An iteration with the barycentre costs more than one with the consensus point.",
    statistic="seconds of an iteration of optimal-transport CBO over those of CBO, same problem, same M and N",
    threshold="above 1, for the best and for the median iteration",
    why="any excess counts; the best and the median iteration must agree",
    needs=("square/ot_cbo", "square/cbo"),
)
def barycentre_costs_more(evidence: Evidence) -> Judgement:
    """Claim 13: measured seconds of an iteration, the same problem and ensemble."""
    scale = evidence.wanted.get((EXPERIMENT, PLAIN))
    curves = {variant: _top(evidence, variant) for variant in (VARIANT, PLAIN)}
    top = curves[VARIANT]
    if scale is not None and (top.M < scale.M or top.N < scale.N):
        raise NotTested(f"{top}: M = {top.M}, N = {top.N}; the paper's scale is {scale.M}, {scale.N}")
    if (curves[PLAIN].M, curves[PLAIN].N) != (top.M, top.N):
        raise NotTested(f"{EXPERIMENT}: no results of {PLAIN} at M = {top.M}, N = {top.N}")
    costs = [evidence.cost(curve) for curve in curves.values()]
    if None in costs:
        raise NotTested(f"{EXPERIMENT}: the seconds of an iteration were not measured")
    best = [cost["seconds_per_iteration"] for cost in costs]
    typical = [cost.get("seconds_per_iteration_median", cost["seconds_per_iteration"]) for cost in costs]
    parts: list[Part] = []
    for what, (slow, fast) in (("best iteration", best), ("median iteration", typical)):
        parts.append(rule.certain(what, slow > fast, slow / fast))
    seen = (
        f"M = {top.M}, N = {top.N}: an iteration takes {best[0] * 1e3:.3g} ms with the barycentre and"
        f" {best[1] * 1e3:.3g} ms with the consensus point (median iterations: {typical[0] * 1e3:.3g} and"
        f" {typical[1] * 1e3:.3g} ms)"
    )
    return judged(parts, seen, None, seconds=dict(zip(("barycentre", "consensus_point"), best, strict=True)))


def _top(evidence: Evidence, variant: str):
    found = [one for one in evidence.curves(EXPERIMENT) if one.curve.variant == variant]
    if not found:
        raise NotTested(f"no results of {EXPERIMENT}/{variant}")
    return max(found, key=lambda one: (one.M, one.N))
