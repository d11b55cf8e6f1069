"""Python processes that start in no time: forks of one process that has loaded the libraries, but not this package.

Half of the time of a short command goes into loading Snakemake, or numba and xarray. Where a test is about what a
command does, and not about how it starts, a fork does the same: it has its own arguments, folder, environment,
output and end, and it loads this package itself, from wherever its environment says.
"""

import atexit
import contextlib
import functools
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

# What each program loads beside this package.
SNAKEMAKE = "import snakemake.cli, pandas, jsonschema, yaml"
SERVER = """\
import json, os, runpy, sys
exec(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork()
    if child == 0:
        break
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
for number, path in enumerate([os.devnull, asked["stdout"], asked["stderr"]]):
    os.dup2(os.open(path, os.O_RDWR), number)
os.environ.clear()
os.environ.update(asked["environment"])
os.chdir(asked["folder"])
sys.path[:1] = [asked["folder"], *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
kind, program, *words = asked["words"]
sys.argv = [program, *words]
if kind == "-m":
    runpy.run_module(program, run_name="__main__", alter_sys=True)
else:
    sys.argv[0] = "-c"
    exec(program, {"__name__": "__main__"})
"""


class WarmPython:
    """A process that has loaded libraries, and forks for every command."""

    def __init__(self, libraries: str, **environment: str):
        known = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"} | environment
        # A fork of a process with threads would lack them: OpenBLAS starts none if it may use one core alone.
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, libraries],
            env=known, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )  # fmt: skip
        atexit.register(self.process.kill)

    def run(
        self, words: list[str], folder: Path, environment: dict[str, str], timeout: float = 600
    ) -> subprocess.CompletedProcess:
        """``python *words`` to its end: ``-m module ...`` or ``-c code ...``."""
        with contextlib.ExitStack() as files:
            said = [files.enter_context(tempfile.NamedTemporaryFile()) for _ in range(2)]
            asked = {"words": words, "folder": str(folder), "environment": environment}
            asked |= {"stdout": said[0].name, "stderr": said[1].name}
            self.process.stdin.write(f"{json.dumps(asked)}\n")
            child = int(self.process.stdout.readline())
            if not select.select([self.process.stdout], [], [], timeout)[0]:
                os.kill(child, signal.SIGKILL)
                self.process.stdout.readline()
                raise subprocess.TimeoutExpired(words, timeout)
            code = int(self.process.stdout.readline())
            output = [Path(file.name).read_text(encoding="utf-8") for file in said]
        return subprocess.CompletedProcess(words, code, *output)


@functools.cache
def warm(libraries: str) -> WarmPython:
    """The one of this test process that has loaded these libraries."""
    return WarmPython(libraries)


def snakemake(command: list[str], folder: Path, environment: dict[str, str], timeout: float = 600):
    """The end of a command of Snakemake, [python, -m, snakemake, ...], by a fork."""
    return warm(SNAKEMAKE).run(command[1:], folder, environment, timeout)
