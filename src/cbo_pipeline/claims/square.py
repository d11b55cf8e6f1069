"""Claims 10 to 13, Section 5.3: the optimal transport formulation on the square, along M and N."""

import numpy as np

from cbo_pipeline.claims.evidence import Curve, Evidence, NotTested, Scale
from cbo_pipeline.claims.judgement import FAILS, HOLDS, Judgement, graded
from cbo_pipeline.claims.statistics import bootstrap, log_ratio

SQUARE = Scale("square", "ot_cbo", epochs=600, seeds=10, M=200, N=200, settings={"points": 5000})
SIZES = 5  # points of a sweep: fewer would make "monotone" too easy
SMALL = np.log10(1.25)  # a fall of the risk by less than a fifth when M or N doubles counts as saturated


def monotone_in_M(evidence: Evidence) -> Judgement:
    """Claim 10."""
    return _monotone(evidence, "M")


def monotone_in_N(evidence: Evidence) -> Judgement:
    """Claim 11."""
    return _monotone(evidence, "N")


def saturates(evidence: Evidence) -> Judgement:
    """Claim 12: the last doubling brings little, and less than those before it did on average."""
    parts, sentences = {}, []
    for along in ("M", "N"):
        sizes, risks = _sweep(evidence, along)
        value = _last_fall(sizes, risks)
        _, spread = bootstrap(lambda rows, sizes=sizes: _last_fall(sizes, rows), risks)
        average = _average_fall(sizes, risks)
        slower = value < average
        verdict = graded(value < SMALL and slower, value < SMALL or slower)
        parts[along] = {"value": value, "spread": spread, "average_before": average, "verdict": verdict}
        sentences.append(
            f"doubling {along} to {sizes[-1]} divides the risk by {10**value:.3g}, a doubling before by"
            f" {10**average:.3g} on average ({verdict})"
        )
    verdicts = {part["verdict"] for part in parts.values()}
    worse = max(parts.values(), key=lambda part: part["value"])
    verdict = graded(verdicts == {HOLDS}, verdicts != {FAILS})
    return Judgement(verdict, worse["value"], worse["spread"], "; ".join(sentences), {"parts": parts})


def barycentre_costs_more(evidence: Evidence) -> Judgement:
    """Claim 13: measured seconds of an iteration, the same problem and ensemble."""
    top = evidence.one(Scale("square", "ot_cbo", M=200, N=200))
    plain = evidence.one(Scale("square", "cbo", M=top.M, N=top.N))
    costs = [evidence.cost(curve) for curve in (top, plain)]
    if None in costs:
        raise NotTested("square: the seconds of an iteration were not measured")
    best = [cost["seconds_per_iteration"] for cost in costs]
    typical = [cost.get("seconds_per_iteration_median", cost["seconds_per_iteration"]) for cost in costs]
    ratios = sorted((best[0] / best[1], typical[0] / typical[1]))
    seen = (
        f"M = {top.M}, N = {top.N}: an iteration takes {best[0] * 1e3:.3g} ms with the barycentre and"
        f" {best[1] * 1e3:.3g} ms with the consensus point"
    )
    verdict = graded(ratios[0] > 1, ratios[1] > 1)
    details = {"seconds": dict(zip(("barycentre", "consensus_point"), best, strict=True))}
    return Judgement(verdict, best[0] / best[1], (ratios[0], ratios[1]), seen, details)


def _monotone(evidence: Evidence, along: str) -> Judgement:
    """Means over the seeds at the last epoch, as the paper has them: does every step go down?"""
    sizes, risks = _sweep(evidence, along)
    means = risks.mean(axis=0)
    value = _largest_rise(risks)
    resampled, spread = bootstrap(_largest_rise, risks)
    _, ends = bootstrap(lambda rows: float(log_ratio(rows.mean(axis=0)[-1], rows.mean(axis=0)[0])), risks)
    falls_overall = ends[1] < 0
    rises = [(sizes[i], sizes[i + 1]) for i in range(len(sizes) - 1) if not means[i + 1] < means[i]]
    seen = (
        f"mean risk at {along} = {', '.join(map(str, sizes))}: {', '.join(f'{m:.3g}' for m in means)}; "
        + ("every step goes down" if not rises else "no fall from " + ", ".join(f"{a} to {b}" for a, b in rises))
        + f", and every step does in {np.mean(resampled < 0):.0%} of resamples"
    )
    details = {"sizes": sizes, "means": means, "first_to_last": ends}
    return Judgement(graded(value < 0 and falls_overall, falls_overall), value, spread, seen, details)


def _sweep(evidence: Evidence, along: str) -> tuple[list[int], np.ndarray]:
    """The sizes, and the risks at the last epoch: (seed, size), on the seeds that all curves have."""
    curves = evidence.sweep(SQUARE, along)
    if len(curves) < SIZES:
        raise NotTested(f"square: the sweep along {along} has {len(curves)} sizes, the paper's scale is {SIZES}")
    return [getattr(c, along) for c in curves], _last_risks(curves)


def _last_risks(curves: list[Curve]) -> np.ndarray:
    seeds = [seed for seed in curves[0].seeds if all(seed in curve.seeds for curve in curves)]
    return np.stack([curve.series(seeds=tuple(seeds))[:, -1] for curve in curves], axis=1)


def _largest_rise(risks: np.ndarray) -> float:
    """The largest log10 ratio of neighbouring means: negative if every step goes down."""
    means = risks.mean(axis=0)
    return float(np.max(log_ratio(means[1:], means[:-1])))


def _last_fall(sizes: list[int], risks: np.ndarray) -> float:
    """How far, in log10, the mean falls over the last doubling."""
    means = risks.mean(axis=0)
    return float(log_ratio(means[-2], means[-1]) / np.log2(sizes[-1] / sizes[-2]))


def _average_fall(sizes: list[int], risks: np.ndarray) -> float:
    """How far it falls per doubling before that."""
    means = risks.mean(axis=0)
    return float(log_ratio(means[0], means[-2]) / np.log2(sizes[-2] / sizes[0]))
