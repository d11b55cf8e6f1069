"""Standard output and standard error, in whatever state the caller left them: closed, full, without Unicode.

Standard output is the result of a command such as ``show``: if it cannot be written, that is an error. Standard error
carries remarks and progress: if it cannot be written, the work continues without them.
"""

import contextlib
import os
import sys
from typing import TextIO

from cbo_pipeline.errors import FileRefused

NAMES = ("standard input", "standard output", "standard error")


def prepare() -> None:
    """Make the standard streams usable.

    A closed one is opened as /dev/null: the next file that is opened would otherwise take its number, and a library
    that writes a message to standard error would write into that file. Characters that a terminal does not know are
    replaced by an escape.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def say(text: str, end: str = "\n") -> None:
    """A remark on standard error; lost if that cannot be written."""
    with contextlib.suppress(OSError, ValueError):
        print(text, end=end, file=sys.stderr, flush=True)


def tell(text: str, end: str = "\n") -> None:
    """The result of a command, on standard output."""
    try:
        print(text, end=end, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        silence(sys.stdout)
        words = f"standard output: {error.strerror or error}"
        raise FileRefused(words, code="not-writable", file="standard output") from None


def silence(stream: TextIO) -> None:
    """Let a stream that cannot be written lead nowhere, so that nothing is said about it at exit."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def can_show(text: str, stream: TextIO) -> bool:
    """Whether a stream knows these characters.

    >>> import io
    >>> can_show("\u2588", io.TextIOWrapper(io.BytesIO(), "ascii"))
    False
    """
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
