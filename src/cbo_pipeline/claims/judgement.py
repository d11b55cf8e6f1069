"""What a judge returns, and what a claim says beside its judge."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any

from cbo_pipeline.claims.evidence import Choices, Evidence
from cbo_pipeline.claims.rule import Interval, Part, combined
from cbo_pipeline.config import Curve


@dataclass(frozen=True)
class Judgement:
    """A verdict, the number behind it, its interval over the seeds, and the sentence that says what was seen.

    ``seeds`` is the smallest number of runs behind any part of it; None where no seeds are involved. ``line`` is what
    the number is compared with.
    """

    verdict: str
    value: float | None
    spread: Interval | None
    seen: str
    seeds: int | None = None
    line: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


def judged(parts: Sequence[Part], seen: str, seeds: int | None, headline: Part | None = None, **details) -> Judgement:
    """The judgement by the parts of a claim; its number is that of the headline (the first part if none is named)."""
    headline = headline or parts[0]
    said = {part.what: part.said() for part in parts}
    spread = headline.interval if seeds is not None else None
    return Judgement(combined(parts), headline.value, spread, seen, seeds, headline.line, {"parts": said, **details})


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and how it is judged. ``judge`` may raise ``NotTested``.

    ``needs`` are the curves that the judge looks at, as patterns of experiment/variant; ``{adam}`` and ``{hybrid}``
    stand for the variants that a reading chooses.
    """

    id: int
    section: str
    claim: str
    statistic: str
    threshold: str
    why: str
    needs: tuple[str, ...]
    judge: Callable[[Evidence], Judgement]

    def looks_at(self, curve: Curve, choices: Choices) -> bool:
        """Whether the judge needs a curve."""
        patterns = (need.format(adam=choices.adam, hybrid=choices.hybrid) for need in self.needs)
        return any(fnmatch(f"{curve.experiment}/{curve.variant}", pattern) for pattern in patterns)


def claim(**said) -> Callable[[Callable[[Evidence], Judgement]], Claim]:
    """Declare a claim beside its judge: the decorated function becomes the claim."""
    return lambda judge: Claim(**said, judge=judge)
