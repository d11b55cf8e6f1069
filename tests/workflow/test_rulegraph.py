"""The picture of the rules in the README is what Snakemake says now."""

import importlib.util
import re

import pytest

from cbo_pipeline.figures import FIGURES, OF_READINGS
from tiny import ROOT

spec = importlib.util.spec_from_file_location("rulegraph", ROOT / "docs" / "rulegraph.py")
rulegraph = importlib.util.module_from_spec(spec)
spec.loader.exec_module(rulegraph)


@pytest.mark.workflow
def test_the_picture_is_up_to_date():
    assert rulegraph.PICTURE.read_text(encoding="utf-8") == rulegraph.svg(*rulegraph.graph()), "run: make rulegraph"


def test_every_rule_is_in_the_picture():
    """All rules of the files but those that are the same on a GPU, and all figures in their one box."""
    picture = rulegraph.PICTURE.read_text(encoding="utf-8")
    recorded = set(re.search(r"<desc>(.*?)</desc>", picture).group(1).split())
    files = (ROOT / "Snakefile", *(ROOT / "workflow" / "rules").glob("*.smk"))
    text = "\n".join(path.read_text() for path in files)
    written = set(re.findall(r"^(?:rule|use rule \w+ as) (\w+)", text, re.MULTILINE))
    written |= {f"draw_{label}" for label in OF_READINGS}
    written = {name for name in written if not name.endswith("_on_gpu")}
    assert recorded == written | set(FIGURES)
    shown = set(re.findall(r'font-weight="bold"[^>]*>([^<]+)<', picture))
    assert shown == written | {rulegraph.DRAWING}


def test_the_readme_shows_it():
    assert "](docs/images/rulegraph.svg)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_crossings_are_found_and_undone():
    rows, pieces = [["a", "b"], ["c", "d"]], [("a", "d"), ("b", "c")]
    assert rulegraph.crossings(rows, pieces) >= 1
    assert rulegraph.crossings(rulegraph.untangled(rows, pieces), pieces) < 1


def test_an_edge_that_follows_from_others_is_not_drawn():
    assert rulegraph.collapsed({("a", "b"), ("b", "c"), ("a", "c")}) == {("a", "b"), ("b", "c")}
    assert rulegraph.collapsed({("a", label) for label in FIGURES}) == {("a", rulegraph.DRAWING)}
