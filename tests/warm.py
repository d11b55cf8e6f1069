"""Python processes that start in no time: forks of one process that has loaded the libraries, but not this package.

Most of the time of a short command goes into loading Snakemake, or numba and xarray. Where a test is about what a
command does, and not about how it starts or dies, a fork does the same: it has arguments, environment, folder, input
and output of its own, and it loads this package itself, from wherever its environment says. The jobs of such a
Snakemake start likewise: it takes a program for its Python (``python``) that asks for a fork, waits for it, hands
signals on and ends as it does. Whatever else it is asked for, this program leaves to the real Python.
"""

import atexit
import contextlib
import functools
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

# What each module loads beside this package.
LIBRARIES = {
    "snakemake": """\
import jsonschema, pandas, smart_open, snakemake.cli, yaml
snakemake.cli.get_argument_parser()  # loads the plugins
""",
    "cbo_pipeline": """\
import jsonschema, matplotlib.backends.backend_agg, netCDF4, numba, numpy as np, scipy.linalg, xarray, yaml
@numba.njit(error_model="numpy")
def first(x):
    return x[0]
first(np.ones(2, np.float32))  # numba gets ready when it first compiles
""",
}
# One fork per connection. Its process number goes back first, its end at the end; who hangs up kills it.
SERVER = """\
import json, os, runpy, select, signal, socket, sys
exec(sys.argv[2])
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(64)
print("ready", flush=True)
ended, end = os.pipe2(os.O_NONBLOCK)
signal.set_wakeup_fd(end)
signal.signal(signal.SIGCHLD, lambda *_: None)
children = {}
while True:
    ready = select.select([sys.stdin, listener, ended, *children.values()], [], [])[0]
    if sys.stdin in ready:
        os._exit(0)
    for child, caller in list(children.items()):
        if caller in ready:
            os.kill(child, signal.SIGKILL)
    if ended in ready:
        os.read(ended, 1 << 16)
        while children:
            child, status = os.waitpid(-1, os.WNOHANG)
            if not child:
                break
            with children.pop(child) as caller:
                try:
                    caller.sendall(b"%d\\n" % os.waitstatus_to_exitcode(status))
                except OSError:
                    pass
    if listener not in ready:
        continue
    caller = listener.accept()[0]
    text, files, _, _ = socket.recv_fds(caller, 1 << 16, 3)
    while not text.endswith(b"\\n"):
        text += caller.recv(1 << 16)
    child = os.fork()
    if child == 0:
        break
    for file in files:
        os.close(file)
    caller.sendall(b"%d\\n" % child)
    children[child] = caller
signal.set_wakeup_fd(-1)
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
for opened in (caller, listener, *children.values()):
    opened.close()
for number, file in enumerate(files):
    os.dup2(file, number)
    os.close(file)
os.close(ended), os.close(end)
for number, (name, mode, errors) in enumerate(
    (("stdin", "r", "strict"), ("stdout", "w", "strict"), ("stderr", "w", "backslashreplace"))
):
    stream = open(number, mode, 1 if name == "stderr" else -1, encoding="utf-8", errors=errors, closefd=False)
    setattr(sys, name, stream)
    setattr(sys, f"__{name}__", stream)
asked = json.loads(text)
os.environ.clear()
os.environ.update(asked["environment"])
os.umask(asked["umask"])
os.chdir(asked["folder"])
sys.executable = asked["python"]
sys.path[:1] = [asked["folder"], *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
kind, program, *words = asked["words"]
sys.argv = [program, *words]
if kind == "-m":
    runpy.run_module(program, run_name="__main__", alter_sys=True)
else:
    sys.argv[0] = "-c"
    exec(program, {"__name__": "__main__"})
"""
# A program that does what python does, in much less time where it is asked for one of the modules below. Its second
# line is a command to a shell and a string to Python: a path with a space in it could not stand in the first.
PYTHON = """\
#!/bin/sh
"exec" "{python}" "-IS" "$0" "$@"
import json, os, signal, socket, sys
words, addresses = sys.argv[1:], {addresses!r}
if words[:1] != ["-m"] or words[1] not in addresses:
    os.execv({python!r}, [{python!r}, *words])
umask = os.umask(0)
os.umask(umask)
asked = {{"words": words, "folder": os.getcwd(), "environment": dict(os.environ), "umask": umask}}
asked["python"] = sys.argv[0] if words[1] == "snakemake" else {python!r}
with socket.socket(socket.AF_UNIX) as server:
    server.connect(addresses[words[1]])
    text = json.dumps(asked).encode() + b"\\n"
    server.sendall(text[socket.send_fds(server, [text], [0, 1, 2]):])
    with server.makefile("r") as answers:
        child = int(answers.readline())
        forwarded = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        for number in forwarded:
            signal.signal(number, lambda number, _: os.kill(child, number))
        code = int(answers.readline() or -signal.SIGKILL)
if code < 0:
    for number in forwarded:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


class WarmPython:
    """A process that has loaded libraries, and forks for every command."""

    def __init__(self, libraries: str, **environment: str):
        self.folder = Path(tempfile.mkdtemp(prefix="warm_"))
        self.address = str(self.folder / "server")
        known = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"} | environment
        # A fork of a process with threads would lack them: OpenBLAS starts none if it may use one core alone.
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, self.address, libraries],
            env=known, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        atexit.register(self.close)
        assert self.process.stdout.readline() == "ready\n"

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(
        self, words: list[str], folder: Path, environment: dict[str, str], timeout: float = 600,
        python: str = sys.executable,
    ) -> subprocess.CompletedProcess:  # fmt: skip
        """``python *words`` to its end: ``-m module ...`` or ``-c code ...``. It takes ``python`` for its Python."""
        umask = os.umask(0)
        os.umask(umask)
        asked = {"words": words, "folder": str(folder), "environment": environment, "umask": umask, "python": python}
        text = json.dumps(asked).encode() + b"\n"
        with contextlib.ExitStack() as opened:
            said = [opened.enter_context(tempfile.TemporaryFile()) for _ in range(2)]
            nothing = opened.enter_context(Path(os.devnull).open("rb"))
            server = opened.enter_context(socket.socket(socket.AF_UNIX))
            server.connect(self.address)
            files = [file.fileno() for file in (nothing, *said)]
            server.sendall(text[socket.send_fds(server, [text], files) :])
            answers = opened.enter_context(server.makefile("rb", buffering=0))
            answers.readline()
            if not select.select([server], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(words, timeout)  # we hang up: the server kills it
            code = int(answers.readline())
            output = []
            for file in said:
                file.seek(0)
                output.append(file.read().decode())
        return subprocess.CompletedProcess(words, code, *output)


@functools.cache
def warm(module: str) -> WarmPython:
    """The one of this test process that has loaded the libraries of a module."""
    return WarmPython(LIBRARIES[module])


@functools.cache
def python() -> str:
    """The path of a program that does what ``python -m cbo_pipeline`` and ``python -m snakemake`` do, by forks."""
    addresses = {module: warm(module).address for module in LIBRARIES}
    path = warm("snakemake").folder / "python"
    path.write_text(PYTHON.format(python=sys.executable, addresses=addresses), encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def run(command: list[str], folder: Path, environment: dict[str, str], timeout: float = 600):
    """The end of a command, [python, -m, snakemake or cbo_pipeline, ...], by a fork, as are its jobs on this machine.

    Those on a cluster start as ever.
    """
    words = command[1:]
    shared = words[1] == "snakemake" and "--workflow-profile" not in words
    return warm(words[1]).run(words, folder, environment, timeout, python() if shared else sys.executable)
