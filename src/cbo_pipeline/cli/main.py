"""``cbo-pipeline``: run one command. A mistake of the user becomes one line on standard error and exit code 2."""

import contextlib
import errno
import os
import signal
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Iterator

from cbo_pipeline.cli import streams
from cbo_pipeline.errors import FileRefused, UserError

# One thread per job: no result depends on the number of cores, and parallel runs do not fight for them.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
REFUSED, A_BUG, INTERRUPTED = 2, 70, 130  # exit codes


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    streams.prepare()
    warnings.showwarning = _show_warning
    warnings.filterwarnings("always", category=UserWarning, module=r"cbo_pipeline\.")  # ours are never errors
    with _interrupts() as interrupted:
        try:
            return _flushed(run, arguments)
        except UserError as error:
            streams.say(f"cbo-pipeline: {error}")
            return REFUSED
        except BrokenPipeError:
            # The reader of our output has closed it: nothing more is written, not even at exit.
            streams.silence(sys.stdout)
            return 0
        except KeyboardInterrupt:
            return INTERRUPTED
        except Exception as error:
            return INTERRUPTED if interrupted.is_set() else _report_bug(error)


@contextlib.contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets, since a library that is being imported may turn it into an error of its own.

    Up to Python 3.11, for example, whatever is raised in ``__set_name__`` becomes a RuntimeError.
    """
    interrupted, before = threading.Event(), signal.getsignal(signal.SIGINT)

    def interrupt(number, frame):
        interrupted.set()
        raise KeyboardInterrupt

    ours = before is signal.default_int_handler and threading.current_thread() is threading.main_thread()
    if ours:
        signal.signal(signal.SIGINT, interrupt)
    try:
        yield interrupted
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)


def _flushed(function, *arguments) -> int:
    """The exit code of a command whose output has arrived, also if it ends itself, as --help does."""
    try:
        code = function(*arguments)
    except SystemExit as stopped:
        code = stopped.code if isinstance(stopped.code, int) else 0
    streams.tell("", end="")
    return code


def run(arguments: list[str] | None = None) -> int:
    """Run one command; a mistake of the user is raised as ``UserError``."""
    for name in ONE_THREAD:
        os.environ[name] = "1"
    os.environ["MPLBACKEND"] = "Agg"  # figures go to files; matplotlib cannot be imported under a misspelt backend
    # A file has one writer and is renamed when whole: HDF5 need not lock it, which some clusters forbid.
    os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"
    from cbo_pipeline.cli import parser

    try:
        options = parser.build().parse_args(arguments)
        return _obeyed(options)
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        words = f"{where}{error.strerror or error}"
        code = errno.errorcode.get(error.errno or 0, "OSError")
        raise FileRefused(words, code=code, file=str(error.filename or "")) from error
    except MemoryError as error:
        told = f" ({error})" if str(error) else ""
        raise UserError(f"not enough memory{told}; choose fewer particles or data points", code="memory") from error


def _obeyed(options) -> int:
    """The exit code of a command. None of ours ends the program: what does is a library, or a user's own module."""
    try:
        return options.command(options) or 0
    except SystemExit as stopped:
        if isinstance(stopped.code, int) and stopped.code != 0:
            raise
        told = f": {stopped.code}" if stopped.code else ""
        words = f"a method or problem of your own, or a library, ended the program (SystemExit{told})"
        raise UserError(words, code="ended") from stopped


def _report_bug(error: Exception) -> int:
    """Whatever else happens is a mistake of ours: one line for the user, the traceback in a file."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="cbo-pipeline-bug-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as file:
            traceback.print_exception(error, file=file)
        where = f"the traceback is in {file.name}"
    except OSError:
        where = "its traceback could not be stored"
        streams.say("".join(traceback.format_exception(error)), end="")
    line = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    streams.say(
        f"cbo-pipeline: this is a bug in cbo_pipeline ({line}); please report it as described in CONTRIBUTING.md;"
        f" {where}"
    )
    return A_BUG


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
    streams.say(f"cbo-pipeline: warning: {' '.join(str(message).split())}")
