"""What we learned beside the verdicts: each finding is looked for in the results, and said only if they show it.

A finding gives its sentences, and whether it was seen; where results are missing it says so.
"""

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cbo_pipeline.claims import rule
from cbo_pipeline.claims.evidence import CurveResults, Evidence, NotTested, shared_seeds
from cbo_pipeline.claims.statistics import LEAP, divergence, end, first_leap, log_ratio, middle, together
from cbo_pipeline.pages.article.numbers import counted, listed, number, sentence
from cbo_pipeline.pages.index.content import Claim

FLOOR = 1e-6  # a risk below it is at the floor of single precision
NEAR = 0.02  # so close are a growth per step that was measured and one that is explained
AGAIN = 10  # a spread has grown again if it comes to be so many times its lowest value
BARYCENTRES = 14  # the claim that looks at them


@dataclass(frozen=True)
class Finding:
    """The sentences of a finding, whether the results show it, and its words in the abstract."""

    text: str
    seen: bool
    short: str = ""


def findings(evidence: Evidence, claims: Sequence[Claim], double: Sequence[CurveResults] = ()) -> dict[str, Finding]:
    """All of them by name, in the order of the article; ``double`` is Adam on MNIST in double precision."""
    by_id = {claim.id: claim for claim in claims}
    return {
        "rounding": _looked_for(rounding, evidence),
        "directions": _looked_for(directions, evidence),
        "atoms": atoms(by_id.get(BARYCENTRES)),
        "leap": _looked_for(lambda found: leap(found, double), evidence),
    }


def _looked_for(look: Callable[[Evidence], Finding], evidence: Evidence) -> Finding:
    try:
        return look(evidence)
    except NotTested as reason:
        return Finding(f"These results cannot tell: {reason}.", False)


def _curve(evidence: Evidence, experiment: str, variant: str) -> CurveResults:
    """The largest curve of a variant, whatever its scale: a finding says how much it rests on."""
    found = [one for one in evidence.curves(experiment) if one.curve.variant == variant and one.seeds]
    if not found:
        raise NotTested(f"{experiment}/{variant} was not run")
    return max(found, key=lambda one: (one.M, one.N))


def rounding(evidence: Evidence) -> Finding:
    """CBO on the sine in single and in double precision: where it ends, and how far its particles differ before."""
    single, double = (_curve(evidence, "sine", variant) for variant in ("cbo", "cbo_float64"))
    seeds = shared_seeds(single, double)
    if not seeds:
        raise NotTested("the two precisions share no seed")
    risks = [end(series) for series in together(*(one.series().with_seeds(seeds) for one in (single, double)))]
    differences = log_ratio(*risks)
    verdict = rule.verdict(rule.median_interval(differences))
    lower = int(np.sum(differences < 0))
    text = (
        f"In single precision CBO ends at {number(middle(risks[0]))}, in double precision, all else equal, at"
        f" {number(middle(risks[1]))} (medians of the {counted(len(seeds), 'seed')} run in both; single precision is"
        f" lower in {lower}). "
    )
    said = {rule.HOLDS: "does better", rule.FAILS: "does worse", rule.UNDECIDED: "may do better or worse"}[verdict]
    if "spread" not in evidence.checks:
        return Finding(f"{text}By these seeds single precision {said}. Why, was not looked at.", False)
    by_precision = {name: _revivals(evidence.checks["spread"], name) for name in ("float32", "float64")}
    text += _agreement(by_precision) + _revivals_in_words(by_precision)
    if verdict == rule.HOLDS and _what_revives_falls(by_precision):
        text += (
            "So agreement to the last digit ends the search, and rounding revives it. It keeps the particles a few"
            " units in the last place apart, and these are larger in single precision. Once $\\alpha$ times the"
            " differences of risk at that distance exceeds one, the weights tell the particles apart again, and the"
            " ensemble expands. The method's own noise is multiplied by the particles' distance, so that it can make"
            " a difference grow, but not keep one. The order of the operations, which the paper does not give, is"
            " therefore part of the algorithm."
        )
        return Finding(text, True, "late progress of CBO on the sine begins with the rounding of the arithmetic")
    text += f"By these seeds single precision {said}; they do not show that rounding drives the method."
    return Finding(text, False)


class Revival(NamedTuple):
    """Where the particles of a run agreed best, by how much they differed more later, and how the risk fell then."""

    epoch: int
    spread: float
    units: float  # the spread in units in the last place
    growth: float
    fall: float

    @property
    def seen(self) -> bool:
        return self.growth > AGAIN


def _revivals(check: Mapping[str, Any], precision: str) -> list[Revival]:
    return [_revival(row) for row in check["rows"] if row["precision"] == precision]


def _revival(row: Mapping[str, Any]) -> Revival:
    spread, risk = np.asarray(row["spread"]), np.asarray(row["risk"])
    largest_later = np.maximum.accumulate(spread[::-1])[::-1]
    growth = largest_later / spread
    place = int(np.argmax(growth)) if growth.max() > AGAIN else int(np.argmin(spread))
    lowest = float(spread[place])
    return Revival(row["epochs"][place], lowest, lowest / row["unit"], float(growth[place]), risk[place] / risk[-1])


def _agreement(by_precision: Mapping[str, Sequence[Revival]]) -> str:
    told = [
        f"{number(middle([one.spread for one in found]))} in {words} precision"
        f" ({number(middle([one.units for one in found]))} units in the last place)"
        for words, found in zip(("single", "double"), by_precision.values(), strict=True)
        if found
    ]
    return (
        "The particles come to agree: at best they differ in the typical parameter, relative to its value, by"
        f" {' and by '.join(told)}. "
    )


def _revivals_in_words(by_precision: Mapping[str, Sequence[Revival]]) -> str:
    counts = [f"{sum(one.seen for one in found)} of {len(found)}" for found in by_precision.values()]
    every = [one for found in by_precision.values() for one in found]
    told = (
        f"From there the spread grows more than {AGAIN} times in {counts[0]} runs in single and in {counts[1]} in"
        " double precision. "
    )
    falls = {seen: [one.fall for one in every if one.seen == seen] for seen in (True, False)}
    parts = [f"in these the risk then falls to {_shares(falls[True])} of what it was"] if falls[True] else []
    if falls[False]:
        who = "in the others it" if parts else "the risk"
        parts.append(f"{who} ends at {_shares(falls[False])} of what it was when the particles agreed")
    return f"{told}{sentence('; '.join(parts))} "


def _shares(falls: Sequence[float]) -> str:
    """What is left of the risk: the least and the most, as percentages.

    >>> _shares([90.0, 25.0]), _shares([1.001])
    ('1.1% to 4%', '100%')
    """
    least, most = (f"{float(f'{100 / fall:.2g}'):g}%" for fall in (max(falls), min(falls)))
    return least if least == most else f"{least} to {most}"


def _what_revives_falls(by_precision: Mapping[str, Sequence[Revival]]) -> bool:
    """Whether more runs revive in single precision, and each falls further than any that does not revive."""
    shares = [np.mean([one.seen for one in found]) if found else np.nan for found in by_precision.values()]
    every = [one for found in by_precision.values() for one in found]
    least = min((one.fall for one in every if one.seen), default=0.0)
    return bool(shares[0] > shares[1] and least > max((one.fall for one in every if not one.seen), default=1.0))


def directions(evidence: Evidence) -> Finding:
    """CBO on MNIST: the variance of the ensemble against the growth of what the risk does not see."""
    cbo = _curve(evidence, "mnist", "cbo")
    variance, risk = cbo.series("variance"), cbo.series()
    first, last = (float(np.median(variance.values[:, k])) for k in (0, -1))
    settings = cbo.settings
    steps = variance.last * settings["images"] // settings["batch_size"]
    drift, noise = (1 - settings["lambda"] * settings["dt"]) ** 2, settings["sigma_squared"] * settings["dt"]
    text = (
        f"On MNIST the variance of the ensemble goes from {number(first)} to {number(last)} within"
        f" {counted(steps, 'step')} ({counted(variance.last, 'epoch')}, {counted(len(cbo.seeds), 'run')}), the risk"
        f" from {number(middle(risk.values[:, 0]))} to {number(middle(end(risk)))}. "
    )
    if not last > first > 0:
        return Finding(f"{text}It does not grow: these results do not show such directions.", False)
    measured = (last / first) ** (1 / max(1, steps)) if np.isfinite(last) else np.inf
    text += (
        f"The variance grows by a factor of {number(measured, 4)} per step. Weights of pixels that are blank in a"
        " minibatch do not change its risk, so in these directions the consensus point is a random particle once a"
        " few particles have all the weight. The mean square about a random particle is twice that about the mean,"
        r" so each step multiplies the spread by $(1-\lambda\Delta t)^2 + 2\tilde\sigma^2\Delta t ="
        rf" {drift + 2 * noise:.3g}$, where the usual count has $(1-\lambda\Delta t)^2 + \tilde\sigma^2\Delta t ="
        rf" {drift + noise:.3g}$. "
    )
    told, explained = _simulated(evidence.checks.get("unseen"), measured, drift + 2 * noise)
    text += told
    if explained and drift + 2 * noise > 1 > drift + noise:
        text += (
            r"The condition $2\lambda > \tilde\sigma^2$ is met, and the ensemble still spreads without bound where"
            " the risk is blind; an image that lights such a pixel later then meets huge weights. "
        )
    text += _overflow(evidence)
    return Finding(text, explained, "ensembles spread without bound in directions that the risk does not see")


def _simulated(check: Mapping[str, Any] | None, measured: float, mean: float) -> tuple[str, bool]:
    """What such directions do by themselves, and whether that is what was measured."""
    if check is None:
        near = abs(measured - mean) <= NEAR
        return f"{'The first' if near else 'Neither'} of the two is what was measured. ", near
    by_again: dict[float, list[float]] = {}
    for row in check["rows"]:
        by_again.setdefault(row["again"], []).append(row["growth"])
    medians = {again: number(middle(found), 4) for again, found in sorted(by_again.items())}
    told = [f"{medians[0.0]} if another particle is taken each time"] if 0.0 in medians else []
    if some := [again for again in medians if again]:
        values, odds = listed([medians[again] for again in some]), listed([f"{again:g}" for again in some])
        told.append(f"{values} if the last one is taken again with probability {odds}")
    every = [growth for found in by_again.values() for growth in found]
    explained = min(every) <= measured <= max(every)
    text = (
        "The first is an average over directions: after many steps the few that have spread most make up nearly all"
        " of it, and a finite sum grows more slowly. While the same particle stays the best, the factor is the"
        f" second. In a simulation of {check['directions']} such directions (as many as there are weights of pixels"
        f" that are blank in all images) over {counted(check['steps'], 'step')}, the factor is {', '.join(told)}"
        f" (medians of {len(every) // len(by_again)}). "
    )
    return text + f"What was measured is {'within' if explained else 'outside of'} that range. ", explained


def _overflow(evidence: Evidence) -> str:
    """What becomes of it in runs over thousands of epochs, where there are such; nothing if none of them diverges."""
    long = [one for one in evidence.curves("mnist_horizon", "cbo") if one.seeds]
    when = divergence(long[0].series()) if long else np.array([])
    gone = when[np.isfinite(when)]
    if not gone.size:
        return ""
    return (
        f"In the end the weights overflow: over {counted(long[0].epochs, 'epoch')} no particle has a finite risk any"
        f" more in {len(gone)} of {counted(len(when), 'run')}, from epoch {gone.min():.0f} on at the earliest and"
        f" {gone.max():.0f} at the latest."
    )


def atoms(claim: Claim | None) -> Finding:
    """The check of Proposition 2: is a measure of more than M atoms a better barycentre?"""
    details: Mapping[str, Any] = claim.details if claim else {}
    if details.get("example_gain") is None or details.get("instances") is None:
        return Finding("These results cannot tell: the numerical check of the barycentres was not made.", False)
    gain, better, instances = details["example_gain"], int(details["more_atoms_better"]), int(details["instances"])
    tried = counted(instances, "random ensemble")
    if not (better > 0 or gain > 1e-9):
        return Finding(f"In {tried} and in an example made for it no measure of more atoms was better.", False)
    text = (
        "A barycentre of empirical measures of $M$ atoms need not have $M$ atoms: in an example of three atoms each,"
        f" a measure of more atoms has a value that is lower by {gain:.1%} ({better or 'none'} of {tried}"
        f" {'has' if better == 1 else 'have'} one too). The proof of Proposition 2 takes the number of atoms for"
        " granted; its statement holds among measures of $M$ atoms (claim 14)."
    )
    return Finding(text, True, "a barycentre of networks may need more neurons than each of them has")


def leap(evidence: Evidence, double: Sequence[CurveResults] = ()) -> Finding:
    """Adam's sweep on MNIST: at which learning rates it leaps, when, and from which risk; the same in ``double``."""
    sweep = sorted(
        (one for one in evidence.curves("mnist", "adam") if one.seeds), key=lambda one: -one.settings["dt"]
    )
    if not sweep:
        raise NotTested("Adam was not run on MNIST")
    leaping_rates, before, starts = [], [], []
    for one in sweep:
        first, floors = _leaps_of(one)
        if np.isfinite(first).any():
            leaping_rates.append(one)
            before.append(middle(floors[np.isfinite(first)]))
            starts.append(float(np.min(first)))
    text = f"A leap is a risk above {LEAP} times the smallest so far. By Adam's learning rate: {_told(sweep)}. "
    if not leaping_rates:
        return Finding(f"{text}So within these epochs Adam does not leap.", False)
    if max(before) > FLOOR:
        return Finding(f"{text}These leaps do not all begin at the floor of single precision.", False)
    at_rates = {one.settings["dt"] for one in leaping_rates}
    text += (
        "So what the paper calls unstable is not the descent: it begins at the floor of single precision. We explain"
        " it so: there gradients are rounding errors, the second moments have decayed, and a step of the size of the"
        " learning rate has no direction."
        f"{_in_double_precision(double, at_rates)}{_with_larger_delta(evidence, at_rates)}"
        f" A run of fewer than {number(min(starts), 5)} epochs would not have shown any leap."
        f"{_hybrids(evidence)}"
    )
    rates = listed([number(one.settings["dt"], 1) for one in leaping_rates])
    return Finding(text, True, f"Adam's instability on MNIST is a leap at the floor of single precision (at {rates})")


def _in_double_precision(double: Sequence[CurveResults], rates: Collection[float]) -> str:
    """What Adam does in double precision at the rates at which it leaps in single precision, where that was run."""
    said, calm = _at_rates(double, rates)
    if not said:
        return " Runs in double precision, which would show whether it is so, were not made."
    end = "as it must be if rounding is what makes Adam leap" if calm else "so rounding alone does not explain it"
    return f" In double precision, all else equal, {said}: {end}."


def _with_larger_delta(evidence: Evidence, rates: Collection[float]) -> str:
    """What Adam does where decayed second moments cannot make its step larger, where that was run."""
    curves = [one for one in evidence.curves("mnist_delta", "adam") if one.seeds]
    said, calm = _at_rates(curves, rates)
    if not said:
        return ""
    deltas = listed(sorted({number(one.settings["delta"], 1) for one in curves}))
    end = "decayed second moments are needed for the leaps" if calm else "decayed second moments do not explain all"
    return (
        rf" In single precision, with $\delta$ = {deltas} in the denominator of the step, $\sqrt{{r}} + \delta$,"
        f" which keeps it small where the second moment $r$ has decayed, {said}: {end}."
    )


def _at_rates(curves: Sequence[CurveResults], rates: Collection[float]) -> tuple[str, bool]:
    """What curves do at some learning rates, in words, and whether none of their runs leaps."""
    found = sorted((one for one in curves if one.settings["dt"] in rates), key=lambda one: -one.settings["dt"])
    return _told(found), not any(np.isfinite(_leaps_of(one)[0]).any() for one in found)


def _leaps_of(one: CurveResults) -> tuple[np.ndarray, np.ndarray]:
    """The first leap of each run of a curve, and the lowest risk before it."""
    series = one.series()
    first = first_leap(series)
    lowest = np.minimum.accumulate(series.smallest, axis=1)
    return first, lowest[np.arange(len(first)), np.searchsorted(series.epochs, first) - 1]


def _told(curves: Sequence[CurveResults]) -> str:
    """Where the runs of these curves leap, in words; neighbours of which none leaps share theirs."""
    told = []
    for who, group in itertools.groupby(curves, _if_calm):
        group = list(group)
        if who:
            rates, lowest = (
                listed(of)
                for of in zip(*((_rate(one), number(middle(_leaps_of(one)[1]))) for one in group), strict=True)
            )
            told.append(f"at {rates}, {who} (lowest risk {lowest})")
        else:
            told += [f"at {_rate(one)}, {_leaping(one)}" for one in group]
    return "; ".join(told)


def _rate(one: CurveResults) -> str:
    return number(one.settings["dt"], 1)


def _if_calm(one: CurveResults) -> str:
    """That no run of a curve leaps, in words; nothing if one does."""
    first, _ = _leaps_of(one)
    if np.isfinite(first).any():
        return ""
    who = "the one run does not leap" if len(first) == 1 else f"none of {counted(len(first), 'run')} leaps"
    return f"{who} in {one.series().last} epochs"


def _leaping(one: CurveResults) -> str:
    """How many runs of a curve leap, when and from which risk, in words."""
    first, floors = _leaps_of(one)
    leaping = np.isfinite(first)
    many = int(leaping.sum())
    return (
        f"{many} of {counted(len(first), 'run')} {'leaps' if many == 1 else 'leap'}, first at epoch"
        f" {number(middle(first[leaping]), 4)} from a risk of {number(middle(floors[leaping]))}"
        f"{' (medians)' if many > 1 else ''}"
    )


def _hybrids(evidence: Evidence) -> str:
    """What the hybrid does over thousands of epochs, with the paper's particles or fewer, where it was run."""
    told = []
    for experiment in ("mnist_horizon", "mnist_floor"):
        found = [one for one in evidence.curves(experiment) if one.seeds and one.curve.variant.startswith("hybrid")]
        if found:
            found.sort(key=lambda one: -one.settings["dt"])
            told.append(f" The hybrid with {found[0].N} particles: {_told(found)}.")
    return "".join(told)
