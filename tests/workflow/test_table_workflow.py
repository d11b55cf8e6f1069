"""A table in the workflow: three lines of config, and what is made again when its file is replaced."""

import sys

import pytest

from cbo_pipeline.config import check_config, load_config, runs
from cbo_pipeline.workflow.plan import Plan, curve_of
from table_files import small, write_csv
from tiny import ROOT, digests, finish

THREE_LINES = """\
only_experiments: [mine]
experiments:
  mine: {problem: table, data: data/table.csv, targets: y}
"""
SHORT = """{problem: table, data: data/table.csv, targets: y, seeds: 1, epochs: 2, M: 4,
         methods: {cbo: {N: 6}, adam: {}}}"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A config in a folder of its own, with the table beside it; the work is done in its parent folder."""
    (tmp_path / "own" / "data").mkdir(parents=True)
    write_csv(tmp_path / "own/data/table.csv", small(rows=100))
    (tmp_path / "own/own.yaml").write_text(THREE_LINES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_three_lines_are_an_experiment(folder):
    config = load_config("own/own.yaml")
    check_config(config)
    names = list(runs(config))
    assert {name.variant for name in names} == {"adam", "cbo", "hybrid"}
    assert len(names) == 9
    plan = Plan(config)
    assert plan.data_of(plan.runs[0]) == ["own/data/table.csv"]
    assert curve_of(plan.runs[0]) in plan.curves
    assert any("mine" in label for label in plan.figures)


def test_a_method_by_name_has_its_defaults_and_a_sweep(folder):
    (folder / "own/own.yaml").write_text(
        THREE_LINES.replace("targets: y}", "targets: y, methods: {hybrid: {sweep: {gamma: [0.5, 0.9]}}}}")
    )
    config = load_config("own/own.yaml")
    check_config(config)
    assert {name.variant for name in runs(config)} == {"hybrid_gamma_0p5", "hybrid_gamma_0p9"}


@pytest.mark.workflow
def test_a_replaced_file_makes_again_what_depends_on_it(folder):
    (folder / "own/own.yaml").write_text(THREE_LINES.replace(THREE_LINES.partition("mine: ")[2], SHORT))
    summary = "results/summary/mine.nc"
    command = [sys.executable, "-m", "snakemake", summary, "--snakefile", str(ROOT / "Snakefile"),
               "--configfile", "own/own.yaml", "--cores", "2"]  # fmt: skip
    done = finish(command, folder)
    assert done.returncode == 0, done.stderr
    first = digests(folder / "results/runs")
    assert len(first) == 2
    assert "Nothing to be done" in finish(command, folder).stderr
    write_csv(folder / "own/data/table.csv", small(rows=100, seed=1))
    done = finish(command, folder)
    assert done.returncode == 0, done.stderr
    second = digests(folder / "results/runs")
    assert set(first) == set(second)
    assert not set(first.values()) & set(second.values())
    assert "Nothing to be done" in finish(command, folder).stderr
