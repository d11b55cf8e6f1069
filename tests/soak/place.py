"""Where the workload is made: on a throwaway Slurm through the project's profile, or on this machine."""

import contextlib
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from soak.processes import working_in
from soak.workload import Workload
from throwaway_slurm import Cluster
from tiny import ROOT, environment


class Driver:
    """A Snakemake that was started, and what it says."""

    def __init__(self, command: list[str], folder: Path, log: Path, variables: dict[str, str]):
        self.log = log
        with log.open("wb") as said:
            self.process = subprocess.Popen(
                command, cwd=folder, env=environment(**variables), stdout=said, stderr=said, start_new_session=True
            )

    def signal(self, number: int) -> bool:
        """Send a signal to the driver alone; its jobs are on their own."""
        if self.process.poll() is not None:
            return False
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)
        return True


def snakemake(workload: Workload, *options: str) -> list[str]:
    snakefile = ["--snakefile", str(ROOT / "Snakefile"), "--configfile", str(workload.overlay)]
    return [sys.executable, "-m", "snakemake", *workload.targets, *snakefile, "--rerun-incomplete", *options]


class Machine:
    """This machine, two cores; several drivers are started in the same folder."""

    name = "one machine, two cores, four drivers"
    nodes: tuple[str, ...] = ()

    def __init__(self, drivers: int = 4):
        self.drivers = drivers

    def __enter__(self) -> "Machine":
        return self

    def __exit__(self, *error) -> None:
        pass

    def start(self, workload: Workload, folder: Path, log: Path, *more: str) -> Driver:
        options = ("--cores", "2", "--retries", "3", "--keep-going", *more)
        return Driver(snakemake(workload, *options), folder, log, {})

    def look_after(self) -> None:
        pass

    def arrays(self) -> tuple[int, ...]:
        return ()

    def cancel_all(self) -> None:
        pass

    def end_strays(self, folder: Path) -> None:
        pass


class Slurm:
    """A throwaway Slurm, through the project's profile with its array jobs; one driver."""

    drivers = 1

    def __init__(self, folder: Path, nodes: int = 2):
        self.cluster = Cluster(folder, nodes)
        self.nodes = tuple(self.cluster.nodes)
        self.name = f"a throwaway Slurm of {nodes} nodes"
        self._in_arrays: set[tuple[str, str]] = set()

    def __enter__(self) -> "Slurm":
        self.cluster.start()
        return self

    def __exit__(self, *error) -> None:
        self.cancel_all()
        self.cluster.stop()

    def start(self, workload: Workload, folder: Path, log: Path) -> Driver:
        profile = str(ROOT / "workflow" / "profiles" / "slurm")
        here = ("--slurm-no-account", "--latency-wait", "20")
        resources = ("--default-resources", "slurm_partition=main", "mem_mb=500", "runtime=10")
        command = snakemake(workload, "--workflow-profile", profile, *here, *resources)
        return Driver(command, folder, log, self.cluster.environment)

    def look_after(self) -> None:
        """What an administrator does: resume nodes that Slurm has drained, release jobs that it could not launch.

        And note which training jobs came in arrays: Slurm forgets a job ten minutes after its end.
        """
        for line in self.cluster.run("sinfo", "-h", "-N", "-o", "%N %T", check=False).splitlines():
            node, state = line.split()
            if "drain" in state or "down" in state:
                self.cluster.run("scontrol", "update", f"nodename={node}", "state=resume", check=False)
        for line in self.cluster.run("squeue", "-h", "-r", "-t", "PD", "-o", "%i %r", check=False).splitlines():
            job, _, reason = line.partition(" ")
            if "held" in reason.lower():
                self.cluster.run("scontrol", "release", job, check=False)
        for line in self.cluster.run("squeue", "-h", "-r", "-t", "all", "-o", "%F %K %k", check=False).splitlines():
            job, task, comment = line.split()
            if task.isdigit() and comment.startswith("rule_train_wildcards_"):
                self._in_arrays.add((job, task))

    def arrays(self) -> tuple[int, ...]:
        """How many training jobs there were in each array, as Slurm was seen to hold them."""
        return tuple(Counter(job for job, _ in sorted(self._in_arrays)).values())

    def cancel_all(self) -> None:
        self.cluster.run("scancel", "--user", "root", check=False)

    def end_strays(self, folder: Path) -> None:
        """End what is left of jobs that are gone, as Slurm itself does where it tracks processes by cgroups.

        A Snakemake in a job may hang for ever when SIGTERM meets it while it holds a lock of its own.
        """
        if not self.cluster.run("squeue", "-h", check=False).split():
            for process in working_in(folder):
                process.signal(signal.SIGKILL)


ENDS = {signal.SIGKILL: "kill -9 of the driver", signal.SIGTERM: "SIGTERM to the driver"}
