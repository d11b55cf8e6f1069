"""Faults, each really done to real processes: killed, starved of disk, started twice, given damaged files.

A test records what it did as the property ``fault``; tests/reliability.py counts it for docs/reliability.md.
"""

import fcntl
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.results import netcdf
from cbo_pipeline.workflow import driver_lock
from tiny import (
    SUMMARY,
    clean_error,
    digests,
    end,
    finish,
    run_of,
    snakemake_command,
    start,
    train_command,
    wait_until,
)

pytestmark = pytest.mark.workflow
RUN = "results/runs/sine/cbo/M5_N8_seed0.nc"
CURVE = "results/summary/sine/cbo_M5_N8.nc"  # of two runs


@pytest.fixture
def copied(reference, tmp_path_factory):
    """A copy of it that a test may spoil; as deep as it, since Snakemake knows the code by its relative path."""
    folder = tmp_path_factory.mktemp("copied") / "work"
    shutil.copytree(reference, folder, copy_function=shutil.copy2)
    return folder


def no_half_files(folder: Path) -> bool:
    """Nothing but whole NetCDF files under final names, and no remains of partial ones."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    for path in files:
        if path.suffix == ".nc":
            xr.open_dataset(path, engine="netcdf4").close()
    return not any(".partial" in path.name for path in files)


# --- A training process is killed -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long_run(tmp_path_factory):
    """A run of some seconds, its file, and the time that it takes with all its imports."""
    run, folder = run_of(epochs=2500, snapshots=[0, 100]), tmp_path_factory.mktemp("long")
    began = time.monotonic()
    assert finish(train_command(run, folder / "run.nc"), folder, cold=True).returncode == 0
    return run, (folder / "run.nc").read_bytes(), time.monotonic() - began


def test_kill_9_at_twenty_random_moments(long_run, tmp_path, record_property):
    """The same command again and again, killed each time; every moment of the process's life may be hit."""
    run, whole, seconds = long_run
    output, chance = tmp_path / "out" / "run.nc", random.Random()
    command = train_command(run, output, "--checkpoint-seconds", "0.05")
    killed = 0
    while killed < 20:
        process, began = start(command, tmp_path), time.monotonic()
        try:
            process.wait(timeout=chance.uniform(0.4, 0.95) * seconds)
            seconds = min(seconds, time.monotonic() - began)  # the machine may be less busy by now
            assert process.returncode == 0, process.stderr.read()
            assert output.read_bytes() == whole
            output.unlink()
        except subprocess.TimeoutExpired:
            killed += 1
        end(process)
    last = finish(command, tmp_path)
    assert last.returncode == 0, last.stderr
    assert output.read_bytes() == whole
    assert [path.name for path in output.parent.iterdir()] == ["run.nc"]
    record_property("fault", ["kill -9 of a training process, at random moments", killed, killed, True])


@pytest.mark.parametrize("method", ["cbo", "hybrid"])
def test_kill_9_in_the_middle_of_a_run_on_mnist(method, mnist_folder, tmp_path, record_property):
    """As soon as there is a checkpoint. With so many particles and images CBO leaves networks early."""
    small = {"images": 600, "batch_size": 200, "epochs": 120, "snapshots": [0, 90], "keep_ensembles": [120]}
    run = resolve(load_config(), RunName("mnist", method, 20, 24, 0), small)
    whole, output, kept = tmp_path / "whole.nc", tmp_path / "run.nc", tmp_path / "kept.npz"
    data = {"CBO_DATA_DIR": str(mnist_folder)}
    command = train_command(run, output, "--checkpoint", str(kept), "--checkpoint-seconds", "0.05")
    process = start(command, tmp_path, **data)
    wait_until(kept.exists, every=0.001)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL  # and not at its end
    assert not output.exists()
    again = finish(command, tmp_path, **data)
    assert again.returncode == 0, again.stderr
    iteration = int(re.search(r"continuing from \S+, iteration (\d+)", again.stderr)[1])
    assert 0 < iteration < 3 * 120
    undisturbed = finish(train_command(run, whole), tmp_path, **data)
    assert undisturbed.returncode == 0, undisturbed.stderr
    assert output.read_bytes() == whole.read_bytes()
    assert not kept.exists()
    record_property("fault", ["kill -9 of a training process on MNIST, after a checkpoint", 1, 1, True])


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_writes_a_checkpoint_and_ends_within_seconds(long_run, tmp_path, name, record_property):
    run, whole, _ = long_run
    output, kept = tmp_path / "run.nc", tmp_path / "kept.npz"
    command = train_command(run, output, "--checkpoint", str(kept), "--checkpoint-seconds", "0.05")
    process = start(command, tmp_path)
    wait_until(kept.exists)
    kept.unlink()
    began = time.monotonic()
    process.send_signal(getattr(signal, name))
    _, said = process.communicate(timeout=10)
    assert time.monotonic() - began < 5
    assert process.returncode == 128 + getattr(signal, name)
    assert f"stopped by {name}; the same command continues from {kept}" in said
    assert kept.exists()
    assert not output.exists()
    again = finish(command, tmp_path)
    assert "continuing from" in again.stderr
    assert output.read_bytes() == whole
    assert not kept.exists()
    record_property("fault", [f"{name} to a training process (preemption, Ctrl-C)", 1, 1, True])


# --- Snakemake is killed, or started twice --------------------------------------------------------------------


def test_kill_9_of_snakemake_then_the_same_command_again(reference, tmp_path, record_property):
    """Three times, at different stages; the jobs that it leaves behind may end when they like."""
    command, moments = snakemake_command(SUMMARY), (0.5, 1.5, 3.0)
    for moment in moments:
        process = start(command, tmp_path)
        wait_until((tmp_path / "results" / "logs").exists)
        time.sleep(moment)
        process.kill()  # Snakemake alone: its jobs become orphans
        process.communicate()
    last = finish(command, tmp_path)
    assert last.returncode == 0, last.stderr
    assert digests(tmp_path / "results") == digests(reference / "results")
    wait_until(lambda: no_half_files(tmp_path / "results"))
    record_property("fault", ["kill -9 of Snakemake, then the same command", len(moments), len(moments), True])


def test_two_snakemakes_at_once_meet_the_lock(reference, tmp_path, record_property):
    command = snakemake_command(SUMMARY)
    first = start(command, tmp_path)
    wait_until(lambda: list(tmp_path.glob(".snakemake/locks/*.lock")))
    second = finish(command, tmp_path)
    _, said = first.communicate(timeout=240)
    assert second.returncode == 1
    assert "Directory cannot be locked" in second.stdout + second.stderr
    assert first.returncode == 0, said
    assert digests(tmp_path / "results") == digests(reference / "results")
    record_property("fault", ["two Snakemakes at once in one folder", 1, 1, True])


@pytest.mark.parametrize("how", ["done", "SIGTERM"])
def test_a_snakemake_that_ends_waits_for_one_that_starts(reference, tmp_path, how, record_property):
    """It would remove the folder in which the other is about to write its lock."""
    ending = start(snakemake_command(CURVE), tmp_path)
    locks = tmp_path / ".snakemake" / "locks"
    wait_until(lambda: list(tmp_path.glob("results/checkpoints/*")) or list(tmp_path.rglob("*seed*.nc")))
    with (tmp_path / ".snakemake" / driver_lock.GATE).open("w") as gate:  # as a driver that plans
        fcntl.flock(gate, fcntl.LOCK_EX)
        if how == "SIGTERM":
            ending.send_signal(signal.SIGTERM)
        # On a busy machine its jobs take long to end. It says so when it waits; one that does not wait ends.
        guard = threading.Timer(240, ending.kill)
        guard.start()
        said = list(itertools.takewhile(lambda line: "starting or ending" not in line, ending.stderr))
        guard.cancel()
        time.sleep(1)
        assert ending.poll() is None, said
        assert list(locks.glob("*.lock"))
    said += ending.communicate(timeout=240)[1]
    assert not locks.exists()
    if how == "done":
        assert ending.returncode == 0, said
        wanted = {path: digest for path, digest in digests(reference / "results").items() if "/cbo" in path}
        assert len(wanted) == 3
        assert digests(tmp_path / "results") == wanted
    record_property("fault", ["a driver that ends while another starts", 1, 1, how == "done" or None])


# --- The disk is full, or may not be written ------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of 16 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting a small tmpfs needs root (the test with a file-size limit runs all the same)")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("filled", [0, 12_000], ids=["too small", "nearly full"])
def test_a_full_disk_is_named_and_leaves_no_half_file(small_disk, filled, record_property):
    (small_disk / "other").write_bytes(b"x" * filled)
    run = run_of(epochs=400)
    done = finish(train_command(run, small_disk / "run.nc", "--checkpoint-seconds", "0"), small_disk)
    assert done.returncode == 2
    assert clean_error(done.stderr) == f"{small_disk}/run.nc: No space left on device"
    assert "training continues without" in done.stderr  # the checkpoints did not fit either
    assert [path.name for path in small_disk.iterdir()] == ["other"]
    record_property("fault", ["the disk fills up", 1, 1, None])


def test_a_file_size_limit_does_the_same(tmp_path, record_property):
    output = tmp_path / "run.nc"
    limited = ["bash", "-c", 'ulimit -f 12; trap "" XFSZ; exec "$@"', "bash"]
    done = finish([*limited, *train_command(run_of(epochs=400), output)], tmp_path)
    assert done.returncode == 2
    assert clean_error(done.stderr) == f"{output}: File too large"
    assert list(tmp_path.iterdir()) == []
    assert finish(train_command(run_of(epochs=400), output), tmp_path).returncode == 0
    record_property("fault", ["the disk fills up", 1, 1, None])


def test_a_full_disk_costs_the_checkpoint_and_not_the_run(small_disk, tmp_path, record_property):
    run = run_of(epochs=400)
    options = ("--checkpoint", str(small_disk / "kept.npz"), "--checkpoint-seconds", "0")
    done = finish(train_command(run, tmp_path / "run.nc", *options), tmp_path)
    assert done.returncode == 0
    assert done.stderr.count("no checkpoint") == 1
    finish(train_command(run, tmp_path / "undisturbed.nc"), tmp_path)
    assert (tmp_path / "run.nc").read_bytes() == (tmp_path / "undisturbed.nc").read_bytes()
    assert list(small_disk.iterdir()) == []
    record_property("fault", ["no room for checkpoints", 1, 1, True])


@pytest.fixture
def read_only(tmp_path):
    """A folder ``results`` that may not be written: read-only for root by a mount, for others by its mode."""
    folder = tmp_path / "results"
    folder.mkdir()
    if os.geteuid():
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)
        return
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", folder], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("root may write everywhere, and mounting a read-only tmpfs is not allowed here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_read_only_results_folder_is_named_before_training(read_only, record_property):
    began = time.monotonic()
    done = finish(train_command(run_of(epochs=1_000_000), read_only / "runs" / "run.nc"), read_only.parent)
    assert time.monotonic() - began < 60  # the run itself would take many minutes
    assert done.returncode == 2
    assert clean_error(done.stderr) in (
        f"{read_only}/runs/run.nc: Read-only file system",
        f"{read_only}/runs/run.nc: Permission denied",
    )
    record_property("fault", ["the results folder is read-only", 1, 1, None])


def test_the_workflow_says_that_its_folder_is_read_only(read_only, record_property):
    done = finish(snakemake_command(SUMMARY), read_only.parent)
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "Read-only file system" in said or "Permission denied" in said
    record_property("fault", ["the results folder is read-only", 1, 1, None])


# --- Damaged, foreign and older files among the inputs --------------------------------------------------------


def truncated(path):
    path.write_bytes(path.read_bytes()[:-1000])


def emptied(path):
    path.write_bytes(b"")


def replaced_by_text(path):
    path.write_text("not NetCDF")


def of_another_program(path):
    xr.Dataset({"temperature": ("time", np.zeros(3))}).to_netcdf(path, engine="netcdf4")


def of_an_older_contract(path):
    """Contract 1 had no seal, and was written by another library."""
    data = netcdf.read(path)
    data.attrs["contract"] = 1
    data.to_netcdf(path, engine="netcdf4")


def of_a_later_contract(path):
    data = netcdf.read(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(netcdf, "CONTRACT", netcdf.CONTRACT + 1)
        netcdf.write(data, path)


def of_other_settings(path):
    data = netcdf.read(path)
    settings = json.loads(data.attrs["settings"])
    settings["settings"]["dt"] = 0.05
    data.attrs["settings"] = json.dumps(settings)
    netcdf.write(data, path)


def of_keys_that_are_gone(path):
    data = netcdf.read(path)
    data.attrs["settings"] = data.attrs["settings"].replace('"dt":', '"time_step":')
    netcdf.write(data, path)


def without_its_risk(path):
    netcdf.write(netcdf.read(path).drop_vars("risk"), path)


def replaced_by_a_summary(path):
    shutil.copy2(path.parents[3] / "summary" / "sine.nc", path)


SPOILED = [
    truncated,
    emptied,
    replaced_by_text,
    of_another_program,
    of_an_older_contract,
    of_a_later_contract,
    of_other_settings,
    of_keys_that_are_gone,
    without_its_risk,
    replaced_by_a_summary,
]


@pytest.mark.parametrize("spoil", SPOILED, ids=lambda spoil: spoil.__name__)
def test_a_spoiled_run_is_refused_by_name(copied, spoil, capsys, record_property):
    from cbo_pipeline.cli.main import main

    path = copied / RUN
    others = [path.with_name("M5_N8_seed1.nc"), path]
    spoil(path)
    assert main(["summarise", *map(str, others), "--output", str(copied / "out.nc")]) == 2
    said = capsys.readouterr().err
    assert str(path) in said
    assert said.count("\n") == 1, said
    assert not (copied / "out.nc").exists()
    record_property("fault", ["a damaged, foreign or older file among the inputs", 1, 1, None])


def test_the_workflow_finds_a_spoiled_run_and_makes_it_again(copied, reference, record_property):
    path, summary = copied / RUN, copied / "results" / "summary" / "sine" / "cbo_M5_N8.nc"
    truncated(path)
    summary.unlink()
    done = finish(snakemake_command(SUMMARY, str(summary.relative_to(copied))), copied)
    assert done.returncode == 0, done.stderr
    assert RUN in done.stdout + done.stderr  # it is said which file is made again
    assert digests(copied / "results") == digests(reference / "results")
    record_property("fault", ["a damaged, foreign or older file among the inputs", 1, 1, True])
