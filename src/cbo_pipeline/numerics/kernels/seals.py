"""Compiled code that was damaged on the disk is thrown away, and compiled once more.

numba trusts its cache: a truncated file ends every later run with an error, and a flipped bit may run as other code.
So each complete set of compiled code (``compiler``) has a digest of all its bytes beside it, ``NUMBER.sha256``. It is
written when the process that made the set ends, and checked before another takes code from it.
"""

import atexit
import contextlib
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from cbo_pipeline.numerics.kernels import compiler


def guard() -> None:
    """Throw damaged sets away, and let those that this process makes be sealed when it ends."""
    folder = usable(compiler.home())
    if folder != compiler.home():
        os.environ["NUMBA_CACHE_DIR"] = str(folder.parent)
        atexit.register(shutil.rmtree, folder.parent, ignore_errors=True)
    atexit.register(seal, folder)  # runs after the workshop was closed, as that opens later


def usable(folder: Path) -> Path:
    """The folder without its damaged sets; a temporary one if they may not be removed, as in a read-only folder."""
    try:
        for number in compiler.sets(folder):
            if _is_damaged(folder, number):
                _remove(folder, number)
    except OSError:
        try:
            return Path(tempfile.mkdtemp(prefix="cbo_pipeline_code_"), folder.name)
        except OSError:
            return Path(os.devnull, folder.name)  # compiled in memory
    return folder


def _is_damaged(folder: Path, number: int) -> bool:
    """Whether a set is not what was sealed. One that vanishes meanwhile was replaced by others."""
    kept = _seal_of(folder, number)
    try:
        return kept.is_file() and kept.read_bytes().strip() != _digest(folder / str(number))
    except FileNotFoundError:
        return False


def seal(folder: Path) -> None:
    """Write the digest of every set that has none yet, and remove digests whose set is gone."""
    with contextlib.suppress(OSError):
        numbers = compiler.sets(folder)
        for number in numbers:
            if not _seal_of(folder, number).exists():
                partial = folder / f"work_seal_{number}_{os.getpid()}"
                partial.write_bytes(_digest(folder / str(number)))
                partial.rename(_seal_of(folder, number))
        for path in folder.glob("*.sha256"):
            if path.stem.isdigit() and int(path.stem) not in numbers:
                path.unlink(missing_ok=True)


def _seal_of(folder: Path, number: int) -> Path:
    return folder / f"{number}.sha256"


def _digest(folder: Path) -> bytes:
    """The digest of the names and bytes of all files of a set, as text."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            digest.update(f"{path.relative_to(folder)}:{len(content)}:".encode() + content)
    return digest.hexdigest().encode()


def _remove(folder: Path, number: int) -> None:
    """Take a set away, by one rename, so that nobody finds half of it."""
    aside = folder / f"work_damaged_{number}_{os.getpid()}"
    with contextlib.suppress(FileNotFoundError):  # another process was faster
        (folder / str(number)).rename(aside)
    _seal_of(folder, number).unlink(missing_ok=True)
    shutil.rmtree(aside, ignore_errors=True)
