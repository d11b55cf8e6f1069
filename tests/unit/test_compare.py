"""Two folders of results beside each other: same, within the spread over seeds, different, or not comparable."""

import json

import numpy as np
import pytest
import xarray as xr

import synthetic
from cbo_pipeline.cli.main import main
from cbo_pipeline.errors import FileRefused, UserError
from cbo_pipeline.pages import compare
from cbo_pipeline.pages.compare import AGREES, DIFFERS, NOT_COMPARED, SAME
from cbo_pipeline.pages.published_data import lean
from cbo_pipeline.results import contract, netcdf

ADAM = synthetic.decay(0.5, 1e-4, 80, 8, noise=0.3, seed=1)
CBO = synthetic.decay(0.5, 1e-3, 80, 8, noise=0.3, seed=2)


def folder(path, *, cbo=CBO, adam=ADAM, published=False, settings=None, verdict="holds", value=-0.3, figure=b"one"):
    """A folder with one experiment of two curves, a figure and two verdicts."""
    curves = []
    if cbo is not None:
        curves.append(synthetic.curve("sine", "cbo", cbo, M=100, N=200, settings=settings))
    if adam is not None:
        curves.append(synthetic.curve("sine", "adam", adam, M=100, N=1))
    data = synthetic.summary(*curves)
    data["risk_over_seeds"] = data["risk"].median("seed").expand_dims(statistic=["median"])
    data = contract.stamp(data, "summary", "sine", "0" * 20, experiment="sine")
    netcdf.write(lean(data) if published else data, path / "summary" / "sine.nc")
    (path / "figures").mkdir()
    (path / "figures" / "sine_training.png").write_bytes(figure)
    (path / "figures" / "meanfield_diagram.png").write_bytes(figure)
    rows = [{"id": 1, "verdict": verdict, "value": value, "spread": [value - 0.1, value + 0.1]}]
    rows.append({"id": 2, "verdict": "not tested at this scale", "value": None, "spread": None})
    told = {"section": "4.1", "claim": "Sine: CBO.", "statistic": "a ratio"}
    (path / "claims.json").write_text(json.dumps([{**told, **row} for row in rows]))
    return path


def states(one, other) -> dict[str, str]:
    return {row.name: row.state for row in compare.compare(one, other)}


CURVES = ("sine/cbo_M100_N200", "sine/adam_M100_N1")


def test_a_folder_is_the_same_as_itself(tmp_path):
    one = folder(tmp_path / "one")
    rows = compare.compare(one, one)
    assert {row.state for row in rows} == {SAME}
    assert {row.kind for row in rows} == {"curve", "figure", "verdict"}
    assert compare.exit_code(rows) == 0
    assert compare.tally(rows) == "2 curves: same 2; 2 figures: same 2; 2 verdicts: same 2"


def test_published_numbers_are_the_same_to_their_digits(tmp_path):
    rows = compare.compare(folder(tmp_path / "one"), folder(tmp_path / "other", published=True))
    assert {row.state for row in rows if row.kind == "curve"} == {SAME}
    assert "six digits" in rows[0].where


def test_other_seeds_of_the_same_law_agree(tmp_path):
    again = synthetic.decay(0.5, 1e-3, 80, 5, noise=0.3, seed=7)
    rows = compare.compare(folder(tmp_path / "one"), folder(tmp_path / "other", cbo=again, value=-0.32))
    found = {row.name: row for row in rows}
    assert found[CURVES[0]].state == AGREES
    assert "8 and 5 seeds" in found[CURVES[0]].where
    assert found[CURVES[1]].state == SAME
    assert found["claim 1"].state == AGREES
    assert compare.exit_code(rows) == 0


def test_a_last_bit_is_told_but_agrees(tmp_path):
    other = CBO.copy()
    other[3, 41] = np.nextafter(other[3, 41], 1)
    row = compare.compare(folder(tmp_path / "one"), folder(tmp_path / "other", cbo=other))[0]
    assert row.state == AGREES
    assert "risk from epoch 41 on" in row.where


@pytest.mark.parametrize("seeds", [8, 1])
def test_another_law_differs_and_it_is_told_where(tmp_path, seeds):
    """Only the second half of training is different: by a factor of ten, far beyond the spread."""
    changed = CBO[:seeds].copy()
    changed[:, 41:] *= 10
    rows = compare.compare(folder(tmp_path / "one", cbo=CBO[:seeds]), folder(tmp_path / "other", cbo=changed))
    found = {row.name: row for row in rows}
    assert found[CURVES[0]].state == DIFFERS
    assert "risk at epoch 60" in found[CURVES[0]].where
    assert compare.exit_code(rows) == 1


@pytest.mark.parametrize("diverged", [7, 8, 9, 10])
def test_runs_most_of_which_diverged_differ_from_runs_that_did_not(diverged):
    """Where nearly all differences are infinite, so are both ends of the interval: that decides."""
    fine = np.exp(0.3 * np.random.default_rng(1).standard_normal((10, 41)))
    bad = fine.copy()
    bad[:diverged, 5:] = np.inf
    one, other = (xr.DataArray(v, dims=("seed", "epoch"), coords={"epoch": np.arange(41)}) for v in (fine, bad))
    assert "against never" in compare._apart(one, other)
    assert "never against" in compare._apart(other, one)
    assert not compare._apart(other, other)


def test_runs_of_the_same_law_seldom_differ():
    """How often the rule errs where nothing differs: seldom, at few and at many seeds."""
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(100):
        samples = [np.exp(0.5 * rng.standard_normal((seeds, 81))).cumsum(1) for seeds in (5, 10)]
        one, other = (synthetic.curve("sine", "cbo", s, M=1, N=1)["risk"].isel(curve=0) for s in samples)
        wrong += bool(compare._apart(one, other))
    assert wrong <= 10


def test_other_settings_are_not_compared(tmp_path):
    one, other = (folder(tmp_path / name, settings={"dt": dt}) for name, dt in (("one", 0.1), ("other", 0.2)))
    found = {row.name: row for row in compare.compare(one, other)}
    assert found[CURVES[0]].state == NOT_COMPARED
    assert "dt 0.1 and 0.2" in found[CURVES[0]].where


def test_what_only_one_has_is_told_and_counts_as_nothing(tmp_path):
    one, other = folder(tmp_path / "one"), folder(tmp_path / "other", adam=None)
    rows = compare.compare(one, other)
    found = {row.name: row for row in rows}
    assert found[CURVES[1]].state == NOT_COMPARED
    assert str(one) in found[CURVES[1]].where
    assert compare.exit_code(rows) == 0


def test_a_figure_of_other_bytes_is_as_its_curves(tmp_path):
    one = folder(tmp_path / "one")
    assert states(one, folder(tmp_path / "redrawn", figure=b"two"))["sine_training"] == AGREES
    changed = states(one, folder(tmp_path / "changed", figure=b"two", cbo=10 * CBO))
    assert changed["sine_training"] == DIFFERS
    assert changed["meanfield_diagram"] == AGREES  # a drawing without results


def test_a_figure_is_told_by_all_curves_that_it_shows_and_by_no_other():
    """Also by those that it shows where they are there; a sweep along M does not show the others along N."""
    names = ("mnist/adam_M20_N1", "mnist/cbo_M20_N1000", "mnist/hybrid_M20_N1000")
    rows = [compare.Row("curve", name, SAME) for name in names]
    rows.append(compare.Row("curve", "mnist_horizon/cbo_M20_N1000", DIFFERS))
    assert compare._by_curves("comparison_cbo_adam", rows)[0] == DIFFERS
    assert compare._by_curves("comparison_cbo_adam", rows[:-1])[0] == AGREES
    sizes = {(10, 200): SAME, (200, 200): SAME, (200, 10): DIFFERS}
    square = [compare.Row("curve", f"square/ot_cbo_M{M}_N{N}", state) for (M, N), state in sizes.items()]
    assert compare._by_curves("mean_field_M", square)[0] == AGREES
    assert compare._by_curves("mean_field_N", square)[0] == DIFFERS


def test_another_verdict_differs(tmp_path):
    one, other = folder(tmp_path / "one"), folder(tmp_path / "other", verdict="undecided")
    assert states(one, other)["claim 1"] == DIFFERS
    small = folder(tmp_path / "small", verdict="not tested at this scale")
    assert states(one, small)["claim 1"] == NOT_COMPARED


def test_the_command_prints_a_table_writes_json_and_tells_by_its_code(tmp_path, capsys):
    one, same, other = folder(tmp_path / "one"), folder(tmp_path / "same"), folder(tmp_path / "other", cbo=10 * CBO)
    assert main(["compare", str(one), str(same)]) == 0
    assert "2 curves: same 2" in capsys.readouterr().out
    assert main(["compare", str(one), str(other), "--json", str(tmp_path / "found.json")]) == 1
    assert "differs" in capsys.readouterr().out
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["differs"]
    assert {row["state"] for row in found["rows"]} >= {SAME, DIFFERS}


def test_folders_that_have_nothing_in_common_are_refused(tmp_path, capsys):
    one = folder(tmp_path / "one")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError) as refused:
        compare.compare(one, tmp_path / "empty")
    assert refused.value.code == "nothing-in-common"
    assert main(["compare", str(one), str(tmp_path / "nowhere")]) == 2
    (tmp_path / "empty" / "claims.json").write_text("[1]")
    with pytest.raises(FileRefused):
        compare.compare(one, tmp_path / "empty")
