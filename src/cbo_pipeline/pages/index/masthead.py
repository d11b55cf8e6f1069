"""The head of the page: the paper, the verdicts at a glance, contents, how it was made."""

import html
from collections import Counter
from collections.abc import Mapping

from cbo_pipeline.claims import rule
from cbo_pipeline.claims.rule import VERDICTS
from cbo_pipeline.pages.index.chapters import CHAPTERS
from cbo_pipeline.pages.index.content import Content
from cbo_pipeline.pages.index.elements import CLASSES, command, mark
from cbo_pipeline.pages.index.links import Links
from cbo_pipeline.results.job_times import span

PAPER = "Mean-Field Model for Two-Layer Neural Networks Trained with Consensus-Based Optimization"
MEANINGS = {
    "holds": "the number is on the right side of its line, with its whole interval",
    "holds in part": "of a claim with several parts some hold and some do not; the sentence says which",
    "undecided": "the interval contains the line: these seeds cannot tell",
    "does not hold": "the number is on the wrong side of its line, with its whole interval",
    "not tested at this scale": "the results are smaller than the paper's, or missing",
}
COMMANDS = (
    ("make figures", "this page and all figures from the published summaries, without training anything"),
    ("make demo", "the whole pipeline, partly at the paper's scale, in minutes"),
    ("make paper", "everything at the paper's scale"),
)


def masthead(content: Content, links: Links) -> str:
    counts = Counter(claim.verdict for claim in content.claims)
    tally = "".join(
        f'<li class="v-{CLASSES[verdict]}">{mark(verdict)}<b>{counts[verdict]}</b> {verdict}</li>'
        for verdict in VERDICTS
        if counts[verdict] or verdict != VERDICTS[-1]
    )
    strip = "".join(
        f'<li><a href="#claim-{claim.id}" class="v-{CLASSES[claim.verdict]}"'
        f' aria-label="Claim {claim.id}, {claim.verdict}: {html.escape(claim.claim)}"'
        f' title="{html.escape(claim.claim)} {html.escape(claim.verdict.capitalize())}.">'
        f"{mark(claim.verdict)}<span>{claim.id}</span></a></li>"
        for claim in content.claims
    )
    meanings = "".join(
        f'<dt class="v-{CLASSES[verdict]}">{mark(verdict)} {verdict}</dt><dd>{words}</dd>'
        for verdict, words in MEANINGS.items()
    )
    commands = "".join(
        f'{command(text, f"command-own-{k}")}<p class="what">{html.escape(what)}</p>'
        for k, (text, what) in enumerate(COMMANDS)
    )
    chapters = [(chapter.id, chapter.title) for chapter in CHAPTERS]
    chapters += [("readings", "Other readings")] if content.readings else []
    contents = "".join(f'<li><a href="#{id}">{html.escape(title)}</a></li>' for id, title in chapters)
    return f"""
<header class="masthead">
<div><p class="kicker">A reproduction, claim by claim</p>
<h1>{html.escape(PAPER)}</h1>
<p class="byline">of the paper by W. De Deyn, M. Herty and G. Samaey,
<a href="https://arxiv.org/abs/2511.21466">arXiv 2511.21466</a></p>
<p class="lede">The paper trains two-layer neural networks without gradients: an ensemble of networks wanders, agrees,
and gathers around a solution. This page is the paper with the answers filled in. Every network was trained anew,
every figure drawn from these runs, and each claim of the paper’s text held against them. No curve was copied from the
paper: it is judged by its words.</p>
</div>
<ul class="tally" aria-label="Verdicts">{tally}</ul>
<details class="aside"><summary>What the verdicts mean</summary><dl class="meanings">{meanings}</dl>
<p>Each claim has a number and a line, both written in code, with the reason for the line beside it. Several lines
were revised after earlier results had been seen; docs/reproduction.md says which. {html.escape(rule.EXPLANATION)}</p>
</details>
</header>
<nav class="strip" aria-label="The claims"><ol>{strip}</ol></nav>
<div class="masthead">
<nav class="contents" aria-label="Contents"><ol>{contents}</ol></nav>
<div class="panels"><section aria-labelledby="made"><h2 id="made">How it was made</h2>{_made(content)}</section>
<section aria-labelledby="yourself"><h2 id="yourself">Make it yourself</h2>
<p>In a clone of the project, with Python 3.11 or newer:</p>
{commands}</section></div>
</div>"""


def _made(content: Content) -> str:
    made = content.made
    seeds = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in made.seeds.items())
    took = "unknown"
    if made.core_hours is not None:
        took = f"{made.core_hours:.2f} core hours"
        took += f" in {span(made.wall_seconds)}" if made.wall_seconds else ""
    rows = {
        "Runs": f"{made.runs} runs, {made.curves} curves"
        + (f"; {made.reading_runs} runs of other readings" if made.reading_runs else ""),
        "Seeds": seeds or "none",
        "Took": took,
        "Machine": made.machine,
        "Code": made.commits,
    }
    return _list(rows)


def _list(rows: Mapping[str, str]) -> str:
    return (
        '<dl class="facts">'
        + "".join(f"<dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd>" for k, v in rows.items())
        + "</dl>"
    )
