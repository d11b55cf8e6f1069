"""Input files: every command that reads files, with every kind of file that it must refuse."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from cbo_pipeline import claims
from cbo_pipeline.claims.evidence import Evidence
from cbo_pipeline.files import seal
from cbo_pipeline.pages import claims as pages
from cbo_pipeline.results import checks, costs, netcdf, runs, summaries
from cbo_pipeline.training import cost
from cbo_pipeline.training.loop import train
from refusals import refusal
from tiny import run_of

READERS = {
    "show": ["show", "FILE"],
    "plot": ["plot", "FILE", "--output", "new.png"],
    "summarise": ["summarise", "FILE", "--output", "new.nc"],
    "join": ["join", "FILE", "--output", "new.nc"],
    "figure": ["figure", "sine_overview", "FILE", "--output", "new.png"],
    "animate": ["animate", "FILE", "--output", "new.gif"],
    "claims": ["claims", "FILE", "--json", "new.json"],
}
JSON_READERS = {
    "show": ["show", "FILE"],
    "claims": ["claims", "FILE", "--json", "new.json"],
    "figure --costs": ["figure", "sine_overview", "summary.nc", "--costs", "FILE", "--output", "new.png"],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    run = run_of(epochs=1)
    netcdf.write(runs.dataset(run, train(run)), folder / "run.nc")
    netcdf.write(summaries.summarise_curve([folder / "run.nc"]), folder / "summary.nc")
    costs.write(cost.measure(run, 0.0), folder / "cost.json")
    checks.write("barycentres", dict.fromkeys(checks.CONTENT["barycentres"], 0.0), folder / "check.json")
    pages.write_verdicts(claims.judge_all(Evidence()), folder / "claims.json")
    return folder


@pytest.fixture
def good(made, tmp_path, monkeypatch) -> Path:
    """A copy of good files of every kind, in which the commands run."""
    folder = tmp_path / "here"
    shutil.copytree(made, folder)
    monkeypatch.chdir(folder)
    return folder


# --- NetCDF -------------------------------------------------------------------------------------------------------


def flipped(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def sealed_again(path, change):
    """The file with other content and a seal that fits: only its content tells that something is wrong."""
    data = netcdf.read(path)
    path.unlink()
    (change(data) or data).to_netcdf(path, engine="netcdf4")
    seal(path)


def attribute(name, value):
    return lambda path: sealed_again(path, lambda data: data.attrs.update({name: value}))


def without_attribute(name):
    return lambda path: sealed_again(path, lambda data: data.attrs.pop(name) and None)


def without(variable):
    return lambda path: sealed_again(path, lambda data: data.drop_vars(variable))


def of_another_program(path):
    path.unlink()
    xr.Dataset({"temperature": ("time", np.zeros(3))}).to_netcdf(path, engine="netcdf4")


def sealed_by_another_program(path):
    of_another_program(path)
    seal(path)


SPOILED = {
    "missing": (Path.unlink, "no-such-file"),
    "empty": (lambda path: path.write_bytes(b""), "not-netcdf"),
    "text": (lambda path: path.write_text("not NetCDF"), "not-netcdf"),
    "random bytes": (lambda path: path.write_bytes(os.urandom(5000)), "not-netcdf"),
    "NetCDF-3": (lambda path: path.write_bytes(b"CDF\x01" + bytes(100)), "not-netcdf"),
    "the first bytes alone": (lambda path: path.write_bytes(path.read_bytes()[:8]), "not-sealed"),
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:-1000]), "not-sealed"),
    "without its last byte": (lambda path: path.write_bytes(path.read_bytes()[:-1]), "not-sealed"),
    "longer by a byte": (lambda path: path.write_bytes(path.read_bytes() + b"x"), "not-sealed"),
    "a flipped bit": (flipped, "damaged"),
    "of another program": (of_another_program, "not-sealed"),
    "of another program, with a seal": (sealed_by_another_program, "foreign"),
    "without a kind": (without_attribute("kind"), "foreign"),
    "of an unknown kind": (attribute("kind", "cake"), "foreign"),
    "of an older contract": (attribute("contract", 1), "other-contract"),
    "of a contract in words": (attribute("contract", "two"), "other-contract"),
}


@pytest.mark.parametrize(("spoil", "code"), SPOILED.values(), ids=SPOILED)
def test_a_spoiled_netcdf_file_is_refused_by_every_reader(good, capsys, spoil, code, record_property):
    for name, command in READERS.items():
        file = "run.nc" if name in ("show", "plot", "summarise") else "summary.nc"
        shutil.copy(good / file, good / "spoiled.nc")
        spoil(good / "spoiled.nc")
        error = refusal(capsys, ["spoiled.nc" if word == "FILE" else word for word in command], good)
        assert (error.code, error.file) == (code, "spoiled.nc"), error
        record_property("refused", "a damaged or foreign input file")


# Runs whose content is wrong: the change, the code, the key.
WRONG_RUNS = {
    "no settings": (without_attribute("settings"), "missing", "settings"),
    "empty settings": (attribute("settings", "{}"), "not-a-run", "settings"),
    "settings that are a number": (attribute("settings", 3), "not-a-run", "settings"),
    "settings of keys that are gone": (
        attribute("settings", run_of(epochs=1).json.replace('"dt":', '"time_step":')), "not-taken",
        "experiments.sine.methods.cbo.time_step",
    ),
    "no risk": (without("risk"), "missing", "risk"),
    "no variance": (without("variance"), "missing", "variance"),
    "no versions": (without_attribute("versions"), "missing", "versions"),
    "a summary": (lambda path: shutil.copy("summary.nc", path), "other-kind", "kind"),
}  # fmt: skip


@pytest.mark.parametrize(("spoil", "code", "key"), WRONG_RUNS.values(), ids=WRONG_RUNS)
def test_a_run_with_wrong_content_is_refused(good, capsys, spoil, code, key, record_property):
    shutil.copy(good / "run.nc", good / "spoiled.nc")
    spoil(good / "spoiled.nc")
    error = refusal(capsys, ["summarise", "spoiled.nc", "--output", "new.nc"], good)
    assert (error.code, error.key, error.file) == (code, key, "spoiled.nc"), error
    record_property("refused", "a damaged or foreign input file")
    if code != "other-kind":
        assert refusal(capsys, ["show", "spoiled.nc"], good).key == key
        record_property("refused", "a damaged or foreign input file")


@pytest.mark.parametrize("name", ["join", "figure", "animate", "claims"])
def test_a_run_is_not_a_summary(good, capsys, name, record_property):
    error = refusal(capsys, ["run.nc" if word == "FILE" else word for word in READERS[name]], good)
    assert (error.code, error.key, error.file) == ("other-kind", "kind", "run.nc")
    record_property("refused", "a damaged or foreign input file")


@pytest.mark.parametrize("command", [*READERS, "figure --costs"])
def test_a_folder_is_not_a_file(good, capsys, command, record_property):
    (good / "there").mkdir()
    words = {**READERS, **JSON_READERS}[command]
    error = refusal(capsys, ["there" if word == "FILE" else word for word in words], good)
    assert error.code in ("no-such-file", "unreadable")
    assert error.file == "there"
    record_property("refused", "a damaged or foreign input file")


# --- JSON ---------------------------------------------------------------------------------------------------------


def changed(**changes):
    """A good cost with other values at some keys; ``None`` takes a key away."""

    def spoil(path):
        content = {**json.loads(Path("cost.json").read_text()), **changes}
        path.write_text(json.dumps({k: v for k, v in content.items() if v is not None}))

    return spoil


def text(content):
    return lambda path: path.write_text(content) if isinstance(content, str) else path.write_bytes(content)


WRONG_JSON = {
    "missing": (lambda path: path.unlink(missing_ok=True), "unreadable", ""),
    "empty": (text(""), "not-json", ""),
    "not JSON": (text("{"), "not-json", ""),
    "bytes that are not UTF-8": (text(b"\xff{}"), "not-json", ""),
    "nested without end": (text("[" * 200_000), "not-json", ""),
    "a number": (text("3"), "other-kind", ""),
    "nothing": (text("null"), "other-kind", ""),
    "an empty mapping": (text("{}"), "other-kind", ""),
    "an empty list": (text("[]"), "other-kind", ""),
    "a list of numbers": (text("[1, 2]"), "other-kind", ""),
    "of another kind": (changed(kind="cake"), "other-kind", ""),
    "of several kinds": (changed(kind=["cost"]), "other-kind", ""),
    "of an older contract": (changed(contract=1), "other-contract", "contract"),
    "without a contract": (changed(contract=None), "other-contract", "contract"),
    "without M": (changed(M=None), "missing", "M"),
    "without its experiment": (changed(experiment=None), "missing", "experiment"),
    "without seconds": (changed(seconds_per_iteration=None), "missing", "seconds_per_iteration"),
    "M in words": (changed(M="wide"), "wrong-type", "M"),
    "bytes that are a truth value": (changed(state_bytes=True), "wrong-type", "state_bytes"),
    "an experiment that is a number": (changed(experiment=3), "wrong-type", "experiment"),
    "settings that are a list": (changed(settings=[]), "wrong-type", "settings"),
}


@pytest.mark.parametrize(("spoil", "code", "key"), WRONG_JSON.values(), ids=WRONG_JSON)
def test_a_spoiled_json_file_is_refused_by_every_reader(good, capsys, spoil, code, key, record_property):
    for command in JSON_READERS.values():
        spoil(good / "spoiled.json")
        error = refusal(capsys, ["spoiled.json" if word == "FILE" else word for word in command], good)
        assert (error.code, error.key, error.file) == (code, key, "spoiled.json"), error
        record_property("refused", "a damaged or foreign input file")


def spoil_check(**changes):
    def spoil():
        content = {**json.loads(Path("check.json").read_text()), **changes}
        Path("spoiled.json").write_text(json.dumps({k: v for k, v in content.items() if v is not None}))

    return spoil


def spoil_verdicts(**changes):
    def spoil():
        rows = json.loads(Path("claims.json").read_text())
        rows[-1] = {k: v for k, v in {**rows[-1], **changes}.items() if v != "away"}
        Path("spoiled.json").write_text(json.dumps(rows))

    return spoil


CLAIMS, SHOW = ["claims", "spoiled.json", "--json", "new.json"], ["show", "spoiled.json"]
WRONG_CONTENT = {
    "a check without its residual": (spoil_check(residual=None), CLAIMS, "missing", "residual"),
    "a check without its gain": (spoil_check(example_gain=None), CLAIMS, "missing", "example_gain"),
    "a check in words": (spoil_check(instances="many"), CLAIMS, "wrong-type", "instances"),
    "an unknown check": (spoil_check(check="cake"), CLAIMS, "unknown-name", "check"),
    "a check that is a list": (spoil_check(check=["barycentres"]), CLAIMS, "unknown-name", "check"),
    "a check without a name": (spoil_check(check=None), CLAIMS, "missing", "check"),
    "a check is shown nowhere": (spoil_check(), SHOW, "other-kind", ""),
    "a verdict without its claim": (spoil_verdicts(claim="away"), SHOW, "missing", "claim"),
    "a verdict without an id": (spoil_verdicts(id="away"), SHOW, "missing", "id"),
    "a verdict that is none": (spoil_verdicts(verdict="great"), SHOW, "not-an-option", "verdict"),
    "a verdict that is a list": (spoil_verdicts(verdict=[]), SHOW, "not-an-option", "verdict"),
}


@pytest.mark.parametrize(("spoil", "command", "code", "key"), WRONG_CONTENT.values(), ids=WRONG_CONTENT)
def test_a_check_or_a_verdict_with_wrong_content_is_refused(good, capsys, spoil, command, code, key, record_property):
    spoil()
    error = refusal(capsys, command, good)
    assert (error.code, error.key, error.file) == (code, key, "spoiled.json"), error
    record_property("refused", "a damaged or foreign input file")


@pytest.mark.parametrize(
    "words",
    [["summary.nc", "summary.nc"], ["cost.json", "cost.json"], ["check.json", "check.json"],
     ["summary.nc", "../here/summary.nc"]],
)  # fmt: skip
def test_evidence_that_comes_twice_is_refused(good, capsys, words, record_property):
    """The later file would win without a word."""
    error = refusal(capsys, ["claims", *words, "--json", "new.json"], good)
    assert (error.code, error.file) == ("twice", words[-1])
    record_property("refused", "an input that comes twice")


LEDGERS = {
    "not JSON": ("{", "not-json"),
    "no entries": ("{}", "other-kind"),
    "half an entry": ('[{"curve": 1}]', "other-kind"),
}


@pytest.mark.parametrize(("content", "code"), LEDGERS.values(), ids=LEDGERS)
def test_a_spoiled_ledger_is_refused(good, capsys, content, code, record_property):
    (good / "adopted.json").write_text(content)
    error = refusal(capsys, ["verify", "."], good)
    assert (error.code, error.file) == (code, "adopted.json")
    record_property("refused", "a damaged or foreign input file")


def test_verify_tells_of_spoiled_files_in_its_table(good, capsys):
    """It is asked about all files, so it ends with code 1 and a line for each of them."""
    from cbo_pipeline.cli.main import main

    for name, (spoil, _) in SPOILED.items():
        path = good / f"{name.replace(' ', '_')}.nc"
        shutil.copy(good / "run.nc", path)
        spoil(path)
    for name, (spoil, _, _) in WRONG_JSON.items():
        spoil(good / f"{name.replace(' ', '_')}.json")
    assert main(["verify", "."]) == 1
    said = capsys.readouterr()
    assert said.out.count("refused") > 20
    assert said.err == ""
