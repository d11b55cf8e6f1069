"""Files that are there whole or not at all, and the line at their end that tells whether they still are.

A file is written under another name and renamed when it is whole. A rename replaces whatever has the name, be it a
device or a link to a file elsewhere; so only regular files are replaced, and a link is followed to its target.

The seal of a file is its last line, with the SHA-256 digest of all bytes before it. Any flipped bit is noticed before
a library reads the file.
"""

import contextlib
import errno
import hashlib
import os
import re
import socket
import stat
import time
from pathlib import Path

from cbo_pipeline.errors import FileRefused

DAY = 86400.0
SEAL = b"\ncbo_pipeline sha256 "
SEAL_LENGTH = len(SEAL) + 64 + 1  # 64 hexadecimal digits and the end of the line
BLOCK = 1 << 20  # bytes that are hashed together
MARK = "made by cbo_pipeline:"  # in figures and pages, followed by their kind
PARTIAL = re.compile(r"\..+\.([A-Za-z0-9-]+)\.(\d+)\.partial")  # the name of a file that is being written
STREAMS = ("/dev/std", "/dev/fd/", "/proc/")  # links to what other processes may write to at the same time


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
        self.path = Path(path)  # as the user named it
        self.target = Path(os.path.realpath(path))
        self.partial = self.target.with_name(f".{self.target.name}.{_host()}.{os.getpid()}.partial")

    def __enter__(self) -> Path:
        refuse_irregular(self.path)
        self.target.parent.mkdir(parents=True, exist_ok=True)
        _clear_remains(self.target)
        return self.partial

    def __exit__(self, kind, error, trace) -> None:
        try:
            if kind is None:
                with self.partial.open("rb+") as file:
                    os.fsync(file.fileno())
                self.partial.replace(self.target)
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


def mark(kind: str, code: str = "") -> str:
    """The words by which a figure or a page is known as ours, with the digest of the code that made it (if given).

    >>> mark("figure"), mark("page", "0a1b")
    ('made by cbo_pipeline: figure', 'made by cbo_pipeline: page, code 0a1b')
    """
    return f"{MARK} {kind}, code {code}" if code else f"{MARK} {kind}"


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


def is_damaged(path: Path) -> bool:
    """Whether a file that was written whole is no longer what was written.

    Its seal does not fit; or it is empty or ends in zeros, as after a crash before the disk had it. A file without a
    seal may be somebody else's, or older. A seal in which a single byte is wrong was a seal.
    """
    if not path.is_file():
        return False
    size = path.stat().st_size
    try:
        check_seal(path)
    except SealBroken:
        return True
    except NotSealed:
        with path.open("rb") as file:
            file.seek(max(0, size - SEAL_LENGTH))
            last = file.read()
        wrong = sum(a != b for a, b in zip(last, SEAL, strict=False))
        return not any(last) or (len(last) == SEAL_LENGTH and wrong == 1)
    return False


def refuse_irregular(path: str | Path) -> None:
    """Refuse a place that only a regular file could be written to if something else were destroyed or guessed."""
    name, path = str(path), Path(path)
    if name.startswith(STREAMS):
        raise _refused(path, "not a place for a file; name a file", "not-a-file")
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if path.is_symlink() and not Path(os.path.realpath(path)).parent.is_dir():
            words = f"a link to {path.readlink()}, whose folder does not exist; make the folder or remove the link"
            raise _refused(path, words, "broken-link") from None
        return
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise _refused(path, f"{error.strerror}; name another file", "no-such-place") from None
        raise
    if stat.S_ISDIR(mode):
        raise _refused(path, "a folder, where a file is to be written; name a file in it", "folder")
    if not stat.S_ISREG(mode):
        raise _refused(path, "a device or pipe, not a file; name a file", "not-a-file")


def _refused(path: Path, words: str, code: str) -> FileRefused:
    return FileRefused(f"{path}: {words}", code=code, file=str(path))


def check_writable(path: Path) -> None:
    """Find out now, not after hours of work, that a file cannot be written. Nothing is left behind."""
    refuse_irregular(path)
    writing = whole_file(path)
    there = next(folder for folder in writing.target.parents if folder.exists())
    trial = there / writing.partial.name
    try:
        trial.touch()
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        with contextlib.suppress(OSError):
            trial.unlink(missing_ok=True)


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())


def clear_remains_below(folder: Path) -> None:
    """Delete the partial files of dead processes, whatever file they were to become, in a folder and all below it."""
    for file in folder.rglob(".*.partial"):
        found = PARTIAL.fullmatch(file.name)
        if found and not _in_use(file, *found.groups()):
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)


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
