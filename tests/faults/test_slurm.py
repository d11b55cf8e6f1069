"""The workflow on a real Slurm: a throwaway cluster of two nodes, the profile, a cancelled job and a dead node."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.results import netcdf, runs
from cbo_pipeline.training.loop import train
from tiny import OVERLAY, ROOT, SUMMARY, digests, environment, finish, snakemake_command, start, wait_until

pytestmark = pytest.mark.workflow
TOOLS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue")
MISSING = [tool for tool in TOOLS if not shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin")]
if MISSING:
    pytest.skip(
        f"no Slurm here ({', '.join(MISSING)} missing): apt-get install slurm-wlm munge", allow_module_level=True
    )
if os.geteuid():
    pytest.skip("the throwaway Slurm cluster needs root", allow_module_level=True)
PROFILE = ROOT / "workflow" / "profiles" / "slurm"
# What differs on the throwaway cluster from the profile: no accounts, no accounting, no long waits.
HERE = {
    "--slurm-status-command": "squeue",
    "--slurm-init-seconds-before-status-checks": "2",
    "--seconds-between-status-checks": "1",
    "--latency-wait": "20",
}
# Runs long enough to be hit, in an overlay laid over tests/tiny.yaml.
LONGER = "experiments: {sine: {epochs: 20000, methods: {adam: null}}}\n"


class Cluster:
    """The throwaway cluster; its commands are found in ``environment``."""

    def __init__(self, folder: Path):
        self.folder, self.script = folder, ROOT / "tests" / "slurm_cluster.sh"
        path = f"{folder}/bin:{os.environ['PATH']}:/usr/sbin"
        self.environment = {"SLURM_CONF": f"{folder}/slurm.conf", "PATH": path}

    def start(self) -> None:
        started = subprocess.run(
            [self.script, "start", self.folder, "2"],
            env={**environment(), "PATH": self.environment["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )
        assert started.returncode == 0, started.stdout + started.stderr

    def stop(self) -> None:
        subprocess.run([self.script, "stop", self.folder], check=True)

    def run(self, *command: str) -> str:
        known = environment(**self.environment)
        return subprocess.run(command, env=known, capture_output=True, text=True, check=True).stdout

    def running(self) -> list[list[str]]:
        """Job (or task of an array) and node of every job that runs."""
        return [line.split() for line in self.run("squeue", "-h", "-r", "-t", "R", "-o", "%i %N").splitlines()]

    def kill_node(self, node: str) -> None:
        """The node is lost to Slurm. Its job lives on, so that two processes may come to write one output."""
        os.kill(int((self.folder / f"slurmd.{node}.pid").read_text()), signal.SIGKILL)
        self.run("scontrol", "update", f"nodename={node}", "state=down", "reason=test")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("slurm"))
    cluster.start()
    yield cluster
    cluster.stop()


def through_the_profile(*targets: str, overlay: str = "") -> list[str]:
    """The command of docs/cluster.md, here."""
    command = snakemake_command(*targets)
    cores = command.index("--cores")
    command[cores : cores + 2] = ["--workflow-profile", str(PROFILE), "--slurm-no-account"]
    if overlay:
        command.insert(command.index("--configfile") + 2, overlay)
    here = [word for pair in HERE.items() for word in pair]
    return [*command, *here, "--default-resources", "slurm_partition=main", "mem_mb=500", "runtime=10"]


def test_slurm_makes_the_same_bytes_as_this_machine(cluster, reference, tmp_path):
    done = finish(through_the_profile(SUMMARY), tmp_path, **cluster.environment)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "Submitted array job" in said
    results = digests(tmp_path / "results")
    assert len(results) == 7  # four runs, two curves, one summary
    assert results == digests(reference / "results")


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
