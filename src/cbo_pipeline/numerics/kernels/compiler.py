"""How kernels are compiled, and where compiled code is kept.

numba checks the file of the function itself and no other: a change in a kernel that it calls, in another file, goes
unnoticed. Here compiled code belongs to the digest of all kernel sources, of the compiler's version and of its
options, by a cache directory of its own (``numba.config.CACHE_DIR`` while a kernel is declared):

    {parent}/cbo_pipeline_{digest}/1, 2, 3, ...     complete sets of compiled code, never changed; the last one counts
    {parent}/cbo_pipeline_{digest}/work_*           what a running process compiles: a copy of the last set, and more

The parent is NUMBA_CACHE_DIR, else $XDG_CACHE_HOME/cbo_pipeline, else ~/.cache/cbo_pipeline. Two processes that write
to one numba cache may mix up the code of two signatures, because both choose the same number for a new file. So
every process writes to a directory of its own, and ``keep`` makes that the next set at the end, by one rename. Where
no directory can be written, kernels are compiled in memory: that only costs time.
"""

import atexit
import contextlib
import functools
import hashlib
import os
import shutil
import tempfile
import time
from pathlib import Path

import llvmlite
import numba

SOURCES = Path(__file__).parent
OPTIONS = {"error_model": "numpy"}  # a division by zero gives infinity, as in numpy
DIGESTS_KEPT = 8  # sets of older sources: switching between branches does not compile anew
ABANDONED = 86_400.0  # seconds after which a directory of a killed process is removed
ROOM = 100 << 20  # bytes: on a fuller disk nothing is kept


@functools.cache
def digest(sources: Path = SOURCES) -> str:
    """The digest of everything that decides what a kernel compiles to.

    >>> len(digest())
    16
    """
    parts = [numba.__version__, llvmlite.__version__, str(numba.config.OPT), repr(sorted(OPTIONS.items()))]
    texts = [part.encode() for part in parts]
    for path in sorted(sources.glob("*.py")):
        texts += [path.name.encode(), path.read_bytes()]
    return hashlib.sha256(b"".join(b"%d:%s" % (len(text), text) for text in texts)).hexdigest()[:16]


def home() -> Path:
    """The directory of the compiled code that belongs to the present sources."""
    told = os.environ.get("NUMBA_CACHE_DIR")
    try:
        user = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    except RuntimeError:  # a user without a home, as in some containers: nothing can be kept there
        user = Path(os.devnull)
    return (Path(told) if told else user / "cbo_pipeline") / f"cbo_pipeline_{digest()}"


def sets(folder: Path) -> list[int]:
    """The numbers of the complete sets in ``folder``, the newest last."""
    return sorted(int(path.name) for path in folder.glob("[0-9]*") if path.name.isdigit())


class Workshop:
    """The directory in which this process compiles, and what of it is kept for others."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.taken: dict[str, bytes] = {}  # the indices of the set that this process began with, by path
        self.work = self._opened()
        if self.work is not None:
            for number in reversed(sets(folder)):  # an older one if the newest is just being removed
                with contextlib.suppress(OSError):
                    _link_all(folder / str(number), self.work)
                    self.taken = _indices(self.work)
                    break
            with contextlib.suppress(OSError):
                os.utime(folder)
                self._sweep()

    def _opened(self) -> Path | None:
        """A new directory: beside the sets, else among temporary files, else nowhere."""
        for place in (self.folder, Path(tempfile.gettempdir())):
            with contextlib.suppress(OSError):
                place.mkdir(parents=True, exist_ok=True)
                if shutil.disk_usage(place).free > ROOM:
                    return Path(tempfile.mkdtemp(prefix="work_", dir=place))
        return None

    def _sweep(self) -> None:
        """Remove what killed processes left here, and the code of the oldest sources."""
        for path in self.folder.glob("work_*"):
            if time.time() - path.stat().st_mtime > ABANDONED:
                shutil.rmtree(path, ignore_errors=True)
        others = [path for path in self.folder.parent.glob("cbo_pipeline_*") if path != self.folder]
        for path in sorted(others, key=lambda path: path.stat().st_mtime)[:-DIGESTS_KEPT]:
            shutil.rmtree(path, ignore_errors=True)

    def declare(self, function, **options):
        """The function as a kernel, compiled when it is first called, and kept if there is a place for it."""
        before = numba.config.CACHE_DIR
        try:
            numba.config.CACHE_DIR = str(self.work)
            return numba.njit(cache=self.work is not None, **OPTIONS, **options)(function)
        finally:
            numba.config.CACHE_DIR = before

    def keep(self) -> None:
        """Make what this process has compiled the next set, together with what others have added meanwhile.

        Of a function for which others have compiled code too, theirs is kept: ours is compiled once more, by the
        next process that needs it.
        """
        if self.work is None:
            return
        now = _indices(self.work)
        new = [name for name in now if now[name] != self.taken.get(name)]
        with contextlib.suppress(OSError):
            while new:
                number = max(sets(self.folder), default=0)
                if self._offer(new, self.folder / str(number), self.folder / str(number + 1)):
                    self.taken = now
                    for old in sets(self.folder)[:-2]:
                        shutil.rmtree(self.folder / str(old), ignore_errors=True)
                    return

    def _offer(self, new: list[str], last: Path, following: Path) -> bool:
        """Make the set ``following`` from the set ``last`` and the new functions; false if another did so first."""
        offered = Path(tempfile.mkdtemp(prefix="work_", dir=self.folder))
        try:
            offered.chmod(0o755)
            if last.name != "0":
                _link_all(last, offered)
            others = _indices(offered)
            for name in new:
                if others.get(name) == self.taken.get(name):  # nobody else has changed it
                    index = self.work / name
                    (offered / name).parent.mkdir(exist_ok=True)
                    for path in index.parent.glob(f"{index.stem}.*nb?"):
                        (offered / name).with_name(path.name).unlink(missing_ok=True)
                        _link(path, (offered / name).with_name(path.name))
            offered.rename(following)
            return True
        except OSError:
            if not following.exists():
                raise
            return False
        finally:
            shutil.rmtree(offered, ignore_errors=True)

    def close(self) -> None:
        """Keep what was compiled, and leave nothing behind."""
        self.keep()
        if self.work is not None:
            shutil.rmtree(self.work, ignore_errors=True)


def _link(source: Path, target: Path) -> None:
    """A second name for a file, or a copy of it. (numba replaces files whole; it never writes into one.)"""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _link_all(source: Path, target: Path) -> None:
    for path in source.glob("*/*.nb?"):
        (target / path.parent.name).mkdir(exist_ok=True)
        _link(path, target / path.parent.name / path.name)


def _indices(folder: Path) -> dict[str, bytes]:
    """numba's index of every function; it changes with every signature that is compiled."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("*/*.nbi")}


@functools.cache
def workshop() -> Workshop:
    """The workshop of this process, opened when the first kernel is declared."""
    opened = Workshop(home())
    atexit.register(opened.close)
    return opened


def kernel(function=None, **options):
    """The decorator of every kernel, bare or with further options of ``numba.njit``."""
    if function is None:
        return functools.partial(kernel, **options)
    return workshop().declare(function, **options)
