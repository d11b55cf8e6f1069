"""Claims 14 to 16: Propositions 2 and 3 (Section 5), and the condition for consensus (Section 3.3)."""

import numpy as np

from cbo_pipeline.claims.evidence import Curve, Evidence, NotTested
from cbo_pipeline.claims.judgement import FAILS, HOLDS, IN_PART, Judgement, graded
from cbo_pipeline.claims.statistics import bootstrap

ROUNDING = 1e-9  # relative; sums of a few hundred float64 numbers
FLOOR = 1e-16  # of the first variance: further down the rounding of the atoms shows in their distances
STEP = 1e-6  # relative: what that rounding can do to the variance above the floor
FORMED = 1e-6  # consensus: the variance has fallen by this factor
STEPS = 1000  # that consensus is given to form


def weighted_average_under_permutations(evidence: Evidence) -> Judgement:
    """Claim 14: by a numerical check on small and larger ensembles."""
    found = evidence.check("barycentres")
    exact = found["residual"] <= ROUNDING
    better = found["more_atoms_better"] > 0 or found["example_gain"] > ROUNDING
    seen = (
        f"every fixed point found is the weighted average under optimal permutations, to {found['residual']:.1g};"
        f" it is the best of all permutations in {found['fixed_point_is_best']:.0%} of {found['instances']} ensembles"
    )
    if better:
        seen += (
            f"; but a measure of more than M atoms can be better still, by {found['example_gain']:.1%} in an example"
            f" of three atoms each ({found['more_atoms_better']} of the random ensembles): a barycentre need not have"
            " M atoms, which the proof takes for granted"
        )
    return Judgement(graded(exact and not better, exact), found["residual"], None, seen, dict(found))


def variance_decays(evidence: Evidence) -> Judgement:
    """Claim 15: V(k+1) / ((1 - lambda dt)^2 V(k)) in every noise-free step with equal weights."""
    curves = evidence.curves("variance_decay", "ot_cbo")
    equal = [curve for curve in curves if curve.settings.get("quiet_weights") == "equal"]
    gibbs = [curve for curve in curves if curve.settings.get("quiet_weights") == "gibbs"]
    if not equal:
        raise NotTested("no results of variance_decay with equal weights")
    worst = {curve.name: _worst_steps(curve) for curve in equal}
    value = max(float(np.max(w)) for w in worst.values())
    _, spread = bootstrap(lambda w: float(np.max(w)), max(worst.values(), key=lambda w: float(np.max(w))))
    steps = sum(len(r) for curve in equal for r in _step_ratios(curve))
    kept = sum(int(np.sum(r <= 1 + STEP)) for curve in equal for r in _step_ratios(curve))
    falling = all(np.all(r * _factor(curve) < 1) for curve in equal for r in _step_ratios(curve))
    seen = f"equal weights: the bound is kept in {kept} of {steps} steps, the largest ratio to it is {value:.6g}"
    if kept < steps:
        seen += " (the fixed point finds a barycentre that is best nearby; the proposition is on the best of all)"
    details = {"largest_ratio": {name: float(np.max(w)) for name, w in worst.items()}}
    if gibbs:
        ratios = np.concatenate([r for curve in gibbs for r in _step_ratios(curve)])
        details["gibbs_kept"] = float(np.mean(ratios <= 1 + STEP))
        seen += f"; with the Gibbs weights, of which the proposition says nothing, in {details['gibbs_kept']:.0%}"
    return Judgement(graded(kept == steps, falling), value, spread, seen, details)


def consensus_condition(evidence: Evidence) -> Judgement:
    """Claim 16: does the variance vanish below 2 lambda = sigma^2, and only there?"""
    curves = evidence.curves("consensus_condition", "cbo")
    if not curves:
        raise NotTested("no results of consensus_condition")
    for curve in curves:
        if curve.epochs < STEPS:
            raise NotTested(f"consensus_condition: {curve.epochs} steps, {STEPS} are needed")
    ratios = {curve: curve.settings["sigma_squared"] / (2 * curve.settings["lambda"]) for curve in curves}
    if len({curve.M for curve in curves}) < 2 or not min(ratios.values()) < 1 < max(ratios.values()):
        raise NotTested("consensus_condition: two widths and both sides of the condition are needed")
    falls = {curve: _fall(curve) for curve in curves}
    formed = {curve: bool(np.median(fall) <= np.log10(FORMED)) for curve, fall in falls.items()}
    below = [formed[curve] for curve in curves if ratios[curve] < 1]
    above = [formed[curve] for curve in curves if ratios[curve] > 1]
    verdict = FAILS if not all(below) else IN_PART if any(above) else HOLDS
    yes = [ratios[curve] for curve in curves if formed[curve]]
    no = [ratios[curve] for curve in curves if not formed[curve]]
    value, limit = max(yes, default=0.0), min(no, default=np.inf)
    seen = (
        f"consensus forms in {sum(below)} of {len(below)} cases with sigma^2 < 2 lambda and in {sum(above)} of"
        f" {len(above)} beyond, up to sigma^2 = {value:.3g} * 2 lambda; it first fails at {limit:.3g} * 2 lambda"
    )
    if any(above) and all(below):
        seen += (
            ". The condition is sufficient, not necessary: it bounds the mean square of the law, while the particles"
            " of a finite ensemble contract one by one for larger sigma"
        )
    details = {
        "cases": [
            {"M": c.M, "N": c.N, "ratio": ratios[c], "log10_fall": falls[c], "consensus": formed[c]} for c in curves
        ]
    }
    return Judgement(verdict, value, (value, limit), seen, details)


def _factor(curve: Curve) -> float:
    return (1 - curve.settings["lambda"] * curve.settings["dt"]) ** 2


def _step_ratios(curve: Curve) -> list[np.ndarray]:
    """V(k+1) / ((1 - lambda dt)^2 V(k)) of each seed, while float64 can tell."""
    # The record of an epoch is taken before its move: that of quiet_from + 1 is the first of the quiet scheme.
    variance = curve.series("variance")[:, curve.settings["quiet_from"] + 1 :]
    ratios = []
    for row in variance:
        row = row[row > FLOOR * row[0]]
        ratios.append(row[1:] / (_factor(curve) * row[:-1]))
    return ratios


def _worst_steps(curve: Curve) -> np.ndarray:
    return np.array([np.max(r, initial=0.0) for r in _step_ratios(curve)])


def _fall(curve: Curve) -> np.ndarray:
    """log10 of the variance at the end over that at the start; what blows up counts as infinite."""
    variance = np.maximum(curve.series("variance"), np.finfo(float).tiny)
    return np.log10(variance[:, -1]) - np.log10(variance[:, 0])
