"""Small pieces of HTML that several parts of the page share."""

import html
from collections.abc import Iterable, Sequence

from cbo_pipeline.claims.rule import VERDICTS

CLASSES = dict(zip(VERDICTS, ("holds", "part", "open", "fails", "none"), strict=True))
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


def table_of(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    cells = "".join(f"<th scope='col'>{html.escape(cell)}</th>" for cell in head)
    lines = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table></div>'


def range_of(values: Iterable[int]) -> str:
    values = sorted(values)
    return f"{values[0]}" if len(values) == 1 else f"{values[0]} to {values[-1]}"
