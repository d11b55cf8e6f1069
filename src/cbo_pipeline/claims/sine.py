"""Claims 1 to 3, Section 4.1: CBO and Adam on the sine."""

import numpy as np

from cbo_pipeline.claims.evidence import Curve, Evidence, Scale, shared_seeds
from cbo_pipeline.claims.judgement import Judgement, graded, sided
from cbo_pipeline.claims.statistics import bootstrap, crossing, final, log_ratio, sign_test, swings

CBO = Scale("sine", "cbo", epochs=2000, seeds=10, M=100, N=200, settings={"precision": "float32", "points": 8000})
ADAM = Scale("sine", "adam", epochs=2000, seeds=10, M=100, settings={"points": 8000})
GOOD = 0.05  # of the sine's amplitude: about the width of the line that draws it


def pair(evidence: Evidence) -> tuple[Curve, Curve, np.ndarray, np.ndarray]:
    """The curves of CBO and Adam with their risks on the seeds that they share."""
    cbo, adam = evidence.one(CBO), evidence.one(ADAM)
    seeds = shared_seeds(cbo, adam)
    last = min(cbo.epochs, adam.epochs) + 1
    return cbo, adam, cbo.series(seeds=seeds)[:, :last], adam.series(seeds=seeds)[:, :last]


def crossing_epoch(evidence: Evidence) -> dict:
    """The epoch from which CBO's median stays below Adam's, with its spread, also in seconds of training."""
    cbo, adam, risk_cbo, risk_adam = pair(evidence)
    epoch = crossing(risk_cbo, risk_adam)
    values, spread = bootstrap(crossing, risk_cbo, risk_adam)
    return {
        "epoch": epoch,
        "spread": spread,
        "never_in": float(np.mean(np.isinf(values))),
        "seconds_per_epoch": {c.name: evidence.seconds_per_epoch(c) for c in (cbo, adam)},
    }


def ends_lower(evidence: Evidence) -> Judgement:
    """Claim 1."""
    _, _, risk_cbo, risk_adam = pair(evidence)
    differences = log_ratio(final(risk_cbo), final(risk_adam))
    value = float(np.median(differences))
    _, spread = bootstrap(lambda d: float(np.median(d)), differences)
    crossed = crossing_epoch(evidence)
    medians = [float(np.median(final(risk))) for risk in (risk_cbo, risk_adam)]
    where = (
        f"CBO's median stays below Adam's from epoch {crossed['epoch']:.0f} on"
        f" (between {crossed['spread'][0]:.0f} and {crossed['spread'][1]:.0f} over resampled seeds) and not before"
        if np.isfinite(crossed["epoch"])
        else "CBO's median does not end below Adam's"
    )
    seen = (
        f"CBO ends at {medians[0]:.2g}, Adam at {medians[1]:.2g}; CBO is lower in {int(np.sum(differences < 0))} of"
        f" {len(differences)} pairs (sign test p = {sign_test(differences):.2g}); {where}"
    )
    details = {"medians": {"cbo": medians[0], "adam": medians[1]}, "pairs": differences, "crossing": crossed}
    return Judgement(sided(value, spread), value, spread, seen, details)


def more_stable(evidence: Evidence) -> Judgement:
    """Claim 2."""
    _, _, risk_cbo, risk_adam = pair(evidence)
    swing_cbo, swing_adam = swings(risk_cbo), swings(risk_adam)
    differences = log_ratio(swing_cbo, swing_adam)
    value = float(np.median(differences))
    _, spread = bootstrap(lambda d: float(np.median(d)), differences)
    seen = (
        f"from epoch to epoch CBO's log10 risk changes by {np.median(swing_cbo):.2g}, Adam's by"
        f" {np.median(swing_adam):.2g} (standard deviations over the last quarter, medians over seeds)"
    )
    details = {"swings": {"cbo": swing_cbo, "adam": swing_adam}, "sign_test": sign_test(differences)}
    return Judgement(sided(value, spread), value, spread, seen, details)


def both_good(evidence: Evidence) -> Judgement:
    """Claim 3."""
    cbo, adam, risk_cbo, risk_adam = pair(evidence)
    errors = {c.name: error(c, risk) for c, risk in ((cbo, risk_cbo), (adam, risk_adam))}
    medians = {name: float(np.median(e)) for name, e in errors.items()}
    worse = max(medians, key=medians.get)
    _, spread = bootstrap(lambda e: float(np.median(e)), errors[worse])
    verdict = graded(max(medians.values()) <= GOOD, min(medians.values()) <= GOOD)
    seen = "; ".join(
        f"{name}: {medians[name]:.2%} of the amplitude, {GOOD:.0%} at most in {np.sum(e <= GOOD)} of {len(e)} runs"
        for name, e in errors.items()
    )
    return Judgement(verdict, medians[worse], spread, seen, {"errors": errors})


def error(curve: Curve, risk: np.ndarray) -> np.ndarray:
    """Root mean squared distance of each run's last network from the sine: the risk without the label noise."""
    return np.sqrt(np.maximum(final(risk) - curve.settings["label_noise"] ** 2, 0.0))
