"""``index.html``: the paper with the answers filled in, one file that opens without a network.

content    what is read from a folder of results
chapters   what the page says, in the paper's order
charts, training, vega, axis    the figures, as Vega-Lite
maths, html    formulas and the page itself
"""

from pathlib import Path

from cbo_pipeline.files import mark, whole_file

LARGEST = 6_000_000  # bytes: a page that opens at once, also from a mail
ASSETS = tuple(Path(__file__).with_name(name) for name in ("page.css", "page.js"))


def write(results: Path, output: Path, readings: Path | None = None) -> int:
    """Make the page of a folder of results; returns its size in bytes."""
    from cbo_pipeline.pages.index import content, html

    page = html.document(content.read(results, readings), Path(output))
    text = f"{page.rstrip()}\n<!-- {mark('page')} -->\n".encode()
    with whole_file(output) as partial:
        partial.write_bytes(text)
    return len(text)
