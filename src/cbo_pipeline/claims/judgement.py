"""Verdicts: what a judge returns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cbo_pipeline.claims.evidence import Evidence

HOLDS = "holds"
IN_PART = "holds in part"
FAILS = "does not hold"
NOT_TESTED = "not tested at this scale"


@dataclass(frozen=True)
class Judgement:
    """A verdict, the number behind it, its spread over seeds, and the sentence that says what was seen."""

    verdict: str
    value: float | None
    spread: tuple[float, float] | None
    seen: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and how it is judged. ``judge`` may raise ``NotTested``."""

    id: int
    section: str
    claim: str
    statistic: str
    threshold: str
    why: str
    judge: Callable[[Evidence], Judgement]


def graded(full: bool, partly: bool) -> str:
    """The verdict of a claim that may hold in full, or partly."""
    return HOLDS if full else IN_PART if partly else FAILS


def sided(value: float, spread: tuple[float, float], limit: float = 0.0) -> str:
    """The verdict on "value < limit": in full if the whole interval is below, in part if only the value is."""
    return graded(spread[1] < limit, value < limit)
