"""The article: filled from results, and nothing but results."""

import json
import re

import numpy as np
import pytest
import yaml

import page_results
import synthetic
from cbo_pipeline.claims.evidence import Evidence
from cbo_pipeline.claims.rule import VERDICTS
from cbo_pipeline.cli.main import main
from cbo_pipeline.errors import UserError
from cbo_pipeline.pages import article
from cbo_pipeline.pages.article import citation, facts, findings, pdf, render
from cbo_pipeline.pages.index import content
from cbo_pipeline.results.contract import COMMON, PAPER
from tiny import ROOT

HOSTILE = "<script>alert(1)</script> $x$ **b** {{version}} | `c`"
MNIST = {**page_results.CBO, "sigma_squared": 1.4, "images": 100, "batch_size": 10}
SEEDS, EPOCHS = 6, 60
PAGES = 4  # as an article of ReScience


def made(folder, results) -> tuple[str, str]:
    """The article of a folder of results: Markdown and HTML."""
    article.write(results, folder / "article.html", folder / "article.md")
    return (folder / "article.md").read_text(encoding="utf-8"), (folder / "article.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return page_results.make(tmp_path_factory.mktemp("results"))


def test_no_place_is_left_and_every_claim_is_told_with_its_verdict(results, tmp_path):
    for text in made(tmp_path, results):
        assert not render.PLACE.search(text)
        assert "{{" not in text
    text = (tmp_path / "article.md").read_text(encoding="utf-8")
    rows = json.loads((results / "claims.json").read_text())
    for row in rows:
        line = next(line for line in text.splitlines() if line.startswith(f"| {row['id']} |"))
        assert f" {row['verdict']} |" in line
    counts = [sum(row["verdict"] == verdict for row in rows) for verdict in VERDICTS]
    assert f"{counts[0]} hold, {counts[1]} hold in part, {counts[2]} are undecided, {counts[3]} do not hold" in text


def test_claims_stand_in_the_section_of_their_verdict(results, tmp_path):
    text, _ = made(tmp_path, results)
    _, held = text.split("These claims hold:")
    held, others = held.split("## What was reproduced in part")
    others = others.split("\n## ")[0]
    for row in json.loads((results / "claims.json").read_text()):
        assert (f"**Claim {row['id']}.**" in held) == (row["verdict"] == "holds")
        assert (f"**Claim {row['id']}.**" in others) == (row["verdict"] != "holds")


def test_the_same_results_give_the_same_bytes(results, tmp_path):
    assert made(tmp_path, results) == made(tmp_path, results)


def test_the_numbers_follow_the_results(results, tmp_path):
    """Another number in claims.json is another number in the article."""
    import shutil

    shutil.copytree(results, tmp_path / "copy")
    rows = json.loads((results / "claims.json").read_text())
    rows[0] |= {"value": 0.7654, "spread": [0.71, 0.83], "verdict": "does not hold", "seen": "seen otherwise: 0.7654"}
    (tmp_path / "copy" / "claims.json").write_text(json.dumps(rows))
    text, _ = made(tmp_path, tmp_path / "copy")
    assert "| ○ does not hold | 0.765 | 0.71 to 0.83 |" in text
    assert "**Claim 1.** Seen otherwise: 0.7654." in text
    assert text.index("These do not hold:") < text.index("**Claim 1.**")


def test_what_is_missing_is_said(tmp_path):
    """A folder with nothing but verdicts: every section says what it lacks."""
    results = page_results.only_verdicts(tmp_path)
    text, _ = made(tmp_path, results)
    assert facts.NO_READINGS in text
    assert "Other readings of the paper were not run." in text
    assert "What they cost was not recorded." in text
    assert "These results cannot tell: sine/cbo was not run." in text
    assert "These results cannot tell: mnist/cbo was not run." in text
    assert "These results cannot tell: Adam was not run on MNIST." in text
    assert "the numerical check of the barycentres was not made" in text
    assert "Not drawn from these results: `sine_training` and `comparison_cbo_adam`." in text
    assert "Speeds on MNIST cannot be compared here: they were not measured." in text
    assert "The costs of single methods were not measured." in text
    assert "Beside the verdicts we found" not in text


def test_readings_that_turn_a_verdict_are_named(results, tmp_path):
    text, _ = made(tmp_path, results)
    section = text.split("## What turns with the reading")[1].split("\n## ")[0]
    assert "There are 2 readings, each judged" in section
    assert "**Claim 1.** Turns with: scaling." in section
    assert re.search(r"Claims 2, 3, .* keep their verdicts", section)


def test_text_of_results_stays_text(tmp_path):
    results = page_results.make(tmp_path, HOSTILE)
    text, page = made(tmp_path, results)
    assert "<script" not in page
    assert "<script" not in text.replace("\\<script", "")
    assert "{{version}}" in page.replace("\\", "")  # told as it is, not filled


# --- Findings: each said only if the results show it ---------------------------------------------------------------


def tile(row) -> np.ndarray:
    return np.tile(np.asarray(row, float), (SEEDS, 1))


def sine(end_single: float, end_double: float, rows: list[dict] | None = None) -> Evidence:
    """Two precisions, and how far their particles differ if that was checked."""
    curves = [
        synthetic.curve(
            "sine", variant, page_results.fall(end, k), M=100, N=200, method="cbo", settings=page_results.CBO
        )
        for k, (variant, end) in enumerate((("cbo", end_single), ("cbo_float64", end_double)))
    ]
    return Evidence({"sine": synthetic.summary(*curves)}, (), {} if rows is None else {"spread": {"rows": rows}})


def agreeing(precision: str, growth: float, fall: float) -> list[dict]:
    """Five runs whose particles agree to two units, then differ more by a factor, while the risk falls by another."""
    unit = float(np.finfo(precision).eps)
    spread, risk = [1.0, 2 * unit, 2 * unit * growth, 2 * unit], [1.0, 0.1, 0.1, 0.1 / fall]
    one = {"precision": precision, "unit": unit, "epochs": [0, 1, 2, 3], "spread": spread, "risk": risk}
    return [{**one, "seed": seed} for seed in range(SEEDS)]


def test_rounding_is_the_engine_where_single_precision_wins_and_what_spreads_again_falls():
    found = findings.rounding(sine(5e-4, 1e-2, agreeing("float32", 100, 50) + agreeing("float64", 1.5, 1)))
    assert found.seen
    assert f"in {SEEDS} of {SEEDS} runs in single and in 0 of {SEEDS} in double precision" in found.text
    assert "the risk then falls to 2% of what it was; in the others it ends at 100% of" in found.text
    assert "(2 units in the last place)" in found.text


@pytest.mark.parametrize(
    ("ends", "rows"),
    [
        ((1e-2, 5e-4), agreeing("float32", 100, 50) + agreeing("float64", 1.5, 1)),  # double precision is better
        ((5e-4, 5e-4), agreeing("float32", 100, 50) + agreeing("float64", 1.5, 1)),  # neither is
        ((5e-4, 1e-2), agreeing("float32", 1.5, 50) + agreeing("float64", 1.5, 1)),  # nothing spreads again
        ((5e-4, 1e-2), agreeing("float32", 100, 50) + agreeing("float64", 100, 50)),  # both do
        ((5e-4, 1e-2), agreeing("float32", 100, 2) + agreeing("float64", 1.5, 3)),  # what does not falls further
    ],
)
def test_rounding_is_not_the_engine_otherwise(ends, rows):
    found = findings.rounding(sine(*ends, rows))
    assert not found.seen
    assert "do not show that rounding drives the method" in found.text


def test_without_a_look_at_the_particles_nothing_is_said_of_rounding():
    found = findings.rounding(sine(5e-4, 1e-2))
    assert not found.seen
    assert "single precision does better. Why, was not looked at." in found.text


@pytest.mark.parametrize(("growth", "seen"), [(1.09, True), (1.3, False), (0.9, False)])
def test_directions_are_unseen_only_where_the_spread_grows_as_explained(growth, seen):
    """(1 - 0.1)^2 + 2 * 1.4 * 0.1 = 1.09 per step, ten steps per epoch."""
    variance = tile(growth ** (10.0 * np.arange(EPOCHS + 1)))
    curve = synthetic.curve("mnist", "cbo", page_results.fall(0.5, 1), M=20, N=9, settings=MNIST, variance=variance)
    found = findings.directions(Evidence({"mnist": synthetic.summary(curve)}))
    assert found.seen == seen
    assert ("= 1.09$" in found.text) == (growth > 1)


@pytest.mark.parametrize(("growth", "seen"), [(1.025, True), (1.09, False), (1.001, False)])
def test_directions_are_compared_with_what_they_do_by_themselves(growth, seen):
    variance = tile(growth ** (10.0 * np.arange(EPOCHS + 1)))
    curve = synthetic.curve("mnist", "cbo", page_results.fall(0.5, 1), M=20, N=9, settings=MNIST, variance=variance)
    rows = [{"again": again, "repeat": 0, "growth": found} for again, found in ((0.0, 1.037), (0.2, 1.018))]
    checks = {"unseen": {"N": 9, "directions": 2220, "steps": 1000, "rows": rows}}
    found = findings.directions(Evidence({"mnist": synthetic.summary(curve)}, (), checks))
    assert found.seen == seen
    told = "1.037 if another particle is taken each time, 1.018 if the last one is taken again with probability 0.2"
    assert told in found.text
    assert f"is {'within' if seen else 'outside of'} that range" in found.text


def test_runs_that_diverge_on_the_way_to_the_horizon_are_told():
    variance, risk = tile(1.09 ** (10.0 * np.arange(EPOCHS + 1))), page_results.fall(0.5, 1)
    usual = synthetic.curve("mnist", "cbo", risk, M=20, N=9, settings=MNIST, variance=variance)
    evidence = {"mnist": synthetic.summary(usual)}
    whole = findings.directions(Evidence(evidence)).text
    for ends in ((None, None), (40, None), (40, 50)):
        long = page_results.fall(0.5, 1)[:2].copy()
        for row, last in zip(long, ends, strict=True):
            row[last:] = np.nan if last else row[last:]
        curve = synthetic.curve("mnist_horizon", "cbo", long, M=20, N=9, settings=MNIST)
        text = findings.directions(Evidence({**evidence, "mnist_horizon": synthetic.summary(curve)})).text
        gone = [last for last in ends if last]
        told = (
            f"in {len(gone)} of 2 runs, from epoch {min(gone)} on at the earliest and {max(gone)} at" if gone else ""
        )
        assert text.startswith(whole)
        assert (text == whole) == (not gone)
        assert told in text


def adam(rate: float, floor: float, leaps_at: int | None, experiment: str = "mnist", **settings):
    risk = page_results.fall(floor, 5, noise=0.1)
    if leaps_at:
        risk[:, leaps_at] = 1.0
    settings = {"dt": rate, **settings}
    return synthetic.curve(experiment, f"adam_{rate:g}", risk, M=20, N=1, method="adam", settings=settings)


def test_a_leap_is_at_the_floor_only_if_it_begins_there():
    found = findings.leap(Evidence({"mnist": synthetic.summary(adam(1e-2, 1e-9, 55), adam(1e-3, 1e-9, None))}))
    assert found.seen
    assert "6 of 6 runs leap, first at epoch 55" in found.text
    assert "none of 6 runs leaps" in found.text
    early = findings.leap(Evidence({"mnist": synthetic.summary(adam(1e-2, 1e-3, 30))}))
    assert not early.seen
    assert "do not all begin at the floor" in early.text
    calm = findings.leap(Evidence({"mnist": synthetic.summary(adam(1e-2, 1e-9, None))}))
    assert not calm.seen


def test_double_precision_tells_whether_rounding_makes_adam_leap():
    sweep = Evidence({"mnist": synthetic.summary(adam(1e-2, 1e-9, 55), adam(1e-3, 1e-9, None))})
    assert "would show whether it is so, were not made" in findings.leap(sweep).text
    for leaps_at, told in ((None, "as it must be if rounding"), (57, "so rounding alone does not explain it")):
        # At a rate at which Adam is stable in single precision there is nothing to explain.
        double = Evidence({"mnist": synthetic.summary(adam(1e-2, 1e-12, leaps_at), adam(1e-3, 1e-12, 50))})
        text = findings.leap(sweep, double.curves("mnist")).text
        assert told in text
        assert text.count("at 0.01, ") == 2
        assert text.count("at $10^{-3}$, ") == 1


def test_a_larger_delta_tells_whether_decayed_moments_make_adam_leap():
    sweep = {"mnist": synthetic.summary(adam(1e-2, 1e-9, 55), adam(1e-3, 1e-9, None))}
    assert "denominator" not in findings.leap(Evidence(sweep)).text
    for leaps_at, told in ((None, "decayed second moments are needed"), (57, "do not explain all")):
        curves = (adam(rate, 1e-9, at, "mnist_delta", delta=1e-6) for rate, at in ((1e-2, leaps_at), (1e-3, 50)))
        text = findings.leap(Evidence({**sweep, "mnist_delta": synthetic.summary(*curves)})).text
        assert told in text
        assert r"with $\delta$ = $10^{-6}$ in the denominator of the step" in text
        assert text.count("at 0.01, ") == 2


def test_neighbouring_rates_at_which_nothing_leaps_are_told_together():
    leaping, *calm = adam(1e-1, 1e-9, 55), adam(1e-2, 1e-9, None), adam(1e-3, 1e-3, None)
    text = findings.leap(Evidence({"mnist": synthetic.summary(leaping, *calm)})).text
    assert "at 0.1, 6 of 6 runs leap, first at epoch 55 " in text
    assert re.search(
        rf"; at 0.01 and \$10\^{{-3}}\$, none of 6 runs leaps in {EPOCHS} epochs \(lowest risk .+? and .+?\)\. ", text
    )
    # Not where they differ in how much was run.
    few = synthetic.curve(
        "mnist", "adam_0.01", page_results.fall(1e-9, 5, seeds=2), M=20, N=1, settings={"dt": 1e-2}, method="adam"
    )
    text = findings.leap(Evidence({"mnist": synthetic.summary(leaping, few, calm[1])})).text
    assert "at 0.01, none of 2 runs leaps" in text
    assert "at $10^{-3}$, none of 6 runs leaps" in text


def long_hybrid(experiment: str, N: int, seeds: int, leaps_at: int | None = None) -> dict:
    risk = page_results.fall(1e-8, 5, seeds=seeds, noise=0.1)
    if leaps_at:
        risk[0, leaps_at] = 1.0
    return {
        experiment: synthetic.summary(synthetic.curve(experiment, "hybrid", risk, M=20, N=N, settings={"dt": 1e-2}))
    }


def test_what_the_hybrid_does_at_the_floor_is_told():
    sweep = {"mnist": synthetic.summary(adam(1e-2, 1e-9, 55))}
    before = findings.leap(Evidence(sweep)).text
    few, one = long_hybrid("mnist_floor", 100, 6, leaps_at=55), long_hybrid("mnist_horizon", 1000, 1)
    text = findings.leap(Evidence({**sweep, **few, **one})).text.removeprefix(before)
    last = page_results.fall(1e-8, 1, noise=0.1).shape[1] - 1
    alone = f" The hybrid with 1000 particles: at 0.01, the one run does not leap in {last} epochs (lowest risk "
    assert text.startswith(alone)
    assert " The hybrid with 100 particles: at 0.01, 1 of 6 runs leaps, first at epoch 55 from a risk of " in text
    assert findings.leap(Evidence({**sweep, **one})).text.startswith(before + alone)


def test_more_atoms_are_told_only_if_they_were_better():
    details = {"residual": 1e-15, "instances": 100, "fixed_point_is_best": 0.77, "more_atoms_better": 0}
    claim = content.Claim(14, "5.1", "Proposition 2", "holds in part", details={**details, "example_gain": 0.074})
    assert "lower by 7.4%" in findings.atoms(claim).text
    none = content.Claim(14, "5.1", "Proposition 2", "holds", details={**details, "example_gain": 0.0})
    assert not findings.atoms(none).seen


# --- The command ---------------------------------------------------------------------------------------------------


def test_the_command_writes_and_replaces_only_its_own(results, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    command = ["article", "--results", str(results), "--output", "article.html", "--markdown", "article.md"]
    assert main(command) == 0
    assert main(command) == 0
    (tmp_path / "article.md").write_text("mine")
    assert main(command) != 0
    assert (tmp_path / "article.md").read_text() == "mine"


def test_without_a_browser_a_pdf_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(pdf, "browser", lambda: None)
    with pytest.raises(UserError) as caught:
        pdf.check(tmp_path / "article.pdf")
    assert (caught.value.code, caught.value.key) == ("missing-program", "--pdf")


def test_a_file_that_is_no_pdf_is_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(pdf, "browser", lambda: "browser")
    (tmp_path / "thesis.pdf").write_text("mine")
    for name in ("thesis.pdf", "article.txt"):
        with pytest.raises(UserError) as caught:
            pdf.check(tmp_path / name)
        assert (caught.value.code, caught.value.key) == ("foreign", "--pdf")


@pytest.mark.skipif(pdf.browser() is None, reason="no Chromium is installed")
def test_it_is_printed_on_a_few_pages_with_the_same_bytes(results, tmp_path):
    article.write(results, tmp_path / "article.html")
    printed = []
    for name in ("one.pdf", "two.pdf"):
        pdf.write(tmp_path / "article.html", tmp_path / name)
        printed.append((tmp_path / name).read_bytes())
    assert printed[0] == printed[1]
    assert 1 <= pages_of(printed[0]) <= PAGES


def pages_of(content: bytes) -> int:
    """How many pages a PDF has that a browser printed: each is an object of its own, which is not compressed."""
    return len(re.findall(rb"/Type\s*/Page\b", content))


@pytest.mark.skipif(pdf.browser() is None, reason="no Chromium is installed")
def test_the_article_of_the_published_results_fits(tmp_path):
    """By the code as it is: the published article may be older."""
    article.write(ROOT / "docs" / "reproduction", tmp_path / "article.html")
    pdf.write(tmp_path / "article.html", tmp_path / "article.pdf")
    assert pages_of((tmp_path / "article.pdf").read_bytes()) == PAGES


def test_the_published_article_has_four_pages():
    assert pages_of((ROOT / "docs" / "article" / "article.pdf").read_bytes()) == PAGES


# --- Authors and references ----------------------------------------------------------------------------------------


def test_references_are_numbered_as_they_are_cited(results, tmp_path):
    text, _ = made(tmp_path, results)
    told = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert f"**{told['authors'][0]['name']}.**" in text
    first, *others = told["references"]
    body, listed = text.split("\n## References\n")
    for one in told["references"]:
        entry = next((line for line in listed.splitlines() if f"*{one['title']}*" in line), None)
        word = one.get("abbreviation", f'{one["title"]}"')
        if one.get("abbreviation") == "POT":  # no claim of these results speaks of it
            assert entry is None
        else:
            number = re.match(r"- (\[\d+\]) ", entry)[1]
            assert f"{word} {number}" in body
    cited = citation.read("compared with POT")
    assert list(cited.references) == [citation.REPLICATED, *(one["abbreviation"] for one in others)]
    assert first["url"] in " ".join(identifier["value"] for identifier in first["identifiers"])


def test_without_a_checkout_the_paper_is_still_named(results, tmp_path, monkeypatch):
    monkeypatch.setattr(citation, "FILE", tmp_path / "CITATION.cff")
    text, _ = made(tmp_path, results)
    assert f"**{COMMON['creator_name']}.** *A replication of {PAPER}. Made by" in text
    assert f"## References\n\n{PAPER}\n" in text
    assert "CBO moves" in text
