"""The documentation is true: generated pages are up to date, named things exist, examples run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import warm
from cbo_pipeline.pages import reference
from checkout import Checkout, compiled_for
from table_files import small, write_csv

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def blocks(page: str, language: str) -> list[str]:
    """The fenced code blocks of a page in one language."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_reference_of_the_config_is_up_to_date():
    page = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    assert page == reference.markdown(), "run: cbo-pipeline reference > docs/configuration.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_and_named_files_exist(page):
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    named = re.findall(r"\b((?:docs|src|workflow|tests|benchmarks|envs)/[\w./-]*\w\.\w+)", text)
    made = {"src/cbo_pipeline/methods/isotropic_cbo.py", "src/cbo_pipeline/problems/cosine.py"}  # by the reader
    missing = [name for name in links if not (page.parent / name).exists()]
    missing += [name for name in named if name not in made and not (ROOT / name).exists()]
    assert not missing


@pytest.mark.workflow
def test_the_worked_example_of_a_new_method_and_a_new_problem(tmp_path):
    """docs/extending.md, word by word, in a copy of the project; only the sizes are made smaller."""
    checkout = Checkout(tmp_path)
    method, problem = blocks("docs/extending.md", "python")
    line, experiment = blocks("docs/extending.md", "yaml")
    commands = [c for block in blocks("docs/extending.md", "console") for c in block.splitlines()]
    package = checkout.root / "src/cbo_pipeline"
    (package / "methods/isotropic_cbo.py").write_text(method)
    (package / "problems/cosine.py").write_text(problem)
    config = checkout.root / "config.yaml"
    marker = "      cbo_float64:"
    assert marker in config.read_text()
    config.write_text(config.read_text().replace(marker, line + marker, 1))
    small = {
        "    seeds: 10 ": "    seeds: 2 ",
        "    epochs: 2000 ": "    epochs: 2 ",
        "    points: 8000 ": "    points: 800 ",
    }
    for old, new in small.items():
        assert old in config.read_text()
        config.write_text(config.read_text().replace(old, new, 1))
    config.write_text(
        re.sub(r"^    snapshots: \[.*?\]", "    snapshots: [0]", config.read_text(), count=1, flags=re.M)
    )
    (checkout.root / "cosine.yaml").write_text(experiment)
    environment = {**os.environ, "PYTHONPATH": str(checkout.root / "src"), **compiled_for(checkout.root)}
    names = {"cbo-pipeline": ["-m", "cbo_pipeline"], "snakemake": ["-m", "snakemake"]}
    for command in commands:
        program, *arguments = command.split()
        done = subprocess.run(
            [warm.python(), *names[program], *arguments],
            cwd=checkout.root, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    for made in ("isotropic.nc", "cosine.nc", "results/summary/cosine.nc"):
        assert (checkout.root / made).is_file()
    assert list((checkout.root / "results/summary/sine").glob("isotropic_cbo_*.nc"))


def run_python(code: str, folder: Path) -> str:
    """What a program prints that draws on no screen."""
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_examples_of_the_front_door_run(tmp_path):
    """docs/python.md, from its first block to its last."""
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    first, last = run_python("\n".join(blocks("docs/python.md", "python")), tmp_path).splitlines()
    before, after = map(float, first.split("->"))
    assert 0 < after < before
    assert 0 < float(last) < 1e-2


@pytest.mark.workflow
def test_own_research_from_its_first_command_to_its_last(tmp_path):
    """docs/own_research.md in a folder with a table; only the sizes are made smaller, and no pages are made."""
    page = "docs/own_research.md"
    write_csv(tmp_path / "table.csv", small(rows=100))
    write_csv(tmp_path / "new.csv", {name: x for name, x in small(rows=7, seed=1).items() if name != "y"})
    in_python, of_a_figure = blocks(page, "python")
    (overlay,) = blocks(page, "yaml")
    smaller = overlay.replace("targets: y}", "targets: y, seeds: 2, epochs: 2, M: 4}")
    assert smaller != overlay
    (tmp_path / "own.yaml").write_text(smaller)
    added = {
        "train": ["--set", "epochs=2"],
        "predict": [],
        "--cores": ["--snakefile", str(ROOT / "Snakefile"), "--", "results/summary/mine.nc"],
    }
    names = {"cbo-pipeline": "cbo_pipeline", "snakemake": "snakemake"}
    for command in [line for block in blocks(page, "console") for line in block.splitlines()]:
        program, *arguments = command.split()
        whole = [warm.python(), "-m", names[program], *arguments, *added.pop(arguments[0])]
        done = subprocess.run(whole, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert not added
    predicted = (tmp_path / "predictions.csv").read_text().split()
    assert (predicted[0], len(predicted)) == ("y", 8)
    risk, *values = run_python(in_python, tmp_path).replace("[", " ").replace("]", " ").split()
    assert 0 < float(risk) < 1
    assert len([float(value) for value in values]) == 2
    run_python(of_a_figure, tmp_path)
    assert (tmp_path / "mine.pdf").read_bytes().startswith(b"%PDF")


def test_reading_a_run_as_the_docs_say(tmp_path):
    """docs/trajectories.md on a real run, and its network against the project's own evaluation."""
    command = [warm.python(), "-m", "cbo_pipeline", "train", "--experiment", "sine", "--method", "cbo"]
    command += ["--particles", "10", "--width", "6", "--set", "epochs=20", "snapshots=[0]", "--output", "run.nc"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    for step in (
        ["summarise", "run.nc", "--output", "cbo.nc"],
        ["join", "cbo.nc", "--output", "results/summary/sine.nc"],
    ):
        subprocess.run([warm.python(), "-m", "cbo_pipeline", *step], cwd=tmp_path, check=True, capture_output=True)
    told = run_python("\n".join(blocks("docs/trajectories.md", "python")), tmp_path)
    printed = [float(v) for v in re.findall(r"-?\d+\.\d*(?:e[-+]?\d+)?", told.splitlines()[-1])]
    from cbo_pipeline.numerics import network
    from cbo_pipeline.results import netcdf

    run = netcdf.read(tmp_path / "run.nc")
    last = {k: run[k].sel(snapshot=20).values[None] for k in ("w", "b", "c")}
    import numpy as np

    expected = network.evaluate(last, np.array([[0.0], [0.25], [0.5]]), 1 / 6)[0, :, 0]
    np.testing.assert_allclose(printed, expected, rtol=1e-4, atol=1e-6)


def test_every_variable_and_key_of_the_results_is_described(tmp_path):
    """docs/trajectories.md against the names in the code, and against a cost that was measured."""
    from cbo_pipeline import claims
    from cbo_pipeline.claims.evidence import Evidence
    from cbo_pipeline.results import summaries as summarise
    from cbo_pipeline.results.contract import RUN_NAMES, SUMMARY_NAMES
    from cbo_pipeline.results.costs import KEYS

    page = (ROOT / "docs/trajectories.md").read_text(encoding="utf-8")
    run, summary, others = re.split(r"^## (?:A summary|Costs.*)$", page, flags=re.MULTILINE)
    assert set(RUN_NAMES) <= set(re.findall(r"`(\w+)`", run))
    assert set(SUMMARY_NAMES) <= set(re.findall(r"`(\w+)`", summary))
    assert set(summarise.SERIES) <= set(re.findall(r"`(\w+)`", summary))
    assert all(name in summary for name in summarise.STATISTICS)
    named = set(re.findall(r"`(\w+)`", others))
    assert {*KEYS, "code", "versions", "contract", "kind"} <= named
    assert set(claims.judge_all(Evidence())[0]) <= named


def test_the_layout_in_the_readme_is_there():
    text = (ROOT / "README.md").read_text(encoding="utf-8").split("## How the code is laid out")[1]
    outside, package = text.split("\n\n")[1:3]
    for block, root in ((outside, ROOT), (package, ROOT / "src/cbo_pipeline")):
        for line in block.splitlines():
            for name in re.split(r",?\s+", line.strip().split("   ")[0]):
                assert (root / name).exists() or (root / "numerics" / name).exists(), name
    floors = {
        path.name for path in (ROOT / "src/cbo_pipeline").iterdir() if path.is_dir() and path.name != "__pycache__"
    }
    assert not {floor for floor in floors if f" {floor}/ " not in package}


def paper_map() -> str:
    """The README's table from the paper to the code."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return text.split("## From the paper to the code")[1].split("\n## ")[0]


def test_the_map_from_the_paper_to_the_code_names_what_exists(monkeypatch):
    import importlib

    monkeypatch.syspath_prepend(ROOT / "tests" / "unit")

    named = re.findall(r"`([\w/]+)\.py(?:: ([\w.]+))?`", paper_map())
    assert len(named) > 40
    for path, name in named:
        module = path.removeprefix("unit/") if path.startswith("unit/") else f"cbo_pipeline.{path.replace('/', '.')}"
        thing = importlib.import_module(module.removesuffix(".__init__"))
        for part in name.split(".") if name else ():
            thing = getattr(thing, part)


def test_the_map_has_every_equation_of_the_code_every_figure_and_every_claim():
    from cbo_pipeline.claims import CLAIMS
    from cbo_pipeline.figures import FIGURES

    table = paper_map()
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    labels = set(re.findall(r"\(((?:eq|intro|cbo|sec4):[\w-]+)\)", sources))
    assert len(labels) > 10
    assert not {label for label in labels if f"({label})" not in table}
    drawn = {f"figures/{f.module}.py: {f.label}" for f in FIGURES.values() if f.category == "The paper"}
    judged = {
        f"{c.judge.__module__.removeprefix('cbo_pipeline.')}".replace(".", "/") + f".py: {c.judge.__name__}"
        for c in CLAIMS
    }
    assert not {name for name in drawn | judged if f"`{name}`" not in table}
    rows = re.findall(r"^\| claims ([\d, ]+) \|[^|]*\| (.*) \|$", table, re.MULTILINE)
    told = [
        (int(number), name)
        for numbers, names in rows
        for number, name in zip(numbers.split(","), re.findall(r": (\w+)`", names), strict=True)
    ]
    assert told == [(claim.id, claim.judge.__name__) for claim in CLAIMS]


def test_what_the_paper_leaves_open_is_told():
    """Every key that config.yaml marks as open is in the table of docs/reproduction.md; its keys exist."""
    from cbo_pipeline.config.schema import schema

    marked = set(re.findall(r"^\s*(\w+):.*#.*\[open\]", (ROOT / "config.yaml").read_text(), re.MULTILINE))
    page = (ROOT / "docs/reproduction.md").read_text(encoding="utf-8")
    table = page.split("## What the paper leaves open")[1].split("\n## ")[0]
    rows = [row.split("|") for row in table.splitlines() if row.startswith("|")]
    told = {key for row in rows for key in re.findall(r"`(\w+)`", row[3])}
    assert len(marked) > 10
    assert marked <= told <= set(schema()["x-settings"])


def test_the_release_is_the_same_everywhere():
    import cbo_pipeline

    version = cbo_pipeline.__version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    first, date = re.search(r"^## (\S+) \((.+)\)$", changes, re.MULTILINE).groups()
    assert first == version
    assert f"\nversion: {version}\n" in cited
    assert f"\ndate-released: {date}\n" in cited


def test_every_target_of_the_readme_is_a_target_of_the_workflow():
    from cbo_pipeline.figures import FIGURES

    table = (ROOT / "README.md").read_text(encoding="utf-8").split("## Targets")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)`, `(\w+)` \|", table, re.MULTILINE)
    assert dict(rows) == {figure.number: label for label, figure in FIGURES.items()}
