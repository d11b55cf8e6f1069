"""Figures that show what the claims are judged by: pairs, the phase diagram, readings."""

import json

import numpy as np
import pytest
from matplotlib import pyplot as plt

from cbo_pipeline import figures
from cbo_pipeline.claims import CLAIMS
from cbo_pipeline.claims.rule import FAILS, HOLDS, UNDECIDED
from cbo_pipeline.cli.main import main
from cbo_pipeline.config import load_config, runs
from cbo_pipeline.config.schema import project_file
from cbo_pipeline.figures import pairs, readings, style, theory
from cbo_pipeline.results import readings as reading_files
from synthetic import curve, decay, settling, summary


@pytest.fixture(autouse=True)
def closed():
    with style.applied():
        yield
        plt.close("all")


def test_every_pair_is_a_dot():
    settings = {"label_noise": 0.01}
    cbo, adam = settling(0.5, 3e-4, 100, 8, noise=0.5), settling(0.5, 3e-4, 100, 8, noise=0.5, seed=1)
    cbo[0, 50:] = np.nan  # a run that diverged is shown at the edge, not left out
    data = summary(
        curve("sine", "cbo", cbo, M=100, N=200, settings=settings),
        curve("sine", "adam", adam, M=100, N=1, settings=settings),
    )
    axes = pairs.sine_pairs({"sine": data}).axes[0]
    lower, higher = (line for line in axes.lines if line.get_marker() in "o^")
    assert len(lower.get_xdata()) + len(higher.get_xdata()) == 8
    assert np.all(lower.get_xdata() < 0)
    ends = [np.median(risk[:, 96:], axis=1) for risk in (cbo, adam)]
    assert len(lower.get_xdata()) == np.sum(ends[0] < ends[1])
    assert np.isfinite(higher.get_xdata()).all()


def test_the_phase_diagram_has_a_cell_for_every_case_and_both_lines():
    cases = [(sigma_squared, M) for M in (2, 10) for sigma_squared in (1.0, 2.5, 8.0)]
    curves = []
    for sigma_squared, M in cases:
        variance = decay(1.0, 1e-20 if sigma_squared < 8 else 1e9, 2000, 10)
        settings = {"lambda": 1.0, "dt": 0.1, "sigma_squared": sigma_squared}
        look = {"M": M, "N": 50, "method": "cbo", "settings": settings, "variance": variance}
        curves.append(curve("consensus_condition", f"s{sigma_squared}", variance, **look))
    axes = theory.consensus_condition({"consensus_condition": summary(*curves)}).axes[0]
    cells = axes.collections[0]
    assert {tuple(place) for place in cells.get_offsets()} == {(s / 2, M) for s, M in cases}
    assert sorted(cells.get_array()) == [0, 0, 1, 1, 1, 1]
    assert sorted(line.get_xdata()[0] for line in axes.lines) == [0.95, 1]


def one(verdict, value, moved=False):
    return {"verdict": verdict, "value": value, "spread": [value - 1, None], "line": 0.0, "seeds": 10, "seen": "",
            "base": HOLDS, "moved": moved}  # fmt: skip


@pytest.fixture
def found(tmp_path):
    """Two readings: one turns claims 1 and 10, the other was tried on claim 10 alone."""
    base = {str(claim.id): one(HOLDS, -2.0) for claim in CLAIMS}
    levels = {"a": ["x", "y"], "b": ["u", "v"]}
    rows = [
        {"choices": {"a": a, "b": b}, "claims": {"1": one(HOLDS if a == "x" else FAILS, i - 1.5)}}
        for i, (a, b) in enumerate((a, b) for a in levels["a"] for b in levels["b"])
    ]
    content = {
        "most_seeds": 10,
        "choices": {name: {"what": f"choice {name}", "base": values[0]} for name, values in levels.items()},
        "claims": {str(claim.id): claim.claim for claim in CLAIMS},
        "statistics": {str(claim.id): claim.statistic for claim in CLAIMS},
        "base": base,
        "compared": base,
        "readings": [
            {"name": "first", "choices": {"a": "y"}, "grade": "as_good",
             "claims": {"1": one(FAILS, 1.0, True), "10": one(UNDECIDED, 0.1, True)}},
            {"name": "second", "choices": {"b": "v"}, "grade": "possible", "claims": {"10": one(HOLDS, -1.0)}},
        ],
        "crossed": {"levels": levels, "rows": rows, "shares": {"1": None}, "experiment": "sine", "method": ""},
        "robustness": {str(c.id): "turns with: a" if c.id in (1, 10) else "robust" for c in CLAIMS},
    }  # fmt: skip
    path = tmp_path / "readings.json"
    reading_files.write(content, path)
    return path


def test_the_matrix_shows_every_verdict_and_frames_what_turned(found):
    axes = readings.readings(reading_files.read(found)).axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [str(claim.id) for claim in CLAIMS]
    # The base twice, two readings; one that is only possible is italic.
    assert [label.get_style() for label in axes.get_xticklabels()] == ["normal", "normal", "normal", "italic"]
    frames = [patch for patch in axes.patches if not patch.get_fill()]
    assert [(round(f.get_x() + 0.46), round(f.get_y() + 0.46)) for f in frames] == [(2, 0), (2, 9)]
    signs = {(round(text.get_position()[0]), round(text.get_position()[1])): text.get_text() for text in axes.texts}
    assert (signs[2, 0], signs[2, 9], signs[3, 9], signs[3, 0]) == ("○", "?", "●", "")


def test_the_specification_curve_is_sorted_and_shows_the_choices(found):
    panels = readings.specification_curve(reading_files.read(found)).axes
    for axes, claim in zip(panels[::2], (CLAIMS[0], CLAIMS[9]), strict=True):
        assert " ".join(axes.get_title(loc="left").split()) == f"{claim.id}. {claim.claim} Number: {claim.statistic}"
    dots = np.concatenate([line.get_xydata() for line in panels[0].lines if line.get_marker() == "."])
    np.testing.assert_array_equal(dots[np.argsort(dots[:, 0])][:, 1], [-1.5, -0.5, 0.5, 1.5])
    labels = [tick.get_text() for tick in panels[1].get_yticklabels()]
    assert labels == ["choice a: x", "choice a: y", "choice b: u", "choice b: v"]
    marks = [line.get_xdata() for line in panels[1].lines if line.get_marker() == "|"]
    assert [list(places) for places in marks] == [[0, 1], [2, 3], [0, 2], [1, 3]]
    singles = [line for line in panels[2].lines if line.get_marker() == "."]
    assert sum(len(line.get_xdata()) for line in singles) == 3  # the base and two readings


def test_the_logarithm_of_nothing_stands_at_the_edge(found):
    """A run whose risk does not move at all; the others are not squeezed together for it."""
    content = reading_files.read(found)
    content["crossed"]["rows"][0]["claims"]["1"]["value"] = -307.0
    axes = readings.specification_curve(content).axes[0]
    bottom, top = axes.get_ylim()
    assert -10 < bottom < top < 10
    (triangle,) = [line for line in axes.lines if line.get_marker() == "v"]
    assert triangle.get_xydata().tolist() == [[0, bottom]]
    assert sum(len(line.get_xdata()) for line in axes.lines if line.get_marker() == ".") == 3


def test_without_a_claim_that_turns_the_figure_says_so(found):
    content = reading_files.read(found)
    for row in content["readings"]:
        row["claims"] = {number: verdict | {"moved": False} for number, verdict in row["claims"].items()}
    figure = readings.specification_curve(content)
    assert figure.axes[0].texts[0].get_text() == "no claim turns with a reading that was run"


@pytest.mark.parametrize("label", list(figures.OF_READINGS))
def test_the_command_draws_the_readings(found, tmp_path, label):
    for name in ("one.png", "two.png"):
        assert main(["figure", label, "--readings", str(found), "--output", str(tmp_path / name)]) == 0
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


def test_many_seeds_are_for_the_sine_the_tasks_and_the_square_alone():
    """What starts from a variant of more seeds keeps its own."""
    usual, many = {}, {}
    for config, counted in ((load_config(), usual), (load_config(project_file("workflow/many_seeds.yaml")), many)):
        for name in runs(config):
            counted.setdefault((name.experiment, name.variant), set()).add(name.seed)
    more = {key: len(seeds) for key, seeds in many.items() if seeds != usual[key]}
    assert more == {
        ("sine", "cbo"): 100, ("sine", "adam"): 100, ("multi_task", "multi_task_cbo"): 30, ("square", "ot_cbo"): 30,
    }  # fmt: skip
    assert all(usual[key] <= many[key] for key in more)
    assert json.dumps(sorted(many)) == json.dumps(sorted(usual))
