"""``cbo-pipeline``: run one command. A mistake of the user becomes one line on standard error and exit code 2."""

import os
import sys
import tempfile
import traceback
import warnings

from cbo_pipeline.errors import UserError

# One thread per job: no result depends on the number of cores, and parallel runs do not fight for them.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
REFUSED, A_BUG = 2, 70  # exit codes


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for name in ONE_THREAD:
        os.environ[name] = "1"
    # A file has one writer and is renamed when whole: HDF5 need not lock it, which some clusters forbid.
    os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")
    from cbo_pipeline.cli import parser

    options = parser.build().parse_args(arguments)
    warnings.showwarning = _show_warning
    try:
        return options.command(options) or 0
    except UserError as error:
        return _refused(str(error))
    except BrokenPipeError:
        # Whoever read our output has enough of it; nothing more is to be said, also not at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _refused(f"{where}{error.strerror or error}")
    except MemoryError as error:
        return _refused(f"not enough memory ({error})")
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return _report_bug(error)


def _refused(message: str) -> int:
    print(f"cbo-pipeline: {message}", file=sys.stderr)
    return REFUSED


def _report_bug(error: Exception) -> int:
    """Whatever else happens is a mistake of ours: one line for the user, the traceback in a file."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="cbo-pipeline-bug-", suffix=".txt", delete=False, encoding="utf-8"
        ) as file:
            traceback.print_exception(error, file=file)
        where = f"the traceback is in {file.name}"
    except OSError:
        where = "its traceback could not be stored"
        traceback.print_exception(error)
    line = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    print(
        f"cbo-pipeline: this is a bug of cbo_pipeline ({line}); please report it as CONTRIBUTING.md says, {where}",
        file=sys.stderr,
    )
    return A_BUG


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
    print(f"cbo-pipeline: warning: {message}", file=sys.stderr)
