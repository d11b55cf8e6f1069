"""Claims 4 to 6, Section 4.2: CBO, Adam and the hybrid on MNIST."""

from collections.abc import Sequence

import numpy as np

from cbo_pipeline.claims.evidence import Curve, Evidence, Scale, shared_seeds
from cbo_pipeline.claims.judgement import IN_PART, Judgement, graded
from cbo_pipeline.claims.statistics import bootstrap, epochs_to_reach, final, leaps, log_ratio

# The paper does not say for how many epochs it trained; 100 are our reading for a CPU. Adam is unstable only late.
CBO = Scale("mnist", "cbo", epochs=100, seeds=5, M=20, N=1000, settings={"dt": 0.1})
HYBRID = Scale("mnist", "hybrid", epochs=100, seeds=5, M=20, N=1000, settings={"dt": 0.01})
SWEEP_EPOCHS = 5000
LEVELS = (2.0, 1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)  # risks by which speeds are compared
FAR = np.log10(3.0)  # half a decade: the least that reads as "far below" on the figure's axis
SETTLED = 10  # first epochs, in which a risk may still rise above its minimum without being unstable


def adam(dt: float, epochs: int = 100) -> Scale:
    return Scale("mnist", "adam", epochs=epochs, seeds=5, M=20, settings={"dt": dt})


def speeds(evidence: Evidence) -> dict:
    """Epochs, and seconds, that each method needs to reach given risks: medians over the shared seeds."""
    curves = {"adam": evidence.one(adam(1e-3)), "cbo": evidence.one(CBO), "hybrid": evidence.one(HYBRID)}
    seeds = shared_seeds(*curves.values())
    last = min(c.epochs for c in curves.values()) + 1
    table = {}
    for name, curve in curves.items():
        risk = curve.series(seeds=seeds)[:, :last]
        seconds = evidence.seconds_per_epoch(curve)
        epochs = {level: _needed([risk], level)[0] for level in LEVELS}
        table[name] = {
            "seconds_per_epoch": seconds,
            "epochs": epochs,
            "seconds": {level: None if seconds is None else e * seconds for level, e in epochs.items()},
        }
    return {"common_epochs": last - 1, "methods": table}


def adam_far_below_cbo(evidence: Evidence) -> Judgement:
    """Claim 4: compared at the last epoch that both have."""
    curve_adam, curve_cbo = evidence.one(adam(1e-3)), evidence.one(CBO)
    risk_adam, risk_cbo = _together(curve_adam, curve_cbo)
    end_adam, end_cbo = final(risk_adam), final(risk_cbo)
    differences = log_ratio(end_adam, end_cbo)
    value = float(np.median(differences))
    _, spread = bootstrap(lambda d: float(np.median(d)), differences)
    needed = np.array([epochs_to_reach(row[None], level)[0] for row, level in zip(risk_adam, end_cbo, strict=True)])
    last = risk_adam.shape[1] - 1
    faster = bool(np.median(needed) < last)
    in_seconds = _in_seconds(evidence, curve_adam, curve_cbo, float(np.median(needed)), last)
    seen = (
        f"at epoch {last} Adam is at {np.median(end_adam):.2g}, CBO at {np.median(end_cbo):.2g};"
        f" Adam was where CBO ends after {np.median(needed):.0f} epochs{in_seconds}"
    )
    verdict = graded(spread[1] < -FAR and faster, value < 0 and faster)
    return Judgement(verdict, value, spread, seen, {"epochs_to_cbo_end": needed, "last_epoch": last})


def hybrid_fastest(evidence: Evidence) -> Judgement:
    """Claim 5: at how many of the risks that anyone reaches the hybrid is there first."""
    curves = (evidence.one(HYBRID), evidence.one(adam(1e-3)), evidence.one(CBO))
    risks = _together(*curves)
    share, levels = _share_first(*risks), _levels(*risks)
    _, spread = bootstrap(_share_first, *risks)
    costs = [evidence.seconds_per_epoch(curve) for curve in curves]
    details = {"levels": levels, "seconds_per_epoch": costs}
    seconds = "seconds were not measured"
    if None not in costs:
        first = _share_first(*risks, factors=costs)
        details["share_in_seconds"] = first
        details["verdict_in_seconds"] = graded(first == 1, first >= 0.5)
        seconds = f"in seconds it is first at {first:.0%} of them ({details['verdict_in_seconds']})"
    last = risks[0].shape[1] - 1
    seen = (
        f"within {last} epochs the hybrid reaches {share:.0%} of the risks {', '.join(f'{v:g}' for v in levels)}"
        f" in the fewest epochs{_not_first(risks, levels)}; {seconds}"
    )
    return Judgement(graded(share == 1, share >= 0.5), share, spread, seen, details)


def adam_unstable_hybrid_stable(evidence: Evidence) -> Judgement:
    """Claim 6: leaps above ten times the running minimum."""
    sweep = {dt: evidence.one(adam(dt, epochs=SWEEP_EPOCHS)) for dt in (1e-1, 1e-2, 1e-3, 1e-4)}
    hybrid = evidence.one(HYBRID)
    shares = {dt: _share_leaping(curve.series()) for dt, curve in sweep.items()}
    share_hybrid = _share_leaping(hybrid.series())
    unstable = {dt: bool(np.median(share) > 0) for dt, share in shares.items()}
    expected = {1e-1: True, 1e-2: True, 1e-3: False, 1e-4: False}
    right = [dt for dt in expected if unstable[dt] == expected[dt]]
    stable_hybrid = bool(np.median(share_hybrid) == 0)
    # A hybrid that was stopped before Adam's instability begins has not been put to the test.
    starts = _first_leap(sweep[1e-2].series())
    tested = bool(hybrid.epochs >= starts)
    never = not np.isfinite(starts)
    untested = "Adam never leaps" if never else f"which end before Adam's first leap (epoch {starts:.0f})"
    value = float(np.median(shares[1e-2]))
    _, spread = bootstrap(lambda s: float(np.median(s)), shares[1e-2])
    verdict = graded(len(right) == 4 and stable_hybrid, unstable[1e-2] and (not unstable[1e-3] or stable_hybrid))
    if verdict == "holds" and not tested:
        verdict = IN_PART
    seen = (
        "share of epochs in a leap, Adam: "
        + ", ".join(f"{np.median(share):.2%} at {dt:g}" for dt, share in shares.items())
        + f"; hybrid at 0.01: {np.median(share_hybrid):.2%} of {hybrid.epochs} epochs"
        + ("" if tested else f", {untested} at that rate: not put to the test")
    )
    return Judgement(verdict, value, spread, seen, {"shares": shares, "hybrid": share_hybrid, "first_leap": starts})


def _together(*curves: Curve) -> list[np.ndarray]:
    """The risks of several curves on their shared seeds, up to their last common epoch."""
    seeds, last = shared_seeds(*curves), min(c.epochs for c in curves) + 1
    return [c.series(seeds=seeds)[:, :last] for c in curves]


def _levels(*risks: np.ndarray) -> list[float]:
    """The risks that at least one method reaches in the median."""
    return [v for v in LEVELS if np.isfinite(min(_needed(risks, v)))]


def _share_first(*risks: np.ndarray, factors: list[float] | None = None) -> float:
    """The share of the reached levels at which the first method needs the least (epochs times factor)."""
    levels = _levels(*risks)
    if not levels:
        return 0.0
    wins = 0
    for level in levels:
        first, *others = (n * f for n, f in zip(_needed(risks, level), factors or [1.0] * len(risks), strict=True))
        wins += first < min(others)
    return wins / len(levels)


def _not_first(risks: Sequence[np.ndarray], levels: Sequence[float]) -> str:
    """At which levels the first method is not ahead in epochs, in words."""
    needed = {level: _needed(risks, level) for level in levels}
    behind = [
        f"takes {first:.0f} epochs to {level:g} against {min(others):.0f}"
        if np.isfinite(first)
        else f"never gets to {level:g}"
        for level, (first, *others) in needed.items()
        if first >= min(others)
    ]
    return f" (it {', '.join(behind)})" if behind else ""


def _needed(risks: Sequence[np.ndarray], level: float) -> list[float]:
    """The epochs in which each method reaches a risk, in the median."""
    return [float(np.median(epochs_to_reach(risk, level))) for risk in risks]


def _share_leaping(series: np.ndarray) -> np.ndarray:
    return leaps(series)[:, SETTLED:].mean(axis=1)


def _first_leap(series: np.ndarray) -> float:
    """The median over the seeds of the first epoch in a leap."""
    leaping = leaps(series)
    leaping[:, :SETTLED] = False
    return float(np.median(np.where(leaping.any(axis=1), leaping.argmax(axis=1), np.inf)))


def _in_seconds(evidence: Evidence, first: Curve, second: Curve, epochs: float, last: int) -> str:
    costs = evidence.seconds_per_epoch(first), evidence.seconds_per_epoch(second)
    if None in costs:
        return ""
    return f", {epochs * costs[0]:.2g} s against CBO's {last * costs[1]:.2g} s"
