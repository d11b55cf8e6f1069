"""The workflow itself: real Snakemake runs in a temporary directory, at a tiny scale."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cbo_pipeline.config import load_config
from cbo_pipeline.results import verify
from checkout import SINE, TINY, Checkout

pytestmark = pytest.mark.workflow

# The numerical checks of the claims, on as few ensembles and samples as they can do.
SMALL_CHECKS = [
    ("claims/barycentres.py", "INSTANCES, LARGE_INSTANCES = 100, 20", "INSTANCES, LARGE_INSTANCES = 2, 1"),
    ("claims/barycentres.py", "TRAINED = (200, 200)", "TRAINED = (4, 4)"),
    ("claims/rule_errors.py", "SAMPLES = 8000", "SAMPLES = 4"),
]


CLAIMS = "results/claims.json"


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Checkout:
    """A checkout of the sine alone in which all has been made once. Tests that edit it copy it first."""
    checkout = Checkout(tmp_path_factory.mktemp("finished"))
    others = sorted(set(load_config()["experiments"]) - {"sine"})
    checkout.config.write_text(f"{TINY}{''.join(f'  {name}: null{chr(10)}' for name in others)}")
    package = checkout.root / "src/cbo_pipeline"
    for path, old, new in SMALL_CHECKS:
        replace(package / path, old, new)
    checkout.told = checkout.make(*SINE, CLAIMS)
    return checkout


@pytest.fixture
def edited(finished, tmp_path) -> Checkout:
    """A copy of the finished checkout, results and Snakemake's memory of them included."""
    copy = object.__new__(Checkout)
    copy.root, copy.work, copy.config = tmp_path / "project", tmp_path / "work", tmp_path / "project" / "tiny.yaml"
    shutil.copytree(finished.root, copy.root)
    shutil.copytree(finished.work, copy.work)
    return copy


def replace(path: Path, old: str, new: str, count: int = -1) -> None:
    text = path.read_text()
    assert old in text, f"{path} has no {old}"
    path.write_text(text.replace(old, new, count))


def test_everything_is_there(finished):
    runs = finished.files("results/runs/**/*.nc")
    expected = {
        f"results/runs/sine/{method}/M4_N{N}_seed{seed}.nc"
        for method, N in (("cbo", 6), ("adam", 1))
        for seed in (0, 1)
    }
    assert expected <= set(runs)
    figures = set(finished.files("results/figures/*"))
    assert figures == {f"results/figures/sine_{f}.{e}" for f in ("training", "example") for e in ("pdf", "png")}
    assert finished.files("results/benchmarks/sine/cbo/*.tsv")
    assert finished.files("results/logs/sine/cbo/*.log")
    assert not finished.files("results/checkpoints/**/*.npz")


def test_the_article_is_made_when_it_is_asked_for(edited):
    """And again when its template changes, and nothing else with it."""
    assert "article" not in edited.planned("all")
    edited.make("article")
    text = edited.files("results/article.md")["results/article.md"].decode()
    runs = len(edited.files("results/runs/**/*.nc"))
    assert f"and held 16 claims of that text against {runs} runs" in text
    assert not edited.planned("article")
    replace(edited.root / "src/cbo_pipeline/pages/article/template.md", "## What it costs", "## Costs")
    assert edited.planned("article") == {"article": 1}


def test_the_snakefile_of_the_catalogue_is_the_same_workflow(edited):
    """Whatever was made from the main folder need not be made again, and a report finds its captions."""
    snakefile = ("--snakefile", str(edited._under_one_name() / "workflow" / "Snakefile"))
    told = edited.snakemake(*snakefile, "--dry-run", "--cores", "1", *SINE, CLAIMS)
    assert "Nothing to be done" in told
    edited.snakemake(*snakefile, "--report", str(edited.work / "report.html"), *SINE, CLAIMS)
    assert (edited.work / "report.html").stat().st_size > 100_000


def test_every_file_carries_the_digest_of_its_code(finished):
    """``verify`` knows each file of results, and all of them fit."""
    command = [sys.executable, "-m", "cbo_pipeline", "verify", "results", "--all", "--config", str(finished.config)]
    environment = {**os.environ, "PYTHONPATH": str(finished.root / "src")}
    done = subprocess.run(command, cwd=finished.work, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    made = [path for path in finished.files("results/**/*") if Path(path).suffix in verify.SUFFIXES]
    assert {line.split()[0] for line in done.stdout.splitlines()[1:-1]} == set(made)
    assert {"results/claims.json", "results/claims.md", "results/claims.html", "results/speed.json"} <= set(made)


def test_it_is_told_how_long_it_will_take(finished):
    assert re.search(r"^(\d\d) jobs: about (\d+ min )?(\d+ s)?$", finished.told, re.MULTILINE), finished.told


def test_a_second_run_does_nothing(finished):
    assert "Nothing to be done" in finished.make()


def test_a_bare_touch_reruns_nothing(edited):
    for path in edited.root.rglob("*.py"):
        path.touch()
    assert edited.planned() == {}


def test_editing_one_methods_settings_reruns_that_method_only(edited):
    replace(edited.config, "      hybrid: null\n", "      hybrid: null\n      adam: {dt: 0.2}\n")
    assert edited.planned() == {
        "train": 2, "summarise_curve": 1, "join_curves": 1, "fig2": 1, "fig3": 1,
    }  # fmt: skip


def test_a_change_reaches_the_variants_that_start_from_it(edited):
    replace(edited.config, "cbo: {N: 6}", "cbo: {N: 6, dt: 0.2}")
    assert edited.planned()["train"] == 4  # cbo and cbo_float64


JUDGED = {"judge_claims": 1}
DRAWN = {"fig2": 1, "fig3": 1}
AFTER_TRAINING = {"join_curves": 1, **DRAWN, **JUDGED}
OF_ADAM = {"train": 2, "summarise_curve": 1, "measure_cost": 1, **AFTER_TRAINING}
ALL_RUNS = {"train": 6, "summarise_curve": 3, "measure_cost": 2, **AFTER_TRAINING}

# What decides no result: comments, docstrings and messages everywhere, and the floors around the science.
WORDS = [
    ("numerics/kernels/piecewise.py", "# so many that", "# so very many that"),
    ("numerics/kernels/steps.py", '"""', '"""In other words: '),
    ("methods/cbo.py", '"""Particles drift', '"""All particles drift'),
    ("methods/adam.py", "import numpy as np", "import numpy as np  # arrays"),
    ("problems/sine.py", '"""', '"""In other words: '),
    ("problems/base.py", "has no gradient", "has not any gradient"),
    ("figures/sine.py", '"""', '"""In other words: '),
    ("figures/style.py", "import json", "import json  # text"),
    ("claims/sine.py", '"""', '"""In other words: '),
    ("claims/evidence.py", "was not stored", "was not kept"),
    ("config/messages.py", "did you mean", "do you mean"),
    ("cli/progress.py", "epochs/s", "epochs per s"),
    ("pages/show.py", "median risk", "middle risk"),
    ("pages/claims.py", '"""', '"""In other words: '),
]
# What does, and what depends on it: a kernel, a method, a problem, a figure, a claim.
EQUATIONS = [
    ("numerics/kernels/piecewise.py", "wm == 0.0", "wm == 0.0 + 0.0", {**ALL_RUNS, "check_barycentres": 1}),
    ("methods/adam.py", "raise Diverged", "raise Diverged()", OF_ADAM),
    ("problems/sine.py", "np.sin(2 * np.pi * x)", "np.sin(np.pi * 2 * x)", ALL_RUNS),
    ("figures/sine.py", 'xlabel="epoch"', 'xlabel="epochs"', DRAWN),
    ("claims/sine.py", "GOOD = 0.05", "GOOD = 0.06", JUDGED),
    ("pages/claims.py", 'TITLE = "The claims', 'TITLE = "All claims', JUDGED),
    ("claims/rule.py", "ERROR = 0.05", "ERROR = 0.04", {"check_rule": 1, **JUDGED}),
]


def test_editing_words_reruns_nothing(edited):
    for path, old, new in WORDS:
        replace(edited.root / "src/cbo_pipeline" / path, old, new, count=1)
    assert edited.planned(*SINE, CLAIMS) == {}


@pytest.mark.parametrize(("path", "old", "new", "planned"), EQUATIONS, ids=[path for path, *_ in EQUATIONS])
def test_editing_an_equation_reruns_what_depends_on_it_and_nothing_else(edited, path, old, new, planned):
    replace(edited.root / "src/cbo_pipeline" / path, old, new)
    assert edited.planned(*SINE, CLAIMS) == planned


def test_one_more_seed_runs_one_more_seed(edited):
    replace(edited.config, "seeds: 2", "seeds: 3")
    assert edited.planned()["train"] == 3  # one for each of the three methods


@pytest.mark.parametrize(("number", "label"), [("fig2", "sine_training"), ("fig3", "sine_example")])
def test_a_figure_has_two_names_and_needs_only_its_own_runs(tmp_path, number, label):
    checkout = Checkout(tmp_path)
    planned = checkout.planned(number)
    assert planned == {"train": 4, "summarise_curve": 2, number: 1}
    assert checkout.planned(label) == {**planned, label: 1}


def test_the_same_bytes_on_other_cores_and_by_hand(finished, tmp_path):
    other = Checkout(tmp_path)
    other.make("results/summary/sine.nc", cores=1)
    runs = finished.files("results/runs/sine/**/*.nc")
    assert runs
    assert other.files("results/runs/sine/**/*.nc") == runs
    assert other.files("results/summary/**/*.nc") == finished.files("results/summary/**/*.nc")
    for method in ("cbo", "adam"):
        output = tmp_path / f"{method}.nc"
        command = [sys.executable, "-m", "cbo_pipeline", "train", "--experiment", "sine", "--method", method]
        command += ["--seed", "1", "--config", str(other.config), "--output", str(output)]
        subprocess.run(command, check=True, capture_output=True)
        (path,) = [p for p in runs if f"/{method}/" in p and "seed1" in p]
        assert output.read_bytes() == runs[path]


def test_batches_plan_and_train_a_part_of_the_seeds_and_the_last_one_summarises(finished, tmp_path):
    """As docs/cluster.md says; Snakemake refuses a last batch that comes too early."""
    other = Checkout(tmp_path)
    first, last = (["results/summary/sine.nc", "--batch", f"summarise_curve={part}/2"] for part in (1, 2))
    assert other.planned(*first) == {"train": 3}
    assert "not all previous batches" in other.snakemake("--dry-run", "--cores", "1", *last, ok=False)
    other.make(*first)
    runs = finished.files("results/runs/sine/**/*.nc")
    assert other.files("results/runs/**/*.nc") == {path: x for path, x in runs.items() if "seed0" in path}
    assert other.planned(*last) == {"train": 3, "summarise_curve": 3, "join_curves": 1}
    other.make(*last)
    assert other.files("results/runs/**/*.nc") == runs
    assert other.files("results/summary/**/*.nc") == finished.files("results/summary/**/*.nc")


def test_targets_are_listed(finished):
    listed = finished.snakemake("--list")
    for name in ("all", "train", "sine_training", "fig2", "sine_example", "fig3"):
        assert re.search(rf"^{name}\b", listed, re.MULTILINE)


def test_a_bad_config_stops_before_any_job(tmp_path):
    checkout = Checkout(tmp_path)
    replace(checkout.config, "epochs: 2", "epochs: 1e1")
    output = checkout.snakemake("--cores", "1", "fig2", ok=False)
    assert "experiments.sine.epochs: '1e1' is text, not an integer" in output
    assert not (checkout.work / "results").exists()
