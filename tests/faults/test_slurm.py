"""The workflow on a real Slurm, a throwaway cluster of two nodes without accounting, through the default profile."""

import re
import sys
import venv
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.results import netcdf, runs
from cbo_pipeline.training.loop import train
from checkout import checkout_in, compiled_for
from throwaway_slurm import Cluster, missing
from tiny import OVERLAY, ROOT, SUMMARY, digests, finish, snakemake_command, start, wait_until

pytestmark = pytest.mark.workflow
if missing():
    pytest.skip(missing(), allow_module_level=True)
# What differs on the throwaway cluster from the profile: no accounts, and files are seen at once.
HERE = ["--slurm-no-account", "--latency-wait", "20"]
# Runs long enough to be hit, in an overlay laid over tests/tiny.yaml. A log tells the first tenth of the epochs.
LONGER = "experiments: {sine: {epochs: 10000, methods: {adam: null}}}\n"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("slurm"))
    cluster.start()
    yield cluster
    cluster.stop()


def through_the_profile(*targets: str, overlay: str = "", root: Path = ROOT) -> list[str]:
    """The command of docs/cluster.md, here."""
    command = snakemake_command(*targets, root=root)
    cores = command.index("--cores")
    command[cores : cores + 2] = ["--workflow-profile", str(root / "workflow" / "profiles" / "slurm")]
    if overlay:
        command.insert(command.index("--configfile") + 2, overlay)
    return [*command, *HERE, "--default-resources", "slurm_partition=main", "mem_mb=500", "runtime=10"]


def test_slurm_makes_the_same_bytes_as_this_machine(cluster, reference, tmp_path, record_property):
    """From a checkout with a space in its path; and what is done is noticed soon, though nothing is accounted for."""
    root, work = checkout_in(tmp_path / "a folder"), tmp_path / "another folder"
    work.mkdir()
    wanted = sorted(path.relative_to(reference) for path in (reference / "results" / "runs").rglob("*.nc"))
    command = through_the_profile(*map(str, wanted), "results/summary/sine/cbo_M5_N8.nc", root=root)
    done = finish(command, work, **cluster.environment, **compiled_for(root))
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "Submitted array job" in said
    assert said.count("squeue is asked for the state of jobs") == 1
    results = digests(work / "results")
    assert len(results) == 5  # four runs, one curve
    assert results.items() < digests(reference / "results").items()
    # The plugin adds ten seconds to its pause whenever nothing has ended: a job is noticed within 12 seconds and
    # the time that it took, not after the 40 seconds and more of its own settings.
    last = re.findall(r"submitted with SLURM jobid (\d+)", said)[-1]
    told = dict(re.findall(r"(\w+)=(\S+)", cluster.run("scontrol", "show", "job", last)))
    began, ended = (datetime.fromisoformat(told[key]) for key in ("StartTime", "EndTime"))
    (log,) = (work / ".snakemake" / "log").iterdir()
    noticed = datetime.fromtimestamp(log.stat().st_mtime)
    assert noticed - ended < timedelta(seconds=12) + (ended - began)
    record_property("fault", ["Slurm without accounting, spaces in paths", 1, 1, True])


@pytest.mark.parametrize("folder", ["a $(touch pwned) folder", "it's mine"])
def test_a_checkout_that_would_break_the_jobs_is_refused_at_once(cluster, tmp_path, folder, record_property):
    root, work = checkout_in(tmp_path / folder), tmp_path / "work"
    work.mkdir()
    before = cluster.run("squeue", "-h", "-t", "all")
    done = finish(through_the_profile(SUMMARY, root=root), work, **cluster.environment)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"cbo-pipeline: {root}: on Slurm the path of the checkout")
    assert "Traceback" not in done.stderr
    assert cluster.run("squeue", "-h", "-t", "all") == before
    assert not list(tmp_path.rglob("pwned"))
    assert not (work / ".snakemake" / "locks").exists()
    record_property("refused", "a path that Slurm cannot take")


def test_an_environment_that_no_job_could_start_is_refused_at_once(cluster, tmp_path, record_property):
    """The environment of ``make setup`` lies in the checkout; all jobs would die, and again, and again."""
    environment_folder = tmp_path / "a folder" / ".venv"
    venv.create(environment_folder)
    (packages,) = environment_folder.glob("lib/python*/site-packages")
    places = [path for path in sys.path if path.endswith("-packages")]
    (packages / "shared.pth").write_text("".join(f"import site; site.addsitedir({path!r})\n" for path in places))
    before = cluster.run("squeue", "-h", "-t", "all")
    command = through_the_profile(SUMMARY)
    command[0] = str(environment_folder / "bin" / "python")
    done = finish(command, tmp_path, **cluster.environment)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"cbo-pipeline: {command[0]}: jobs on a cluster cannot start")
    assert cluster.run("squeue", "-h", "-t", "all") == before
    record_property("refused", "a path that Slurm cannot take")


def test_sigterm_ends_the_driver_and_its_jobs_leave_checkpoints(cluster, tmp_path, record_property):
    overlay, work = tmp_path / "longer.yaml", tmp_path / "work"
    overlay.write_text(LONGER.replace("10000", "60000"))
    work.mkdir()
    process = start(through_the_profile(SUMMARY, overlay=str(overlay)), work, **cluster.environment)
    try:
        logs = [work / "results" / "logs" / "sine" / "cbo" / f"M5_N8_seed{seed}.log" for seed in (0, 1)]
        wait_until(lambda: all(log.exists() and "epoch" in log.read_text() for log in logs), seconds=300, every=0.2)
        process.terminate()
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
        cluster.run("scancel", "--user", "root")
    assert process.returncode != 0
    assert "Traceback" not in said, said
    wait_until(lambda: len(list(work.rglob("*.npz"))) == 2)
    wait_until(lambda: not cluster.running())
    assert not list((work / ".snakemake").glob("locks/*.lock"))
    record_property("fault", ["SIGTERM to Snakemake on Slurm", 1, 1, None])


def test_a_cancelled_job_and_a_dead_node_cost_nothing(cluster, tmp_path, record_property):
    """Both while training; Slurm and Snakemake submit again, and the runs end with the same bytes."""
    overlay, work = tmp_path / "longer.yaml", tmp_path / "work"
    overlay.write_text(LONGER)
    work.mkdir()
    names = [RunName("sine", "cbo", 5, 8, seed) for seed in (0, 1)]
    process = start(
        through_the_profile(*(f"results/runs/{name}.nc" for name in names), overlay=str(overlay)),
        work,
        **cluster.environment,
    )
    try:
        logs = [work / "results" / "logs" / f"{name}.log" for name in names]
        wait_until(lambda: all(log.exists() and "epoch" in log.read_text() for log in logs), seconds=300, every=0.1)
        (first, _), (_, node) = cluster.running()
        cluster.run("scancel", first)
        cluster.kill_node(node)
        _, said = process.communicate(timeout=600)
    finally:
        process.kill()
        cluster.run("scancel", "--user", "root")
    assert process.returncode == 0, said
    for name in names:
        run = resolve(load_config(OVERLAY, overlay), name)
        netcdf.write(runs.dataset(run, train(run)), tmp_path / "undisturbed.nc")
        assert (work / "results" / "runs" / f"{name}.nc").read_bytes() == (tmp_path / "undisturbed.nc").read_bytes()
    record_property("fault", ["scancel of a running Slurm job", 1, 1, True])
    record_property("fault", ["kill -9 of a Slurm node, whose job lives on", 1, 1, True])


def test_runs_that_share_a_job_lose_nothing_when_it_is_cancelled(cluster, tmp_path, record_property):
    """The job's own Snakemake knows the runs by the name of the rule, even when it is submitted again."""
    overlay, work = tmp_path / "longer.yaml", tmp_path / "work"
    overlay.write_text(LONGER.replace("10000", "5000"))
    work.mkdir()
    names = [RunName("sine", "cbo", 5, 8, seed) for seed in (0, 1)]
    targets = [f"results/runs/{name}.nc" for name in names]
    command = [*through_the_profile(*targets, overlay=str(overlay)), "--config", "runs_per_job=2"]
    process = start(command, work, **cluster.environment)
    try:
        log = work / "results" / "logs" / "sine" / "cbo" / "M5_N8_seeds_0to1.log"
        wait_until(lambda: log.exists() and "seed1: epoch" in log.read_text(), seconds=300, every=0.1)
        ((job, _),) = cluster.running()
        cluster.run("scancel", job)
        _, said = process.communicate(timeout=600)
    finally:
        process.kill()
        cluster.run("scancel", "--user", "root")
    assert process.returncode == 0, said
    assert "seed0: was trained before" in log.read_text()
    for name in names:
        run = resolve(load_config(OVERLAY, overlay), name)
        netcdf.write(runs.dataset(run, train(run)), tmp_path / "undisturbed.nc")
        assert (work / "results" / "runs" / f"{name}.nc").read_bytes() == (tmp_path / "undisturbed.nc").read_bytes()
    record_property("fault", ["scancel of a Slurm job of several runs", 1, 1, True])
