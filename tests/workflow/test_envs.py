"""The conda files: conda is not needed to check that they are well formed and pin what was tested."""

import re
from pathlib import Path

import pytest
import yaml
from rattler import MatchSpec

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "envs").glob("*.yaml"))
# Packages that have another name on conda-forge than on PyPI.
PYPI_NAMES = {"pytorch-cpu": "torch", "snakemake-minimal": "snakemake", "matplotlib-base": "matplotlib"}


def locked() -> dict[str, str]:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def content(path: Path) -> dict:
    return yaml.safe_load(path.read_text())


def test_there_are_two_environments():
    assert [path.name for path in FILES] == ["cbo.yaml", "snakemake.yaml"]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_pins_are_match_specs_and_equal_the_lock(path):
    versions = {name.lower(): version for name, version in locked().items()}
    for line in content(path)["dependencies"]:
        assert isinstance(line, str), "conda packages only: a pip section would escape the pins"
        spec = MatchSpec(line)
        name, version = (
            str(spec.name.source if hasattr(spec.name, "source") else spec.name.normalized),
            str(spec.version),
        )
        if name == "python":
            assert re.fullmatch(r"=?3\.1[1-9](\.\*)?", version), line  # the package needs 3.11 or newer
            continue
        pinned, tested = re.sub(r"^=+|\.\*$", "", version), versions[PYPI_NAMES.get(name, name)]
        assert tested == pinned or tested.startswith(f"{pinned}."), line  # conda's = takes a rebuild too


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_channels(path):
    assert content(path)["channels"][0] == "conda-forge"
    assert content(path)["channels"][-1] == "nodefaults"
    assert "strict" in path.read_text()


def test_the_docs_say_what_was_not_exercised():
    page = (ROOT / "docs/cluster.md").read_text(encoding="utf-8").split("## Conda")[1].split("\n## ")[0]
    assert "never been installed" in page
    for path in FILES:
        assert f"envs/{path.name}" in page


def test_every_rule_that_runs_a_command_has_its_environment():
    for path in (ROOT / "workflow/rules").glob("*.smk"):
        # A rule may stand in a loop, indented.
        for rule in re.split(r"^(?=\s*rule\b|use rule )", path.read_text(), flags=re.MULTILINE):
            if re.search(r"^\s+shell:", rule, re.MULTILINE):
                assert re.search(r"^\s+conda:\n\s+ENV$", rule, re.MULTILINE), f"{path.name}: {rule}"


def test_the_jobs_environment_has_what_the_package_imports():
    """Every dependency of the package is in envs/cbo.yaml, but for lapx, which has a fallback."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {re.match(r"[\w-]+", line).group() for line in project["dependencies"]} - {"lapx"}
    named = {MatchSpec(line).name.normalized for line in content(ROOT / "envs/cbo.yaml")["dependencies"]}
    assert needed <= {PYPI_NAMES.get(name, name) for name in named}
