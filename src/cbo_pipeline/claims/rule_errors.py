"""How often the rule of evidence errs where the truth is known: results/checks/rule_errors.json.

Samples are drawn from laws whose truth lies exactly on the line, where errors are most frequent. A verdict "holds"
there is as wrong as "does not hold": the number could just as well lie slightly on the other side.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from cbo_pipeline.claims import rule
from cbo_pipeline.claims.rule import FAILS, HOLDS, IN_PART

SEEDS = (5, 10, 30, 100)
SAMPLES = 8000
RESAMPLES = 500
# Standard deviations of the logarithm of a risk in the simulations of the square: at the large sizes 0.1 to 0.2 were
# measured, at the smallest number of particles 0.56.
SPREAD, WIDE = 0.1, 0.55
SHIFT = 1.0  # of the truth from the line, in standard deviations, where right verdicts are counted

Draw = Callable[[np.random.Generator, int, float], str]  # a verdict on a sample of so many seeds, its truth shifted


def normal(rng: np.random.Generator, count: int) -> np.ndarray:
    """Median 0, standard deviation 1."""
    return rng.standard_normal(count)


def skewed(rng: np.random.Generator, count: int) -> np.ndarray:
    """A lognormal law, median 0, standard deviation 1."""
    values = np.exp(rng.standard_normal(count)) - 1
    return values / np.sqrt((np.e - 1) * np.e)


def basins(rng: np.random.Generator, count: int) -> np.ndarray:
    """Most runs end in one basin and some in others, decades away, as Adam's do on the sine."""
    place = rng.choice([-1.0, 0.0, 1.2, 2.6], count, p=[0.2, 0.6, 0.15, 0.05])
    return place + 0.05 * rng.standard_normal(count)


@dataclass(frozen=True)
class Case:
    """A kind of statement, the law that it is tried on, and its verdict on a sample."""

    kind: str
    law: str
    draw: Draw
    used: bool = True  # False: a rule that we do not use, for comparison
    exact: Callable[[int], float] | None = None  # the error by counting orders, where that is possible


def _median(law) -> Draw:
    return lambda rng, seeds, shift: rule.verdict(rule.median_interval(law(rng, seeds) - shift))


def _unpaired(law, others: int | None = None) -> Draw:
    def draw(rng, seeds, shift):
        a, b = law(rng, seeds), law(rng, others or seeds)
        return rule.verdict(rule.shift_interval(a - shift, b))

    return draw


def _resampled_median(law) -> Draw:
    """The percentile bootstrap with 95 % of the resamples inside: the rule that we had before."""

    def draw(rng, seeds, shift):
        rows = _rows(seeds)
        medians = np.median((law(rng, seeds) - shift)[rows], axis=1)
        return rule.verdict(rule.Interval(*np.quantile(medians, [0.025, 0.975])))

    return draw


def _risks(rng: np.random.Generator, seeds: int, means: np.ndarray, spread: float) -> np.ndarray:
    """Risks (seed, size) with the given means; half of their variance is shared by the sizes, as by equal data."""
    own, shared = rng.standard_normal((seeds, len(means))), rng.standard_normal((seeds, 1))
    logs = spread * (own + shared) / np.sqrt(2)
    return means * np.exp(logs - spread**2 / 2)


def _steps(means: np.ndarray) -> list[np.ndarray]:
    return [np.eye(len(means))[i + 1] - np.eye(len(means))[i] for i in range(len(means) - 1)]


def _monotone(falls: np.ndarray, used: bool = True, spread: float = SPREAD) -> Draw:
    """Steps that fall by these shares; a shift makes them all fall more."""

    def draw(rng, seeds, shift):
        means = np.cumprod([1.0, *((1 - falls) * np.exp(-shift * spread))])
        risks = _risks(rng, seeds, means, spread)
        if not used:  # lines at 95 % and 5 % of the resamples in which every step falls
            share = np.mean(np.all(np.diff(risks[_rows(seeds)].mean(axis=1), axis=1) < 0, axis=1))
            return HOLDS if share >= 0.95 else FAILS if share <= 0.05 else rule.UNDECIDED
        each = [lambda error, w=w: rule.contrast_interval(risks, w, error) for w in _steps(means)]
        return rule.verdict(rule.largest_interval(each))

    return draw


def _saturation(spread: float = SPREAD) -> Draw:
    """Whether the last of three doublings brings less than a fifth: it brings exactly that, less the shift."""

    def draw(rng, seeds, shift):
        means = np.array([4.0, 2.0, 1.0, 0.8 * np.exp(shift * spread)])
        risks = _risks(rng, seeds, means, spread)
        interval = rule.contrast_interval(risks, [0, 0, 1, -1])
        return rule.verdict(interval, float(np.log10(1.25)))

    return draw


def _both_criteria(spread: float = SPREAD) -> Draw:
    """Saturation as claim 12 has it: the last of three doublings on the line of each of its two criteria."""

    def draw(rng, seeds, shift):
        means = np.array([1.25**3, 1.25**2, 1.25, np.exp(shift * spread)])
        risks = _risks(rng, seeds, means, spread)
        criteria = []
        for weights, line in (([0, 0, 1, -1], float(np.log10(1.25))), ([-0.5, 0, 1.5, -1], 0.0)):
            interval = rule.one_of(lambda error, w=weights: rule.contrast_interval(risks, w, error), 2)
            criteria.append(rule.below("", 0.0, interval, line))
        return rule.all_of("", criteria, criteria[0]).verdict

    return draw


def _several(parts: int) -> Draw:
    """A claim of several parts, all of which lie on their lines."""

    def draw(rng, seeds, shift):
        return rule.combined(rule.verdict(rule.median_interval(normal(rng, seeds) - shift)) for _ in range(parts))

    return draw


def _exact_median(seeds: int) -> float:
    return sum(comb(seeds, k) for k in range(rule.sign_rank(seeds) + 1)) / 2**seeds


def _exact_shift(others: int | None = None) -> Callable[[int], float]:
    def error(seeds: int) -> float:
        rank = rule.rank_sum_rank(seeds, others or seeds)
        return 0.0 if rank < 0 else float(rule.rank_sum_law(seeds, others or seeds)[rank])

    return error


ONE_FLAT, ALL_FLAT = np.array([0.4, 0.4, 0.4, 0.0]), np.zeros(4)
CASES = (
    Case("median of pairs", "normal", _median(normal), exact=_exact_median),
    Case("median of pairs", "skewed", _median(skewed), exact=_exact_median),
    Case("median of pairs", "mixture of basins", _median(basins), exact=_exact_median),
    Case("two samples", "normal", _unpaired(normal), exact=_exact_shift()),
    Case("two samples", "mixture of basins", _unpaired(basins), exact=_exact_shift()),
    Case("two runs against so many", "normal", _unpaired(normal, 2), exact=_exact_shift(2)),
    Case("monotone, four steps", "one flat step", _monotone(ONE_FLAT)),
    Case("monotone, four steps", "all steps flat", _monotone(ALL_FLAT)),
    Case("monotone, four steps", "one flat step, wide and skewed", _monotone(ONE_FLAT, spread=WIDE)),
    Case("saturation", "on the line", _saturation()),
    Case("saturation", "on the line, wide and skewed", _saturation(WIDE)),
    Case("saturation, two criteria", "both on the line", _both_criteria()),
    Case("saturation, two criteria", "both on the line, wide and skewed", _both_criteria(WIDE)),
    Case("two parts", "normal", _several(2)),
    Case("five parts", "normal", _several(5)),
    Case("thirteen parts", "normal", _several(13)),
    Case("percentile bootstrap of the median", "normal", _resampled_median(normal), used=False),
    Case("every step falls in 95 % or 5 % of resamples", "one flat step", _monotone(ONE_FLAT, False), used=False),
    Case("every step falls in 95 % or 5 % of resamples", "all steps flat", _monotone(ALL_FLAT, False), used=False),
)


def _rows(seeds: int) -> np.ndarray:
    """The resampled rows, (resample, seed); the same at every call."""
    return np.random.default_rng(0).integers(0, seeds, (RESAMPLES, seeds))


def rule_errors(
    samples: int = SAMPLES, seeds: tuple[int, ...] = SEEDS, cases: Sequence[Case] = CASES
) -> dict[str, Any]:
    """For every case and number of seeds, how often the rule errs.

    That is, how often each verdict is given with the truth on the line; and how often the right one with the truth
    off the line by ``SHIFT`` standard deviations.
    """
    rows = [_row(case, count, samples if case.used else max(1, samples // 8)) for case in cases for count in seeds]
    return {"error": rule.ERROR, "samples": samples, "shift": SHIFT, "rows": rows}


def _row(case: Case, seeds: int, samples: int) -> dict[str, Any]:
    rng = np.random.default_rng([seeds, *case.kind.encode(), *case.law.encode()])
    on_line = [case.draw(rng, seeds, 0.0) for _ in range(samples)]
    off_line = [case.draw(rng, seeds, SHIFT) for _ in range(max(1, samples // 4))]
    return {
        "kind": case.kind,
        "law": case.law,
        "used": case.used,
        "seeds": seeds,
        "exact": case.exact(seeds) if case.exact else None,
        "false_holds": on_line.count(HOLDS) / samples,
        "false_fails": on_line.count(FAILS) / samples,
        "false_in_part": on_line.count(IN_PART) / samples,
        "right": off_line.count(HOLDS) / len(off_line),
    }
