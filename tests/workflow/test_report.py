"""The report in a real browser: one file, offline, with every figure, every caption and every claim.

The figures are stand-ins and the claims are judged without evidence: what is tested is how they are shown.
"""

import json
import re
import time
import zlib
from base64 import b64decode
from html import unescape
from pathlib import Path
from struct import pack

import pytest

import browser as browsers
from cbo_pipeline import claims
from cbo_pipeline.claims import speed
from cbo_pipeline.claims.evidence import Evidence
from cbo_pipeline.figures import FIGURES
from cbo_pipeline.pages import claims as pages
from cbo_pipeline.pages import overview
from cbo_pipeline.pages.settings import write_record
from checkout import ROOT, Checkout

# Where the screenshot stays for people to look at; ignored by git.
KEPT = ROOT / "build" / "test-report"

needs_chromium = pytest.mark.skipif(browsers.PROGRAM is None, reason="no Chromium here: the report is not opened")


def png(grey: int) -> bytes:
    """A small grey picture."""

    def chunk(kind, data):
        return pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress(b"".join(b"\0" + bytes([grey] * 40) for _ in range(30)))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", pack(">IIBBBBB", 40, 30, 8, 0, 0, 0, 0))
        + chunk(b"IDAT", rows)
        + (chunk(b"IEND", b""))
    )


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report of the demo's config over stand-ins."""
    copy = Checkout(tmp_path_factory.mktemp("report"))
    copy.config = copy.root / "workflow" / "demo.yaml"
    drawn = copy.work / "results" / "figures"
    drawn.mkdir(parents=True)
    for index, label in enumerate(FIGURES):
        (drawn / f"{label}.png").write_bytes(png(10 * index))
        (drawn / f"{label}.pdf").write_bytes(b"%PDF")
    rows = claims.judge_all(Evidence())
    pages.write_html(rows, speed.speed(Evidence()), copy.work / "results" / "claims.html")
    pages.write_verdicts(rows, copy.work / "results" / "claims.json")
    (copy.work / "results" / "index.html").write_text("<!doctype html><title>The page</title>")
    overview.write(copy.work / "results", copy.work / "results" / "overview.html")
    write_record({"experiments": {}}, {"python": "3"}, copy.work / "results" / "settings.html")
    path = copy.work / "report.html"
    output = copy.snakemake("--report", str(path))
    assert "WARNING/" not in output, output  # captions are proper reStructuredText
    return path


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    with browsers.Browser(tmp_path_factory.mktemp("browser")) as window:
        yield window


def opened(window, report: Path, script: str = "") -> str:
    """The document after the report has loaded and the script has run, as the browser sees it."""
    window.open(report, width=1500, ready="typeof app !== 'undefined' && !!document.querySelector('#overview')")
    window.evaluate(f"(() => {{ {script} }})()")
    time.sleep(0.3)  # React draws a little later
    return unescape(re.sub(r"(?s)<script.*?</script>", "", window.evaluate("document.documentElement.outerHTML")))


@needs_chromium
def test_every_figure_is_listed_by_category(window, report):
    for category in ("The paper", "Supplement"):
        page = opened(window, report, f"app.showCategory({json.dumps(category)})")
        for figure in FIGURES.values():
            listed = figure.title in page and f">{figure.number}<" in page
            assert listed == (figure.category == category), (category, figure.label)


@needs_chromium
@pytest.mark.parametrize("label", ["sine_training", "precision"])
def test_a_figure_opens_with_its_caption(window, report, label):
    path = json.dumps(f"results/figures/{label}.png")
    view = f"navbarMode: 'resultinfo', resultPath: {path}, content: 'img', contentPath: results[{path}].data_uri"
    page = opened(window, report, f"app.setView({{{view}}})")
    assert re.search(r'<img[^>]*src="data:image/png;[^"]*base64,', page)
    text = re.sub(r"<[^>]+>", "", page)
    for words in ("To see:", "Remade by", f"snakemake --cores all {FIGURES[label].number}"):
        assert words in text, words


@needs_chromium
def test_every_claim_is_there(window, report):
    """The claims are a page within the page: shown by the report, and whole."""
    shown = "results['results/claims.html'].data_uri"
    page = opened(window, report, f"app.setView({{content: 'html', contentPath: {shown}}})")
    embedded = re.search(r'<iframe[^>]*src="data:text/html;[^"]*base64,([^"]+)"', page)
    assert embedded, page[:2000]
    content = b64decode(embedded.group(1)).decode()
    for claim in claims.CLAIMS:
        assert f"id='claim-{claim.id}'" in content
        assert claim.claim in unescape(content)


@needs_chromium
def test_the_first_view_has_all_verdicts_and_all_figures_before_the_graph_of_the_rules(window, report):
    page = opened(window, report)
    start, graph = page.index('id="overview"'), page.index('id="rulegraph"')
    assert start < graph
    assert 0 <= window.evaluate("document.querySelector('#overview').getBoundingClientRect().top") < 300
    view = page[start:graph]
    assert len(re.findall(r"<tr>", view)) == 1 + len(claims.CLAIMS)
    for claim in claims.CLAIMS:
        assert claim.claim in view
    assert len(re.findall(r'<img[^>]*src="data:image/png;base64,', view)) == len(FIGURES)
    for figure in FIGURES.values():
        assert f"{figure.number}: {figure.title}" in view
        assert f"app.showResultInfo('results%2Ffigures%2F{figure.label}.png')" in view


@needs_chromium
def test_the_first_page_and_its_screenshot(window, report):
    page = opened(window, report, "app.showCategory('The paper')")
    for words in ("Experiments of this run", "Claims", "Settings", "Statistics", "multi_task"):
        assert words in page
    KEPT.mkdir(parents=True, exist_ok=True)
    assert window.screenshot(KEPT / "report.png").stat().st_size > 10_000


def test_the_report_is_one_file_that_asks_nobody(report):
    text = report.read_text(encoding="utf-8")
    assert not re.search(r'<(?:script|link|img)[^>]*(?:src|href)="https?://', text)
    assert report.stat().st_size > 10**6


def test_every_figure_has_a_caption_that_says_what_to_see():
    for label, figure in FIGURES.items():
        caption = ROOT / "workflow" / "report" / f"{label}.rst"
        assert caption.is_file(), f"{label} has no caption"
        text = " ".join(caption.read_text(encoding="utf-8").split())
        assert "**To see:**" in text
        assert f"snakemake --cores all {figure.number}`" in text


def test_the_paper_has_nine_figures_each_with_a_label_and_a_number():
    paper = {figure.number: figure.label for figure in FIGURES.values() if figure.category == "The paper"}
    assert paper == {
        "fig1": "diagram_multi_task", "fig2": "sine_training", "fig3": "sine_example", "fig4": "comparison_cbo_adam",
        "fig5": "multi_task_training", "fig6": "multi_task_examples", "fig7": "meanfield_diagram",
        "fig8": "mean_field_M", "fig9": "mean_field_N",
    }  # fmt: skip
    numbers = [figure.number for figure in FIGURES.values()]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.workflow
def test_figure_8_on_a_fresh_clone_plans_only_what_it_needs(tmp_path):
    copy = Checkout(tmp_path)
    copy.config = copy.root / "config.yaml"
    # Five widths, ten seeds each, and nothing of other experiments.
    assert copy.planned("fig8") == {"train": 50, "summarise_curve": 5, "fig8": 1}
