"""The page from its parts: everything that comes from results or configs is escaped here."""

import base64
import functools
import hashlib
import html
import inspect
import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from cbo_pipeline import claims
from cbo_pipeline.claims import rule
from cbo_pipeline.claims.evidence import Choices
from cbo_pipeline.claims.rule import VERDICTS
from cbo_pipeline.config import Curve as CurveName
from cbo_pipeline.pages import drawn
from cbo_pipeline.pages.claims import speed_tables
from cbo_pipeline.pages.index import axis, maths, readings
from cbo_pipeline.pages.index.chapters import CHAPTERS, Chapter, Evidence, Picture
from cbo_pipeline.pages.index.content import Claim, Content, Curve
from cbo_pipeline.pages.index.vega import Chart, Key
from cbo_pipeline.results.job_times import span

PAPER = "Mean-Field Model for Two-Layer Neural Networks Trained with Consensus-Based Optimization"
CLASSES = dict(zip(VERDICTS, ("holds", "part", "open", "fails", "none"), strict=True))
MEANINGS = {
    "holds": "the number is on the right side of its line, with its whole interval",
    "holds in part": "only a part of the claim holds, or it holds under a condition; the sentence says which",
    "undecided": "the interval contains the line: these seeds cannot tell",
    "does not hold": "the number is on the wrong side of its line, with its whole interval",
    "not tested at this scale": "the results are smaller than the paper's, or missing",
}
# One shape per verdict, so that no verdict is shown by its colour alone.
SHAPES = {
    "holds": '<circle cx="8" cy="8" r="7" fill="currentColor"/>'
    '<path d="M4.6 8.3l2.4 2.5 4.5-5" fill="none" stroke="var(--paper)" stroke-width="1.7"/>',
    "part": '<circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" stroke-width="1.6"/>'
    '<path d="M8 1a7 7 0 0 0 0 14z" fill="currentColor"/>',
    "open": '<circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" stroke-width="1.6"'
    ' stroke-dasharray="2.6 1.9"/><circle cx="8" cy="8" r="1.7" fill="currentColor"/>',
    "fails": '<path d="M8 .6 15.4 8 8 15.4.6 8z" fill="currentColor"/>'
    '<path d="M5.5 5.5l5 5m0-5l-5 5" stroke="var(--paper)" stroke-width="1.7"/>',
    "none": '<rect x="1.8" y="1.8" width="12.4" height="12.4" rx="2" fill="none" stroke="currentColor"'
    ' stroke-width="1.4"/><path d="M5 8h6" stroke="currentColor" stroke-width="1.6"/>',
}
COMMANDS = (
    ("make figures", "this page and all figures from the published summaries, without training anything"),
    ("make demo", "the whole pipeline, partly at the paper's scale, in minutes"),
    ("make paper", "everything at the paper's scale"),
)
TEX = {
    "N": "N", "dt": r"\Delta t", "alpha": r"\alpha", "lambda": r"\lambda", "sigma_squared": r"\tilde\sigma",
    "batch_size": "S'", "gamma": r"\gamma",
}  # fmt: skip


def document(content: Content, output: Path) -> str:
    """The whole page, with links that lead from where it is written."""
    charts: list[Chart] = []
    links = Links(content, output)
    by_id = {claim.id: claim for claim in content.claims}
    body = [masthead(content, links), "<main>"]
    placed: set[int] = set()
    for chapter in CHAPTERS:
        known = {id: evidence for id, evidence in chapter.claims.items() if id in by_id}
        placed |= set(known)
        body.append(_chapter(chapter, content, links, by_id, known, charts))
    others = [claim for claim in content.claims if claim.id not in placed]
    if others:
        body.append(
            '<section class="chapter" id="others"><h2>Other claims</h2>'
            + "".join(_claim(claim, Evidence(), links) for claim in others)
            + "</section>"
        )
    body += [
        _own_experiments(content, links, charts),
        _readings(content, links, charts),
        _costs(content),
        _gallery(links),
    ]
    body += ["</main>", _footer(content)]
    return _whole("".join(body), charts)


class Links:
    """Addresses of files beside the page and of the code, relative to the page; nothing where a file is missing."""

    def __init__(self, content: Content, output: Path):
        self.content, self.place = content, output.absolute().parent

    def to(self, path: Path, text: str) -> str:
        """A link to a file, or the plain text if it is not there."""
        if not path.exists():
            return html.escape(text)
        relative = Path(os.path.relpath(path.absolute(), self.place)).as_posix()
        return f'<a href="{html.escape(relative)}">{html.escape(text)}</a>'

    def to_judge(self, id: int) -> str:
        """A link to the function that judges a claim."""
        claim = next((claim for claim in claims.CLAIMS if claim.id == id), None)
        judge = inspect.unwrap(getattr(claim.judge, "func", claim.judge)) if claim else None
        if judge is None or not inspect.isfunction(judge):
            return ""
        path = Path(inspect.getsourcefile(judge))
        name = f"{path.parent.name}/{path.name}: {judge.__name__}"
        return self.to(path, name)

    def to_data(self, evidence: Evidence) -> str:
        folder = self.content.folder
        files = [folder / "summary" / f"{name}.nc" for name in evidence.experiments]
        files += [folder / name for name in evidence.files if "*" not in name]
        return ", ".join(self.to(path, path.relative_to(folder).as_posix()) for path in files)


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
<p>Each claim has a number, and a line that was drawn before the number was known. {html.escape(rule.EXPLANATION)}</p>
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
        "Runs": f"{made.runs} runs, {made.curves} curves",
        "Seeds": seeds or "none",
        "Took": took,
        "Machine": made.machine,
        "Commit": made.commit,
    }
    return _list(rows)


def _list(rows: Mapping[str, str]) -> str:
    return (
        '<dl class="facts">'
        + "".join(f"<dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd>" for k, v in rows.items())
        + "</dl>"
    )


def mark(verdict: str) -> str:
    """The shape of a verdict; its name stands beside it, so screen readers can skip it."""
    return f'<svg class="mark" viewBox="0 0 16 16" aria-hidden="true"><use href="#m-{CLASSES[verdict]}"/></svg>'


def command(text: str, id: str) -> str:
    """A command with a button that copies it."""
    label = html.escape(f"Copy the command {text.splitlines()[0]}")
    return (
        f'<div class="command"><pre><code id="{id}">{html.escape(text)}</code></pre>'
        f'<button type="button" data-copy="{id}" aria-label="{label}" hidden>copy</button></div>'
    )


def _chapter(chapter: Chapter, content, links, by_id, known: Mapping[int, Evidence], charts: list[Chart]) -> str:
    parts = [
        f'<section class="chapter" id="{chapter.id}" aria-labelledby="{chapter.id}-title">',
        f'<p class="kicker">{html.escape(chapter.section)}</p>',
        f'<h2 id="{chapter.id}-title">{html.escape(chapter.title)}</h2>',
        f'<p class="asked">{maths.words(chapter.asked)}</p>',
        *(f"<p>{maths.words(text)}</p>" for text in chapter.text),
    ]
    if chapter.formula:
        parts.append(f'<div class="formula">{maths.display(chapter.formula)}</div>')
    if chapter.after_formula:
        parts.append(f"<p>{maths.words(chapter.after_formula)}</p>")
    parts += [_settings(content, experiment, variants) for experiment, variants in chapter.settings]
    pictures = [(picture, _picture(picture, content, links, charts)) for picture in chapter.pictures]
    shown = [(picture, text) for picture, text in pictures if text]
    halves = [text for picture, text in shown if picture.half]
    parts += [f'<div class="pair">{"".join(halves)}</div>'] if halves else []
    parts += [text for picture, text in shown if not picture.half]
    if known:
        noun = "claim" if len(known) == 1 else "claims"
        parts.append(f'<h3 class="claims-title">The {noun}</h3>')
        parts += [_claim(by_id[id], evidence, links) for id, evidence in known.items()]
    return "".join(parts) + "</section>"


def _settings(content: Content, experiment: str, variants: Sequence[str]) -> str:
    """The settings as the paper lists them: what all methods share, then each method's own."""
    found = {variant: content.of(experiment, variant) for variant in variants}
    found = {variant: curves for variant, curves in found.items() if curves}
    if not found:
        return '<p class="missing">These results do not have this experiment.</p>'
    first = next(iter(found.values()))[0]
    shared = [maths.math(f"M = {_sizes(found, 'M')}")]
    size = first.settings.get("points", first.settings.get("images"))
    if size is not None:
        shared.append(maths.math(f"S = {_tex(size)}"))
    if "batch_size" in first.settings:
        shared.append(maths.math(f"S′ = {_tex(first.settings['batch_size'])}"))
    if "tasks" in first.settings:
        shared.append(maths.math(f"P = {_tex(first.settings['tasks'])}"))
    lines = [("all", ", ".join([*shared, html.escape(str(first.settings.get("precision", "")))]).rstrip(", "))]
    lines += [(_name(variant), _own(curves)) for variant, curves in found.items()]
    rows = "".join(f"<tr><th scope='row'>{html.escape(name)}</th><td>{text}</td></tr>" for name, text in lines)
    return f'<table class="settings"><caption>Settings</caption><tbody>{rows}</tbody></table>'


def _own(curves: Sequence[Curve]) -> str:
    settings, first = curves[0].settings, curves[0]
    parts = []
    if first.method != "adam":
        parts.append(maths.math(f"N = {_sizes({'': curves}, 'N')}"))
    for key in ("dt", "alpha", "lambda", "sigma_squared", "gamma"):
        if isinstance(settings.get(key), int | float):
            value = rf"\sqrt{{{_tex(settings[key])}}}" if key == "sigma_squared" else _tex(settings[key])
            parts.append(maths.math(f"{TEX[key]} = {value}"))
    text = ", ".join(parts)
    if "alpha_every" in settings and settings.get("alpha_factor", 1) != 1:
        text += (
            f"; every {int(settings['alpha_every'])} epochs {maths.math(chr(92) + 'alpha')} grows by the factor"
            f" {maths.number(settings['alpha_factor'])}, up to {maths.math(_tex(settings.get('alpha_max', 1)))}"
        )
    if "sigma_every" in settings and settings.get("sigma_factor", 1) != 1:
        text += (
            f"; every {int(settings['sigma_every'])} {html.escape(str(settings.get('sigma_unit', 'iterations')))}"
            f" {maths.math(chr(92) + 'tilde' + chr(92) + 'sigma')} falls by the factor"
            f" {maths.number(settings['sigma_factor'])}"
        )
    seeds, epochs = {len(c.seeds) for c in curves}, {int(c.epochs[-1]) for c in curves}
    return f"{text}; {_range(epochs)} epochs, {_range(seeds)} seeds"


def _range(values: Iterable[int]) -> str:
    values = sorted(values)
    return f"{values[0]}" if len(values) == 1 else f"{values[0]} to {values[-1]}"


def _sizes(found: Mapping[str, Sequence[Curve]], name: str) -> str:
    sizes = sorted({getattr(curve, name) for curves in found.values() for curve in curves})
    return ", ".join(map(str, sizes))


def _tex(value: Any) -> str:
    """A number as the paper writes it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return r"\text{?}"
    text = f"{value:g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        power = f"10^{{{int(exponent)}}}"
        return power if mantissa == "1" else rf"{mantissa}\cdot {power}"
    exponent = len(text) - 1
    if value >= 1e4 and text == "1" + "0" * exponent:
        return f"10^{{{exponent}}}"
    return {"0.01": "10^{-2}", "0.001": "10^{-3}"}.get(text, text)


def _name(variant: str) -> str:
    return {"cbo": "CBO", "adam": "Adam", "ot_cbo": "OT-CBO", "multi_task_cbo": "Multi-Task CBO"}.get(
        variant, variant
    )


def _picture(picture: Picture, content: Content, links: Links, charts: list[Chart]) -> str:
    """A figure: its chart, or the static one where it has none."""
    chart = picture.chart(content) if picture.chart else None
    static = content.figure(picture.label, ".png")
    if chart is None and (static is None or picture.chart):
        return ""
    files = [
        links.to(path, suffix[1:].upper())
        for suffix in (".pdf", ".png")
        if (path := content.figure(picture.label, suffix))
    ]
    known = drawn.known(picture.label)
    remake = f"<code>snakemake --cores all {html.escape(drawn.number(known))}</code>" if known else ""
    further = " · ".join(part for part in (*files, remake) if part)
    number = picture.number or (f"Figure {known.number.upper()}" if known and known.number else "Ours")
    caption = (
        f"<figcaption><b>{html.escape(number)}.</b> {maths.words(picture.caption)}"
        f"{f' <span class=further>{further}</span>' if further else ''}</figcaption>"
    )
    if chart is None:
        data = base64.b64encode(static.read_bytes()).decode()
        alt = html.escape(known.title if known else picture.caption)
        image = f'<img class="static" alt="{alt}" src="data:image/png;base64,{data}">'
        return f'<figure id="{picture.label}">{image}{caption}</figure>'
    charts.append(chart)
    return f'<figure id="{picture.label}" class="chart">{_chart(chart, picture)}{caption}</figure>'


def _chart(chart: Chart, picture: Picture) -> str:
    legend = "".join(_key(key) for key in chart.keys)
    player = "".join(f'<span class="{place.rsplit("-")[-1]}" id="{place}"></span>' for place in chart.player)
    options = "".join(
        f'<span class="option" role="group" aria-label="{html.escape(label)}" id="{place}"></span>'
        for place, label in chart.options
    )
    options = options and f'<div class="options" role="group" aria-label="What is shown">{options}</div>'
    title = picture.title or chart.title
    table = ""
    if chart.table:
        head, rows = chart.table
        table = f'<details class="numbers"><summary>Numbers</summary>{table_of(head, rows)}</details>'
    return (
        (f'<div class="legend" role="group" aria-label="Curves">{legend}</div>' if legend else "")
        + (options if player else "")
        + (f'<div class="player" role="group" aria-label="Training">{player}</div>' if player else "")
        + (f'<p class="ordinate">{maths.words(title)}</p>' if title else "")
        + f'<div class="canvas" data-chart="spec-{chart.id}" style="min-height:{chart.height}px"></div>'
        + ("" if player else options)
        + table
    )


def _key(key: Key) -> str:
    """An entry of the legend: a sample of the line, and the place of its switch, which brings its label."""
    dash = f' stroke-dasharray="{" ".join(map(str, key.dash))}"' if key.dash else ""
    line = f'<path d="M1 8h26" stroke="{key.colour}" stroke-width="2.4"{dash}/>' if key.dash is not None else ""
    shapes = {
        "dot": f'<circle cx="14" cy="8" r="2.2" fill="{key.colour}"/>',
        "circle": f'{line}<circle cx="14" cy="8" r="4" fill="{key.colour}"/>',
        "square": f'{line}<path d="M10.5 4.5h7v7h-7z" fill="{key.colour}"/>',
        "triangle-up": f'<path d="M14 3.5l5 9h-10z" fill="none" stroke="{key.colour}" stroke-width="1.8"/>',
        "diamond": f'<path d="M14 2.5l5 5.5-5 5.5-5-5.5z" fill="none" stroke="{key.colour}" stroke-width="1.8"/>',
        "tick-mark": f'<path d="M6 8h16" stroke="{key.colour}" stroke-width="1.6" opacity=".6"/>',
        "tick": f'<path d="M9 8.5l3.5 3.5 6.5-8" fill="none" stroke="{key.colour}" stroke-width="2"/>',
        "cross": f'<path d="M9.5 3.5l9 9m0-9l-9 9" stroke="{key.colour}" stroke-width="2"/>',
    }
    sample = f'<svg viewBox="0 0 28 16" aria-hidden="true">{shapes.get(key.shape, line)}</svg>'
    if key.element is None:
        return f'<span class="key">{sample}{html.escape(key.label)}</span>'
    return f'<span class="key">{sample}<span id="{key.element}"></span></span>'


def _claim(claim: Claim, evidence: Evidence, links: Links) -> str:
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
        seeds = _range({len(curve.seeds) for curve in curves})
    if epochs is None and curves and claim.value is not None:
        epochs = _range({int(curve.epochs[-1]) for curve in curves})
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


def table_of(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    cells = "".join(f"<th scope='col'>{html.escape(cell)}</th>" for cell in head)
    lines = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table></div>'


def _readings(content: Content, links: Links, charts: list[Chart]) -> str:
    """The verdicts under other readings of the paper: the matrix, and the numbers of the claims that turn."""
    found = content.readings
    if not found:
        return ""
    picture = Picture(
        "specification_curve",
        "",
        "The number of a claim under every reading that was run, sorted, with its interval; the pointer tells which"
        " choices stand behind a point.",
        lambda content: readings.specifications(found),
    )
    return (
        '<section class="chapter" id="readings" aria-labelledby="readings-title">'
        '<p class="kicker">What the paper leaves open</p><h2 id="readings-title">Other readings</h2>'
        '<p class="asked">And if the paper is read otherwise?</p>'
        f"<p>{html.escape(readings.introduction(found))}</p>{readings.matrix(found, mark, CLASSES)}"
        f"{_picture(picture, content, links, charts)}{readings.shares(found, table_of)}</section>"
    )


def _own_experiments(content: Content, links: Links, charts: list[Chart]) -> str:
    """The figures of experiments that the paper does not have."""
    found = drawn.overviews_in(content.folder / "figures")
    if not found:
        return ""
    pictures = "".join(
        _picture(Picture(figure.label, figure.label, f"{figure.title}."), content, links, charts) for figure in found
    )
    return (
        '<section class="chapter" id="own" aria-labelledby="own-title"><h2 id="own-title">Own experiments</h2>'
        "<p>Experiments of the config that no figure of the paper shows: the median over the seeds with its"
        " quartiles, and for a sweep where its runs ended (the median of their last epochs).</p>"
        f"{pictures}</section>"
    )


def _costs(content: Content) -> str:
    """What each method costs, as measured where these results were made."""
    if not content.speed:
        return ""
    tables = "".join(
        f'<details class="numbers"><summary>{html.escape(heading)}</summary>{table_of(columns, lines)}</details>'
        for heading, columns, lines in speed_tables(content.speed)
    )
    return (
        '<section class="chapter" id="costs" aria-labelledby="costs-title"><h2 id="costs-title">What it costs</h2>'
        "<p>Measured on the machine that made these results, with one thread. These are the only numbers here that"
        " differ"
        f" from machine to machine.</p>{tables}</section>"
    )


def _gallery(links: Links) -> str:
    """All static figures, one click away."""
    rows = []
    for figure in drawn.figures_in(links.content.folder / "figures"):
        files = [
            links.to(path, suffix[1:].upper())
            for suffix in (".pdf", ".png")
            if (path := links.content.figure(figure.label, suffix))
        ]
        rows.append(
            f"<li><b>{html.escape(drawn.number(figure))}</b> {html.escape(figure.title)} ({', '.join(files)})</li>"
        )
    if not rows:
        return ""
    return (
        '<section class="chapter" id="figures" aria-labelledby="figures-title">'
        '<h2 id="figures-title">All figures as files</h2>'
        f'<ul class="gallery">{"".join(rows)}</ul></section>'
    )


def _footer(content: Content) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in content.made.versions.items())
    told = f"<p>Versions: {html.escape(versions)}.</p>" if versions else ""
    return (
        f"<footer>{told}<p>Charts: Vega. Colours: Okabe and Ito. This page loads nothing from anywhere.</p></footer>"
    )


@functools.cache
def vega_bundle() -> str:
    """Vega as one script. To put it together takes seconds."""
    import vl_convert

    return vl_convert.javascript_bundle()


def _whole(body: str, charts: Sequence[Chart]) -> str:
    scripts = [_script(vega_bundle()), _script(_asset("page.js"))]
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-eval' " + " ".join(
        f"'sha256-{_digest(script)}'" for script in scripts
    )
    symbols = "".join(f'<symbol id="m-{name}" viewBox="0 0 16 16">{shape}</symbol>' for name, shape in SHAPES.items())
    data = "".join(
        f'<script type="application/json" id="spec-{chart.id}">{_json(chart.spec)}</script>' for chart in charts
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Reproduction: {html.escape(PAPER)}</title>
<style>{_asset("page.css")}</style>
</head>
<body>
<a class="skip" href="#cbo">Skip to the results</a>
<svg width="0" height="0" class="symbols" aria-hidden="true">{symbols}</svg>
{body}
<noscript><p class="noscript">The charts of this page need JavaScript; the static figures are files beside it.</p>
</noscript>
{data}
<script type="module">{scripts[0]}</script>
<script type="module">{scripts[1]}</script>
</body>
</html>
"""


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _script(text: str) -> str:
    assert "</script" not in text.lower()
    return f"\n{text}\n"


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _json(content: Any) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
