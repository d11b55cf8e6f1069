"""The claims of the paper, each declared beside the function that judges it by the pipeline's own results.

``judge_all`` turns the evidence into rows; the rule of evidence is in ``claims.rule``, and docs/reproduction.md
explains how to read the rows.
"""

from collections.abc import Iterable
from typing import Any

from cbo_pipeline.claims import mnist, multi_task, sine, square, theory
from cbo_pipeline.claims.evidence import Evidence, NotTested
from cbo_pipeline.claims.judgement import Claim, Judgement
from cbo_pipeline.claims.rule import NOT_TESTED

CLAIMS: tuple[Claim, ...] = tuple(
    sorted(
        (
            declared
            for module in (sine, mnist, multi_task, square, theory)
            for declared in vars(module).values()
            if isinstance(declared, Claim)
        ),
        key=lambda claim: claim.id,
    )
)


def judge_all(evidence: Evidence, claims: Iterable[Claim] = CLAIMS) -> list[dict[str, Any]]:
    """One row per claim, in the paper's order; what cannot be decided says why."""
    return [_row(claim, _judged(claim, evidence)) for claim in claims]


def _judged(claim: Claim, evidence: Evidence) -> Judgement:
    try:
        return claim.judge(evidence)
    except NotTested as reason:
        return Judgement(NOT_TESTED, None, None, str(reason))


def _row(claim: Claim, judgement: Judgement) -> dict[str, Any]:
    return {
        "id": claim.id,
        "section": claim.section,
        "claim": claim.claim,
        "statistic": claim.statistic,
        "threshold": claim.threshold,
        "why": claim.why,
        "value": judgement.value,
        "spread": judgement.spread,
        "line": judgement.line,
        "verdict": judgement.verdict,
        "seeds": judgement.seeds,
        "seen": judgement.seen,
        "details": dict(judgement.details),
        "robustness": None,
    }
