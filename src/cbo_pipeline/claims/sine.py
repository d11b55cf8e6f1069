"""Claims 1 to 3, Section 4.1: CBO and Adam on the sine."""

from typing import NamedTuple

import numpy as np

from cbo_pipeline.claims import rule
from cbo_pipeline.claims.evidence import CurveResults, Evidence, shared_seeds
from cbo_pipeline.claims.judgement import Judgement, claim, judged
from cbo_pipeline.claims.statistics import (
    END,
    LATE,
    Series,
    crossing,
    end,
    log_ratio,
    middle,
    resampled,
    sign_test,
    swings,
    together,
)  # fmt: skip

PAPER_SEEDS = 10  # the runs behind a curve of the paper
GOOD = 0.05  # of the sine's amplitude: about the width of the line that draws it


class Pair(NamedTuple):
    """CBO and Adam on the seeds and epochs that they share."""

    cbo: Series
    adam: Series
    curves: tuple[CurveResults, CurveResults]


def pair(evidence: Evidence) -> Pair:
    """The two curves that Section 4.1 compares."""
    curves = evidence.variant("sine", "cbo"), evidence.variant("sine", "adam")
    seeds = shared_seeds(*curves)
    cbo, adam = together(*(curve.series().with_seeds(seeds) for curve in curves))
    return Pair(cbo, adam, curves)


def crossing_epoch(evidence: Evidence) -> dict:
    """The epoch from which CBO's median stays below Adam's, over resampled seeds too, and seconds of training."""
    cbo, adam, curves = pair(evidence)

    def of_rows(rows: np.ndarray) -> float:
        seeds = [cbo.seeds[row] for row in rows]
        return crossing(cbo.with_seeds(seeds), adam.with_seeds(seeds))

    values = np.sort(resampled(of_rows, np.arange(len(cbo.seeds))))
    low, high = (float(values[round(share * (len(values) - 1))]) for share in (rule.ERROR, 1 - rule.ERROR))
    return {
        "epoch": crossing(cbo, adam),
        "spread": (low, high),
        "never_in": float(np.mean(np.isinf(values))),
        "seconds_per_epoch": {c.curve.variant: evidence.seconds_per_epoch(c) for c in curves},
    }


@claim(
    id=1,
    section="4.1",
    claim="Sine: CBO ends at a lower risk than Adam.",
    statistic=f"median over seeds of log10(CBO's / Adam's risk), each the median of the last {END:.0%} of epochs, in"
    " pairs",
    threshold="below 0",
    why="both saw the same data, so each pair is a fair match; the interval tells a lower risk from a lucky one",
    needs=("sine/cbo", "sine/adam"),
)
def ends_lower(evidence: Evidence) -> Judgement:
    """Claim 1, by pairs of runs or by the curves of medians."""
    cbo, adam, _ = pair(evidence)
    differences = log_ratio(end(cbo), end(adam))
    by_pairs = middle(differences), rule.median_interval(differences)
    value, interval = by_pairs if evidence.choices.ends == "pairs" else _by_curves(cbo, adam)
    crossed = crossing(cbo, adam)
    medians = {"cbo": middle(end(cbo)), "adam": middle(end(adam))}
    where = (
        f"CBO's median stays below Adam's from epoch {crossed:.0f} on"
        if np.isfinite(crossed)
        else "CBO's median does not end below Adam's"
    )
    seen = (
        f"over {cbo.last} epochs CBO ends at {medians['cbo']:.2g}, Adam at {medians['adam']:.2g} (medians of"
        f" {len(cbo.seeds)} runs); CBO is lower in {int(np.sum(differences < 0))} of {len(differences)} pairs (sign"
        f" test p = {sign_test(differences):.2g}); {where}{_as_drawn(cbo, adam)}"
    )
    part = rule.below("CBO's risk over Adam's", value, interval)
    pairs = dict(zip(cbo.seeds, differences, strict=True))
    return judged([part], seen, len(cbo.seeds), medians=medians, pairs=pairs, crossing=crossed)


def _as_drawn(cbo: Series, adam: Series) -> str:
    """Where the curves of the paper's figure end, medians at each epoch of its number of runs, if there are more."""
    if len(cbo.seeds) <= PAPER_SEEDS:
        return ""
    ends = [_end_of_medians(series.with_seeds(series.seeds[:PAPER_SEEDS])) for series in (cbo, adam)]
    return f"; the medians at each epoch of the first {PAPER_SEEDS} runs end at {ends[0]:.2g} and {ends[1]:.2g}"


def _end_of_medians(series: Series) -> float:
    return middle(np.median(series.after((1 - END) * series.last).values, axis=0))


def _by_curves(cbo: Series, adam: Series) -> tuple[float, rule.Interval]:
    """The ends of the figure's own curves: medians over the seeds at each epoch, then over the last epochs.

    Each end of each curve may err half as often, so that the ratio errs as often as any other number.
    """
    ends = {}
    for name, series in (("cbo", cbo), ("adam", adam)):
        late = series.after((1 - END) * series.last).values
        skipped = rule.sign_rank(len(late), rule.ERROR / 2)
        ordered = np.sort(late, axis=0)
        band = (ordered[skipped], ordered[-1 - skipped]) if skipped >= 0 else None
        ends[name] = (_end_of_medians(series), band and [middle(side) for side in band])
    value = float(log_ratio(ends["cbo"][0], ends["adam"][0]))
    if ends["cbo"][1] is None:
        return value, rule.EVERYTHING
    (cbo_low, cbo_high), (adam_low, adam_high) = ends["cbo"][1], ends["adam"][1]
    return value, rule.Interval(float(log_ratio(cbo_low, adam_high)), float(log_ratio(cbo_high, adam_low)))


@claim(
    id=2,
    section="4.1",
    claim="Sine: CBO is more stable than Adam.",
    statistic="median over seeds of log10(CBO's / Adam's swing), the swing being the standard deviation of the change"
    f" of log10 risk from epoch to epoch in the last {LATE:.0%} of training",
    threshold="below 0",
    why="swings late in training are what the figure shows of stability; ratios make runs of unequal risk comparable",
    needs=("sine/cbo", "sine/adam"),
)
def more_stable(evidence: Evidence) -> Judgement:
    """Claim 2."""
    cbo, adam, _ = pair(evidence)
    late = {"cbo": swings(cbo), "adam": swings(adam)}
    differences = log_ratio(late["cbo"], late["adam"])
    seen = (
        f"from epoch to epoch CBO's log10 risk changes by {middle(late['cbo']):.2g}, Adam's by"
        f" {middle(late['adam']):.2g} (standard deviations over the last {LATE:.0%} of {cbo.last} epochs, medians of"
        f" {len(cbo.seeds)} runs)"
    )
    part = rule.below("CBO's swing over Adam's", middle(differences), rule.median_interval(differences))
    return judged([part], seen, len(cbo.seeds), swings=late, sign_test=sign_test(differences))


@claim(
    id=3,
    section="4.1",
    claim="Sine: both CBO and Adam find a good approximation.",
    statistic="median over seeds of the root mean squared error as a share of the amplitude, without the label noise;"
    " the worse of the two methods",
    threshold=f"below {GOOD:.0%}, for both methods",
    why="about the width of the line with which a figure draws the sine: anything closer cannot be told from it",
    needs=("sine/cbo", "sine/adam"),
)
def both_good(evidence: Evidence) -> Judgement:
    """Claim 3: one part for each method."""
    cbo, adam, curves = pair(evidence)
    errors = {"CBO": error(curves[0], cbo), "Adam": error(curves[1], adam)}
    parts = [rule.below(name, middle(e), rule.median_interval(e), GOOD) for name, e in errors.items()]
    seen = "; ".join(
        f"{part.what}: {part.value:.2%} of the amplitude ({part.verdict}), below {GOOD:.0%} in"
        f" {np.sum(errors[part.what] < GOOD)} of {len(errors[part.what])} runs"
        for part in parts
    )
    worse = max(parts, key=lambda part: part.value)
    return judged(parts, seen, len(cbo.seeds), worse, errors=errors)


def error(results: CurveResults, risk: Series) -> np.ndarray:
    """Root mean squared distance of each run's last network from the sine: the risk without the label noise."""
    return np.sqrt(np.maximum(end(risk) - results.settings["label_noise"] ** 2, 0.0))
