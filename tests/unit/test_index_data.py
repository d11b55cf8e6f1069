"""What the page of all results is made of: thinning, mathematics, reading, small drawings. Nothing is opened here."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import page_results
import synthetic
from cbo_pipeline.errors import FileRefused, UserError
from cbo_pipeline.pages import index, provenance
from cbo_pipeline.pages.index import (
    axis,
    chapters,
    claim_rows,
    content,
    html,
    maths,
    settings_table,
    thin,
    training,
    vega,
)
from cbo_pipeline.pages.index.charts import mnist
from cbo_pipeline.pages.index.charts.looks import ACCURACY
from cbo_pipeline.pages.index.content import Claim


@given(
    values=st.lists(st.floats(1e-9, 1e9) | st.just(np.inf) | st.just(np.nan), min_size=2, max_size=400),
    columns=st.integers(2, 60),
    every=st.integers(1, 7),
)
def test_no_column_of_the_screen_changes(values, columns, every):
    """In every column the smallest and the largest finite value of a curve are kept, and its ends."""
    values, epochs = np.array(values), np.arange(len(values)) * every
    kept = thin.extremes(epochs, values, columns)
    assert {0, len(values) - 1} <= set(kept)
    assert np.all(np.diff(kept) > 0)
    place = np.minimum(epochs * columns // epochs[-1], columns - 1)
    for column in range(columns):
        inside = values[place == column]
        shown = values[[k for k in kept if place[k] == column]]
        finite, drawn = inside[np.isfinite(inside)], shown[np.isfinite(shown)]
        if finite.size:
            assert (drawn.min(), drawn.max()) == (finite.min(), finite.max())


def test_thinning_saves_points_and_keeps_short_curves_whole():
    epochs, noise = np.arange(10_001), np.random.default_rng(0).standard_normal(10_001)
    assert len(thin.extremes(epochs, noise, 100)) <= 301
    assert len(thin.extremes(epochs[:50], noise[:50], 100)) == 50


def test_a_logarithmic_axis_has_points_from_its_first_decade_on():
    epochs = np.arange(10_001)
    kept = thin.kept(epochs, np.linspace(1, 0, 10_001), 50, ratios=True)
    assert set(thin.extremes(epochs, np.linspace(1, 0, 10_001), 50)) <= set(kept)
    for decade in (1, 10, 100, 1000):
        assert np.sum((epochs[kept] >= decade) & (epochs[kept] < 10 * decade)) >= 5, decade


@given(st.floats(1e-15, 1e15), st.integers(2, 6))
def test_rounded_numbers_are_short_and_close(value, digits):
    (short,) = thin.rounded([value], digits)
    assert short == pytest.approx(value, rel=0.5 * 10.0 ** (1 - digits))
    assert len(re.sub(r"[^0-9]", "", f"{short:.15e}".split("e")[0].rstrip("0"))) <= digits


def test_what_is_not_finite_becomes_null():
    assert thin.rounded([np.nan, np.inf, -np.inf, 0.0]) == [None, None, None, 0.0]


def test_statistics_are_those_of_the_summaries():
    from cbo_pipeline.results import summaries

    values = synthetic.decay(1.0, 1e-4, 20, 7, noise=0.4)
    values[2, 10:] = np.nan  # a run that diverged is infinitely bad
    data = synthetic.curve("sine", "cbo", values, M=1, N=1).isel(curve=0)[["risk"]]
    table = summaries._over_seeds(data)["risk_over_seeds"]
    for centre, names in (("median", ("median", "q25", "q75")), ("mean", ("mean", "min", "max"))):
        wanted = np.stack([table.sel(statistic=name) for name in names])
        np.testing.assert_array_equal(training.statistics(values, centre), wanted)


def test_a_run_that_diverged_has_the_worst_accuracy():
    values = np.array([[0.78], [0.79], [np.nan], [0.81], [0.80]])
    over_seeds = training.statistics(values, "median", ACCURACY.worst)[:, 0]
    assert over_seeds[0] == 0.79
    assert training._words(over_seeds, ACCURACY) == "0.790 (−∞ to 0.803)"


def test_a_curve_goes_on_to_its_end_where_all_its_runs_have_diverged():
    values = synthetic.decay(1.0, 0.1, 20, 3)
    values[:, 12:] = np.nan
    assert curve_of(synthetic.curve("mnist", "cbo", values, M=1, N=1)).epochs[-1] == 20


def curve_of(data) -> content.Curve:
    return next(content._curves("mnist", synthetic.summary(data)))


def test_a_leap_between_stored_epochs_is_in_the_strokes():
    curve = curve_of(page_results.thinned("mnist", "adam_lr2", 1e-8, 30))
    epochs, values = curve.strokes()
    assert len(epochs) == values.shape[1] == 3 * len(page_results.STORED)
    assert values[0].max() > 100 * curve.series()[0, 30]
    np.testing.assert_array_equal(values[:, 2::3], curve.series())
    kept = thin.extremes(epochs, values[0], 12)
    assert values[0, kept].max() == values[0].max()


def test_curves_of_unequal_length_and_seeds_keep_their_own():
    short = synthetic.curve("sine", "cbo", synthetic.decay(1, 0.1, 5, 2), M=1, N=1)
    long = synthetic.curve("sine", "adam", synthetic.decay(1, 0.1, 9, 4), M=1, N=1)
    one, other = content._curves("sine", synthetic.summary(short, long))
    assert (one.seeds, one.epochs[-1], one.series().shape) == ((0, 1), 5, (2, 6))
    assert (other.seeds, other.epochs[-1]) == ((0, 1, 2, 3), 9)
    assert one.series("variance") is None
    assert one.example("prediction") is None


def test_snapshots_of_other_curves_are_not_frames_of_this_one():
    data = synthetic.summary(*page_results.mnist())
    data["digit_probability"][0, 2:] = np.nan  # the first curve was stored twice only
    first, second, *_ = content._curves("mnist", data)
    assert first.example("digit_probability").sizes["snapshot"] == 2
    assert second.example("digit_probability").sizes["snapshot"] == len(page_results.FRAMES)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("at 1e-3 and 3.7e+02", "at 10<sup>−3</sup> and 3.7·10<sup>2</sup>"),
        ("log10(a)", "log<sub>10</sub>(a)"),
        ("in M and N, not in MNIST", "in <i>M</i> and <i>N</i>, not in MNIST"),
        ("<b>bold</b> & 'x'", "&lt;b&gt;bold&lt;/b&gt; &amp; 'x'"),
    ],
)
def test_plain_text_is_escaped_and_set(text, wanted):
    assert maths.typeset(text) == wanted


def test_formulas_of_judges_and_of_the_page_are_mathml():
    assert maths.typeset("needs 2 lambda > sigma^2").count("<math") == 1
    assert "<math" in maths.words(r"the factor $(1-\Delta t)^2$ of `config.yaml`")
    assert maths.words("a `key` < 1") == "a <code>key</code> &lt; 1"
    for chapter in chapters.CHAPTERS:
        for text in (chapter.asked, *chapter.text, chapter.after_formula, *(p.caption for p in chapter.pictures)):
            assert "$" not in maths.words(text)
            assert "\\" not in maths.words(text)


def row(**more):
    return {"id": 1, "section": "4.1", "claim": "c", "verdict": "holds", **more}


def test_a_row_of_claims_may_have_few_fields():
    claim = content._claim(row(), {}, "claims.json")
    assert (claim.value, claim.spread, claim.line, claim.robustness) == (None, None, (), "")
    assert axis.drawing(claim) == ""
    claim = content._claim(row(line=0.05, robustness=None), {"1": "robust"}, "claims.json")
    assert (claim.line, claim.robustness) == ((0.05,), "robust")
    assert content._claim(row(line=[1, 2]), {}, "claims.json").line == (1.0, 2.0)


@pytest.mark.parametrize("broken", [{"verdict": "perhaps"}, {"id": "one"}, {"line": "far"}, {"spread": 3}])
def test_a_row_that_is_none_is_refused(broken):
    with pytest.raises(FileRefused, match=r"claims\.json"):
        content._claim(row(**broken), {}, "claims.json")


def test_results_without_verdicts_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"claims\.json: missing"):
        index.write(tmp_path, tmp_path / "index.html")
    (tmp_path / "claims.json").write_text("{")
    with pytest.raises(FileRefused, match="not valid JSON"):
        index.write(tmp_path, tmp_path / "index.html")
    assert not (tmp_path / "index.html").exists()


def claim_of(**more) -> Claim:
    return Claim(**{"id": 1, "section": "4.1", "claim": "c", "verdict": "holds", **more})


def drawn_scale(claim: Claim) -> dict:
    return axis.specification(claim)["layer"][-1]["encoding"]["x"]["scale"]


def test_the_axis_of_a_claim_shows_number_interval_and_line():
    scale = drawn_scale(claim_of(value=0.3, spread=(-0.2, 0.5), line=(0.0,), threshold="below 0"))
    assert scale["type"] == "linear"
    assert scale["domain"][0] < -0.2 < 0.5 < scale["domain"][1]
    assert drawn_scale(claim_of(value=128.0, spread=(124.0, 130.0), line=(1.0,)))["type"] == "log"
    # An end that is unbounded is drawn to the edge; the number alone needs no interval.
    layers = axis.specification(claim_of(value=0.3, spread=(None, 0.5), line=(0.0,)))["layer"]
    interval = layers[-2]["data"]["values"][0]
    assert interval["x"] == layers[-1]["encoding"]["x"]["scale"]["domain"][0]
    assert drawn_scale(claim_of(value=1.0))["domain"] == [0.9, 1.1]
    # Numbers that differ in their last digits alone do not spread over the axis.
    assert drawn_scale(claim_of(value=1 + 1e-9, line=(1.0,)))["domain"] == pytest.approx([0.9, 1.1], abs=1e-6)


def test_the_drawing_has_words_and_no_names_that_clash():
    svg = axis.drawing(claim_of(value=0.3, spread=(-0.2, 0.5), line=(0.0,), threshold="below 0"))
    assert 'aria-label="Claim 1: the number is 0.3, its interval -0.2 to 0.5, the line 0"' in svg
    assert " id=" not in svg
    assert "var(--v)" in svg


@pytest.mark.parametrize(
    ("value", "line", "wanted"), [(0.33413, (0.0,), 3), (1.0064, (1.0,), 4), (1.00000234, (1.0,), 7), (0.5, (), 3)]
)
def test_a_number_has_the_digits_that_tell_it_from_its_line(value, line, wanted):
    assert claim_rows._digits(claim_of(value=value, line=line)) == wanted


def test_json_in_the_page_cannot_end_its_element():
    text = html._json({"name": "</script><script>alert(1)</script>", "line": "\u2028"})
    assert "<" not in text
    assert json.loads(text) == {"name": "</script><script>alert(1)</script>", "line": "\u2028"}


def test_every_claim_of_the_paper_has_a_place():
    from cbo_pipeline import claims

    placed = [id for chapter in chapters.CHAPTERS for id in chapter.claims]
    assert sorted(placed) == [claim.id for claim in claims.CLAIMS]
    assert len(set(placed)) == len(placed)


def test_every_figure_of_the_paper_is_on_the_page():
    from cbo_pipeline.figures import FIGURES

    shown = {picture.label: picture.number for chapter in chapters.CHAPTERS for picture in chapter.pictures}
    paper = {f.label: f"Figure {f.number[3:]}" for f in FIGURES.values() if f.category == "The paper"}
    assert {label: number for label, number in shown.items() if number} == paper


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(1e5, "10^{5}"), (0.1, "0.1"), (0.01, "10^{-2}"), (2500, "2500"), (10000, "10^{4}"), (3e-7, r"3\cdot 10^{-7}")],
)
def test_settings_are_written_as_the_paper_does(value, wanted):
    assert settings_table._tex(value) == wanted


def test_a_setting_that_is_no_number_is_not_set_as_one():
    assert "\\text" in settings_table._tex("<b>")


def test_a_timer_moves_the_slider():
    spec = {"signals": [{"name": "frame", "value": 0}, {"name": "play", "value": False}]}
    made = vega.playing(spec, "frame", "play", 5)
    (frame,) = [s for s in made["signals"] if s["name"] == "frame"]
    assert frame["on"][0]["events"]["type"] == "timer"
    assert [s["name"] for s in made["signals"]] == ["play", "frame"]  # what a signal uses comes before it


@pytest.mark.parametrize("elsewhere", [False, True])
def test_adam_in_double_precision_stands_beside_the_sweep_in_the_colour_of_its_rate(tmp_path, elsewhere):
    folder = page_results.make(tmp_path / "results")
    names = {key.label: key.colour for key in mnist.mnist_rates(content.read(folder)).keys}
    assert not any("double" in name for name in names)
    readings = page_results.make(tmp_path / "others") if elsewhere else folder
    page_results.write_summary(
        [page_results.thinned("mnist", "adam_lr2", 1e-11, 3)],
        "mnist",
        readings / "readings" / "float64" / "summary" / "mnist" / "adam_lr2_M20_N1.nc",
    )
    keys = mnist.mnist_rates(content.read(folder, readings / "readings.json")).keys
    assert {key.label: key.colour for key in keys if "double" not in key.label} == names
    (double,) = [key for key in keys if "double" in key.label]
    assert double.label == "Adam, Δt = 10⁻², double precision"
    assert double.colour == names["Adam, Δt = 10⁻²"]


def test_adam_with_a_larger_delta_stands_beside_the_sweep(tmp_path):
    folder = page_results.make(tmp_path)
    curve = page_results.thinned("mnist_delta", "adam_lr2", 1e-8, 4, delta=1e-6)
    page_results.write_summary([curve], "mnist_delta", folder / "summary" / "mnist_delta.nc")
    keys = {key.label: key.colour for key in mnist.mnist_rates(content.read(folder)).keys}
    assert keys["Adam, Δt = 10⁻², δ = 10⁻⁶"] == keys["Adam, Δt = 10⁻²"]


def test_digits_are_pictures_of_the_right_size():
    import base64
    import io

    from PIL import Image

    grey = np.arange(28 * 28, dtype=np.uint8).reshape(28, 28)
    with Image.open(io.BytesIO(base64.b64decode(mnist._png(grey).split(",")[1]))) as image:
        np.testing.assert_array_equal(np.array(image), 255 - grey)


def test_a_page_that_would_be_too_large_shows_fewer_points_and_is_refused_at_last(tmp_path, monkeypatch):
    tried = []

    def document(found, output):
        tried.append(found.detail)
        return "x" * int(9e6 * found.detail)

    results = page_results.only_verdicts(tmp_path)
    monkeypatch.setattr(html, "document", document)
    assert 4_500_000 <= index.write(results, tmp_path / "index.html") < 4_501_000
    assert tried == [1.0, 0.5]
    monkeypatch.setattr(index, "LARGEST", 10)
    with pytest.raises(UserError) as refused:
        index.write(results, tmp_path / "other.html")
    assert refused.value.code == "size"
    assert not (tmp_path / "other.html").exists()


def test_provenance_is_published_and_read_back(tmp_path):
    found = {"sine": synthetic.summary(synthetic.curve("sine", "cbo", synthetic.decay(1, 0.1, 5, 3), M=1, N=1))}
    found["sine"].attrs["versions"] = '{"numpy": "2"}'
    made = provenance.gather(tmp_path, found)
    assert (made.runs, made.curves, made.seeds, made.core_hours) == (3, 1, {"sine": 3}, None)
    provenance.write(made, tmp_path)
    assert provenance.read(tmp_path, {}) == made
    (tmp_path / provenance.NAME).write_text("[]")
    with pytest.raises(FileRefused):
        provenance.read(tmp_path, {})
