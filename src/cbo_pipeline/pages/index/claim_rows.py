"""A claim of the paper with its verdict, its number, and what is behind them."""

import html
import math
from collections.abc import Mapping
from typing import Any

from cbo_pipeline import claims
from cbo_pipeline.claims.evidence import Choices
from cbo_pipeline.config import Curve as CurveName
from cbo_pipeline.pages.index import axis, maths
from cbo_pipeline.pages.index.chapters import Evidence
from cbo_pipeline.pages.index.content import Claim, Content, Curve
from cbo_pipeline.pages.index.elements import CLASSES, command, mark, range_of
from cbo_pipeline.pages.index.links import Links


def claim(claim: Claim, evidence: Evidence, links: Links) -> str:
    number = ""
    if claim.value is not None:
        digits = _digits(claim)
        number = f"<b>{maths.number(claim.value, digits)}</b>"
        if claim.spread:
            number += f' <span class="interval">{_interval(claim.spread, digits)}</span>'
        number = f'<div class="number">{axis.drawing(claim)}<p>{number}</p></div>'
    rows = [
        ("Its parts", _parts(claim)),
        ("The number", maths.typeset(claim.statistic)),
        ("Holds if", maths.typeset(claim.threshold)),
        ("Behind it", html.escape(_behind(claim, links.content))),
        ("Other readings", maths.typeset(claim.robustness or "not run")),
    ]
    facts = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows if text)
    judge, data = links.to_judge(claim.id), links.to_data(evidence)
    how = [
        f"<p><b>Why this line:</b> {maths.typeset(claim.why)}.</p>" if claim.why else "",
        f"<p><b>Judged by</b> {judge}.</p>" if judge else "",
        f"<p><b>Data:</b> {data}.</p>" if data else "",
        command(_remake(evidence), f"command-{claim.id}"),
    ]
    return f"""
<article class="claim v-{CLASSES[claim.verdict]}" id="claim-{claim.id}" aria-labelledby="claim-{claim.id}-title">
<header><span class="verdict">{mark(claim.verdict)} {claim.verdict}</span>
<span class="where">Claim {claim.id}, Section {html.escape(claim.section)}</span></header>
<h4 id="claim-{claim.id}-title">{maths.typeset(claim.claim)}</h4>
<div class="body"><p class="seen">{maths.typeset(_sentence(claim.seen))}</p>{number}</div>
<dl class="facts">{facts}</dl>
<details><summary>Reasons, code, data, command</summary>{"".join(how)}</details>
</article>"""


def _parts(claim: Claim) -> str:
    """The verdict on each part of a claim that has several."""
    parts = claim.details.get("parts")
    if not isinstance(parts, Mapping) or len(parts) < 2:
        return ""
    verdicts = {
        str(name): part["verdict"]
        for name, part in parts.items()
        if isinstance(part, Mapping) and part.get("verdict") in CLASSES
    }
    rows = [
        f'<li class="v-{CLASSES[verdict]}">{mark(verdict)} {maths.typeset(name)}: {verdict}</li>'
        for name, verdict in verdicts.items()
    ]
    return f'<ul class="parts">{"".join(rows)}</ul>' if rows else ""


def _interval(spread: tuple[float | None, float | None], digits: int) -> str:
    """The interval in words; an end that JSON does not know is infinite."""
    low, high = spread
    if low is None and high is None:
        return "too few seeds for an interval"
    ends = (
        maths.number(-math.inf if low is None else low, digits),
        maths.number(math.inf if high is None else high, digits),
    )
    return f"interval {ends[0]} to {ends[1]}"


def _digits(claim: Claim) -> int:
    """As many digits as tell the number from its line, three at the least."""
    gap = min((abs(claim.value - line) for line in claim.line), default=math.inf)
    return next((d for d in range(3, 8) if abs(float(f"{claim.value:.{d}g}") - claim.value) <= 0.3 * gap), 8)


def _sentence(text: str) -> str:
    first = text.split(" ", 1)[0]
    text = text[:1].upper() + text[1:] if first.isalpha() else text
    return text if text.endswith((".", "!", "?")) or not text else f"{text}."


def _behind(claim: Claim, content: Content) -> str:
    """Seeds and epochs behind a verdict: as the judge tells them, or else as the summaries have them."""
    seeds, epochs = claim.seeds, claim.epochs or claim.details.get("epochs")
    curves = _looked_at(claim.id, content)
    if seeds is None and curves and claim.value is not None:
        seeds = range_of({len(curve.seeds) for curve in curves})
    if epochs is None and curves and claim.value is not None:
        epochs = range_of({int(curve.epochs[-1]) for curve in curves})
    parts = [
        f"{_plain(value)} {unit}{'' if _plain(value) == '1' else 's'}" if value is not None else ""
        for value, unit in ((seeds, "seed"), (epochs, "epoch"))
    ]
    return ", ".join(part for part in parts if part)


def _looked_at(id: int, content: Content) -> list[Curve]:
    """The curves that the judge of a claim looks at."""
    declared = next((claim for claim in claims.CLAIMS if claim.id == id), None)
    return [
        curve
        for curves in content.curves.values()
        for curve in curves
        if declared and declared.looks_at(CurveName(curve.experiment, curve.variant, curve.M, curve.N), Choices())
    ]


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(v)}" for key, v in value.items())
    return ", ".join(map(_plain, value)) if isinstance(value, list | tuple) else str(value)


def _remake(evidence: Evidence) -> str:
    files = [f"results/summary/{name}.nc" for name in evidence.experiments]
    further = [f"results/{name}" for name in evidence.files]
    if not files and not further:
        return "snakemake --cores all results/claims.json"
    targets = " ".join(files + [name for name in further if "*" not in name])
    return f"snakemake --cores all {targets}\ncbo-pipeline claims {' '.join(files + further)} --json verdicts.json"
