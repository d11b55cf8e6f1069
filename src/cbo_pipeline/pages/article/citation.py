"""Who wrote this, and what it rests on: from CITATION.cff of the checkout, where there is one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cbo_pipeline.pages import provenance
from cbo_pipeline.pages.article.numbers import listed
from cbo_pipeline.pages.article.render import Block, Items, Paragraph
from cbo_pipeline.results.contract import COMMON, PAPER

FILE = provenance.ROOT / "CITATION.cff"
REPLICATED = "paper"  # the name of the first reference, of which this is a replication
CITED = (REPLICATED, "CBO", "Adam", "Snakemake")  # by the template


@dataclass(frozen=True)
class Citation:
    """Authors, and the references by their abbreviations, in the order of their numbers."""

    authors: str
    references: Mapping[str, Mapping[str, Any]]

    def mark(self, name: str) -> str:
        """What follows a word that cites a reference: its number, or nothing if it is not known."""
        return f" [{list(self.references).index(name) + 1}]" if name in self.references else ""

    def replicated(self) -> str:
        """The paper in a line."""
        paper = self.references.get(REPLICATED)
        if paper is None:
            return PAPER
        return f'{_authors(paper["authors"])}, "{paper["title"]}"{self.mark(REPLICATED)}'

    def blocks(self) -> list[Block]:
        """The list of references."""
        if not self.references:
            return [Paragraph([PAPER])]
        return [Items([[f"[{k}] {_entry(one)}"] for k, one in enumerate(self.references.values(), 1)])]


def read(said: str, path: Path | None = None) -> Citation:
    """The citation file; a reference is listed if the template cites it, or if ``said`` names it."""
    path = path or FILE
    if not path.is_file():
        return Citation(COMMON["creator_name"], {})
    told = yaml.safe_load(path.read_text(encoding="utf-8"))
    first, *others = told["references"]
    named = {REPLICATED: first} | {one["abbreviation"]: one for one in others}
    wanted = {name: one for name, one in named.items() if name in CITED or name in said}
    return Citation(_authors(told["authors"]), wanted)


def _authors(people: Sequence[Mapping[str, str]]) -> str:
    """
    >>> _authors([{"family-names": "Ma", "given-names": "Xu Li"}, {"name": "The others"}])
    'X. L. Ma and The others'
    """
    return listed([one.get("name") or f"{_initials(one['given-names'])} {one['family-names']}" for one in people])


def _initials(names: str) -> str:
    return " ".join(f"{name[0]}." for name in names.split())


def _entry(one: Mapping[str, Any]) -> str:
    """A reference as a line: authors, title, where, year, and its addresses."""
    text = f"{_authors(one['authors'])}. *{one['title']}*. "
    if "journal" in one:
        issue = f"({one['issue']})" if "issue" in one else ""
        pages = "–".join(str(one[end]) for end in ("start", "end") if end in one)
        text += f"{one['journal']} {one['volume']}{issue}, {pages}, "
    elif "conference" in one:
        text += f"{one['conference']['name']}, "
    urls = [identifier["value"] for identifier in one.get("identifiers", ()) if identifier["type"] == "url"]
    return text + f"{one['year']}." + "".join(f" [{_shown(url)}]({url})." for url in urls)


def _shown(url: str) -> str:
    """
    >>> _shown("https://arxiv.org/abs/1412.6980")
    'arXiv:1412.6980'
    """
    return url.replace("https://arxiv.org/abs/", "arXiv:")
