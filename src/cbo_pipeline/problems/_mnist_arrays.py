"""The one file that training on MNIST reads: all images and labels as arrays, sealed.

``cbo-pipeline fetch-mnist`` writes it from the original files. It holds four arrays in numpy's own format, one
after the other, and the seal of ``files`` at its end. The training images are the last, and are mapped, not loaded:
most runs use a sixth of them.
"""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cbo_pipeline.errors import FileRefused
from cbo_pipeline.files import NotSealed, SealBroken, check_seal, seal, whole_file

ENVIRONMENT = "CBO_DATA_DIR"
PIXELS = 784


class Arrays(NamedTuple):
    """MNIST: images are rows of 784 pixels from 0 to 255, labels are the digits."""

    test_images: np.ndarray  # (10000, 784), uint8
    test_labels: np.ndarray  # (10000,), uint8
    training_labels: np.ndarray  # (60000,), uint8
    training_images: np.ndarray  # (60000, 784), uint8


def folder() -> Path:
    """The data folder of this process: the environment variable CBO_DATA_DIR, or ``data``."""
    return Path(os.environ.get(ENVIRONMENT) or "data")


def path_in(data_dir: Path) -> Path:
    """The place of the file in a data folder."""
    return data_dir / "MNIST" / "arrays.npy"


def write(arrays: Arrays, data_dir: Path) -> None:
    """Write the file, whole and sealed; the same arrays give the same bytes."""
    with whole_file(path_in(data_dir)) as partial:
        with partial.open("wb") as file:
            for array in arrays:
                np.lib.format.write_array(
                    file, np.ascontiguousarray(array, np.uint8), version=(1, 0), allow_pickle=False
                )
        seal(partial)


def read(data_dir: Path | None = None) -> Arrays:
    """The arrays in a data folder; a file that is missing or damaged is refused by name."""
    data_dir = folder() if data_dir is None else data_dir
    path = path_in(data_dir)
    remedy = f"`cbo-pipeline fetch-mnist --data-dir {data_dir}` makes it"
    if not path.is_file():
        raise FileRefused(f"{path}: no such file; {remedy}", code="no-mnist", file=str(path))
    try:
        check_seal(path)
    except (NotSealed, SealBroken):
        raise FileRefused(f"{path}: truncated or altered; {remedy} again", code="damaged", file=str(path)) from None
    with path.open("rb") as file:
        small = [np.lib.format.read_array(file, allow_pickle=False) for _ in range(len(Arrays._fields) - 1)]
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        return Arrays(*small, np.memmap(path, dtype, "r", file.tell(), shape))
