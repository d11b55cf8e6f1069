"""Verdicts and pages carry the digest of the code that made them, and ``verify`` looks at it."""

import json
import re
import shutil
from pathlib import Path

import pytest

import page_results
from cbo_pipeline import claims
from cbo_pipeline.claims import speed
from cbo_pipeline.claims.evidence import Evidence
from cbo_pipeline.claims.files import read_verdicts
from cbo_pipeline.cli.main import main
from cbo_pipeline.figures import animation
from cbo_pipeline.pages import article, index, overview, provenance, settings
from cbo_pipeline.pages import claims as pages
from cbo_pipeline.results import code, kinds, readings, stage_code, verify
from tiny import ROOT

RULES = ROOT / "workflow" / "rules"
# The files of the fixture, with the kind that each is known by, and a module that decides it and no other.
KINDS = {
    "claims.json": ("claims", "pages/claims.py"),
    "speed.json": ("speed", "claims/speed.py"),
    "claims.md": ("verdicts", "pages/claims.py"),
    "claims.html": ("verdicts", "pages/claims.py"),
    "overview.html": ("overview", "pages/overview.py"),
    "settings.html": ("settings", "pages/settings.py"),
    "index.html": ("page", "pages/index/chapters.py"),
    "readings.json": ("readings", "claims/reading_verdicts.py"),
    "provenance.json": ("provenance", "pages/provenance.py"),
}


def write_all(folder: Path) -> None:
    """A file of each kind in a folder of results."""
    evidence = Evidence()
    rows, measured = claims.judge_all(evidence), speed.speed(evidence)
    pages.write_verdicts(rows, folder / "claims.json")
    pages.write_speed(measured, folder / "speed.json")
    pages.write_markdown(rows, measured, folder / "claims.md")
    pages.write_html(rows, measured, folder / "claims.html")
    overview.write(folder, folder / "overview.html")
    settings.write_record({"experiments": {}}, {"python": "3"}, folder / "settings.html")
    readings.write(dict.fromkeys(readings.KEYS), folder / "readings.json")
    provenance.write(provenance.Made("abc", "a machine", None, None, 0, 0), folder)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    write_all(folder)
    ours = index.mark("page", stage_code.digest_of("page"))
    (folder / "index.html").write_text(f"<html></html>\n<!-- {ours} -->\n")  # the page itself takes long
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "results")


@pytest.fixture
def edit(package):
    """What adds a line to a file of the copied package, whose digests count; the file is as before afterwards."""
    before = {}

    def add(path: str, line: str) -> None:
        before.setdefault(path, (package / path).read_bytes())
        with (package / path).open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")

    yield add
    for path, content in before.items():
        (package / path).write_bytes(content)


def table(folder) -> dict[str, verify.Row]:
    """The rows by the names of their files; of a config without runs, which pages do not need."""
    return {Path(row.path).name: row for row in verify.verify(folder, {"experiments": {}})}


def test_every_file_is_in_the_table_and_fits(folder):
    found = table(folder)
    assert set(found) == set(KINDS)
    assert all(row.fits for row in found.values())
    assert {name: kinds.kind_of(folder / name).name for name in KINDS if name != "provenance.json"} == {
        name: kind for name, (kind, _) in KINDS.items() if name != "provenance.json"
    }


def test_the_same_code_writes_the_same_bytes(folder, tmp_path):
    (tmp_path / "again").mkdir()
    write_all(tmp_path / "again")
    for path in (tmp_path / "again").iterdir():
        assert path.read_bytes() == (folder / path.name).read_bytes(), path.name


@pytest.mark.parametrize("name", KINDS)
def test_other_code_is_told_and_a_comment_is_not(folder, edit, name):
    _, module = KINDS[name]
    edit(module, "# a comment")
    assert all(row.fits for row in table(folder).values())
    edit(module, "extra = 1")
    found = table(folder)
    assert found[name].code == "other code"
    assert found["settings.html"].fits == (name != "settings.html")


@pytest.mark.parametrize("name", ["pages/index/page.css", "pages/index/page.js"])
def test_the_style_and_the_script_of_the_page_count(folder, edit, name):
    edit(name, "/* other */")
    assert {name for name, row in table(folder).items() if not row.fits} == {"index.html", "overview.html"}


@pytest.mark.parametrize("name", [name for name in KINDS if name != "readings.json"])
def test_a_file_without_a_digest_does_not_fit(folder, name):
    text = (folder / name).read_text(encoding="utf-8")
    bare = re.sub(r', code [0-9a-f]{20}|,\n\s*"code": "[0-9a-f]{20}"', "", text)
    assert bare != text
    (folder / name).write_text(bare, encoding="utf-8")
    assert table(folder)[name].code == "not told"


def test_verdicts_stay_a_list_of_rows(folder):
    rows = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    assert isinstance(rows, list)
    assert {row["code"] for row in rows} == {stage_code.digest_of("claims")}
    assert [row["id"] for row in read_verdicts(folder / "claims.json")] == [claim.id for claim in claims.CLAIMS]


def test_one_row_of_another_code_is_enough(folder):
    rows = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    rows[-1]["code"] = "0" * code.LENGTH
    (folder / "claims.json").write_text(json.dumps(rows))
    assert table(folder)["claims.json"].code == "other code"


def test_speed_and_readings_tell_their_versions(folder, monkeypatch):
    changed = {**verify.versions(), "numpy": "9.9"}
    monkeypatch.setattr("cbo_pipeline.results.versions.versions", lambda: changed)
    assert {name for name, row in table(folder).items() if not row.fits} == {"speed.json", "readings.json"}


def test_pages_of_others_are_passed_over(tmp_path, folder):
    (folder / "notes.md").write_text("# Notes\n")
    (folder / "mine.html").write_text("<p>code 0123456789abcdef0123</p>")
    (folder / "package.json").write_text('{"versions": [], "code": 3, "kind": ["page"]}')
    assert set(table(folder)) == set(KINDS)


def test_the_film_tells_the_code_that_drew_it(tmp_path, edit):
    import synthetic

    found = synthetic.summary(page_results.gathering())
    found["risk_over_seeds"] = found["risk"].median("seed").expand_dims(statistic=["median"])
    animation.gathering({"gathering": found.set_xindex("variant")}, tmp_path / "film.gif")
    assert table(tmp_path)["film.gif"].fits
    edit("figures/animation.py", "extra = 1")
    assert table(tmp_path)["film.gif"].code == "other code"


def test_the_article_carries_the_digest(tmp_path):
    article._write(tmp_path / "article.md", "# Article\n")
    assert table(tmp_path)["article.md"].fits


def test_the_published_results_fit_the_code_and_the_config(capsys, monkeypatch):
    """docs/reproduction as it is in the repository; after a change of the code it is published or adopted again."""
    monkeypatch.chdir(ROOT)
    assert main(["verify", "docs/reproduction"]) == 0, capsys.readouterr().out


def test_rules_compare_the_digest_that_their_files_carry():
    """Whatever changes the digest in a file makes Snakemake write the file anew."""
    rules = {
        "claims.smk": ("record_settings", "settings"),
        "pages.smk": ("write_page", "page"),
        "readings.smk": ("judge_readings", "readings"),
    }
    more = (("claims.smk", ("judge_claims", "verdicts")), ("pages.smk", ("article", "article")))
    for file, (rule, kind) in (*rules.items(), *more):
        text = (RULES / file).read_text().split(f"rule {rule}:")[1].split("\nrule ")[0]
        assert f'code=when_needed(stage_code.digest_of, "{kind}")' in text, rule
    assert stage_code.digest_of("overview") == stage_code.digest_of("page")
    assert stage_code.digest_of("claims") == stage_code.digest_of("speed") == stage_code.digest_of("verdicts")


def test_what_decides_readings_is_among_what_their_rule_compares():
    found = code.modules(*stage_code.MODULES["readings"], floors=code.OF_STAGES)
    assert set(code.modules("claims.reading_verdicts", floors=code.OF_STAGES)) <= set(found)
