"""What ``make publish`` makes of results: from a real tiny run, with figures that are stand-ins."""

import json
import re
import shutil
from contextlib import nullcontext

import numpy as np
import pytest

from cbo_pipeline import claims, figures
from cbo_pipeline.claims import files, speed
from cbo_pipeline.claims.rule import NOT_TESTED
from cbo_pipeline.cli.main import main
from cbo_pipeline.config import Curve
from cbo_pipeline.errors import FileRefused, UserError
from cbo_pipeline.pages import claims as pages
from cbo_pipeline.pages import index, provenance, publish, published_data
from cbo_pipeline.results import checks, code, netcdf, rounding, summaries
from cbo_pipeline.results import job_times as stages
from cbo_pipeline.workflow.shared_jobs import SharedJob
from tiny import ROOT

CHECK = {
    "residual": 1e-15, "instances": 40, "fixed_point_is_best": 0.6, "more_atoms_better": 2, "example_gain": 0.01,
}  # fmt: skip
PAGE = f"# A page\n\nbefore\n{publish.BEGIN}\nof old\n{publish.END}\nafter\n"


@pytest.fixture(scope="module")
def project(reference, tmp_path_factory):
    """A folder with results and a README, as a checkout has them after ``make paper``."""
    folder = tmp_path_factory.mktemp("project")
    results = folder / "results"
    for part in ("summary", "benchmarks"):
        shutil.copytree(reference / "results" / part, results / part, copy_function=shutil.copy2)
    (results / "figures").mkdir()
    for label in figures.FIGURES:
        (results / "figures" / f"{label}.png").write_bytes(label.encode())
    checks.write("barycentres", CHECK, results / "checks" / "barycentres.json")
    evidence = files.read_folder(results)
    rows, measured = claims.judge_all(evidence), speed.speed(evidence)
    pages.write_verdicts(rows, results / "claims.json")
    pages.write_speed(measured, results / "speed.json")
    pages.write_markdown(rows, measured, results / "claims.md")
    (folder / "README.md").write_text(PAGE)
    options = ["--results", results, "--output", folder / "docs/reproduction", "--readme", folder / "README.md"]
    assert main(["publish", *map(str, options)]) == 0
    return folder


def test_figures_verdicts_and_summaries_are_there(project):
    output = project / "docs" / "reproduction"
    assert {p.stem for p in (output / "figures").glob("*.png")} == set(figures.FIGURES)
    assert [p.name for p in (output / "summary").iterdir()] == ["sine.nc"]
    for name in ("claims.md", "claims.json", "speed.json"):
        assert (output / name).read_bytes() == (project / "results" / name).read_bytes()


def test_the_crate_describes_every_file_that_was_published(project):
    output = project / "docs" / "reproduction"
    graph = json.loads((output / "ro-crate-metadata.json").read_text(encoding="utf-8"))["@graph"]
    described = {entity["@id"] for entity in graph if "File" in entity["@type"]}
    published = set((output / publish.MANIFEST).read_text().split())
    assert described == published - {"ro-crate-metadata.json"}


def test_the_page_tells_machine_versions_commit_and_the_cost_of_every_stage(project):
    page = (project / "docs" / "reproduction" / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", page, re.MULTILINE))
    assert rows["cbo_pipeline"]
    (part,) = re.findall(r"^\| the paper \| (\d+) \| [\d.]+ \| [^|]+ \| ([^|]+) \| ([^|]+) \|$", page, re.MULTILINE)
    assert part[:2] == ("4", provenance.machine())
    assert re.match(r"[0-9a-f]{12}|unknown", part[2])
    summary = netcdf.read(project / "results" / "summary" / "sine.nc")
    assert {k: rows[k] for k in ("numpy", "python")} == {
        k: v for k, v in json.loads(summary.attrs["versions"]).items() if k in ("numpy", "python")
    }
    stage = dict(re.findall(r"^\| ([^|]+) \| (\d+) \|", page, re.MULTILINE))
    # Two methods of two seeds; their two summaries and the joint one.
    assert (stage["train sine"], stage["summarise"], stage["sine/cbo"]) == ("4", "3", "2")
    for link in re.findall(r"\]\(([^)#]+)\)", page):
        assert link == "../reproduction.md" or (project / "docs" / "reproduction" / link).is_file(), link


def test_the_readme_shows_verdicts_and_the_papers_figures_and_keeps_the_rest(project):
    text = (project / "README.md").read_text(encoding="utf-8")
    assert text.startswith("# A page\n\nbefore\n")
    assert text.endswith("after\n")
    assert "of old" not in text
    for claim in claims.CLAIMS:
        row = rf"^\| {claim.id} \| {re.escape(claim.claim)} \| . [a-z ]+ \| (\d+|–) \| not run \|$"
        assert re.search(row, text, re.MULTILINE)
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert all((project / link).is_file() for link in links)
    shown = {link for link in links if link.endswith(".png")}
    paper = {f.label for f in figures.FIGURES.values() if f.category == "The paper"}
    assert shown == {f"docs/reproduction/figures/{label}.png" for label in paper}
    assert re.search(r"\b0 of the \d+ curves of config.yaml", text)  # tiny results do not pass for the paper's


def test_a_published_summary_is_the_summary_to_six_digits(project):
    whole = netcdf.read(project / "results" / "summary" / "sine.nc")
    lean = summaries.read(project / "docs" / "reproduction" / "summary" / "sine.nc")
    assert {"risk", "risk_over_seeds", "variance", "prediction", "settings"} <= set(lean)
    assert "alpha_over_seeds" in whole
    assert "alpha_over_seeds" not in lean
    for name in lean.data_vars:
        if whole[name].dtype.kind == "f":
            np.testing.assert_allclose(lean[name], whole[name], rtol=1e-6, atol=0)
            assert lean[name].dtype == whole[name].dtype
    np.testing.assert_array_equal(lean["variance"], whole["variance"])


def test_the_page_is_published_beside_them_and_small(project):
    page = project / "docs" / "reproduction" / "index.html"
    assert 100_000 < page.stat().st_size <= index.LARGEST
    assert (
        page.relative_to(project / "docs" / "reproduction").as_posix()
        in (project / "docs" / "reproduction" / publish.MANIFEST).read_text()
    )


def test_everything_is_drawn_and_judged_again_from_what_was_published(project, tmp_path, capsys):
    """All that the claims and figures need is in the published folder: nothing is trained."""
    published, output = project / "docs" / "reproduction", tmp_path / "published"
    assert main(["redraw", str(published), "--output", str(output)]) == 0
    assert "index.html" in capsys.readouterr().err
    assert json.loads((output / "claims.json").read_text()) == json.loads((published / "claims.json").read_text())
    judged = {row["id"] for row in files.read_verdicts(output / "claims.json") if row["verdict"] != NOT_TESTED}
    assert judged == {14}  # by the check, which was published too
    drawn = {path.stem for path in (output / "figures").glob("*.png")}
    assert drawn == {"sine_training", "sine_example", "sine_pairs", "meanfield_diagram"}
    assert {path.stem for path in (output / "figures").glob("*.pdf")} == drawn
    assert (output / "index.html").stat().st_size > 100_000


def test_rounding_keeps_what_is_not_finite_and_what_is_tiny():
    x = np.array([0.0, np.inf, -np.inf, np.nan, 1e-300, -2.0, 1 / 3])
    np.testing.assert_allclose(rounding.rounded(x), x, rtol=1e-6, atol=0)
    assert rounding.rounded(x)[-1] != x[-1]


def test_it_can_be_made_again_but_deletes_nothing_of_others(project, tmp_path):
    shutil.copytree(project, tmp_path / "copy")
    results, output = tmp_path / "copy" / "results", tmp_path / "copy" / "docs" / "reproduction"
    (output / "figures" / "old.png").touch()
    with (output / publish.MANIFEST).open("a") as published:
        published.write("figures/old.png\n../../results/claims.json\n")
    (output / "figures" / "notes.txt").write_text("mine")
    made = publish.publish(results, output)
    assert not (output / "figures" / "old.png").exists()
    assert (output / "figures" / "notes.txt").read_text() == "mine"
    assert output / "figures" / "notes.txt" not in made
    assert (results / "claims.json").exists()
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.tex").touch()
    with pytest.raises(UserError, match="not made by publish"):
        publish.publish(results, foreign)
    assert (foreign / "thesis.tex").exists()


def more_results(reference, folder):
    """A folder that holds one curve of another reading, and nothing else."""
    results = folder / "more"
    for place, own in (
        ("summary/sine/cbo_M5_N8.nc", "readings/one_factor/summary/sine/cbo_M5_N8.nc"),
        ("benchmarks/sine/cbo/M5_N8_seed0.tsv", "benchmarks/readings/one_factor/sine/cbo/M5_N8_seed0.tsv"),
        ("benchmarks/summary/sine/cbo_M5_N8.tsv", "benchmarks/readings/one_factor/summary/sine/cbo_M5_N8.tsv"),
    ):
        (results / own).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(reference / "results" / place, results / own)
    return results


def test_results_are_added_to_a_publication(project, reference, tmp_path):
    """Other readings come later: what was published stays, and all that depends on them is made again."""
    copy = shutil.copytree(project, tmp_path / "copy")
    output, readme = copy / "docs" / "reproduction", copy / "README.md"
    base = (output / "summary" / "sine.nc").read_bytes()
    results = more_results(reference, tmp_path)
    other = results / "benchmarks/readings/float64/sine/cbo/M5_N8_seed0.tsv"  # trained, and not yet summarised
    other.parent.mkdir(parents=True)
    shutil.copy2(results / "benchmarks/readings/one_factor/sine/cbo/M5_N8_seed0.tsv", other)
    options = ["--results", results, "--output", output, "--readme", readme, "--add"]
    assert main(["publish", *map(str, options)]) == 0
    assert (output / "summary" / "sine.nc").read_bytes() == base
    whole = summaries.read(results / "readings/one_factor/summary/sine/cbo_M5_N8.nc")
    lean = summaries.read(output / "readings/one_factor/summary/sine/cbo_M5_N8.nc")
    assert set(lean.data_vars) <= set(published_data.JUDGED) < set(whole.data_vars) | set(published_data.JUDGED)
    np.testing.assert_allclose(lean["risk"], whole["risk"], rtol=1e-6, atol=0)
    made = provenance.read(output, {})
    assert [(part.what, part.runs) for part in made.parts] == [(publish.PAPER, 4), ("other readings of sine", 2)]
    assert (made.runs, made.reading_runs) == (4, 2)
    assert made.core_hours == pytest.approx(sum(part.core_hours for part in made.parts))
    assert "Added later: other readings of sine (2 runs). " in readme.read_text(encoding="utf-8")
    page = (output / "README.md").read_text(encoding="utf-8")
    stage = dict(re.findall(r"^\| ([^|]+) \| (\d+) \|", page, re.MULTILINE))
    names = ("train sine", "train sine, other readings", "sine, one_factor", "other readings")
    assert [stage[name] for name in names] == ["4", "1", "1", "1"]
    assert {"readings.json", "readings.md"} <= {path.name for path in output.iterdir()}
    assert "other readings were not run" in (output / "claims.md").read_text()  # tiny runs test no claim
    graph = json.loads((output / "ro-crate-metadata.json").read_text(encoding="utf-8"))["@graph"]
    described = {entity["@id"] for entity in graph if "File" in entity["@type"]}
    assert described == set((output / publish.MANIFEST).read_text().split()) - {"ro-crate-metadata.json"}
    assert "readings/one_factor/summary/sine/cbo_M5_N8.nc" in described
    assert main(["publish", *map(str, options)]) == 0
    assert provenance.read(output, {}) == made  # what was added before counts once


def test_a_curve_is_added_to_its_experiment_and_replaces_itself(project, reference, tmp_path, monkeypatch):
    """Curves of one experiment may be made in several places: the others stay, unless other code made them."""
    output = shutil.copytree(project / "docs", tmp_path / "docs") / "reproduction"
    before = summaries.read(output / "summary" / "sine.nc")
    results = tmp_path / "more"
    for place in ("benchmarks/sine/cbo/M5_N8_seed0.tsv", "benchmarks/summary/sine/cbo_M5_N8.tsv"):
        (results / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(reference / "results" / place, results / place)
    (one,) = (reference / "results" / "summary" / "sine").glob("cbo_*.nc")
    curve = summaries.read(one).isel(seed=[0])
    netcdf.write(summaries.join([curve]), results / "summary" / "sine.nc")
    publish.add(results, output)
    after = summaries.read(output / "summary" / "sine.nc")
    assert list(after["curve"].values) == list(before["curve"].values)
    adam, cbo = (
        data["curve"].values[data["variant"].values == name] for data, name in ((after, "adam"), (after, "cbo"))
    )
    for name in ("risk", "risk_over_seeds", "settings", "run_code", "variance"):
        np.testing.assert_array_equal(after[name].sel(curve=adam), before[name].sel(curve=adam))
    assert np.isfinite(before["risk"].sel(curve=cbo)).all()
    assert np.isfinite(after["risk"].sel(curve=cbo)).all("epoch").values.tolist() == [[True, False]]
    made = provenance.read(output, {})
    assert [(part.what, part.runs) for part in made.parts] == [(publish.PAPER, 4), ("sine", 1)]
    assert made.runs == 3
    # What stays must fit the code; what is replaced need not, be it a curve or the whole file.
    for stale_curve, refused in ((cbo, False), (adam, True)):
        stale = summaries.read(output / "summary" / "sine.nc").load()
        stale["run_code"].loc[{"curve": stale_curve}] = "0" * code.LENGTH
        netcdf.write(stale, output / "summary" / "sine.nc")
        with pytest.raises(FileRefused, match=r"summary/sine\.nc; make") if refused else nullcontext():
            publish.add(results, output)
    netcdf.write(summaries.read(reference / "results" / "summary" / "sine.nc"), results / "summary" / "sine.nc")
    publish.add(results, output)
    np.testing.assert_array_equal(summaries.read(output / "summary" / "sine.nc")["risk"], before["risk"])


def test_a_run_that_is_kept_by_hand_is_described_and_stays(project, reference, tmp_path):
    output = shutil.copytree(project / "docs" / "reproduction", tmp_path / "reproduction")
    run = next((reference / "results" / "runs").rglob("*.nc"))
    kept = output / run.relative_to(reference / "results")
    kept.parent.mkdir(parents=True)
    shutil.copy(run, kept)
    for _ in range(2):
        publish.again(output)
        name = kept.relative_to(output).as_posix()
        graph = json.loads((output / "ro-crate-metadata.json").read_text(encoding="utf-8"))["@graph"]
        described = {entity["@id"] for entity in graph if "File" in entity["@type"]}
        mine = set((output / publish.MANIFEST).read_text().split())
        assert described == (mine | {name}) - {"ro-crate-metadata.json"}
        assert name not in mine
        assert kept.is_file()


def test_pages_are_made_again_from_a_publication_alone(project, reference, tmp_path, monkeypatch):
    """After a change of what is shown; after one of what decides results, once it was adopted for them."""
    copy = shutil.copytree(project, tmp_path / "copy")
    shutil.rmtree(copy / "results")
    output, readme = copy / "docs" / "reproduction", copy / "README.md"
    assert main(["publish", "--again", "--output", str(output), "--readme", str(readme)]) == 0
    once = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    (output / "claims.md").write_text("spoiled")
    assert main(["publish", "--again", "--output", str(output), "--readme", str(readme)]) == 0
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == once
    canonical = code._canonical
    monkeypatch.setattr(code, "_canonical", lambda path: canonical(path) + "edited" * (path.name == "cbo.py"))
    with pytest.raises(FileRefused, match=r"summary/sine\.nc; make them again, or accept the code"):
        publish.again(output, readme)
    assert main(["adopt", str(output), "--epochs", "1"]) == 0
    made = publish.again(output, readme)
    assert output / "adopted.json" in made
    assert "adopted.json" in (output / publish.MANIFEST).read_text().split()


def test_what_it_took_to_make_results_again_is_added_alone(project, reference, tmp_path):
    """Fewer seeds, too, leave the published numbers as they are; curves that were not published are refused."""
    copy = shutil.copytree(project, tmp_path / "copy")
    output, results = copy / "docs" / "reproduction", copy / "results"
    before = {path: path.read_bytes() for path in output.rglob("*.nc")}
    whole = summaries.read(results / "summary" / "sine.nc").load()
    netcdf.write(whole.isel(seed=[0]), results / "summary" / "sine.nc")
    options = ["--results", results, "--output", output, "--readme", copy / "README.md", "--repeated"]
    assert main(["publish", *map(str, options)]) == 0
    assert {path: path.read_bytes() for path in output.rglob("*.nc")} == before
    made = provenance.read(output, {})
    assert [(part.what, part.runs) for part in made.parts] == [(publish.PAPER, 4), ("sine, made again", 2)]
    assert made.runs == 4
    assert made.core_hours == pytest.approx(2 * made.parts[0].core_hours)
    assert "| sine, made again | 2 |" in (output / "README.md").read_text(encoding="utf-8")
    assert "Added later" not in (copy / "README.md").read_text(encoding="utf-8")
    whole["settings"] = whole["settings"].str.replace('"epochs":', '"epochs":1', regex=False)
    netcdf.write(whole, results / "summary" / "sine.nc")
    with pytest.raises(FileRefused, match=r"sine/cbo_M5_N8 and sine/adam_M5_N1 not published with these settings"):
        publish.repeated(results, output)


def test_nothing_is_added_to_no_publication_or_from_no_results(project, reference, tmp_path):
    results = more_results(reference, tmp_path)
    with pytest.raises(FileRefused, match="holds no publication to add to"):
        publish.add(results, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileRefused, match="there is nothing to add"):
        publish.add(tmp_path / "empty", project / "docs" / "reproduction")


def test_results_of_other_code_are_not_added(project, reference, tmp_path, monkeypatch):
    results, output = more_results(reference, tmp_path), shutil.copytree(project / "docs", tmp_path / "docs")
    before = {path: path.read_bytes() for path in output.rglob("*") if path.is_file()}
    canonical = code._canonical
    monkeypatch.setattr(code, "_canonical", lambda path: canonical(path) + "edited" * (path.name == "cbo.py"))
    with pytest.raises(FileRefused, match=r"1 of 1 files .* readings/one_factor/summary/sine/cbo_M5_N8\.nc; make"):
        publish.add(results, output / "reproduction")
    assert {path: path.read_bytes() for path in output.rglob("*") if path.is_file()} == before


def test_results_of_other_code_are_refused_by_name(project, tmp_path, monkeypatch):
    canonical = code._canonical
    monkeypatch.setattr(code, "_canonical", lambda path: canonical(path) + "edited" * (path.name == "adam.py"))
    with pytest.raises(FileRefused) as refused:
        publish.publish(project / "results", tmp_path / "out")
    assert refused.value.code == "mixture"
    words = "2 of 7 files were made by other code or other versions than the rest: "
    assert f"{words}summary/sine/adam_M5_N1.nc, summary/sine.nc; make them again" in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_results_of_several_versions_are_refused_by_name(project, tmp_path):
    results = shutil.copytree(project / "results", tmp_path / "results")
    path = results / "summary" / "sine" / "cbo_M5_N8.nc"
    data = netcdf.read(path)
    data.attrs["versions"] = json.dumps({**json.loads(data.attrs["versions"]), "numpy": "1.0"})
    netcdf.write(data, path)
    with pytest.raises(FileRefused, match=r"1 of 7 files .* rest: summary/sine/cbo_M5_N8\.nc; make"):
        publish.publish(results, tmp_path / "out")


def test_a_readme_without_a_place_for_it_is_refused_before_anything_is_made(project, tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text("nothing here")
    with pytest.raises(UserError, match="has no part between"):
        publish.publish(project / "results", tmp_path / "out", readme)
    assert not (tmp_path / "out").exists()
    assert readme.read_text() == "nothing here"


def test_the_projects_readme_has_a_place_for_it():
    assert publish._part_of(ROOT / "README.md")


def test_results_of_the_whole_config_are_recognised():
    """Summaries that hold every curve of config.yaml, with all its seeds."""
    import xarray as xr

    from cbo_pipeline.config import load_config, resolve, runs

    config = load_config()
    curves: dict[str, dict[str, int]] = {}
    for name in runs(config):
        text = resolve(config, name.curve.run(0)).json
        of = curves.setdefault(name.experiment, {})
        of[text] = of.get(text, 0) + 1
    summaries = {
        experiment: xr.Dataset(
            {
                "risk": (
                    ("curve", "seed", "epoch"),
                    [[[0.0 if s < n else np.nan] for s in range(max(of.values()))] for n in of.values()],
                ),
                "settings": ("curve", list(of)),
            },
            coords={"curve": [str(i) for i in range(len(of))]},
        )
        for experiment, of in curves.items()
    }
    assert re.fullmatch(r"All of config.yaml: \d+ curves, \d+ runs", publish.coverage(summaries))
    (task,) = curves["multi_task"].values()
    twice = xr.concat([summaries["multi_task"]] * 2, "seed", data_vars="minimal")
    more = publish.coverage({**summaries, "multi_task": twice})  # more seeds than the config has are fine, and told
    count = sum(n for of in curves.values() for n in of.values()) + task
    assert re.fullmatch(rf"All of config.yaml with more seeds for 1 of its curves: \d+ curves, {count} runs", more)
    fewer = {**summaries, "multi_task": summaries["multi_task"].isel(seed=slice(1))}
    assert publish.coverage(fewer).endswith("have fewer seeds or other settings)")
    del summaries["mnist"]
    assert not publish.coverage(summaries).startswith("All")


def job(end, seconds, *parts):
    return stages.Job(parts or ("sine", "cbo", "x"), end, seconds, 0.5 * seconds, None)


def test_wall_time_counts_parallel_jobs_once_and_no_pauses():
    jobs = [job(10, 10), job(12, 5), job(9, 1), job(100, 3)]
    assert stages.wall_seconds(jobs) == 12 + 3
    assert stages.core_hours(jobs) == pytest.approx(0.5 * 19 / 3600)
    assert stages.wall_seconds([]) == 0


def test_a_benchmark_that_a_full_disk_cut_short_is_left_out(tmp_path):
    for name, text in {"a": "s\tcpu_time\tmax_rss\n2\t1\t1\n", "b": "", "c": "s\tcpu_time", "d": "s\n1\n"}.items():
        (tmp_path / f"{name}.tsv").write_text(text)
    assert [job.parts for job in stages.read(tmp_path)] == [("a",)]


def test_every_rule_that_runs_a_command_has_a_benchmark_of_a_known_stage():
    for path in (ROOT / "workflow/rules").glob("*.smk"):
        for rule in re.split(r"^\s*(?=rule\b|use rule )", path.read_text(), flags=re.MULTILINE):
            if re.search(r"^\s+shell:", rule, re.MULTILINE):
                (place,) = re.findall(r'benchmark:\n\s+f?"results/benchmarks/([^/".]+)', rule)
                assert place in stages.STAGES or place in ("{experiment}", "{job"), rule
    # The path of a job of several runs begins with its experiment, or with the stage of the readings.
    assert SharedJob(Curve("sine", "cbo", 5, 8), (0, 1), None, "").stem.split("/")[0] == "sine"
    assert SharedJob(Curve("sine", "cbo", 5, 8), (0, 1), None, "", "float64").stem.split("/")[0] in stages.STAGES
