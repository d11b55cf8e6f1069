"""The first thing that Snakemake's report shows: the verdicts in a table, and a small picture of every figure.

A fragment of HTML that workflow/report/workflow.rst includes.
"""

import base64
import html
import io
from pathlib import Path
from urllib.parse import quote

from cbo_pipeline import figures
from cbo_pipeline.claims.files import read_verdicts
from cbo_pipeline.files import mark, whole_file
from cbo_pipeline.pages import drawn
from cbo_pipeline.pages.claims import CLASSES, MARKS, number, tally
from cbo_pipeline.results.stage_code import digest_of

WIDTH = 220  # pixels of a thumbnail
COLOURS = 64
# Snakemake sets the description in a narrow column beside the graph of the rules, and centres both, so that the top
# of a long one cannot be reached. Here it begins at the top, and the graph follows below.
STYLE = """
.flex:has(> div > .prose #overview) { display: block; }
.items-center:has(> .flex > div > .prose #overview) { align-items: flex-start; }
.prose:has(#overview) { max-width: 72rem; }
#overview table { border-collapse: collapse; }
#overview td, #overview th { padding: 0.15rem 0.8rem 0.15rem 0; text-align: left; }
#overview .verdict { white-space: nowrap; font-weight: 600; } #overview .holds { color: #00694c; }
#overview .in-part { color: #8a5a00; } #overview .undecided { color: #34568b; } #overview .fails { color: #a63a00; }
#overview .not-tested { color: #666; }
#overview ul { display: flex; flex-wrap: wrap; gap: 1rem; list-style: none; padding: 0; }
#overview li { width: 220px; margin: 0; padding: 0; } #overview img { margin: 0; width: 220px; height: auto; }
"""


def write(results: Path, output: Path) -> None:
    """Make the fragment from the verdicts and figures of a folder of results."""
    rows = read_verdicts(results / "claims.json")
    with whole_file(output) as partial:
        partial.write_text(fragment(rows, results / "figures"), encoding="utf-8")


def fragment(rows: list[dict], folder: Path) -> str:
    """The table of the verdicts, then the figures that are there, in the order of their numbers."""
    lines = "".join(
        f"<tr><td>{row['id']}</td><td>{html.escape(row['claim'])}</td>"
        f"<td class='verdict {CLASSES[row['verdict']]}'>{MARKS[row['verdict']]} {row['verdict']}</td>"
        f"<td>{number(row['value'])}</td></tr>"
        for row in rows
    )
    items = "".join(_item(figure, folder / f"{figure.label}.png") for figure in drawn.figures_in(folder))
    return (
        f"<div id='overview'><style>{STYLE}</style><p>{html.escape(tally(rows))}.</p>"
        f"<table><tr><th>#</th><th>claim</th><th>verdict</th><th>number</th></tr>{lines}</table>"
        f"<ul>{items}</ul></div>\n<!-- {mark('overview', digest_of('overview'))} -->\n"
    )


def _item(figure: figures.Figure, path: Path) -> str:
    shown = quote(f"results/figures/{figure.label}.png", safe="")
    return (
        f"<li><a href=\"javascript:app.showResultInfo('{shown}')\"><img alt='{html.escape(figure.title)}'"
        f" src='{thumbnail(path)}'></a><br>{html.escape(drawn.number(figure))}: {html.escape(figure.title)}</li>"
    )


def thumbnail(path: Path) -> str:
    """A figure, small, as the address of its own data."""
    from PIL import Image

    with Image.open(path) as image:
        small = image.convert("RGB")
        small.thumbnail((WIDTH, 10 * WIDTH))
        content = io.BytesIO()
        small.quantize(COLOURS).save(content, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(content.getvalue()).decode()
