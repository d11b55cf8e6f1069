"""``index.html``: the paper with the answers filled in, one file that opens without a network.

content    what is read from a folder of results
chapters   what the page says, in the paper's order
charts, training, vega, axis    the figures, as Vega-Lite
masthead, settings_table, figure_elements, claim_rows, readings    the parts of the page
elements, links, maths    what the parts share: small pieces of HTML, addresses, formulas
html       the page itself
"""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from cbo_pipeline.errors import UserError
from cbo_pipeline.files import mark, whole_file
from cbo_pipeline.results.stage_code import digest_of

if TYPE_CHECKING:
    from cbo_pipeline.pages.index.content import Content

NAME = "index.html"
LARGEST = 6_000_000  # bytes: a page that opens at once, also from a mail
DETAILS = (1.0, 0.5, 0.25, 0.1, 0.07)  # shares of the points of single runs that are tried


def write(results: Path, output: Path, readings: Path | None = None, wanted: int = LARGEST) -> int:
    """Make the page of a folder of results; returns its size in bytes."""
    from cbo_pipeline.pages.index import content

    return write_content(content.read(results, readings), output, wanted)


def write_content(found: "Content", output: Path, wanted: int = LARGEST) -> int:
    """Make the page of what was read; returns its size in bytes.

    If it would be larger than wanted, single runs are drawn with fewer points.
    """
    from cbo_pipeline.pages.index import html

    ours = mark("page", digest_of("page"))
    for detail in DETAILS:
        page = html.document(dataclasses.replace(found, detail=detail), Path(output))
        text = f"{page.rstrip()}\n<!-- {ours} -->\n".encode()
        if len(text) <= wanted:
            break
    if len(text) > LARGEST:
        raise UserError(
            f"{output}: the page would have {len(text)} bytes, but at most {LARGEST} are allowed; make one of fewer"
            " experiments (only_experiments in a file for --configfile)",
            code="size",
            file=str(output),
        )
    with whole_file(output) as partial:
        partial.write_bytes(text)
    return len(text)
