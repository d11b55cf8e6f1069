"""The page of all results in a real browser: offline, silent, with charts that answer, on wide and narrow screens."""

import re
import shutil
from itertools import pairwise

import pytest

import browser as browsers
import page_results
from cbo_pipeline import claims
from cbo_pipeline.claims.rule import VERDICTS
from cbo_pipeline.cli.main import main
from cbo_pipeline.pages import index
from cbo_pipeline.results.stage_code import digest_of
from checkout import ROOT

HOSTILE = """<script>window.hit = 1</script><img src=x onerror="window.hit=1">'"&</script><b>bold</b>"""
# Where the screenshots stay for people to look at; ignored by git.
KEPT = ROOT / "build" / "test-page"

# The labels on the axes of one chart.
AXES = "#sine_training .concat_0_group .role-axis-label text"
LABELS = f"[...document.querySelectorAll('{AXES}')].map(t => t.textContent)"

pytestmark = pytest.mark.skipif(browsers.PROGRAM is None, reason="no Chromium on this machine: no page is opened")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of made-up results that have everything, as the command makes it."""
    results = page_results.make(tmp_path_factory.mktemp("results"))
    assert main(["page", "--results", str(results), "--output", str(results / "index.html")]) == 0
    return results / "index.html"


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    with browsers.Browser(tmp_path_factory.mktemp("browser")) as window:
        yield window


@pytest.fixture
def opened(window, page):
    """The page in a wide window, freshly opened."""
    window.open(page)
    return window


def test_no_request_leaves_the_machine_and_the_console_is_silent(opened, page):
    assert {url for url in opened.requests() if not url.startswith("data:")} == {page.absolute().as_uri()}
    assert opened.spoken() == []


def test_the_page_is_one_file_of_at_most_six_megabytes(page):
    text = page.read_text(encoding="utf-8")
    assert len(text.encode()) <= index.LARGEST
    outside = re.sub(r"(?s)<script\b.*?</script>", "", text)
    assert not re.search(r"""<(?:script|link|img|iframe|object|embed)[^>]*(?:src|href)=(?!["']?data:)""", outside)
    assert "@import" not in outside
    assert not re.search(r"url\(", outside)


def test_the_page_carries_the_digest_of_its_code(page):
    assert page.read_text(encoding="utf-8").endswith(f"page, code {digest_of('page')} -->\n")


def test_every_chart_is_drawn(opened):
    charts = opened.evaluate("[...document.querySelectorAll('[data-chart]')].map(e => e.dataset.chart)")
    drawn = opened.evaluate(
        "[...document.querySelectorAll('[data-chart]')].filter(e => e.querySelector('svg path')).length"
    )
    assert len(charts) == drawn
    assert {
        "spec-gathering", "spec-sine_training", "spec-sine_example", "spec-precision", "spec-comparison_cbo_adam",
        "spec-digits", "spec-mnist_learning_rates", "spec-multi_task_training", "spec-multi_task_examples",
        "spec-multi_task_memory", "spec-mean_field_M", "spec-mean_field_N", "spec-square_training",
        "spec-variance_decay", "spec-consensus_condition", "spec-specification_curve",
    } == set(charts)  # fmt: skip


def test_sixteen_marks_lead_to_sixteen_claims(opened):
    marks = opened.evaluate("[...document.querySelectorAll('nav.strip a')].map(a => [a.hash, a.className])")
    assert [hash_ for hash_, _ in marks] == [f"#claim-{claim.id}" for claim in claims.CLAIMS]
    assert len({name for _, name in marks}) == len(VERDICTS)
    for claim in claims.CLAIMS:
        opened.evaluate(f"document.querySelector('nav.strip a[href=\"#claim-{claim.id}\"]').click()")
        assert opened.evaluate("document.querySelector(':target').tagName") == "ARTICLE"
        words = opened.evaluate("document.querySelector(':target').textContent")
        assert f"Claim {claim.id}," in words
        assert VERDICTS[(claim.id - 1) % len(VERDICTS)] in words
    assert opened.evaluate("new Set([...document.querySelectorAll('[id]')].map(e => e.id)).size") == opened.evaluate(
        "document.querySelectorAll('[id]').length"
    )


def test_every_link_within_the_page_and_beside_it_resolves(opened, page):
    links = opened.evaluate("[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))")
    inner = [link[1:] for link in links if link.startswith("#")]
    assert opened.evaluate(f"{inner}.filter(id => !document.getElementById(id))") == []
    outer = [link for link in links if not link.startswith(("#", "https://arxiv.org/"))]
    assert outer
    for link in outer:
        assert (page.parent / link).exists(), link
    assert any(link.endswith("claims/sine.py") for link in outer)
    assert any(link.endswith("summary/sine.nc") for link in outer)


def test_hovering_tells_the_values(opened):
    x, y, width, _ = opened.place("#sine_training svg.marks")
    opened.point_at(x + width / 2, y + 120)
    words = opened.wait_for("document.querySelector('#vg-tooltip-element.visible')?.innerText")
    assert re.search(r"epoch\s+\d+", words)
    assert re.search(r"CBO\s+\d\.\d\de-\d \(\d\.\d\de-\d to \d\.\d\de-\d\)", words), words


def lines(window, chart: str) -> int:
    """How many curves the upper panel of a chart of training shows."""
    return window.evaluate(f"""document.querySelectorAll('#{chart} g.concat_0_group g.mark-line path[d]').length""")


def test_the_legend_switches_curves_with_the_keyboard(opened):
    chosen = "document.querySelector('#sine_training-on1 input')"
    assert opened.evaluate(f"{chosen}.checked")
    before = lines(opened, "sine_training")
    assert before == 2
    opened.evaluate(f"{chosen}.focus()")
    opened.press(" ", code="Space", windowsVirtualKeyCode=32, text=" ")
    assert not opened.evaluate(f"{chosen}.checked")
    opened.wait_for("document.querySelectorAll('#sine_training g.concat_0_group g.mark-line path[d]').length == 1")


def test_single_seeds_are_shown_and_none_loses_its_leap(opened):
    opened.evaluate("document.querySelector('#sine_training-s input[value=\"1\"]').click()")
    opened.wait_for(
        f"document.querySelectorAll('#sine_training g.concat_0_group g.mark-line path[d]').length"
        f" == {2 * page_results.SEEDS}"
    )
    # The leap of one run is by three decades: it reaches far above everything else.
    assert "10¹" in opened.evaluate(LABELS)


def test_axes_are_logarithmic_or_linear(opened):
    assert any(re.fullmatch("10⁻[¹²³⁴]", text) for text in opened.evaluate(LABELS))
    opened.evaluate("document.querySelector('#sine_training-y input[value=\"0\"]').click()")
    opened.wait_for(f"!{LABELS}.some(t => t.startsWith('10⁻'))")
    assert any(text.startswith("0.") for text in opened.evaluate(LABELS))


def test_dragging_over_the_strip_zooms_the_epochs(opened):
    x, y, _, height = opened.place("#sine_training svg.marks")
    left, top = x + 60, y + height - 20
    opened.drag((left + 100, top), (left + 300, top))
    last = page_results.EPOCHS
    labels = f"{LABELS}.map(Number).filter(Number.isFinite)"
    opened.wait_for(f"!{labels}.includes({last})")
    shown = opened.evaluate(labels)
    assert all(0 < epoch < last / 2 for epoch in shown), shown


def test_epochs_can_be_typed(opened):
    opened.evaluate(
        "(() => { const to = document.querySelector('#sine_training-to input'); to.value = '20';"
        " to.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )
    opened.wait_for(f"{LABELS}.includes('20') && !{LABELS}.includes('60')")


@pytest.mark.parametrize("chart", ["gathering", "multi_task_examples", "digits"])
def test_training_is_played_and_moved_by_the_slider(opened, chart):
    frame = f"document.querySelector('#{chart}-frame input')"
    seen = f"document.querySelector('#{chart} svg.marks').textContent"
    opened.evaluate(
        f"(() => {{ {frame}.value = 0; {frame}.dispatchEvent(new Event('input', {{bubbles: true}})); }})()"
    )
    opened.wait_for(f"{seen}.includes('epoch 0')")
    opened.evaluate(f"document.querySelector('#{chart}-play input').click()")
    opened.wait_for(f"+{frame}.value >= 2", 20)
    assert "epoch 0" not in opened.evaluate(seen)
    opened.evaluate(f"document.querySelector('#{chart}-play input').click()")


def test_a_command_is_copied(opened):
    opened.call("Emulation.setFocusEmulationEnabled", enabled=True)  # a page without focus may not copy
    opened.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    opened.evaluate("document.querySelector('button[data-copy]').click()")
    opened.wait_for("document.querySelector('button[data-copy]').textContent == 'copied'", 10)
    assert opened.evaluate("navigator.clipboard.readText()") == "make figures"


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (360, False), (1280, True), (360, True)])
def test_wide_and_narrow_light_and_dark(window, page, width, dark):
    window.open(page, width=width, height=800, dark=dark, mobile=width < 600)
    assert window.evaluate("document.documentElement.scrollWidth") <= width
    wider = window.evaluate(
        f"""[...document.querySelectorAll('main *, header *')].filter(e => {{
            const box = e.getBoundingClientRect();
            return box.width && box.right > {width} + 1 && !e.closest('.scroll, .formula, pre, svg, .heard');
        }}).map(e => e.outerHTML.slice(0, 90))"""
    )
    assert wider == []
    assert window.spoken() == []
    light = window.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0] > 128")
    assert light != dark
    labels = window.evaluate(f"getComputedStyle(document.querySelector('{AXES}')).fill.match(/\\d+/g).map(Number)[0]")
    assert (labels > 128) == dark  # charts follow the colours of the page
    KEPT.mkdir(parents=True, exist_ok=True)
    shot = window.screenshot(KEPT / f"page-{width}{'-dark' if dark else ''}.png")
    assert shot.stat().st_size > 50_000


def contrast(window, selector: str) -> float:
    """The contrast of an element's text to the page, as WCAG defines it."""
    script = f"""(() => {{
        const light = c => {{ const [r, g, b] = c.match(/[\\d.]+/g).map(v => v / 255)
            .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return .2126 * r + .7152 * g + .0722 * b; }};
        const [a, b] = [getComputedStyle(document.querySelector({selector!r})).color,
            getComputedStyle(document.body).backgroundColor].map(light).sort().reverse();
        return (a + 0.05) / (b + 0.05);
    }})()"""
    return window.evaluate(script)


@pytest.mark.parametrize("dark", [False, True])
def test_text_has_contrast(window, page, dark):
    window.open(page, dark=dark)
    names = [f".claim.v-{name} .verdict" for name in ("holds", "part", "open", "fails", "none")]
    for selector in (*names, "p.lede", ".kicker", ".where", "nav.contents a", "figcaption", ".ordinate", "footer"):
        assert contrast(window, selector) >= 4.5, selector


def test_readers_of_screens_find_headings_names_and_labels(opened):
    levels = opened.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    assert opened.evaluate("document.documentElement.lang") == "en"
    assert opened.evaluate("[...document.images].every(image => image.alt)")
    assert opened.evaluate("[...document.querySelectorAll('[data-chart]')].every(c => c.ariaLabel)")
    nameless = opened.evaluate(
        "[...document.querySelectorAll('input, button')].filter(e => !(e.ariaLabel || e.labels?.length"
        " && e.closest('label').textContent.trim())).map(e => e.outerHTML)"
    )
    assert nameless == []
    assert opened.evaluate("document.querySelectorAll('svg.axis:not([aria-label])').length") == 0


def test_it_is_read_on_paper_too(window, page):
    window.open(page, dark=True)
    window.call("Emulation.setEmulatedMedia", media="print")
    try:
        ink = window.evaluate("getComputedStyle(document.body).color.match(/\\d+/g).map(Number)[0]")
        assert ink < 60  # dark letters, though the screen is dark
        assert window.evaluate("getComputedStyle(document.querySelector('.options')).display") == "none"
        printed = window.call("Page.printToPDF", printBackground=False)["data"]
        assert len(printed) > 100_000
    finally:
        window.call("Emulation.setEmulatedMedia", media="")


def test_html_in_names_and_comments_changes_nothing(window, page, tmp_path):
    """Whatever stands in a config or in a verdict is text, and is read as such."""
    results = page_results.make(tmp_path / "results", HOSTILE)
    index.write(results, results / "index.html")
    window.open(results / "index.html")
    assert window.evaluate("window.hit") is None
    assert window.spoken() == []
    assert {url for url in window.requests() if not url.startswith("data:")} == {
        (results / "index.html").absolute().as_uri()
    }
    assert HOSTILE in window.evaluate("document.querySelector('#claim-1 .seen').textContent")
    assert window.evaluate("document.querySelectorAll('b').length")
    tags = (
        "JSON.stringify([...document.querySelectorAll('main script, main img[src=x], main b b, [onerror]')].length)"
    )
    assert window.evaluate(tags) == "0"
    x, y, width, _ = window.place("#specification_curve svg.marks")
    for k in range(12, int(width), 12):
        window.point_at(x + k, y + 140)
    assert window.evaluate("window.hit") is None


def test_a_demo_has_less_and_its_page_says_so(window, tmp_path):
    """Without most experiments, without films, costs and readings."""
    results = page_results.make(tmp_path / "results")
    for path in (results / "summary").glob("*.nc"):
        if path.stem != "sine":
            path.unlink()
    for name in ("readings.json", "speed.json"):
        (results / name).unlink()
    for name in ("figures", "checks"):
        shutil.rmtree(results / name)
    index.write(results, results / "index.html")
    window.open(results / "index.html")
    assert window.spoken() == []
    assert window.evaluate("document.querySelectorAll('article.claim').length") == len(claims.CLAIMS)
    assert "do not have this experiment" in window.evaluate("document.querySelector('#mnist').textContent")
    assert window.evaluate("document.querySelectorAll('[data-chart]').length") == 2
