"""Several drivers in one folder: started together, killed, refused; and what a killed one leaves on a cluster."""

import os
import signal
import subprocess
import sys
import time

import pytest

from cbo_pipeline.workflow import driver, driver_lock, slurm
from tiny import environment, wait_until

PASS = """
import sys, time, pathlib
from cbo_pipeline.workflow import driver_lock
driver_lock.enter(lambda words: print(words, flush=True))
driver_lock.clear_dead_lock(lambda words: print(words, flush=True))
locks = pathlib.Path(".snakemake/locks")
if driver_lock.is_locked():
    sys.exit(1)
time.sleep(float(sys.argv[1]))  # Snakemake plans
locks.mkdir(exist_ok=True)
(locks / "0.output.lock").write_text("x")
driver_lock.leave()
pathlib.Path("inside").mkdir()  # fails if another one is inside
time.sleep(float(sys.argv[2]))
pathlib.Path("inside").rmdir()
(locks / "0.output.lock").unlink()
"""


def drivers(folder, count: int, planning: float, working: float) -> list[subprocess.Popen]:
    command = [sys.executable, "-c", PASS, str(planning), str(working)]
    return [
        subprocess.Popen(command, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(count)
    ]


@pytest.mark.parametrize("count", [2, 4, 8])
def test_of_drivers_that_start_together_one_works(tmp_path, count, record_property):
    """All others wait until its lock is there, and are refused."""
    started = drivers(tmp_path, count, planning=1.0, working=5.0)
    said = [process.communicate(timeout=300) for process in started]
    assert sorted(process.returncode for process in started)[:2] == [0, 1], said
    assert not any(b"Traceback" in errors for _, errors in said), said
    assert any(b"waiting until it has" in out for out, _ in said)
    assert not list((tmp_path / ".snakemake").glob("drivers/*"))
    record_property("fault", ["drivers started together in one folder", count - 1, count - 1, None])


@pytest.mark.parametrize("moment", ["planning", "working"])
def test_a_killed_driver_keeps_nobody_from_working(tmp_path, moment, record_property):
    (first,) = drivers(tmp_path, 1, planning=60 if moment == "planning" else 0, working=60)
    wait_until(lambda: any(tmp_path.glob("inside" if moment == "working" else ".snakemake/drivers/*")))
    waiting = drivers(tmp_path, 1, 0, 0) if moment == "planning" else []
    time.sleep(1)
    first.kill()
    first.communicate()
    if moment == "working":
        (tmp_path / "inside").rmdir()
    for process in waiting or drivers(tmp_path, 1, 0, 0):
        out, errors = process.communicate(timeout=120)
        assert process.returncode == 0, out + errors
    assert not list((tmp_path / ".snakemake").glob("drivers/*"))
    record_property("fault", ["a driver killed while it plans or works", 1, 1, None])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory in which this process is a driver; its note is removed at the end."""
    (tmp_path / ".snakemake" / "locks").mkdir(parents=True)
    (tmp_path / ".snakemake" / "drivers").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("atexit.register", lambda function, *arguments: None)
    yield tmp_path / ".snakemake"
    driver_lock.leave()
    driver_lock._noted.clear()


def dead_note(folder, *names: str):
    process = subprocess.Popen(["true"])
    process.wait()
    note = folder / "drivers" / f"{os.uname().nodename}.{process.pid}"
    note.write_text("\n".join(["123", *names, ""]))
    return note


def living_note(folder, text: str | None = None):
    note = folder / "drivers" / f"{os.uname().nodename}.{os.getppid()}"
    note.write_text(driver_lock.started(os.getppid()) if text is None else text)
    return note


def test_the_jobs_of_a_killed_driver_are_cancelled(folder, record_property):
    note, cancelled = dead_note(folder, "run-1", "run-2"), []
    driver_lock.clear_dead_lock(pytest.fail, cancelled.extend)
    assert cancelled == ["run-1", "run-2"]
    assert not note.exists()
    record_property("fault", ["a driver killed while it plans or works", 1, 1, None])


def test_a_driver_that_is_ending_no_longer_lives(folder, record_property):
    """It lets go of the gate before its process id is free."""
    process = subprocess.Popen(["sleep", "60"])
    note = folder / "drivers" / f"{os.uname().nodename}.{process.pid}"
    note.write_text(f"{driver_lock.started(process.pid)}\n")
    assert driver_lock.lives(note)
    process.kill()
    wait_until(lambda: driver_lock.started(process.pid) == "ended")  # nobody has asked how it ended: a zombie
    assert not driver_lock.lives(note)
    process.wait()
    record_property("fault", ["a driver killed while it plans or works", 1, 1, None])


def test_a_dead_note_is_kept_until_its_lock_can_be_removed(folder, monkeypatch, record_property):
    """A third driver lives, and was refused; else the lock of the dead one would stay for good."""
    unlocked = []
    monkeypatch.setattr(driver_lock, "unlock", unlocked.append)
    (folder / "locks" / "0.output.lock").write_text("x")
    dead, living = dead_note(folder), living_note(folder)
    driver_lock.clear_dead_lock(pytest.fail)
    assert dead.exists()
    assert not unlocked
    living.unlink()
    driver_lock.clear_dead_lock(lambda words: None)
    assert not dead.exists()
    assert unlocked
    record_property("fault", ["drivers started together in one folder", 1, 1, None])


def test_a_note_that_a_full_disk_left_empty_is_of_a_living_driver(folder, monkeypatch, record_property):
    monkeypatch.setattr(driver_lock, "unlock", lambda place: pytest.fail("unlocked"))
    (folder / "locks" / "0.output.lock").write_text("x")
    dead_note(folder)
    living_note(folder, "")
    driver_lock.clear_dead_lock(pytest.fail)
    record_property("fault", ["the disk fills up", 1, 1, None])


def test_the_name_of_the_jobs_is_noted(folder):
    driver_lock.clear_dead_lock(pytest.fail)
    driver_lock.remember("run-3")
    (note,) = (folder / "drivers").iterdir()
    assert note.read_text().splitlines() == [driver_lock.started(os.getpid()), "run-3"]


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """Slurm's commands, which note that they were called; squeue lists the jobs of a file, one fewer each time."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    log, queue = tmp_path / "log", tmp_path / "queue"
    queue.write_text("17\n18\n")
    (tmp_path / "scancel").write_text(f'#!/bin/sh\necho scancel "$@" >> {log}\n')
    (tmp_path / "squeue").write_text(f"#!/bin/sh\ncat {queue}; sed -i 1d {queue}\n")
    for name in ("scancel", "squeue"):
        (tmp_path / name).chmod(0o755)
    return log, queue


def test_jobs_are_cancelled_by_name_and_waited_for(commands, monkeypatch):
    log, queue = commands
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    slurm.cancel_jobs(["run-1", "run-2"])
    assert "--name=run-1,run-2" in log.read_text()
    assert queue.read_text() == ""


@pytest.mark.parametrize("answer", ["exit 1", "kill -9 $$", "echo 17"], ids=["fails", "dies", "never ends"])
def test_a_slurm_that_does_not_answer_keeps_no_driver_from_starting(commands, monkeypatch, answer, record_property):
    log, _ = commands
    (log.parent / "squeue").write_text(f"#!/bin/sh\n{answer}\n")
    monkeypatch.setattr(slurm, "CANCEL_SECONDS", 0.5)
    slurm.cancel_jobs(["run-1"])
    slurm.cancel_jobs([])
    assert log.read_text().count("scancel") == 1
    record_property("fault", ["a Slurm that does not answer", 1, 1, None])


@pytest.mark.parametrize(
    ("words", "makes"),
    [
        (["--cores", "2"], True),
        (["all", "--cores", "2", "--forcerun", "fig2"], True),
        (["-n"], False),
        (["--dry-run", "--cores", "2"], False),
        (["--unlock"], False),
        (["--lint"], False),
        (["--list"], False),
        (["--summary"], False),
        (["--touch", "--cores", "1"], False),
        (["--report", "report.html"], False),
        (["--rulegraph"], False),
        (["--cores", "2", "--nolock"], False),
        (["--delete-all-output"], False),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_whether_snakemake_is_to_make_anything(words, makes):
    assert driver.Asked.of(words).makes == makes


def test_a_stopped_driver_holds_the_gate_and_lets_go_of_it_when_it_is_killed(tmp_path, record_property):
    (first,) = drivers(tmp_path, 1, planning=60, working=0)
    wait_until(lambda: any(tmp_path.glob(".snakemake/drivers/*")))
    first.send_signal(signal.SIGSTOP)
    (second,) = drivers(tmp_path, 1, 0, 0)
    time.sleep(1.5)
    assert second.poll() is None
    first.kill()
    first.communicate()
    out, errors = second.communicate(timeout=120)
    assert second.returncode == 0, out + errors
    record_property("fault", ["a driver killed while it plans or works", 1, 1, None])
