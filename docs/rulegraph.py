"""Draw docs/images/rulegraph.svg, the rules of the workflow and what follows from what: ``make rulegraph``.

The graph is what ``snakemake --rulegraph`` says of config.yaml; the rules that draw the figures share one box. It is
laid out in columns, each rule as late as its followers allow, with as few crossings as exchanging neighbours finds.
Only Python is needed, and the same rules give the same bytes.
"""

import itertools
import json
import re
import subprocess
import sys
import tempfile
import textwrap
from html import escape
from pathlib import Path

from cbo_pipeline.config import load_config
from cbo_pipeline.figures import FIGURES

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "rulegraph.svg"
DRAWING = "one rule per figure"
LABELS = {figure.number: label for label, figure in FIGURES.items()}  # their rules are named by number
WIDTH, COLUMN, ROW, MARGIN, LETTERS = 190, 225, 96, 10, 29

Edges = set[tuple[str, str]]


def graph() -> tuple[set[str], Edges]:
    """The rules that make everything, and which of them feeds which. One seed shows them all."""
    one = {name: {"seeds": 1} for name in load_config()["experiments"]}
    with tempfile.TemporaryDirectory() as empty:
        overlay = Path(empty, "one_seed.yaml")
        overlay.write_text(json.dumps({"experiments": one}), encoding="utf-8")
        command = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", "--directory", empty]
        command += ["--configfile", overlay, "--rulegraph", "dot", "--", "all", "readings", "article"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.findall(r'^\s*(\d+)\[label = "(\w+)"', done.stdout, re.MULTILINE)
    names = {node: LABELS.get(name, name) for node, name in found}
    edges = re.findall(r"^\s*(\d+) -> (\d+)", done.stdout, re.MULTILINE)
    return set(names.values()), {(names[a], names[b]) for a, b in edges}


def collapsed(edges: Edges) -> Edges:
    """The same with one box for all figures, and without the edges that follow from others."""
    edges = {tuple(DRAWING if name in FIGURES else name for name in edge) for edge in edges}

    def leads(before: str, after: str) -> bool:
        return any(b == before and (a == after or leads(a, after)) for b, a in edges)

    return {
        (before, after)
        for before, after in edges
        if not any(b == before and a != after and leads(a, after) for b, a in edges)
    }


def columns(edges: Edges) -> dict[str, int]:
    """How many steps each rule is from the end, by the longest way."""

    def steps(name: str) -> int:
        return max((1 + steps(after) for before, after in edges if before == name), default=0)

    return {name: steps(name) for name in sorted({name for edge in edges for name in edge})}


def layers(edges: Edges) -> tuple[list[list], list[tuple]]:
    """Boxes and bends by column, and the pieces of the edges: an edge that skips a column bends in it."""
    column = columns(edges)
    rows: list[list] = [[] for _ in range(max(column.values()) + 1)]
    for name, c in column.items():
        rows[c].append(name)
    pieces = []
    for before, after in sorted(edges):
        way = [before, *((before, after, c) for c in range(column[before] - 1, column[after], -1)), after]
        for bend in way[1:-1]:
            rows[bend[2]].append(bend)
        pieces += itertools.pairwise(way)
    return rows, pieces


def crossings(rows: list[list], pieces: list[tuple]) -> float:
    """Crossings of the pieces, and a little for their slope."""
    place = {node: i - (len(row) - 1) / 2 for row in rows for i, node in enumerate(row)}
    column = {node: c for c, row in enumerate(rows) for node in row}
    count = sum(
        (place[a] - place[c]) * (place[b] - place[d]) < 0
        for (a, b), (c, d) in itertools.combinations(pieces, 2)
        if column[a] == column[c] and a != c and b != d
    )
    return count + 1e-3 * sum((place[a] - place[b]) ** 2 for a, b in pieces)


def untangled(rows: list[list], pieces: list[tuple]) -> list[list]:
    """The columns in a better order: two boxes of a column change places until no change makes it better."""
    rows, best = [list(row) for row in rows], crossings(rows, pieces)
    better = True
    while better:
        better = False
        for row in rows:
            for i, j in itertools.combinations(range(len(row)), 2):
                row[i], row[j] = row[j], row[i]
                found = crossings(rows, pieces)
                if found < best - 1e-9:
                    best, better = found, True
                else:
                    row[i], row[j] = row[j], row[i]
    return rows


def remarks() -> dict[str, str]:
    """What each rule does: the beginning of its docstring."""
    found = {DRAWING: f"{len(FIGURES)} figures, by label or by number: fig1 to fig9, s1, s2, ..."}
    for path in (ROOT / "Snakefile", *sorted((ROOT / "workflow" / "rules").glob("*.smk"))):
        for name, text in re.findall(r'^rule (\w+):\n\s+"""([^."]+)', path.read_text(), re.MULTILINE):
            found[name] = re.split(r"[:,]", text)[0]
        for like, name in re.findall(r"^use rule (\w+) as (\w+)", path.read_text(), re.MULTILINE):
            rest = name.removeprefix(f"{like}_")
            found[name] = f"As {like}, with {rest.upper()}" if rest != name else f"As {like}, of other readings"
    return found


def svg(rules: set[str], edges: Edges) -> str:
    """The picture as text."""
    rows, pieces = layers(collapsed(edges))
    rows = untangled(rows, pieces)
    height = ROW * max(len(row) for row in rows) + 2 * MARGIN
    width = COLUMN * len(rows) - (COLUMN - WIDTH) + 2 * MARGIN
    at = {
        node: (MARGIN + COLUMN * (len(rows) - 1 - c), height / 2 + ROW * (i - (len(row) - 1) / 2))
        for c, row in enumerate(rows)
        for i, node in enumerate(row)
    }
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:g}" width="{width}"'
        f' height="{height:g}" font-family="Helvetica, Arial, sans-serif">',
        f"<title>The rules of the workflow</title><desc>{' '.join(sorted(rules))}</desc>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#777"/></marker></defs>',
        f'<rect width="{width}" height="{height:g}" fill="white"/>',
        *(_line(at, a, b) for a, b in pieces),
    ]
    remark = remarks()
    for node, place in at.items():
        if isinstance(node, str):
            lines += _box(node, *place, remark.get(node, ""))
    return "\n".join([*lines, "</svg>"]) + "\n"


def _line(at: dict, before, after) -> str:
    """A piece of an edge; the bends of a long one join smoothly, and its end alone has a tip."""
    (x0, y0), (x1, y1) = at[before], at[after]
    start = f"M{x0 + WIDTH:g} {y0:g}" if isinstance(before, str) else f"M{x0:g} {y0:g}H{x0 + WIDTH:g}"
    half = (x0 + WIDTH + x1) / 2
    tip = ' marker-end="url(#tip)"' if isinstance(after, str) else ""
    curve = f"C{half:g} {y0:g} {half:g} {y1:g} {x1:g} {y1:g}"
    return f'<path d="{start}{curve}" fill="none" stroke="#777" stroke-width="1.5"{tip}/>'


def _box(name: str, x: float, y: float, remark: str) -> list[str]:
    words = textwrap.wrap(remark, LETTERS)
    tall = 30 + 14 * len(words)
    fill = "#e6f2ec" if name == DRAWING else "#eef3fa"
    lines = [
        f'<rect x="{x:g}" y="{y - tall / 2:g}" width="{WIDTH}" height="{tall}" rx="7" fill="{fill}"'
        ' stroke="#35608f"/>',
        f'<text x="{x + WIDTH / 2:g}" y="{y - tall / 2 + 20:g}" text-anchor="middle" font-size="13.5"'
        f' font-weight="bold" fill="#111">{escape(name)}</text>',
    ]
    lines += [
        f'<text x="{x + WIDTH / 2:g}" y="{y - tall / 2 + 36 + 14 * i:g}" text-anchor="middle" font-size="11"'
        f' fill="#333">{escape(text)}</text>'
        for i, text in enumerate(words)
    ]
    return lines


if __name__ == "__main__":
    PICTURE.write_text(svg(*graph()), encoding="utf-8")
    print(PICTURE.relative_to(ROOT))
