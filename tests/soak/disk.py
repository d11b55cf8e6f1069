"""A small disk in memory, which can be filled up and whose folders can be made read-only, for a moment."""

import contextlib
import errno
import os
import subprocess
from pathlib import Path


class SmallDisk:
    """A tmpfs; mounting needs root."""

    def __init__(self, folder: Path, megabytes: int):
        self.folder, self.megabytes = folder, megabytes
        self.filler = folder / ".filler"

    def __enter__(self) -> "SmallDisk":
        self.folder.mkdir(parents=True, exist_ok=True)
        _run("mount", "-t", "tmpfs", "-o", f"size={self.megabytes}m", "tmpfs", str(self.folder))
        return self

    def __exit__(self, *error) -> None:
        _run("umount", "--lazy", str(self.folder))

    def fill(self) -> None:
        """Take every free byte."""
        with self.filler.open("wb") as file:
            for size in (1 << 20, 1 << 12):
                block = b"x" * size
                try:
                    while True:
                        os.write(file.fileno(), block)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def empty(self) -> None:
        self.filler.unlink(missing_ok=True)

    @contextlib.contextmanager
    def read_only(self, name: str):
        """A folder of it may only be read; files that are open already are written on."""
        path = str(self.folder / name)
        _run("mount", "--bind", path, path)
        try:
            _run("mount", "-o", "remount,ro,bind", path)
            yield
        finally:
            _run("umount", "--lazy", path)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
