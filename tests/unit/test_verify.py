"""Do files still fit, and when is new code adopted?"""

import json
import shutil

import numpy as np
import pytest

from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.errors import FileRefused
from cbo_pipeline.results import (
    adopt,
    checks,
    code,
    costs,
    ledger,
    netcdf,
    rounding,
    runs,
    summaries,
    told_code,
    verify,
)
from cbo_pipeline.training import cost
from cbo_pipeline.training.loop import train

SMALL = {"points": 40, "batch_size": 20, "epochs": 4, "M": 5, "seeds": 2, "snapshots": [0, 2], "keep_ensembles": [3]}
CURVE = "sine/cbo_M5_N6"


def small_config():
    """The sine with CBO and Adam, as small as it gets."""
    config = load_config()
    sine = {k: v for k, v in config["experiments"]["sine"].items() if k != "methods"} | SMALL
    methods = config["experiments"]["sine"]["methods"]
    chosen = {"cbo": {**methods["cbo"], "N": 6}, "adam": {**methods["adam"], "N": 1}}
    return {**config, "experiments": {"sine": {**sine, "methods": chosen}}}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder of results: runs of two curves, their summaries, a cost and a check."""
    folder, config, curves = tmp_path_factory.mktemp("made") / "results", small_config(), []
    for variant, N in (("cbo", 6), ("adam", 1)):
        paths = []
        for seed in (0, 1):
            run = resolve(config, RunName("sine", variant, 5, N, seed))
            paths.append(folder / "runs" / f"{run.name}.nc")
            netcdf.write(runs.dataset(run, train(run)), paths[-1])
        curves.append(summaries.summarise_curve(paths))
        netcdf.write(curves[-1], folder / "summary" / f"{run.name.curve}.nc")
        costs.write(cost.measure(run, 0.0), folder / "cost" / f"{run.name.curve}.json")
    netcdf.write(summaries.join(curves), folder / "summary" / "sine.nc")
    checks.write(
        "barycentres", dict.fromkeys(checks.CONTENT["barycentres"], 0.0), folder / "checks" / "barycentres.json"
    )
    (folder / "claims.json").write_text("[]")
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "results")


def misfits(folder, config=None):
    return {
        row.path.removeprefix(f"{folder}/"): row
        for row in verify.verify(folder, config or small_config())
        if not row.fits
    }


def other_code(monkeypatch, method="cbo"):
    """Let the code of a method have another digest from now on."""
    monkeypatch.setattr(code, "_canonical", _edited(code._canonical, f"{method}.py"))


def _edited(before, name):
    return lambda path: before(path) + (" edited" if path.name == name else "")


def test_what_was_just_made_fits(folder):
    rows = verify.verify(folder, small_config())
    assert sorted(row.kind for row in rows) == ["check", "cost", "cost", *["run"] * 4, *["summary"] * 3]
    assert misfits(folder) == {}
    assert verify.lines(rows) == ["10 of 10 files fit code, settings and versions"]


def test_an_edited_method_is_told_by_its_runs_summaries_and_costs(folder, monkeypatch):
    other_code(monkeypatch, "adam")
    found = misfits(folder)
    assert set(found) == {
        "runs/sine/adam/M5_N1_seed0.nc", "runs/sine/adam/M5_N1_seed1.nc", "summary/sine.nc",
        "summary/sine/adam_M5_N1.nc", "cost/sine/adam_M5_N1.json",
    }  # fmt: skip
    assert all((row.settings, row.versions) == ("fits", "fits") and row.code != "fits" for row in found.values())


def test_other_settings_are_named(folder):
    config = small_config()
    config["experiments"]["sine"]["methods"]["cbo"]["sigma_squared"] = 1.1
    found = misfits(folder, config)
    assert len(found) == 5
    assert {row.settings for row in found.values()} == {"other sigma_squared"}


def test_curves_of_another_config_are_no_misfit(folder):
    config = small_config()
    del config["experiments"]["sine"]["methods"]["adam"]
    rows = verify.verify(folder, config)
    assert all(row.fits for row in rows)
    assert sum(row.settings == verify.NOT_IN_CONFIG for row in rows) == 4


def test_runs_of_other_readings_have_settings_of_their_own(folder, monkeypatch):
    config, name = small_config(), RunName("sine", "adam", 5, 1, 0)
    run = resolve(config, name, {"dt": 0.2})
    path = folder / "readings" / "large_steps" / "runs" / f"{name}.nc"
    netcdf.write(runs.dataset(run, train(run)), path)
    (row,) = [row for row in verify.verify(folder, config) if row.path == str(path)]
    assert row.settings == verify.NOT_IN_CONFIG
    (row,) = [r for r in verify.verify(folder, config, {"large_steps": {name: run.json}}) if r.path == str(path)]
    assert (row.code, row.settings, row.versions) == ("fits", "fits", "fits")
    other = {"large_steps": {name: resolve(config, name).json}}
    (row,) = [r for r in verify.verify(folder, config, other) if r.path == str(path)]
    assert row.settings == "other dt"
    other_code(monkeypatch, "adam")
    adopted = {outcome.curve for outcome in adopt.adopt(folder) if outcome.adopted}
    assert adopted == {"sine/adam_M5_N1", "large_steps/sine/adam_M5_N1"}
    assert not [name for name in misfits(folder) if "runs" in name]


def test_other_versions_are_named(folder, monkeypatch):
    changed = {**verify.versions(), "numpy": "9.9"}
    monkeypatch.setattr(verify, "versions", lambda: changed)
    monkeypatch.setattr("cbo_pipeline.results.versions.versions", lambda: changed)
    found = misfits(folder)
    assert len(found) == 10
    assert all(row.versions.endswith("-> 9.9") for row in found.values())


def test_a_damaged_file_is_a_row_of_the_table(folder):
    path = folder / "runs" / "sine" / "cbo" / "M5_N6_seed0.nc"
    path.write_bytes(path.read_bytes()[:-10])
    (folder / "cost" / "sine" / "cbo_M5_N6.json").write_text("{")
    found = misfits(folder)
    assert {row.kind for row in found.values()} == {"refused"}
    assert len(found) == 2
    assert any(str(path) in line for line in verify.lines(list(found.values())))


@pytest.mark.parametrize("change", [{"check": "winners"}, {"versions": None}, {"residual": None}])
def test_a_check_that_is_not_ours_is_a_row_of_the_table(folder, change):
    """A check that nobody makes, or one without its versions or a number, is refused by name like any other file."""
    path = folder / "checks" / "barycentres.json"
    content = json.loads(path.read_text()) | change
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))
    (row,) = misfits(folder).values()
    assert (row.kind, row.path) == ("refused", str(path))


@pytest.mark.parametrize("kind", ["png", "pdf"])
def test_a_figure_tells_the_code_that_drew_it(tmp_path, monkeypatch, kind):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    from cbo_pipeline.figures import style

    figure = pyplot.figure()
    style.save(figure, [tmp_path / f"drawn.{kind}"], code.stage_digest("figures.sine"))
    style.save(figure, [tmp_path / f"other.{kind}"])
    pyplot.close(figure)
    (row,) = verify.verify(tmp_path, small_config())
    assert (row.kind, row.fits) == ("figure", True)
    other_code(monkeypatch, "style")
    (row,) = verify.verify(tmp_path, small_config())
    assert (row.kind, row.code) == ("figure", "other code")


def test_the_checksum_of_a_picture_may_be_any_byte(tmp_path):
    """The digest is the last text of its part of a PNG: a checksum follows, which may look like a letter."""
    digest, path, stages = code.stage_digest("figures.sine"), tmp_path / "drawn.png", told_code.Stages()
    for after in range(256):
        path.write_bytes(b"\x89PNG tEXtComment\x00code " + digest.encode() + bytes([after]) + b"IDAT")
        assert stages.of_figure(path) == told_code.FITS, after


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(FileRefused, match="no such folder"):
        verify.verify(tmp_path / "nowhere", small_config())


# --- Adopting code ------------------------------------------------------------------------------------------------


def test_code_that_gives_the_same_numbers_is_adopted(folder, monkeypatch):
    before = {path: path.read_bytes() for path in folder.rglob("*.nc")}
    old = code.run_digest("cbo", "sine")
    other_code(monkeypatch)
    new = code.run_digest("cbo", "sine")
    (outcome,) = adopt.adopt(folder)
    assert outcome.adopted
    assert str(outcome.curve) == CURVE
    (entry,) = ledger.read(folder)
    assert (entry["old"]["code"], entry["new"]["code"]) == (old, new)
    assert (entry["run"], entry["epochs"]) == ("sine/cbo/M5_N6_seed0", 4)
    assert entry["numbers"] > 100
    assert ledger.effective_digest(CURVE, new, ledger.read(folder)) == old
    assert {path: path.read_bytes() for path in folder.rglob("*.nc")} == before
    assert set(misfits(folder)) == {"cost/sine/cbo_M5_N6.json"}  # a cost is measured, not computed
    assert list(adopt.adopt(folder)) == []


def test_digests_are_joined_over_several_steps(folder, monkeypatch):
    first = code.run_digest("cbo", "sine")
    for _ in range(3):
        other_code(monkeypatch)
        assert [outcome.adopted for outcome in adopt.adopt(folder, epochs=1)] == [True]
    last = code.run_digest("cbo", "sine")
    assert len(ledger.read(folder)) == 3
    assert ledger.effective_digest(CURVE, last, ledger.read(folder)) == first
    assert ledger.effective_digest("sine/other_M5_N6", last, ledger.read(folder)) == last
    assert not [name for name in misfits(folder) if name.startswith("runs")]


def test_the_first_epochs_can_be_enough(folder, monkeypatch):
    other_code(monkeypatch)
    (outcome,) = adopt.adopt(folder, epochs=2)
    assert outcome.adopted
    assert ledger.read(folder)[0]["epochs"] == 2


@pytest.mark.parametrize("epochs", [None, 3])
@pytest.mark.parametrize("name", ["risk", "w", "particle_c"])
def test_a_single_other_bit_keeps_the_old_digest(folder, monkeypatch, name, epochs):
    path = folder / "runs" / "sine" / "cbo" / "M5_N6_seed0.nc"
    data = runs.read(path)
    at = data[name].values
    at.flat[0] = np.nextafter(at.flat[0], np.inf)
    netcdf.write(data, path)
    other_code(monkeypatch)
    (outcome,) = adopt.adopt(folder, epochs=epochs)
    assert not outcome.adopted
    assert f"{name} differs" in outcome.words
    assert ledger.read(folder) == ()
    assert "runs/sine/cbo/M5_N6_seed0.nc" in misfits(folder)


def test_a_difference_after_the_compared_epochs_is_not_seen_and_the_ledger_says_so(folder, monkeypatch):
    path = folder / "runs" / "sine" / "cbo" / "M5_N6_seed0.nc"
    data = runs.read(path)
    data["risk"].loc[{"epoch": 4}] = 0.0
    netcdf.write(data, path)
    other_code(monkeypatch)
    assert [outcome.adopted for outcome in adopt.adopt(folder, epochs=3)] == [True]
    assert ledger.read(folder)[0]["epochs"] == 3


def test_a_missing_variable_keeps_the_old_digest(folder, monkeypatch):
    path = folder / "runs" / "sine" / "cbo" / "M5_N6_seed0.nc"
    netcdf.write(runs.read(path).drop_vars("alpha"), path)
    other_code(monkeypatch)
    (outcome,) = adopt.adopt(folder)
    assert "alpha is only in the remade run" in outcome.words


def publication(folder, output, change=None):
    """A folder that holds what is published of the runs: their summaries, for the paper and for another reading."""
    summary = summaries.read(folder / "summary" / "sine.nc").load()
    if change:
        change(summary)
    netcdf.write(rounding.published(summary), output / "summary" / "sine.nc")
    (cbo,) = (summary.isel(curve=[k]) for k, name in enumerate(summary["variant"].values) if name == "cbo")
    netcdf.write(rounding.published(summaries.join([cbo])), output / "readings" / "another" / "summary/sine/cbo.nc")
    return output


def test_code_is_adopted_for_a_publication_by_the_series_in_its_summaries(folder, tmp_path, monkeypatch):
    output = publication(folder, tmp_path / "published")
    other_code(monkeypatch)
    assert set(misfits(output)) == {"summary/sine.nc", "readings/another/summary/sine/cbo.nc"}
    outcomes = list(adopt.adopt(output, epochs=3))
    assert [(outcome.curve, outcome.adopted) for outcome in outcomes] == [(f"another/{CURVE}", True), (CURVE, True)]
    assert misfits(output) == {}
    assert list(adopt.adopt(output)) == []


def _other_risk(summary):
    summary["risk"][:] *= 1 + 1e-5


def _other_last_bit_of_the_variance(summary):
    summary["variance"][:] = np.nextafter(summary["variance"].values, np.inf)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_other_risk, "risk differs from epoch 0 on"),
        (_other_last_bit_of_the_variance, "variance differs from epoch 0 on"),
    ],
)
def test_code_is_not_adopted_for_a_publication_of_other_numbers(folder, tmp_path, monkeypatch, change, words):
    output = publication(folder, tmp_path / "published", change)
    other_code(monkeypatch)
    outcomes = list(adopt.adopt(output, epochs=3))
    assert [outcome.adopted for outcome in outcomes] == [False, False]
    assert all(words in outcome.words for outcome in outcomes)
    assert ledger.read(output) == ()


def test_other_libraries_with_the_same_numbers_are_adopted_too(folder, monkeypatch):
    changed = {**verify.versions(), "numpy": "9.9"}
    for place in ("cbo_pipeline.results.verify", "cbo_pipeline.results.adopt", "cbo_pipeline.results.versions"):
        monkeypatch.setattr(f"{place}.versions", lambda: changed)
    assert [outcome.adopted for outcome in adopt.adopt(folder, epochs=1)] == [True, True]
    assert not [name for name in misfits(folder) if name.startswith("runs")]


@pytest.mark.parametrize("content", ["{", "{}", "[1]", '[{"curve": "a"}]'])
def test_a_damaged_ledger_is_refused_by_name(folder, content):
    (folder / ledger.FILE).write_text(content)
    with pytest.raises(FileRefused, match=ledger.FILE):
        verify.verify(folder, small_config())


def test_a_ledger_is_plain_json(folder, monkeypatch):
    other_code(monkeypatch)
    list(adopt.adopt(folder, epochs=1))
    assert json.loads((folder / ledger.FILE).read_text())[0]["curve"] == CURVE
