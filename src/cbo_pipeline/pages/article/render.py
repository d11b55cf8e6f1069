"""An article of plain blocks, as Markdown and as HTML.

A template is Markdown of a few forms: headings, paragraphs, formulas on a line of their own, and ``{{name}}`` where a
value stands. In a line a value is text; a value that is a list of blocks stands alone in its paragraph. Our own text
may hold formulas between dollar signs, code, emphasis and links. Text that comes from results (``Said``) holds
nothing but itself: it is escaped in both forms.
"""

import base64
import html
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cbo_pipeline.pages.index import maths

POWER = re.compile(r"(?:(-?[\d.]+)\\cdot )?10\^\{(-?\d+)\}")
PLACE = re.compile(r"\{\{(\w+)\}\}")


class Said(str):
    """Text from results."""

    __slots__ = ()


Text = Sequence[str]  # pieces of a line: our own text, and what results say


@dataclass(frozen=True)
class Heading:
    level: int
    text: Text


@dataclass(frozen=True)
class Paragraph:
    text: Text


@dataclass(frozen=True)
class Formula:
    tex: str


@dataclass(frozen=True)
class Items:
    items: Sequence[Text]


@dataclass(frozen=True)
class Table:
    head: Sequence[str]
    rows: Sequence[Sequence[Text]]
    caption: str = ""


@dataclass(frozen=True)
class Pictures:
    """Figures beside each other, as files, with one caption."""

    files: Sequence[tuple[Path, str]]
    caption: str


Block = Heading | Paragraph | Formula | Items | Table | Pictures
Value = str | Text | Sequence[Block]


def filled(template: str, values: Mapping[str, Value]) -> list[Block]:
    """The blocks of a template with its values; a name that has no value is an error of the program."""
    blocks: list[Block] = []
    for part in re.split(r"\n\s*\n", template.strip()):
        part = " ".join(part.split("\n"))
        alone = PLACE.fullmatch(part)
        if alone and not isinstance(values[alone[1]], str) and _are_blocks(values[alone[1]]):
            blocks += values[alone[1]]
        elif part.startswith("$$"):
            blocks.append(Formula(part.strip("$")))
        elif found := re.match(r"(#+) ", part):
            blocks.append(Heading(len(found[1]), _pieces(part[found.end() :], values)))
        else:
            blocks.append(Paragraph(_pieces(part, values)))
    return blocks


def _are_blocks(value: Value) -> bool:
    return all(isinstance(one, Block) for one in value)


def _pieces(text: str, values: Mapping[str, Value]) -> list[str]:
    pieces: list[str] = []
    for k, piece in enumerate(PLACE.split(text)):
        if k % 2 == 0:
            pieces.append(piece)
        else:
            value = values[piece]
            pieces += [value] if isinstance(value, str) else list(value)
    return [piece for piece in pieces if piece]


# --- Markdown ----------------------------------------------------------------------------------------------------


def markdown(blocks: Sequence[Block], place: Path) -> str:
    """The article as Markdown, to be written into the folder ``place``."""
    return "\n\n".join(_markdown(block, place) for block in blocks) + "\n"


def _markdown(block: Block, place: Path) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {_plain(text)}"
        case Paragraph(text):
            return _plain(text)
        case Formula(tex):
            return f"$${tex}$$"
        case Items(items):
            return "\n".join(f"- {_plain(item)}" for item in items)
        case Table(head, rows, caption):
            lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
            lines += [f"| {' | '.join(_plain(cell) for cell in row)} |" for row in rows]
            return "\n".join(lines) + (f"\n\n*{caption}*" if caption else "")
        case Pictures(files, caption):
            shown = " ".join(f"![{title}]({_relative(path, place)})" for path, title in files)
            return f"{shown}\n\n*{caption}*"


def _plain(text: Text | str) -> str:
    pieces = [text] if isinstance(text, str) else text
    return "".join(re.sub(r"([\\`*_\[\]<>$|#])", r"\\\1", p) if isinstance(p, Said) else p for p in pieces)


def _relative(path: Path, place: Path) -> str:
    return Path(os.path.relpath(path.absolute(), place.absolute())).as_posix()


# --- HTML --------------------------------------------------------------------------------------------------------


def page(blocks: Sequence[Block], style: str, title: str) -> str:
    """The article as one page that loads nothing."""
    body = "\n".join(_html(block) for block in blocks)
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def _html(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"<h{level}>{_typeset(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{_typeset(text)}</p>"
        case Formula(tex):
            return f'<div class="formula">{maths.display(tex)}</div>'
        case Items(items):
            return f"<ul>{''.join(f'<li>{_typeset(item)}</li>' for item in items)}</ul>"
        case Table(head, rows, caption):
            cells = "".join(f"<th scope='col'>{_typeset(cell)}</th>" for cell in head)
            lines = "".join(f"<tr>{''.join(f'<td>{_typeset(cell)}</td>' for cell in row)}</tr>" for row in rows)
            told = f"<caption>{_typeset(caption)}</caption>" if caption else ""
            return f"<table>{told}<thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>"
        case Pictures(files, caption):
            images = "".join(_image(path, title) for path, title in files)
            return f"<figure><div>{images}</div><figcaption>{_typeset(caption)}</figcaption></figure>"


def _image(path: Path, title: str) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<img alt="{html.escape(title)}" src="data:image/png;base64,{data}">'


def _typeset(text: Text | str) -> str:
    pieces = [text] if isinstance(text, str) else text
    return _marked("".join(maths.typeset(p) if isinstance(p, Said) else _own(p) for p in pieces))


def _own(text: str) -> str:
    """Our own text: formulas, code and links; emphasis may reach over what stands between two pieces."""
    parts = re.split(r"\$(.+?)\$", text)
    return "".join(_formula(part) if k % 2 else _words(part) for k, part in enumerate(parts))


def _formula(tex: str) -> str:
    """A formula as MathML; a number with a power of ten as plain text, which every font can show."""
    found = POWER.fullmatch(tex)
    if not found:
        return maths.math(tex)
    times = f"{found[1].replace('-', '−')}·" if found[1] else ""
    return f"{times}10<sup>{found[2].replace('-', '−')}</sup>"


def _words(text: str) -> str:
    text = html.escape(text, quote=False).replace("**", BOLD).replace("*", EMPHASIS)
    text = re.sub(r"`(.+?)`", r"<code>\1</code>", text)
    return re.sub(r"\[(.+?)\]\((https?://[^)\s]+)\)", r'<a href="\2">\1</a>', text)


BOLD, EMPHASIS = "\ue000", "\ue001"  # marks that no text has


def _marked(text: str) -> str:
    text = re.sub(f"{BOLD}(.+?){BOLD}", r"<b>\1</b>", text)
    return re.sub(f"{EMPHASIS}(.+?){EMPHASIS}", r"<em>\1</em>", text)
