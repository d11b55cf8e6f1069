"""The page from its parts, each of which escapes what comes from results or configs."""

import base64
import functools
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from cbo_pipeline.pages import drawn
from cbo_pipeline.pages.claims import speed_tables
from cbo_pipeline.pages.index import claim_rows, figure_elements, maths, readings, settings_table
from cbo_pipeline.pages.index.chapters import CHAPTERS, Chapter, Evidence, Picture
from cbo_pipeline.pages.index.content import Content
from cbo_pipeline.pages.index.elements import CLASSES, SHAPES, mark, table_of
from cbo_pipeline.pages.index.links import Links
from cbo_pipeline.pages.index.masthead import PAPER, masthead
from cbo_pipeline.pages.index.vega import Chart


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
            + "".join(claim_rows.claim(claim, Evidence(), links) for claim in others)
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
    parts += [settings_table.settings(content, experiment, variants) for experiment, variants in chapter.settings]
    pictures = [(picture, figure_elements.picture(picture, content, links, charts)) for picture in chapter.pictures]
    shown = [(picture, text) for picture, text in pictures if text]
    halves = [text for picture, text in shown if picture.half]
    parts += [f'<div class="pair">{"".join(halves)}</div>'] if halves else []
    parts += [text for picture, text in shown if not picture.half]
    if known:
        noun = "claim" if len(known) == 1 else "claims"
        parts.append(f'<h3 class="claims-title">The {noun}</h3>')
        parts += [claim_rows.claim(by_id[id], evidence, links) for id, evidence in known.items()]
    return "".join(parts) + "</section>"


def _own_experiments(content: Content, links: Links, charts: list[Chart]) -> str:
    """The figures of experiments that the paper does not have."""
    found = drawn.overviews_in(content.folder / "figures")
    if not found:
        return ""
    pictures = "".join(
        figure_elements.picture(Picture(figure.label, figure.label, f"{figure.title}."), content, links, charts)
        for figure in found
    )
    return (
        '<section class="chapter" id="own" aria-labelledby="own-title"><h2 id="own-title">Own experiments</h2>'
        "<p>All curves of the experiments that have no figure of their own above: the median over the seeds with its"
        " quartiles, and for a sweep where its runs ended (the median of their last epochs).</p>"
        f"{pictures}</section>"
    )


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
        f"{figure_elements.picture(picture, content, links, charts)}{readings.shares(found, table_of)}</section>"
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
        "<p>Measured with one thread, where the results were made. These are the only numbers here that differ from"
        f" machine to machine.</p>{tables}</section>"
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
