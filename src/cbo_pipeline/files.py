"""Files that are there whole or not at all, and the line at their end that tells whether they still are.

The seal of a file is its last line, with the SHA-256 digest of all bytes before it. Any flipped bit is noticed before
a library reads the file.
"""

import contextlib
import hashlib
import os
import re
import socket
import time
from pathlib import Path

from cbo_pipeline.errors import FileRefused

DAY = 86400.0
SEAL = b"\ncbo_pipeline sha256 "
SEAL_LENGTH = len(SEAL) + 64 + 1  # 64 hexadecimal digits and the end of the line
BLOCK = 1 << 20  # bytes that are hashed together


class NotSealed(Exception):
    """A file ends without a seal."""


class SealBroken(Exception):
    """The bytes of a file are not those that were sealed."""


class whole_file:
    """``with whole_file(path) as partial``: write to ``partial``; it becomes ``path`` only if all went well.

    The partial file's name holds host and process, so that no two writers share one, be it on two nodes of a
    cluster. What a killed process left behind is cleared away by the next writer of the same file.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.partial = self.path.with_name(f".{self.path.name}.{_host()}.{os.getpid()}.partial")

    def __enter__(self) -> Path:
        if self.path.is_dir():
            raise FileRefused(f"{self.path}: a folder, where a file is to be written")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        _clear_remains(self.path)
        return self.partial

    def __exit__(self, kind, error, trace) -> None:
        try:
            if kind is None:
                with self.partial.open("rb+") as file:
                    os.fsync(file.fileno())
                self.partial.replace(self.path)
        except OSError as problem:
            self._name(problem)
            raise
        finally:
            with contextlib.suppress(OSError):
                self.partial.unlink(missing_ok=True)
        self._name(error)

    def _name(self, error: BaseException | None) -> None:
        """Let an error of the operating system name the file that was meant, not the partial one."""
        if isinstance(error, OSError) and error.filename in (None, self.partial, str(self.partial)):
            error.filename, error.filename2 = str(self.path), None


def seal(path: Path) -> None:
    """Append the seal to a file."""
    digest = hashlib.sha256()
    with path.open("rb+") as file:
        while block := file.read(BLOCK):
            digest.update(block)
        file.write(SEAL + digest.hexdigest().encode() + b"\n")


def check_seal(path: Path) -> None:
    """Return quietly if the seal of a file fits its bytes; raise ``NotSealed`` or ``SealBroken`` if not."""
    left = max(0, path.stat().st_size - SEAL_LENGTH)
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while left and (block := file.read(min(left, BLOCK))):
            digest.update(block)
            left -= len(block)
        last = file.read()
    if not last.startswith(SEAL):
        raise NotSealed
    if last != SEAL + digest.hexdigest().encode() + b"\n":
        raise SealBroken


def check_writable(path: Path) -> None:
    """Find out now, not after hours of work, that a file cannot be written."""
    writing = whole_file(path)
    partial = writing.__enter__()
    try:
        partial.touch()
    except OSError as error:
        writing._name(error)
        raise
    partial.unlink()


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())


def _clear_remains(path: Path) -> None:
    """Delete partial files of dead processes: those of this host by their process id, others after a day."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.([A-Za-z0-9-]+)\.(\d+)\.partial")
    for file in path.parent.iterdir():
        found = pattern.fullmatch(file.name)
        if found and not _in_use(file, *found.groups()):
            file.unlink(missing_ok=True)


def _in_use(file: Path, host: str, process: str) -> bool:
    if host != _host():
        try:
            return time.time() - file.stat().st_mtime < DAY
        except FileNotFoundError:
            return False
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
