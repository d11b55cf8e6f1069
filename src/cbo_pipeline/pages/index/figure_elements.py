"""A figure of the page: its chart with legend, switches and numbers, or its picture; and the caption."""

import base64
import html

from cbo_pipeline.pages import drawn
from cbo_pipeline.pages.index import maths
from cbo_pipeline.pages.index.chapters import Picture
from cbo_pipeline.pages.index.content import Content
from cbo_pipeline.pages.index.elements import table_of
from cbo_pipeline.pages.index.links import Links
from cbo_pipeline.pages.index.vega import Chart, Key


def picture(picture: Picture, content: Content, links: Links, charts: list[Chart]) -> str:
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
