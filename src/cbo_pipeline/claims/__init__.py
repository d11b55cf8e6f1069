"""The claims of the paper as data, and the court: each is judged by the pipeline's own results.

``CLAIMS`` says where a claim stands, what it says in our words, by which number it is judged, where the line is
drawn and why there. ``judge_all`` turns the evidence into rows; docs/reproduction.md explains how to read them.
"""

from collections.abc import Iterable
from typing import Any

from cbo_pipeline.claims import mnist, multi_task, sine, square, theory
from cbo_pipeline.claims.evidence import Evidence, NotTested
from cbo_pipeline.claims.judgement import NOT_TESTED, Claim, Judgement

CLAIMS = (
    Claim(
        1,
        "4.1",
        "Sine: CBO ends at a lower risk than Adam.",
        "median over seeds of log10(CBO's / Adam's risk), each the median of the last 5 % of epochs, in pairs",
        "below 0 with its whole 95 % interval",
        "both saw the same data, so each pair is a fair match; the interval tells a lower risk from a lucky one",
        sine.ends_lower,
    ),
    Claim(
        2,
        "4.1",
        "Sine: CBO is more stable than Adam.",
        "median over seeds of log10(CBO's / Adam's swing), the swing being the standard deviation of the change of"
        " log10 risk from epoch to epoch in the last quarter of training",
        "below 0 with its whole 95 % interval",
        "swings late in training are what the figure shows of stability; ratios make runs of unequal risk comparable",
        sine.more_stable,
    ),
    Claim(
        3,
        "4.1",
        "Sine: both CBO and Adam find a good approximation.",
        "root mean squared error of the typical run as a share of the amplitude, label noise taken off; the worse of"
        " the two methods",
        "at most 5 %",
        "about the width of the line by which a figure draws the sine: what is closer cannot be told from it",
        sine.both_good,
    ),
    Claim(
        4,
        "4.2",
        "MNIST: Adam ends at a far lower risk than CBO, and gets there faster.",
        "median over seeds of log10(Adam's / CBO's risk) at the last common epoch, and the epochs in which Adam"
        " reaches the risk at which CBO ends",
        "below -0.48 (a third) with its whole 95 % interval, in fewer epochs",
        "half a decade is the least that reads as far below on the figure's axis",
        mnist.adam_far_below_cbo,
    ),
    Claim(
        5,
        "4.2",
        "MNIST: the hybrid converges faster than CBO and than Adam.",
        "share of given risks that the hybrid reaches in fewer epochs than the others (medians over seeds)",
        "all of them; in part: half of them",
        "faster convergence means first at every risk, not only at the end of a run of arbitrary length",
        mnist.hybrid_fastest,
    ),
    Claim(
        6,
        "4.2",
        "MNIST: Adam is unstable at learning rates above 1e-3, stable from there on; the hybrid is stable at 1e-2.",
        "share of epochs in which the risk is above ten times its smallest so far; the number is Adam's at 1e-2",
        "more than none for Adam at 1e-1 and 1e-2, none for Adam at 1e-3 and 1e-4 and for the hybrid;"
        " in part: more than none for Adam at 1e-2, and none at 1e-3 or for the hybrid",
        "a leap by a decade is no fluctuation of minibatches; the hybrid counts as tested only if it trained for"
        " longer than Adam needs to its first leap",
        mnist.adam_unstable_hybrid_stable,
    ),
    Claim(
        7,
        "4.3",
        "Multi-task: the median and the minimum of the risk over the tasks both fall during training.",
        "log10(last / first tenth of training), the weaker of the two; and in how many steps from tenth to tenth they"
        " fall",
        "below 0 with its whole 95 % interval, and in at least 7 of 9 steps",
        "a fall during training is more than an end below the start; one or two steps may be lost to chance",
        multi_task.both_fall,
    ),
    Claim(
        8,
        "4.3",
        "Multi-task: the approximations of five of the tasks are accurate.",
        "root mean squared error of problems 1, 25, 50, 75, 100 as a share of the amplitude; the worst of them",
        "at most 5 % in all five; in part: in some",
        "as for claim 3",
        multi_task.five_accurate,
    ),
    Claim(
        9,
        "3.3.2",
        "Multi-task: recycling one ensemble needs less memory than an ensemble for each task.",
        "bytes that the method keeps, one ensemble over separate ones: counted, and measured as a process grows",
        "below 1, both",
        "less is less; counted bytes are exact, measured ones include what the method needs in passing",
        multi_task.less_memory,
    ),
    Claim(
        10,
        "5.3",
        "Square: the risk at epoch 600 falls monotonically in the width M.",
        "largest log10 ratio of the mean risks at neighbouring M; negative if every step goes down",
        "below 0, and the risk at the largest M below that at the smallest in 95 % of resamples; in part: only that",
        "monotone is every step; the mean over ten runs is what the paper shows",
        square.monotone_in_M,
    ),
    Claim(
        11,
        "5.3",
        "Square: the risk at epoch 600 falls monotonically in the number of particles N.",
        "largest log10 ratio of the mean risks at neighbouring N; negative if every step goes down",
        "below 0, and the risk at the largest N below that at the smallest in 95 % of resamples; in part: only that",
        "as for claim 10",
        square.monotone_in_N,
    ),
    Claim(
        12,
        "5.3",
        "Square: both curves saturate, M = N = 200 is close to the mean-field regimes.",
        "fall of log10 mean risk over the last doubling, the larger of M's and N's",
        "below 0.097 (a fifth) and below the average of the doublings before, for both; in part: some of that",
        "a curve saturates if further doubling brings little, and less than it used to",
        square.saturates,
    ),
    Claim(
        13,
        "5.3",
        "An iteration with the barycentre costs more than one with the consensus point.",
        "seconds of an iteration of optimal-transport CBO over those of CBO, same problem, M = N = 200",
        "above 1",
        "more is more; best and median iteration must agree",
        square.barycentre_costs_more,
    ),
    Claim(
        14,
        "5.1",
        "Proposition 2: for empirical measures the barycentre has M atoms, each a weighted average of atoms matched"
        " by optimal permutations.",
        "largest deviation of a found barycentre from that formula; and whether a measure of more atoms is better",
        "rounding (1e-9), and none is better; in part: the formula holds for M atoms",
        "the proposition speaks of the barycentre among all measures, its proof of those with M atoms",
        theory.weighted_average_under_permutations,
    ),
    Claim(
        15,
        "5.2",
        "Proposition 3: without noise each step shrinks the variance at least by the factor (1 - dt)^2.",
        "largest ratio of a step's variance to the bound, equal weights",
        "at most 1, to rounding; in part: the variance falls in every step",
        "it is stated for the law of the particles and its barycentre, which is the one with equal weights",
        theory.variance_decays,
    ),
    Claim(
        16,
        "3.3",
        "Consensus needs 2 lambda > sigma^2, in any dimension.",
        "largest sigma^2 / (2 lambda) at which the variance fell by 1e-6; the spread is up to the smallest at which"
        " it did not",
        "consensus in all cases below 1 and in none above; in part: also above",
        "needed means both: enough below, and not without",
        theory.consensus_condition,
    ),
)


def judge_all(evidence: Evidence, claims: Iterable[Claim] = CLAIMS) -> list[dict[str, Any]]:
    """One row a claim, in the paper's order; what cannot be decided says why."""
    return [_row(claim, _judged(claim, evidence)) for claim in claims]


def _judged(claim: Claim, evidence: Evidence) -> Judgement:
    try:
        return claim.judge(evidence)
    except NotTested as reason:
        return Judgement(NOT_TESTED, None, None, str(reason))


def _row(claim: Claim, found: Judgement) -> dict[str, Any]:
    return {
        "id": claim.id,
        "section": claim.section,
        "claim": claim.claim,
        "statistic": claim.statistic,
        "threshold": claim.threshold,
        "why": claim.why,
        "value": found.value,
        "spread": found.spread,
        "verdict": found.verdict,
        "seen": found.seen,
        "details": dict(found.details),
    }
