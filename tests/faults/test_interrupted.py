"""What is interrupted and started again: the set-up, the fetching of MNIST; and a config that is edited meanwhile."""

import gzip
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cbo_pipeline.workflow import fetch_mnist
from tiny import ROOT, digests, end, finish, snakemake_command, start, wait_until

# --- make setup -----------------------------------------------------------------------------------------------------

# A Python that makes environments of itself, and whose pip takes as long as it is told.
STUB = """#!/bin/sh
echo "$@" >> {log}
case "$1 $2" in
"-m venv") mkdir -p "$3/bin"; {venv} cp "$0" "$3/bin/python" ;;
"-m pip") {pip} true ;;
esac
"""


@pytest.fixture
def project(tmp_path):
    """The Makefile and what it reads."""
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy2(ROOT / name, folder / name)
    return folder


def setup(project: Path, **waits: str) -> subprocess.Popen:
    """``make setup`` with a Python that does something at its stages."""
    stub = project.parent / "python"
    stub.write_text(STUB.format(**{"log": project.parent / "calls", "venv": "", "pip": "", **waits}))
    stub.chmod(0o755)
    return start(["make", "setup", f"PYTHON={stub}"], project)


HALF = {
    "while the environment is made": {"venv": "echo > $3/half; sleep 600;"},
    "while packages are installed": {"pip": "echo > half; sleep 600;"},
}


@pytest.mark.skipif(shutil.which("make") is None, reason="no make on this machine")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
@pytest.mark.parametrize("when", HALF)
def test_a_set_up_that_was_interrupted_is_made_anew(project, when, number, record_property):
    process = setup(project, **HALF[when])
    wait_until(lambda: any(project.rglob("half")))
    os.killpg(process.pid, number)
    end(process)
    assert not (project / ".venv" / ".workflow").exists()
    (project.parent / "calls").unlink()
    again = setup(project)
    _, said = again.communicate(timeout=120)
    assert again.returncode == 0, said
    calls = (project.parent / "calls").read_text()
    assert calls.startswith("-m venv"), calls  # not on top of what was half done
    assert "-m pip install" in calls
    assert (project / ".venv" / ".workflow").exists()
    assert not list((project / ".venv").rglob("half"))
    third = setup(project)
    third.communicate(timeout=120)
    assert (third.returncode, (project.parent / "calls").read_text()) == (0, calls)  # nothing to be done
    record_property("fault", ["an interrupted `make setup`", 1, 1, None])


@pytest.mark.skipif(shutil.which("make") is None, reason="no make on this machine")
@pytest.mark.parametrize("stage", ["venv", "pip"])
def test_a_set_up_that_failed_is_made_anew(project, stage, record_property):
    """No network, no room: the stage ends with an error."""
    process = setup(project, **{stage: "exit 1;"})
    process.communicate(timeout=120)
    assert process.returncode != 0
    again = setup(project)
    _, said = again.communicate(timeout=120)
    assert again.returncode == 0, said
    assert (project / ".venv" / ".workflow").exists()
    record_property("fault", ["an interrupted `make setup`", 1, 1, None])


# --- fetch-mnist ----------------------------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Four small files in place of the real ones, in a folder to take them from."""
    source = tmp_path / "source"
    source.mkdir()
    contents = {name: name.encode() * 20_000 for name in fetch_mnist.MD5}
    for name, content in contents.items():
        (source / f"{name}.gz").write_bytes(gzip.compress(content))
    sums = {n: hashlib.md5(c, usedforsecurity=False).hexdigest() for n, c in contents.items()}
    monkeypatch.setattr(fetch_mnist, "MD5", sums)
    return source, contents


FETCH = """
import sys, json, pathlib
from cbo_pipeline.workflow import fetch_mnist
from cbo_pipeline import files
fetch_mnist.MD5.clear(); fetch_mnist.MD5.update(json.loads(sys.argv[3]))
import os, time
write = pathlib.Path.write_bytes
def slowly(path, content):
    with path.open("wb") as file:
        file.write(content[: len(content) // 2])
        file.flush()
        pathlib.Path(sys.argv[1], "half").touch()
        time.sleep(600)
if sys.argv[4] == "slow":
    pathlib.Path.write_bytes = slowly
fetch_mnist.fetch_originals(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_fetch_that_was_interrupted_starts_again(tmp_path, small, number, record_property):
    """In the middle of a file, which is then half on the disk, under another name."""
    source, contents = small
    data = tmp_path / "data"
    data.mkdir()
    command = [sys.executable, "-c", FETCH, str(data), str(source), json.dumps(fetch_mnist.MD5)]
    process = start([*command, "slow"], tmp_path)
    wait_until((data / "half").exists, seconds=120)
    process.send_signal(number)
    end(process)
    (data / "half").unlink()
    assert not [p for p in data.rglob("*ubyte") if not p.name.startswith(".")]
    done = finish([*command, "fast"], tmp_path)
    assert done.returncode == 0, done.stderr
    found = {path.name: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    assert found == contents  # and no half file
    record_property("fault", ["an interrupted `fetch-mnist`", 1, 1, True])


SPOILED = {
    "cut in half": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "zeros": lambda content: bytes(len(content)),
    "a bit flipped": lambda content: content[:5000] + bytes([content[5000] ^ 1]) + content[5001:],
}


@pytest.mark.parametrize("spoil", SPOILED)
def test_a_file_of_mnist_that_a_crash_spoiled_is_fetched_again(tmp_path, small, spoil, record_property):
    source, contents = small
    data, name = tmp_path / "data", "train-images-idx3-ubyte"
    fetch_mnist.fetch_originals(data, source, lambda words: None)
    path = fetch_mnist.raw(data, name)
    path.write_bytes(SPOILED[spoil](contents[name]))
    told = []
    fetch_mnist.fetch_originals(data, source, told.append)
    assert path.read_bytes() == contents[name]
    assert any("refused, truncated or altered" in words for words in told)
    record_property("fault", ["an interrupted `fetch-mnist`", 1, 1, True])


# --- A config that is edited while it runs --------------------------------------------------------------------------

ONE = "only_experiments: [sine]\nexperiments: {sine: {seeds: 2, methods: {cbo: null, adam: {N: 1, epochs: %d}}}}\n"
EDITS = {"another value": ONE % 5, "not YAML": "experiments: [", "empty": "", "gone": None}
RUNS = ["results/runs/sine/adam/M5_N1_seed0.nc", "results/runs/sine/adam/M5_N1_seed1.nc"]


@pytest.mark.workflow
@pytest.mark.parametrize("edit", EDITS)
def test_a_config_that_is_edited_during_a_run_holds_for_the_next(tmp_path, edit, record_property):
    """The run that is under way ends with what it read; the next one makes what the new config says."""
    overlay, work = tmp_path / "own.yaml", tmp_path / "work"
    work.mkdir()
    overlay.write_text(ONE % 4)
    command = snakemake_command(*RUNS, cores=1)
    command.insert(command.index("--configfile") + 2, str(overlay))
    process = start(command, work)
    try:
        wait_until((work / "results" / "logs").exists, seconds=300)
        if EDITS[edit] is None:
            overlay.unlink()
        else:
            overlay.write_text(EDITS[edit])
        _, said = process.communicate(timeout=600)
    finally:
        end(process)
    assert process.returncode == 0, said
    first = digests(work / "results" / "runs")
    assert len(first) == 2
    overlay.write_text(ONE % 4)
    planned = finish([*command, "--dry-run"], work)
    assert "Nothing to be done" in planned.stdout + planned.stderr  # it was the first config that was run
    if edit == "another value":
        overlay.write_text(EDITS[edit])
        assert finish(command, work).returncode == 0
        second = digests(work / "results" / "runs")
        assert set(second) == set(first)
        assert not set(second.values()) & set(first.values())
    record_property("fault", ["a config edited while it runs", 1, 1, None])
