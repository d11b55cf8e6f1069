"""Claims 14 to 16: Propositions 2 and 3 (Section 5), and the condition for consensus (Section 3.3)."""

from dataclasses import dataclass

import numpy as np

from cbo_pipeline.claims import rule
from cbo_pipeline.claims.evidence import CurveResults, Evidence, NotTested
from cbo_pipeline.claims.judgement import Judgement, claim, judged
from cbo_pipeline.claims.rule import FAILS, HOLDS, UNDECIDED, Part

ROUNDING = 1e-9  # relative; sums of a few hundred float64 numbers
FLOOR = 1e-16  # of the first variance: further down the rounding of the atoms shows in their distances
STEP = 1e-6  # relative: what that rounding can do to the variance above the floor
MISSED = 0.05  # relative: by so much a barycentre that is best only nearby can be worse than the best of all
FORMED = 1e-10  # consensus: the variance has fallen by this factor
RATIOS, WIDTHS = 2, 2  # the fewest that show both sides of the condition, and more than one dimension
STEPS = 2000  # that consensus is given to form; the variance may grow for hundreds of them before it falls
DECAY, CONDITION = "variance_decay", "consensus_condition"


@claim(
    id=14,
    section="5.1",
    claim="Proposition 2: for empirical measures the barycentre has M atoms, each a weighted average of atoms matched"
    " by optimal permutations.",
    statistic="largest deviation of a barycentre that was found from that formula; and whether a measure of more"
    " atoms is better",
    threshold=f"rounding ({ROUNDING:g}); and none is better",
    why="the proposition speaks of the barycentre among all measures, its proof of those with M atoms",
    needs=(),
)
def weighted_average_under_permutations(evidence: Evidence) -> Judgement:
    """Claim 14: by a numerical check on small and larger ensembles."""
    check = evidence.check("barycentres")
    better = check["more_atoms_better"] > 0 or check["example_gain"] > ROUNDING
    parts = [
        rule.certain("the formula", check["residual"] <= ROUNDING, check["residual"]),
        rule.certain("M atoms are enough", not better, check["example_gain"]),
    ]
    seen = (
        f"every fixed point found is the weighted average under optimal permutations, to {check['residual']:.1g};"
        f" it is the best of all permutations in {check['fixed_point_is_best']:.0%} of {check['instances']} ensembles"
    )
    if "starts_is_best" in check:
        seen += f", the best of several starts in {check['starts_is_best']:.0%}"
    if "judged_by_pot" in check:
        seen += (
            f"; POT, asked about {check['judged_by_pot']} ensembles, finds the same transport costs to"
            f" {check['cost_difference']:.1g}, and from the same start a better barycentre in {check['pot_better']}"
        )
    trained = check.get("trained")
    if trained:
        seen += (
            f"; in {trained['another_start_better']} of {trained['ensembles']} ensembles of the square at M ="
            f" {trained['M']} another of {trained['starts']} starts is better"
        )
    if better:
        seen += (
            f"; but a measure of more than M atoms can be better still, by {check['example_gain']:.1%} in an example"
            f" of three atoms each ({check['more_atoms_better']} of the random ensembles): a barycentre need not have"
            " M atoms, which the proof takes for granted"
        )
    details = {key: value for key, value in check.items() if key != "check"}
    return judged(parts, seen, None, **details)


@claim(
    id=15,
    section="5.2",
    claim="Proposition 3: without noise each step shrinks the variance at least by the factor (1 - dt)^2.",
    statistic="largest ratio of a step's variance to the bound, equal weights",
    threshold=f"at most 1, to rounding; above it by up to {MISSED:.0%} the search may have missed the best"
    " barycentre, so that nothing is decided",
    why="it is stated for the law of the particles and its barycentre, which is the one with equal weights; it"
    " follows if the barycentre is the best of all, and ours is the best of those that the search found",
    needs=("variance_decay/*",),
)
def variance_decays(evidence: Evidence) -> Judgement:
    """Claim 15: V(k+1) / ((1 - lambda dt)^2 V(k)) in every noise-free step with equal weights."""
    curves = evidence.curves(DECAY, "ot_cbo")
    equal = [one for one in curves if one.settings.get("quiet_weights") == "equal"]
    if not equal:
        raise NotTested(f"no results of {DECAY} with equal weights")
    most = max(_starts(one) for one in equal)
    kept = {starts: _kept([one for one in equal if _starts(one) == starts]) for starts in sorted({1, most})}
    searched = [one for one in equal if _starts(one) == most]
    if not kept[most].steps:
        raise NotTested(f"{DECAY}: no step without noise that float64 can tell")
    value = kept[most].largest
    # A search that misses the best barycentre finds a variance that is too large, and never one that is too small.
    part = rule.below("the bound", value, rule.Interval(value / (1 + MISSED), value), 1 + STEP)
    seen = "; ".join(
        f"equal weights, {starts} start{'s' if starts > 1 else ''} of the search: the bound is kept in {one.kept} of"
        f" {one.steps} steps, the largest ratio to it is {one.largest:.6g}"
        for starts, one in kept.items()
        if one.steps
    )
    if most > 1:
        found, of = _better_starts(searched)
        seen += (
            f"; another start found a better barycentre in {found} of {of} steps (with those at the rounding of"
            " float64, which are left out above)"
        )
    if part.verdict == UNDECIDED:
        seen += " (a step above the bound shows that the search missed the best barycentre, for which it is stated)"
    details = {"largest_ratio": {one.curve.stem: _kept([one]).largest for one in equal}, "starts": most}
    gibbs = _kept([one for one in curves if one.settings.get("quiet_weights") == "gibbs"])
    if gibbs.steps:
        details["gibbs_kept"] = gibbs.kept / gibbs.steps
        seen += f"; with the Gibbs weights, about which the proposition says nothing, in {details['gibbs_kept']:.0%}"
    return judged([part], seen, min(len(one.seeds) for one in searched), **details)


@dataclass(frozen=True)
class _Kept:
    """How many steps keep the bound of Proposition 3."""

    kept: int
    steps: int
    largest: float


def _kept(curves: list[CurveResults]) -> _Kept:
    ratios = np.concatenate([r for one in curves for r in _step_ratios(one)] or [np.zeros(0)])
    return _Kept(int(np.sum(ratios <= 1 + STEP)), len(ratios), float(np.max(ratios, initial=0.0)))


def _starts(results: CurveResults) -> int:
    return int(results.settings.get("barycentre_starts", 1))


def _better_starts(curves: list[CurveResults]) -> tuple[int, int]:
    """In how many of all steps a start other than the heaviest particle found a better barycentre."""
    found = of = 0
    for one in curves:
        if "better_starts" in one.data:
            so_far = one.series("better_starts").after(one.settings["quiet_from"]).values
            found += int(np.sum(so_far[:, -1] - so_far[:, 0]))
            of += so_far.shape[0] * (so_far.shape[1] - 1)
    return found, of


def _factor(results: CurveResults) -> float:
    return (1 - results.settings["lambda"] * results.settings["dt"]) ** 2


def _step_ratios(results: CurveResults) -> list[np.ndarray]:
    """V(k+1) / ((1 - lambda dt)^2 V(k)) of each seed, while float64 can tell."""
    # The record of an epoch is taken before its move: that of quiet_from + 1 is the first of the quiet scheme.
    variance = results.series("variance").after(results.settings["quiet_from"])
    if np.any(np.diff(variance.epochs) != 1):
        raise NotTested(f"{results}: steps can only be judged where every epoch is stored")
    ratios = []
    for row in variance.values:
        row = row[row > FLOOR * row[:1]]
        ratios.append(row[1:] / (_factor(results) * row[:-1]))
    return ratios


@claim(
    id=16,
    section="3.3",
    claim="Consensus needs 2 lambda > sigma^2, in any dimension.",
    statistic=f"largest sigma^2 / (2 lambda) at which, in most seeds, the variance fell to {FORMED:g} of its start"
    f" within {STEPS} steps; the interval runs from the smallest ratio at which it failed at some width to the"
    " largest at which it did so at some width",
    threshold="consensus in all cases below 1, and in none above",
    why="that it is needed means both: consensus forms where it holds, and nowhere else",
    needs=("consensus_condition/*",),
)
def consensus_condition(evidence: Evidence) -> Judgement:
    """Claim 16: does the variance vanish below 2 lambda = sigma^2, and only there?"""
    cells = phase_diagram(evidence)
    below = [cell for cell in cells if cell.ratio < 1]
    above = [cell for cell in cells if cell.ratio > 1]
    if len({cell.M for cell in cells}) < WIDTHS or not below or not above:
        raise NotTested(f"{CONDITION}: {WIDTHS} widths and both sides of the condition are needed")
    enough = Part("enough below", float(np.mean([c.formed for c in below])), rule.EVERYTHING, _all(below, HOLDS))
    needed = Part("needed above", float(np.mean([c.formed for c in above])), rule.EVERYTHING, _all(above, FAILS))
    yes = max((cell.ratio for cell in cells if cell.verdict == HOLDS), default=0.0)
    no = min((cell.ratio for cell in cells if cell.verdict == FAILS), default=np.inf)
    seen = (
        f"consensus forms in {_count(below)} of {len(below)} cases with sigma^2 < 2 lambda and in {_count(above)} of"
        f" {len(above)} beyond ({len({c.M for c in cells})} widths, {len({c.ratio for c in cells})} ratios,"
        f" {min(c.seeds for c in cells)} runs each), {_limits(cells)}. The condition bounds the mean square of the"
        f" law; in time steps of {cells[0].dt:g} that is bounded up to"
        f" {discrete_line(cells[0].lambda_, cells[0].dt):.3g} * 2 lambda"
    )
    if needed.verdict == FAILS:
        seen += "; particles of a finite ensemble contract for larger sigma too: sufficient, not needed"
    interval = rule.Interval(min(yes, no), max(yes, no))  # of the widths: the limit may depend on the dimension
    headline = Part("consensus forms", yes, interval, rule.combined([enough, needed]), line=1.0)
    table = [{"M": c.M, "ratio": c.ratio, "formed": c.formed, "seeds": c.seeds, "verdict": c.verdict} for c in cells]
    return judged([enough, needed], seen, min(c.seeds for c in cells), headline, cells=table)


@dataclass(frozen=True)
class Cell:
    """One case of the phase diagram: a ratio sigma^2 / (2 lambda), a width, the share of runs with consensus."""

    ratio: float
    M: int
    dt: float
    lambda_: float
    seeds: int
    formed: float
    verdict: str  # on "consensus forms in most runs"


def phase_diagram(evidence: Evidence) -> list[Cell]:
    """The cases of the experiment, by width and ratio."""
    curves = evidence.curves(CONDITION, "cbo")
    if not curves:
        raise NotTested(f"no results of {CONDITION}")
    for one in curves:
        if one.epochs < STEPS:
            raise NotTested(f"{CONDITION}: {one.epochs} steps, {STEPS} are needed")
    return sorted((_cell(one) for one in curves), key=lambda cell: (cell.M, cell.ratio))


def _cell(results: CurveResults) -> Cell:
    variance = np.maximum(results.series("variance").values, np.finfo(float).tiny)
    formed = (variance[:, -1] <= FORMED * variance[:, 0]).astype(float)
    lambda_ = results.settings["lambda"]
    share = rule.above("consensus forms", float(formed.mean()), rule.median_interval(formed), 0.5)
    ratio = results.settings["sigma_squared"] / (2 * lambda_)
    return Cell(ratio, results.M, results.settings["dt"], lambda_, len(formed), share.value, share.verdict)


def discrete_line(lambda_: float, dt: float) -> float:
    """sigma^2 / (2 lambda) up to which a step contracts the mean square: (1 - lambda dt)^2 + sigma^2 dt = 1."""
    return 1 - lambda_ * dt / 2


def _all(cells: list[Cell], expected: str) -> str:
    """Whether all cells are as expected; one that is clearly not decides against it, and they share the error."""
    if {cell.verdict for cell in cells} == {expected}:
        return HOLDS
    against = [cell for cell in cells if cell.verdict not in (expected, UNDECIDED)]
    return FAILS if any(_runs_against(cell) <= _may_differ(cell, len(cells)) for cell in against) else UNDECIDED


def _runs_against(cell: Cell) -> int:
    """The runs of a cell that are not as most are."""
    return round(min(cell.formed, 1 - cell.formed) * cell.seeds)


def _may_differ(cell: Cell, among: int) -> int:
    """So many runs of one cell among several may differ from the others, and it still decides."""
    return rule.sign_rank(cell.seeds, rule.ERROR / among)


def _limits(cells: list[Cell]) -> str:
    """Up to which ratio consensus forms at each width, in words."""
    said = []
    for M in sorted({cell.M for cell in cells}):
        formed = [cell.ratio for cell in cells if cell.M == M and cell.verdict == HOLDS]
        said.append(f"{max(formed, default=0.0):g} at M = {M}")
    return f"up to sigma^2 / (2 lambda) = {', '.join(said)}"


def _count(cells: list[Cell]) -> int:
    return sum(cell.verdict == HOLDS for cell in cells)
