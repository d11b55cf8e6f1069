"""Checkpoints: a kept run continues to the same bytes; what does not fit is refused and costs nothing else."""

import json
import os
import signal
import socket
import subprocess
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from cbo_pipeline.cli.main import main
from cbo_pipeline.errors import FileRefused
from cbo_pipeline.files import check_writable, seal, whole_file
from cbo_pipeline.results import netcdf, runs
from cbo_pipeline.training import checkpoint
from cbo_pipeline.training.checkpoint import Keeper, resume_or_start, save
from cbo_pipeline.training.loop import Training
from tiny import run_of

HERE = "this code"  # the fingerprint that the tests give


def stopped_after(run, iterations: int) -> Training:
    """A training that stands after that many iterations."""
    return Training.start(run).advance(iterations)


def outcome(training: Training, path) -> bytes:
    netcdf.write(runs.dataset(training.run, training.finish()), path)
    return path.read_bytes()


@pytest.fixture
def kept(tmp_path):
    """A checkpoint of CBO after three of its six iterations, and the run it belongs to."""
    run = run_of("cbo")
    save(stopped_after(run, 3), tmp_path / "kept.npz", HERE)
    return run, tmp_path / "kept.npz"


@pytest.mark.parametrize("method", ["cbo", "adam", "hybrid"])
@pytest.mark.parametrize("iterations", [1, 2, 5])
def test_a_run_that_goes_on_ends_with_the_same_bytes(tmp_path, method, iterations):
    run = run_of(method)
    save(stopped_after(run, iterations), tmp_path / "kept.npz", HERE)
    training, remark = resume_or_start(run, tmp_path / "kept.npz", HERE)
    assert "continuing from" in remark
    assert training.iteration == iterations
    whole = outcome(Training.start(run), tmp_path / "whole.nc")
    assert outcome(training, tmp_path / "continued.nc") == whole


def test_without_a_checkpoint_a_run_starts_quietly(tmp_path):
    training, remark = resume_or_start(run_of(), tmp_path / "none.npz", HERE)
    assert (training.iteration, remark) == (0, "")


@pytest.mark.parametrize("change", [{"seed": 1}, {"epochs": 4}, {"sigma_squared": 1.5}, {"method": "adam"}, {"N": 9}])
def test_a_checkpoint_of_other_settings_is_set_aside_and_found_again(kept, tmp_path, change):
    run, path = kept
    aside = path.with_name("kept.npz.old1")
    content = path.read_bytes()
    training, remark = resume_or_start(run_of(**change), path, HERE)
    assert training.iteration == 0
    assert remark == f"checkpoint {path} belongs to other settings, kept as {aside}: starting afresh"
    assert aside.read_bytes() == content
    save(training, path, HERE)
    checkpoint.remove(training.run, path)
    assert list(tmp_path.iterdir()) == [aside]
    training, remark = resume_or_start(run, path, HERE)
    assert training.iteration == 3
    assert str(aside) in remark
    checkpoint.remove(run, path)
    assert list(tmp_path.iterdir()) == []


def test_what_was_set_aside_is_never_written_over(kept, tmp_path):
    _, path = kept
    for seed in (1, 2, 3):
        training, _ = resume_or_start(run_of(seed=seed), path, HERE)
        save(training, path, HERE)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "kept.npz", "kept.npz.old1", "kept.npz.old2", "kept.npz.old3",
    ]  # fmt: skip
    assert resume_or_start(run_of(seed=1), path, HERE)[1].startswith(f"checkpoint {path} belongs to other settings")


def test_a_checkpoint_of_other_code_is_refused(kept):
    run, path = kept
    training, remark = resume_or_start(run, path, "other code")
    assert training.iteration == 0
    assert remark == f"checkpoint {path} was written by other code: starting afresh"


@pytest.mark.parametrize("content", [b"once upon a time", b"experiments:\n  sine: {}\n", b"\x93NUMPY\x01\x00"])
def test_a_file_that_is_no_checkpoint_is_left_alone(tmp_path, content):
    path = tmp_path / "thesis.txt"
    path.write_bytes(content)
    with pytest.raises(FileRefused, match=r"thesis.txt: not a checkpoint"):
        resume_or_start(run_of(), path, HERE)
    checkpoint.remove(run_of(), path)
    assert path.read_bytes() == content


def test_a_run_is_not_taken_for_a_checkpoint(tmp_path):
    netcdf.write(runs.dataset(run_of(), Training.start(run_of()).finish()), tmp_path / "run.nc")
    with pytest.raises(FileRefused, match="not a checkpoint"):
        resume_or_start(run_of(), tmp_path / "run.nc", HERE)


def test_a_checkpoint_that_is_the_output_is_refused(tmp_path, capsys):
    output = str(tmp_path / "run.nc")
    link = tmp_path / "link.nc"
    link.symlink_to(output)
    for same in (output, str(link), f"{tmp_path}/../{tmp_path.name}/run.nc"):
        arguments = ["train", "--settings", run_of().json, "--output", output, "--checkpoint", same]
        assert main(arguments) == 2
        assert "--checkpoint" in capsys.readouterr().err
    assert not Path(output).exists()


DAMAGE = {
    "empty": lambda content: b"",
    "cut in half": lambda content: content[: len(content) // 2],
    "without its end": lambda content: content[:-20],
    "bytes flipped": lambda content: content[:300] + bytes(b ^ 255 for b in content[300:340]) + content[340:],
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_checkpoint_is_refused(kept, tmp_path, damage):
    run, path = kept
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    training, remark = resume_or_start(run, path, HERE)
    assert training.iteration == 0
    assert remark.startswith(f"checkpoint {path} is damaged (")
    assert remark.endswith("starting afresh")
    assert "\n" not in remark
    assert path.with_name("kept.npz.old1").exists()  # whose it was is not known


def rewrite(path, change) -> None:
    """Change the arrays of a checkpoint; ``change`` gets them and the decoded meta data."""
    with np.load(path) as file:
        arrays = dict(file)
    meta = json.loads(str(arrays.pop("meta")))
    change(arrays, meta)
    with path.open("wb") as file:
        np.savez(file, meta=np.array(json.dumps(meta)), **arrays)
    seal(path)


FOREIGN = {
    "another shape": lambda arrays, meta: arrays.update({"state/particles/w": np.zeros((3, 5, 1), np.float32)}),
    "another type": lambda arrays, meta: arrays.update({"state/particles/w": np.zeros((8, 5, 1))}),
    "a layer missing": lambda arrays, meta: arrays.pop("state/particles/b"),
    "a layer too many": lambda arrays, meta: arrays.update({"state/particles/z": np.zeros(3)}),
    "a group too many": lambda arrays, meta: arrays.update({"state/other/w": np.zeros(3)}),
    "a strange name": lambda arrays, meta: arrays.update({"../../etc/passwd": np.zeros(3)}),
    "records too short": lambda arrays, meta: arrays.update({"records/risk": np.zeros(2)}),
    "a record missing": lambda arrays, meta: arrays.pop("records/variance"),
    "snapshots without epochs": lambda arrays, meta: meta.update(snapshot_epochs=[0]),
    "an iteration beyond the end": lambda arrays, meta: meta.update(iteration=7),
    "an iteration before the start": lambda arrays, meta: meta.update(iteration=-1),
    "an iteration that is no number": lambda arrays, meta: meta.update(iteration="3"),
    "no counters": lambda arrays, meta: meta.pop("diverged"),
    "no snapshots": lambda arrays, meta: meta.pop("snapshot_epochs"),
}


@pytest.mark.parametrize("change", FOREIGN)
def test_a_checkpoint_laid_out_otherwise_is_refused(kept, change):
    run, path = kept
    rewrite(path, FOREIGN[change])
    training, remark = resume_or_start(run, path, HERE)
    assert training.iteration == 0
    assert "does not fit this run" in remark or "is incomplete" in remark
    assert remark.endswith("starting afresh")


def test_a_refused_checkpoint_leaves_the_run_untouched(kept, tmp_path):
    run, path = kept
    rewrite(path, FOREIGN["an iteration beyond the end"])
    training, _ = resume_or_start(run, path, HERE)
    assert outcome(training, tmp_path / "a.nc") == outcome(Training.start(run), tmp_path / "b.nc")


class Evil:
    """Whoever unpickles this gets an exception that no test expects."""

    def __reduce__(self):
        return (exec, ("raise SystemExit('unpickled')",))


def test_nothing_is_unpickled(kept):
    run, path = kept
    with np.load(path) as file:
        arrays = dict(file)
    with path.open("wb") as file:
        np.savez(file, **{**arrays, "state/particles/w": np.array([Evil()], dtype=object)})
    seal(path)
    training, remark = resume_or_start(run, path, HERE)
    assert training.iteration == 0
    assert "is damaged" in remark


def test_a_checkpoint_holds_arrays_and_one_text(kept):
    _, path = kept
    with zipfile.ZipFile(path) as archive:
        assert all(name.endswith(".npy") for name in archive.namelist())
    with np.load(path, allow_pickle=False) as file:
        assert all(file[name].dtype.kind in "fiU" for name in file.files)


def test_the_keeper_writes_now_and_then_and_stops_on_a_signal(tmp_path):
    run, path = run_of(epochs=50), tmp_path / "kept.npz"
    training = Training.start(run)
    with Keeper(path, 0.0, HERE) as keeper:
        for _ in training.steps():
            if keeper.stops(training):
                break
            if training.iteration == 10:
                signal.raise_signal(signal.SIGTERM)
    assert keeper.signal == signal.SIGTERM
    assert resume_or_start(run, path, HERE)[0].iteration == 11
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_keeper_that_is_not_due_writes_nothing(tmp_path):
    with Keeper(tmp_path / "kept.npz", 3600, HERE) as keeper:
        training = Training.start(run_of())
        assert not any(keeper.stops(training) for _ in training.steps())
    assert list(tmp_path.iterdir()) == []


def test_where_no_checkpoint_can_be_written_the_run_goes_on(tmp_path, capfd):
    (tmp_path / "taken").write_text("a file, where a folder is needed")
    run = run_of()
    with Keeper(tmp_path / "taken" / "kept.npz", 0.0, HERE) as keeper:
        training = Training.start(run)
        assert not any(keeper.stops(training) for _ in training.steps())
    said = capfd.readouterr().err.splitlines()
    assert len(said) == 1  # not one line for each iteration
    assert said[0].startswith("no checkpoint: ")
    assert "training continues" in said[0]


def test_a_finished_run_leaves_no_checkpoint(tmp_path, capsys):
    run, kept = run_of(), tmp_path / "kept" / "run.npz"
    arguments = ["train", "--settings", run.json, "--output", str(tmp_path / "run.nc"), "--checkpoint", str(kept)]
    assert main([*arguments, "--checkpoint-seconds", "0"]) == 0
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["run.nc"]


def test_a_file_is_whole_or_not_there(tmp_path):
    path = tmp_path / "new" / "file"

    def write_half():
        with whole_file(path) as partial:
            partial.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()
    assert list(path.parent.iterdir()) == []
    with whole_file(path) as partial:
        partial.write_text("whole")
        assert not path.exists()
    assert path.read_text() == "whole"
    assert list(path.parent.iterdir()) == [path]


def test_what_dead_writers_left_is_cleared_and_what_live_ones_write_is_not(tmp_path):
    path = tmp_path / "file.nc"
    host = whole_file(path).partial.name.split(".")[-3]
    dead = subprocess.Popen(["true"])
    dead.wait()
    names = {
        f".file.nc.{host}.{dead.pid}.partial": False,
        f".file.nc.{host}.{os.getppid()}.partial": True,
        ".file.nc.another-host.1.partial": True,
        ".file.nc.a-host-of-last-week.1.partial": False,
        f".other.nc.{host}.{dead.pid}.partial": True,
        "file.nc.partial": True,
    }
    for name in names:
        (tmp_path / name).write_text("half")
    last_week = time.time() - 7 * 86400
    os.utime(tmp_path / ".file.nc.a-host-of-last-week.1.partial", (last_week, last_week))
    with whole_file(path) as partial:
        partial.write_text("whole")
    assert {name: (tmp_path / name).exists() for name in names} == names


def test_two_hosts_never_share_a_partial_file(tmp_path, monkeypatch):
    here = whole_file(tmp_path / "file").partial
    monkeypatch.setattr(socket, "gethostname", lambda: "node2.cluster")
    assert whole_file(tmp_path / "file").partial != here


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(FileRefused, match="taken"):
        check_writable(tmp_path / "taken" / "run.nc")
    check_writable(tmp_path / "free" / "run.nc")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["taken"]  # nothing is left behind
