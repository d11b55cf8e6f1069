"""The report in a real browser: one file, offline, with every figure, every caption and every claim.

The figures are stand-ins and the claims are judged without evidence: what is tested is how they are shown.
"""

import json
import re
import shutil
import subprocess
import zlib
from base64 import b64decode
from html import unescape
from pathlib import Path
from struct import pack

import pytest

from cbo_pipeline import claims
from cbo_pipeline.claims import speed
from cbo_pipeline.claims.evidence import Evidence
from cbo_pipeline.figures import FIGURES
from cbo_pipeline.pages import claims as pages
from cbo_pipeline.pages.settings import write_record
from checkout import ROOT, Checkout

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1500,1000",
    "--virtual-time-budget=5000",
)  # fmt: skip
# Where the screenshot stays for people to look at; ignored by git.
KEPT = ROOT / "build" / "test-report"

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: the report is not opened")


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
    write_record({"experiments": {}}, {"python": "3"}, copy.work / "results" / "settings.html")
    path = copy.work / "report.html"
    output = copy.snakemake("--report", str(path))
    assert "WARNING/" not in output, output  # captions are proper reStructuredText
    return path


def opened(report: Path, script: str, *flags: str) -> str:
    """The document after the report has loaded and the script has run, as the browser sees it."""
    before, end, after = report.read_text(encoding="utf-8").rpartition("</body>")
    page = report.with_name("opened.html")
    page.write_text(f"{before}<script>setTimeout(() => {{ {script} }}, 300)</script>{end}{after}", encoding="utf-8")
    profile = report.with_name("profile")
    offline = ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={profile}"]
    command = [CHROMIUM, *FLAGS, *offline, *flags, "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    return unescape(re.sub(r"(?s)<script.*?</script>", "", done.stdout))


@needs_chromium
def test_every_figure_is_listed_by_category(report):
    for category in ("The paper", "Supplement"):
        page = opened(report, f"app.showCategory({json.dumps(category)})")
        for figure in FIGURES.values():
            listed = figure.title in page and f">{figure.number}<" in page
            assert listed == (figure.category == category), (category, figure.label)


@needs_chromium
@pytest.mark.parametrize("label", ["sine_training", "precision"])
def test_a_figure_opens_with_its_caption(report, label):
    path = json.dumps(f"results/figures/{label}.png")
    view = f"navbarMode: 'resultinfo', resultPath: {path}, content: 'img', contentPath: results[{path}].data_uri"
    page = opened(report, f"app.setView({{{view}}})")
    assert re.search(r'<img[^>]*src="data:image/png;[^"]*base64,', page)
    text = re.sub(r"<[^>]+>", "", page)
    for words in ("To see:", "Remade by", f"snakemake --cores all {FIGURES[label].number}"):
        assert words in text, words


@needs_chromium
def test_every_claim_is_there(report):
    """The claims are a page within the page: shown by the report, and whole."""
    page = opened(report, "app.setView({content: 'html', contentPath: results['results/claims.html'].data_uri})")
    embedded = re.search(r'<iframe[^>]*src="data:text/html;[^"]*base64,([^"]+)"', page)
    assert embedded, page[:2000]
    content = b64decode(embedded.group(1)).decode()
    for claim in claims.CLAIMS:
        assert f"id='claim-{claim.id}'" in content
        assert claim.claim in unescape(content)


@needs_chromium
def test_the_first_page_and_its_screenshot(report):
    KEPT.mkdir(parents=True, exist_ok=True)
    shot = KEPT / "report.png"
    shot.unlink(missing_ok=True)
    page = opened(report, "app.showCategory('The paper')", f"--screenshot={shot}")
    for words in ("Experiments of this run", "Claims", "Settings", "Statistics", "multi_task"):
        assert words in page
    if not shot.is_file():  # some versions make either a dump or a screenshot
        target = report.with_name("opened.html").as_uri()
        command = [CHROMIUM, *FLAGS, f"--user-data-dir={report.with_name('profile')}", f"--screenshot={shot}", target]
        subprocess.run(command, capture_output=True, timeout=240, check=True)
    assert shot.stat().st_size > 10_000


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
    assert copy.planned("fig8") == {"train": 50, "summarise_curve": 5, "mean_field_M": 1, "fig8": 1}
