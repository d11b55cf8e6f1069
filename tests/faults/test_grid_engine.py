"""The workflow on a real Grid Engine, a throwaway one of one host from Debian's packages, through the profile."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.results import netcdf, runs
from cbo_pipeline.training.loop import train
from checkout import checkout_in, compiled_for
from tiny import OVERLAY, ROOT, digests, environment, finish, snakemake_command, start, wait_until

pytestmark = pytest.mark.workflow
SCRIPT = ROOT / "tests" / "grid_engine.sh"
TOOLS = ("sge_qmaster", "sge_execd", "qsub", "qstat", "qacct", "qdel", "qconf")
MISSING = [tool for tool in TOOLS if not shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin")]
if MISSING:
    pytest.skip(
        f"no Grid Engine here ({', '.join(MISSING)} missing): on Debian, as root, tests/grid_engine.sh install",
        allow_module_level=True,
    )
if os.geteuid():
    pytest.skip("the throwaway Grid Engine needs root", allow_module_level=True)
KNOWN = {"SGE_ROOT": "/var/lib/gridengine", "PATH": f"{os.environ['PATH']}:/usr/sbin"}
# What differs here from the profile: files are seen at once, and a lost job is given up sooner.
HERE = ["--latency-wait", "20", "--default-resources", "mem_mb=200", "runtime=10"]
LONGER = "experiments: {sine: {epochs: 4000, methods: {adam: null, hybrid: null, cbo_float64: null}}}\n"


def grid_engine(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([SCRIPT, *words], env=environment(**KNOWN), capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def cluster():
    started = grid_engine("start", "2")
    if started.returncode == 4:
        pytest.skip("another Grid Engine runs on this machine")
    assert started.returncode == 0, started.stdout + started.stderr
    yield
    stopped = grid_engine("stop")
    assert stopped.returncode == 0, stopped.stderr


def asked(*command: str) -> str:
    done = subprocess.run(command, env=environment(**KNOWN), capture_output=True, text=True, check=True)
    return done.stdout


def running() -> list[str]:
    """The numbers of the jobs that run, the oldest first."""
    rows = (line.split() for line in asked("qstat", "-u", "*", "-s", "r").splitlines()[2:])
    return sorted(row[0] for row in rows)


def through_the_profile(*targets: str, overlay: str = "", root: Path = ROOT) -> list[str]:
    """The command of docs/cluster.md, here."""
    command = snakemake_command(*targets, root=root)
    cores = command.index("--cores")
    command[cores : cores + 2] = ["--workflow-profile", str(root / "workflow" / "profiles" / "grid_engine")]
    if overlay:
        command.insert(command.index("--configfile") + 2, overlay)
    return [*command, *HERE]


def trains(name: RunName, work: Path) -> int | None:
    """The process that trains this run in this folder, if there is one."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
            here = (place / "cwd").resolve() == work.resolve()
        except OSError:
            continue
        if here and words[1:4] == [b"-m", b"cbo_pipeline", b"train"] and words[-2].endswith(f"{name}.nc".encode()):
            return int(place.name)
    return None


def test_grid_engine_makes_the_same_bytes_as_this_machine(cluster, reference, tmp_path, record_property):
    """From a checkout with a space in its path, into another such folder."""
    root, work = checkout_in(tmp_path / "a folder"), tmp_path / "another folder"
    work.mkdir()
    wanted = sorted(path.relative_to(reference) for path in (reference / "results" / "runs").rglob("*.nc"))
    command = through_the_profile(*map(str, wanted), "results/summary/sine/cbo_M5_N8.nc", root=root)
    done = finish(command, work, **KNOWN, **compiled_for(root))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "with external jobid" in done.stdout + done.stderr
    results = digests(work / "results")
    assert len(results) == 5  # four runs, one curve
    assert results.items() < digests(reference / "results").items()
    record_property("fault", ["Grid Engine, spaces in paths", 1, 1, True])


def test_killed_jobs_are_noticed_and_made_again(cluster, tmp_path, record_property):
    """One by qdel, one by kill -9 of its process; both while training."""
    overlay, work = tmp_path / "longer.yaml", tmp_path / "work"
    overlay.write_text(LONGER)
    work.mkdir()
    names = [RunName("sine", "cbo", 5, 8, seed) for seed in (0, 1)]
    targets = [f"results/runs/{name}.nc" for name in names]
    process = start(through_the_profile(*targets, overlay=str(overlay)), work, **KNOWN)
    try:
        logs = [work / "results" / "logs" / f"{name}.log" for name in names]
        wait_until(lambda: all(log.exists() and "epoch" in log.read_text() for log in logs), seconds=300, every=0.1)
        os.kill(trains(names[0], work), signal.SIGKILL)
        wait_until(lambda: len(running()) == 1, seconds=120, every=0.5)
        asked("qdel", running()[0])
        _, said = process.communicate(timeout=600)
    finally:
        process.kill()
        subprocess.run(["qdel", "-u", "root"], env=environment(**KNOWN), capture_output=True, check=False)
    assert process.returncode == 0, said
    assert said.count("Trying to restart job") == 2, said
    for name in names:
        run = resolve(load_config(OVERLAY, overlay), name)
        netcdf.write(runs.dataset(run, train(run)), tmp_path / "undisturbed.nc")
        assert (work / "results" / "runs" / f"{name}.nc").read_bytes() == (tmp_path / "undisturbed.nc").read_bytes()
    record_property("fault", ["qdel of a running Grid Engine job", 1, 1, True])
    record_property("fault", ["kill -9 of a process in a Grid Engine job", 1, 1, True])
