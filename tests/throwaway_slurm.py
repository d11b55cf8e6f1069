"""A throwaway Slurm cluster (tests/slurm_cluster.sh) as an object: its commands, its nodes, its jobs."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

from tiny import ROOT, environment

TOOLS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue")


def missing() -> str:
    """Why there can be no throwaway cluster here, or nothing."""
    lacking = [tool for tool in TOOLS if not shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin")]
    if lacking:
        return f"no Slurm here ({', '.join(lacking)} missing): apt-get install slurm-wlm munge"
    return "the throwaway Slurm cluster needs root" if os.geteuid() else ""


class Cluster:
    """The throwaway cluster; its commands are found in ``environment``."""

    def __init__(self, folder: Path, nodes: int = 2):
        self.folder, self.script = folder, ROOT / "tests" / "slurm_cluster.sh"
        self.nodes = [f"node{k + 1}" for k in range(nodes)]
        path = f"{folder}/bin:{os.environ['PATH']}:/usr/sbin"
        self.environment = {"SLURM_CONF": f"{folder}/slurm.conf", "PATH": path}

    def start(self) -> None:
        started = subprocess.run(
            [self.script, "start", self.folder, str(len(self.nodes))],
            env={**environment(), "PATH": self.environment["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )
        assert started.returncode == 0, started.stdout + started.stderr

    def stop(self) -> None:
        subprocess.run([self.script, "stop", self.folder], check=True)

    def run(self, *command: str, check: bool = True) -> str:
        known = environment(**self.environment)
        return subprocess.run(command, env=known, capture_output=True, text=True, check=check).stdout

    def running(self) -> list[list[str]]:
        """Job (or task of an array) and node of every job that runs."""
        return [line.split() for line in self.run("squeue", "-h", "-r", "-t", "R", "-o", "%i %N").splitlines()]

    def kill_node(self, node: str) -> None:
        """The node is lost to Slurm. Its job lives on, so that two processes may come to write one output."""
        os.kill(int((self.folder / f"slurmd.{node}.pid").read_text()), signal.SIGKILL)
        self.run("scontrol", "update", f"nodename={node}", "state=down", "reason=test")

    def restart_node(self, node: str) -> None:
        """The node's daemon starts again."""
        self.run("slurmd", "-N", node)
        self.run("scontrol", "update", f"nodename={node}", "state=resume", check=False)
