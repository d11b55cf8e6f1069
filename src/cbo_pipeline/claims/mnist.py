"""Claims 4 to 6, Section 4.2: CBO, Adam and the hybrid on MNIST.

Adam's sweep runs over thousands of epochs, CBO and the hybrid over a hundred with all seeds and, in the experiment
``mnist_horizon``, over thousands with a few. Claims are judged on the longest runs that there are. What the hybrid
does with fewer particles (``mnist_floor``) is told beside claim 6, and decides nothing.
"""

from collections.abc import Sequence

import numpy as np

from cbo_pipeline.claims import rule
from cbo_pipeline.claims.evidence import CurveResults, Evidence, NotTested
from cbo_pipeline.claims.judgement import Judgement, claim, judged
from cbo_pipeline.claims.rule import HOLDS, Part
from cbo_pipeline.claims.statistics import (
    END,
    LEAP,
    SETTLED,
    Series,
    divergence,
    end,
    epochs_to_reach,
    first_leap,
    log_ratio,
    middle,
    share_in_leaps,
    together,
)  # fmt: skip

EXPERIMENT, HORIZON, FLOOR = "mnist", "mnist_horizon", "mnist_floor"
# Risks by which speeds are compared. The first networks are at 2.3; at 2 methods differ by an epoch or none.
LEVELS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
TIMES_LOWER = 3  # half a decade: the least that reads as "significantly lower" on the figure's axis
STABLE_RATE = 1e-3  # "Adam is stable from 1e-3 onwards"
NEAR = 100  # a run whose lowest risk is above so many times that of runs that leap is not near where they do
FEWER_LEAPS = 10  # so many times fewer epochs in a leap make the hybrid stable where Adam is not
# How far a run went and what was stored of it; all other settings say what it is.
LENGTH_KEYS = ("epochs", "snapshots", "record_first", "record_every", "keep_ensembles")


def lengths(evidence: Evidence, variant: str) -> list[CurveResults]:
    """The usual runs of a variant and, where they are, the same over more epochs; the longest last."""
    long = [one for one in evidence.curves(HORIZON) if one.curve.variant == variant]
    try:
        usual = evidence.variant(EXPERIMENT, variant)
    except NotTested:
        if not long or any(one.curve.variant == variant for one in evidence.curves(EXPERIMENT)):
            raise
        return long
    same = [
        one
        for one in long
        if (one.M, one.N, _identity(one)) == (usual.M, usual.N, _identity(usual)) and one.epochs > usual.epochs
    ]
    return [usual, *sorted(same, key=lambda one: one.epochs)]


def _identity(results: CurveResults) -> dict:
    return {key: value for key, value in results.settings.items() if key not in LENGTH_KEYS}


def compared(evidence: Evidence, *variants: str) -> list[CurveResults]:
    """Variants as long as the shortest of their longest runs: each by the runs with most seeds that are that long."""
    several = [lengths(evidence, variant) for variant in variants]
    last = min(runs[-1].epochs for runs in several)
    return [next(one for one in runs if one.epochs >= last) for runs in several]


def ratio(what: str, a: Sequence[float], b: Sequence[float], a_seeds, b_seeds, line: float = 0.0) -> Part:
    """The statement log10(a / b) < line: in pairs where five seeds or more are shared, else as two samples."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    shared = [seed for seed in a_seeds if seed in b_seeds]
    if rule.sign_rank(len(shared)) >= 0:
        pick_a, pick_b = ([list(seeds).index(seed) for seed in shared] for seeds in (a_seeds, b_seeds))
        differences = log_ratio(a[pick_a], b[pick_b])
        return rule.below(what, middle(differences), rule.median_interval(differences), line)
    logs = [np.log10(np.maximum(x, np.finfo(float).tiny)) for x in (a, b)]
    value = middle(rule.difference(logs[0][:, None], logs[1][None, :]))
    return rule.below(what, value, rule.shift_interval(*logs), line)


@claim(
    id=4,
    section="4.2",
    claim="MNIST: Adam ends at a far lower risk than CBO, and gets there faster.",
    statistic=f"log10(Adam's / CBO's risk), each the median of the last {END:.0%} of the epochs that both have (of a"
    " run that diverges, its smallest); and log10(Adam's / CBO's epochs) to the smallest risk that all runs of CBO"
    " reach",
    threshold=f"below {-np.log10(TIMES_LOWER):.2f} (a factor of {TIMES_LOWER}), and below 0 for the epochs",
    why="half a decade is the least that reads as significantly lower on the figure's axis. What counts of runs that"
    " diverge, and at which risk speeds are compared, was chosen after the runs to the horizon had been seen"
    " (docs/reproduction.md)",
    needs=("mnist/cbo", "mnist/{adam}"),
)
def adam_far_below_cbo(evidence: Evidence) -> Judgement:
    """Claim 4: compared at the last epoch that both have."""
    curves = compared(evidence, evidence.choices.adam, "cbo")
    adam, cbo = together(*(one.series() for one in curves))
    ends = _end_or_best(adam), _end_or_best(cbo)
    level = float(cbo.smallest.min(axis=1).max())
    needed = epochs_to_reach(adam, level), epochs_to_reach(cbo, level)
    parts = [
        ratio("Adam's risk over CBO's", *ends, adam.seeds, cbo.seeds, line=-np.log10(TIMES_LOWER)),
        ratio("Adam's epochs over CBO's", *(np.maximum(n, 1) for n in needed), adam.seeds, cbo.seeds),
    ]
    seen = (
        f"over {adam.last} epochs ({_runs(curves)}) Adam ends at {middle(ends[0]):.2g}, CBO {_end_in_words(cbo)}"
        f" ({parts[0].verdict}); to {level:.2g} Adam takes {middle(needed[0]):.0f} epochs, CBO"
        f" {middle(needed[1]):.0f} ({parts[1].verdict}){_in_seconds(evidence, curves, needed)}"
    )
    return judged(parts, seen, _fewest(curves), epochs=adam.last, epochs_to_cbo_best=needed)


def _end_or_best(series: Series) -> np.ndarray:
    """Where each run ends. Of one that diverges the smallest risk counts: nothing could be more in its favour."""
    ends = end(series)
    return np.where(np.isfinite(ends), ends, series.smallest.min(axis=1))


def _end_in_words(series: Series) -> str:
    """Where the runs end, and when they diverge."""
    when = divergence(series)
    gone = when[np.isfinite(when)].astype(int)
    ends = f"at {middle(_end_or_best(series)):.2g}"
    if not gone.size:
        return ends
    epochs = f"epoch {gone[0]}" if len(gone) == 1 else f"epochs {gone.min()} to {gone.max()}"
    return f"{ends} (its best where it diverges: {len(gone)} of {len(when)} runs, at {epochs})"


@claim(
    id=5,
    section="4.2",
    claim="MNIST: the hybrid converges faster than CBO and than Adam.",
    statistic="log10(the hybrid's / the other's epochs) to each of the risks"
    f" {', '.join(f'{level:g}' for level in LEVELS)} that the other reaches (if it reaches none, that the hybrid"
    " reaches); the number is the largest",
    threshold="below 0 at every risk, against both",
    why="faster convergence means being first at every risk that the other reaches, not only at the end of a run of"
    " arbitrary length. Over how many epochs a race goes was changed after the first long run of the hybrid had been"
    " seen (docs/reproduction.md)",
    needs=("mnist/cbo", "mnist/{adam}", "mnist/{hybrid}"),
)
def hybrid_fastest(evidence: Evidence) -> Judgement:
    """Claim 5: one part for each rival and each risk that it reaches."""
    hybrid = lengths(evidence, evidence.choices.hybrid)
    parts, sentences, used = [], [], [*hybrid]
    for rival, name in ((evidence.choices.adam, "Adam"), ("cbo", "CBO")):
        others = lengths(evidence, rival)
        used += others
        found, whose = _races(hybrid, others, name, others), f"{name} reaches"
        if not found:
            found, whose = _races(hybrid, others, name, hybrid), f"it reaches, of which {name} reaches none"
        if not found:
            raise NotTested(f"{EXPERIMENT}: neither {name} nor the hybrid reaches any of the risks")
        parts += found
        first = sum(part.verdict == HOLDS for part in found)
        sentences.append(f"first at {first} of {len(found)} risks that {whose}{_not_first(found)}")
    worst = max(parts, key=lambda part: part.value)
    last = min(one[-1].epochs for one in (hybrid, lengths(evidence, evidence.choices.adam)))
    seen = (
        f"within {last} epochs ({_runs(used)}) the hybrid is {' and '.join(sentences)}{_first_in_seconds(evidence)}"
    )
    return judged(parts, seen, _fewest(used), worst, epochs=last)


def _races(first: list[CurveResults], second: list[CurveResults], name: str, there: list[CurveResults]) -> list[Part]:
    """The races to all risks that the method ``there``, one of the two, reaches."""
    common = min(first[-1].epochs, second[-1].epochs)
    series = _at_least(there, common).series().until(common)
    levels = [level for level in LEVELS if np.isfinite(middle(epochs_to_reach(series, level)))]
    return [_race(first, second, name, level) for level in levels]


def _race(first: list[CurveResults], second: list[CurveResults], name: str, level: float) -> Part:
    """Who is at a risk first.

    The race goes over the fewest epochs within which all runs of one of the two are there: a pair in which neither
    has arrived would tell nothing. So early risks are judged with all seeds, late ones with the longest runs.
    """
    common = min(first[-1].epochs, second[-1].epochs)
    for last in sorted({common, *(one.epochs for one in (*first, *second) if one.epochs < common)}):
        a, b = together(*(_at_least(runs, last).series().until(last) for runs in (first, second)))
        needed = [np.maximum(epochs_to_reach(series, level), 1) for series in (a, b)]
        if any(np.isfinite(epochs).all() for epochs in needed):
            break
    return ratio(f"to {level:g} against {name}", *needed, a.seeds, b.seeds)


def _at_least(runs: list[CurveResults], epochs: int) -> CurveResults:
    return next(one for one in runs if one.epochs >= epochs)


def _not_first(parts: list[Part]) -> str:
    others = [f"{part.what.split()[1]} ({part.verdict})" for part in parts if part.verdict != HOLDS]
    return f", not at {', '.join(others)}" if others else ""


def _first_in_seconds(evidence: Evidence) -> str:
    """Epochs are the paper's measure; in seconds an epoch of a thousand particles takes longer."""
    try:
        methods = speeds(evidence)["methods"]
    except NotTested:
        return ""
    if any(table["seconds_per_epoch"] is None for table in methods.values()):
        return "; seconds were not measured"
    levels = [level for level in LEVELS if any(np.isfinite(m["seconds"][level]) for m in methods.values())]
    first = sum(min(methods, key=lambda m: methods[m]["seconds"][level]) == "hybrid" for level in levels)
    return f"; in seconds it is first at {first} of the {len(levels)} risks that any of the three reaches"


@claim(
    id=6,
    section="4.2",
    claim=f"MNIST: Adam is unstable at learning rates above {STABLE_RATE:g}, stable from there on; the hybrid is"
    " stable at 1e-2.",
    statistic=f"whether a run leaps (a risk above {LEAP} times its smallest so far, after epoch {SETTLED}), in most"
    f" seeds; for the hybrid the share of epochs in a leap, less 1/{FEWER_LEAPS} of Adam's at its rate over the same"
    " epochs; the number is the share of Adam's runs that leap at that rate",
    threshold=f"most runs leap at each rate above {STABLE_RATE:g}, most do not at the others; below 0 for the hybrid",
    why="a leap by a decade is not a fluctuation of minibatches; the hybrid counts as tested only where it trained"
    " for longer than Adam takes to its first leaps",
    needs=("mnist/adam*", "mnist/{hybrid}"),
)
def adam_unstable_hybrid_stable(evidence: Evidence) -> Judgement:
    """Claim 6: one part for each learning rate of Adam's, and one for the hybrid."""
    sweep = _sweep(evidence)
    hybrid = lengths(evidence, evidence.choices.hybrid)[-1]
    leaping = {rate: (share_in_leaps(one.series()) > 0).astype(float) for rate, one in sweep.items()}
    of_rates = {rate: _leaps_as_said(rate, found) for rate, found in leaping.items()}
    still = _not_there_yet(sweep)
    rate = hybrid.settings["dt"]
    rival = next((one for key, one in sweep.items() if np.isclose(key, rate)), None)
    if rival is None:
        raise NotTested(f"no results of Adam at the hybrid's rate {rate:g}")
    mine, other = together(hybrid.series(), rival.series())
    shares = share_in_leaps(mine), share_in_leaps(other)
    interval = rule.shift_interval(shares[0], shares[1] / FEWER_LEAPS)
    stable = rule.below("hybrid", middle(shares[0]) - middle(shares[1]) / FEWER_LEAPS, interval)
    starts = middle(first_leap(rival.series()))
    seen = "runs that leap, Adam: " + ", ".join(
        f"{int(found.sum())} of {len(found)} at {key:g} ({of_rates[key].verdict}{still.get(key, '')})"
        for key, found in leaping.items()
    )
    seen += (
        f" within {min(one.epochs for one in sweep.values())} epochs; hybrid at {rate:g}: {middle(shares[0]):.2%} of"
        f" {mine.last} epochs in a leap ({_counted(len(mine.seeds))}), Adam {middle(shares[1]):.2%}"
        f" ({stable.verdict})"
    )
    if starts > mine.last:
        when = f"first leaps at epoch {starts:.0f}" if np.isfinite(starts) else "does not leap at that rate"
        seen += f"; Adam {when}: the hybrid was not put to the test"
    small = _small_ensembles(evidence, hybrid)
    seen += "".join(f"; {_leaps_of_few(one)}, which is not counted" for one in small)
    details = {
        "leaping": {f"{key:g}": found for key, found in leaping.items()},
        "shares": dict(zip(("hybrid", "adam"), shares, strict=True)),
        "first_leap": starts,
        "epochs": mine.last,
        "first_leap_of_few": {f"N = {one.N}": first_leap(one.series()) for one in small},
    }
    parts = [*of_rates.values(), stable]
    return judged(parts, seen, _fewest([*sweep.values(), hybrid]), of_rates[rival.settings["dt"]], **details)


def _small_ensembles(evidence: Evidence, hybrid: CurveResults) -> list[CurveResults]:
    """The same method with fewer particles, over more epochs."""
    return [
        one
        for one in evidence.curves(FLOOR)
        if one.curve.variant == hybrid.curve.variant and one.seeds and _identity(one) == _identity(hybrid)
    ]


def _leaps_of_few(results: CurveResults) -> str:
    series = results.series()
    leaping = np.isfinite(first := first_leap(series))
    when = f", first at epoch {first.min():.0f}" if leaping.any() else ""
    verb = "leaps" if leaping.sum() == 1 else "leap"
    count = f"{leaping.sum()} of {_counted(len(leaping))} {verb} in {series.last} epochs{when}"
    return f"with {results.N} particles {count} ({share_in_leaps(series).mean():.2%} of the epochs in a leap)"


def _sweep(evidence: Evidence) -> dict[float, CurveResults]:
    """Adam by its learning rate, from the largest down."""
    variants = {one.curve.variant for one in evidence.curves(EXPERIMENT, "adam")}
    wanted = {v for (experiment, v) in evidence.wanted if experiment == EXPERIMENT and v.startswith("adam")}
    found = [evidence.variant(EXPERIMENT, variant) for variant in sorted(variants | wanted)]
    sweep: dict[float, CurveResults] = {}
    for one in sorted(found, key=lambda one: (-one.settings["dt"], one.curve.variant not in wanted)):
        other = sweep.setdefault(one.settings["dt"], one)
        if other is not one and other.curve.variant not in wanted:
            raise NotTested(f"{other} and {one} have the same learning rate {one.settings['dt']:g}")
    return sweep


def _not_there_yet(sweep: dict[float, CurveResults]) -> dict[float, str]:
    """What to say of the rates whose runs do not come near the lowest risks of those that leap."""
    lowest = {rate: one.series().smallest.min(axis=1) for rate, one in sweep.items()}
    leaping = [lowest[rate].max() for rate, one in sweep.items() if np.isfinite(first_leap(one.series())).all()]
    return {
        rate: f"; it is slow: its lowest risk is {middle(found):.2g}"
        for rate, found in lowest.items()
        if leaping and found.min() > NEAR * max(leaping)
    }


def _leaps_as_said(rate: float, leaping: np.ndarray) -> Part:
    """Whether most runs leap (above the stable rate) or do not."""
    interval, unstable = rule.median_interval(leaping), rate > STABLE_RATE * (1 + 1e-9)
    say = rule.above if unstable else rule.below
    return say(f"Adam at {rate:g} {'leaps' if unstable else 'does not leap'}", leaping.mean(), interval, 0.5)


def speeds(evidence: Evidence) -> dict:
    """Epochs, and seconds, that each method needs to reach given risks: medians over its runs, its longest ones."""
    table = {}
    for name, variant in {"adam": evidence.choices.adam, "cbo": "cbo", "hybrid": evidence.choices.hybrid}.items():
        longest = lengths(evidence, variant)[-1]
        seconds = _seconds(evidence, longest)
        epochs = {level: middle(epochs_to_reach(longest.series(), level)) for level in LEVELS}
        table[name] = {
            "epochs_run": longest.epochs,
            "seconds_per_epoch": seconds,
            "epochs": epochs,
            "seconds": {level: None if seconds is None else e * seconds for level, e in epochs.items()},
        }
    return {"methods": table}


def _seconds(evidence: Evidence, results: CurveResults) -> float | None:
    """Seconds per epoch of a curve; over more epochs an epoch takes as long."""
    usual = [one for one in evidence.curves(EXPERIMENT) if one.curve.variant == results.curve.variant]
    known = (evidence.seconds_per_epoch(one) for one in (results, *usual))
    return next((seconds for seconds in known if seconds is not None), None)


def _in_seconds(evidence: Evidence, curves: Sequence[CurveResults], needed) -> str:
    seconds = [_seconds(evidence, one) for one in curves]
    if None in seconds:
        return ""
    times = [middle(n) * s for n, s in zip(needed, seconds, strict=True)]
    return f", {times[0]:.2g} s against {times[1]:.2g} s"


def _fewest(curves: Sequence[CurveResults]) -> int:
    return min(len(one.seeds) for one in curves)


def _runs(curves: Sequence[CurveResults]) -> str:
    """How many runs stand behind a comparison, in words."""
    named = dict.fromkeys((one.curve.variant, len(one.seeds), one.epochs) for one in curves)
    return ", ".join(f"{variant}: {_counted(seeds)} of {epochs} epochs" for variant, seeds, epochs in named)


def _counted(runs: int) -> str:
    return f"{runs} run{'' if runs == 1 else 's'}"
