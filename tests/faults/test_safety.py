"""Names and paths are data: no shell runs what they say, no path leads outside, nothing is unpickled."""

import ast
import re
from pathlib import Path

import pytest
import yaml

from cbo_pipeline.cli.main import main
from checkout import checkout_in, compiled_for
from tiny import ROOT, SUMMARY, digests, finish, run_of, snakemake_command, train_command

NASTY = "a folder; touch pwned $(touch pwned) `touch pwned` 'single' \"double\" & ünïcode"


@pytest.fixture
def nasty(tmp_path):
    """A folder whose name a careless shell would run."""
    folder = tmp_path / NASTY
    folder.mkdir()
    return folder


def pwned(folder: Path) -> list[Path]:
    return list(folder.rglob("pwned"))


@pytest.mark.workflow
def test_the_workflow_runs_in_a_folder_and_a_checkout_of_nasty_names(tmp_path, nasty, reference):
    """Every shell command of the workflow meets the folder's or the checkout's name; quotes and $() stay text."""
    checkout = checkout_in(nasty)
    (nasty / "work").mkdir()
    (nasty / "one run.yaml").write_text("experiments: {sine: {seeds: 1, methods: {adam: null}}}\n")
    command = snakemake_command(SUMMARY, "meanfield_diagram", root=checkout)
    command.insert(command.index("--configfile") + 2, str(nasty / "one run.yaml"))
    done = finish(command, nasty / "work", **compiled_for(checkout))
    assert done.returncode == 0, done.stdout + done.stderr
    made, undisturbed = digests(nasty / "work" / "results" / "runs"), digests(reference / "results" / "runs")
    assert set(made.items()) < set(undisturbed.items())
    assert (nasty / "work" / SUMMARY).exists()
    assert (nasty / "work" / "results" / "figures" / "meanfield_diagram.png").stat().st_size > 0
    assert not pwned(tmp_path)


@pytest.mark.parametrize(
    "key", ["experiments.sine.methods.$(touch pwned)", "experiments.$(touch pwned)", "experiments.sine.precision"]
)
def test_a_config_cannot_bring_a_command_into_a_shell(tmp_path, key, record_property):
    """Names are refused unless they are plain; values go to jobs as quoted JSON."""
    *path, last = key.split(".")
    overlay = value = {}
    for part in path:
        value = value.setdefault(part, {})
    value[last] = {"method": "cbo"} if "methods" in path else "$(touch pwned)"
    (tmp_path / "other.yaml").write_text(yaml.safe_dump(overlay))
    command = snakemake_command(SUMMARY)
    command.insert(command.index("--configfile") + 2, str(tmp_path / "other.yaml"))
    done = finish(command, tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "experiments" in said
    assert "Traceback" not in said
    assert not pwned(tmp_path)
    record_property("refused", "a config with a shell command in it")


def test_outputs_and_checkpoints_may_have_nasty_names(nasty):
    run, output = run_of(), nasty / "run $(touch pwned).nc"
    done = finish(train_command(run, output, "--checkpoint", str(nasty / "`touch pwned`.npz")), nasty)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in nasty.iterdir()] == [output.name]


def test_a_summary_of_nasty_paths(nasty, capsys):
    for seed in (0, 1):
        path = nasty / f"seed {seed} '$(touch pwned)'.nc"
        assert main(["train", "--settings", run_of(seed=seed).json, "--output", str(path)]) == 0
    runs = sorted(map(str, nasty.iterdir()))
    assert main(["summarise", *runs, "--output", str(nasty / "summary; touch pwned.nc")]) == 0
    assert not pwned(nasty)


def sources() -> list[Path]:
    return sorted((ROOT / "src" / "cbo_pipeline").rglob("*.py"))


DANGEROUS = {"pickle", "cPickle", "dill", "joblib", "shelve", "marshal"}


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_no_module_unpickles_evaluates_or_hands_text_to_a_shell(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name.split(".")[0] for alias in node.names}
            names.add(str(getattr(node, "module", "")).split(".")[0])
            assert not names & DANGEROUS, ast.unparse(node)
        if not isinstance(node, ast.Call):
            continue
        called, keywords = ast.unparse(node.func), {k.arg: ast.unparse(k.value) for k in node.keywords}
        assert called not in ("eval", "exec", "os.system", "os.popen", "yaml.load", "torch.load"), ast.unparse(node)
        assert keywords.get("shell", "False") == "False", ast.unparse(node)
        assert keywords.get("allow_pickle", "False") == "False", ast.unparse(node)
        assert not called.endswith((".extractall", ".extract", "unpack_archive")), ast.unparse(node)


def test_every_value_in_a_rules_command_is_quoted():
    """{input}, {output}, {params.x}, {log} end with :q; wildcards are names and integers by their constraints."""
    for path in sorted((ROOT / "workflow" / "rules").glob("*.smk")):
        for shell in re.findall(r"\n +shell:\n((?: {8,}.*\n)+)", path.read_text(encoding="utf-8")):
            for field in re.findall(r"{([^}]*)}", shell):
                assert field.endswith(":q") or field.startswith("wildcards."), f"{path.name}: {{{field}}}"
