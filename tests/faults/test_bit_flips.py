"""A single flipped bit, anywhere in a file: the file is refused by name, or its data are what they were."""

import numpy as np
import pytest
import xarray as xr

from cbo_pipeline.errors import FileRefused
from cbo_pipeline.results import netcdf, runs, summaries
from cbo_pipeline.training.checkpoint import resume_or_start, save
from cbo_pipeline.training.loop import Training, train
from tiny import run_of

FLIPS = {"run": 400, "summary": 300, "checkpoint": 300}
HERE = "this code"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A run, a summary of two runs and a checkpoint, as training leaves them."""
    folder, paths = tmp_path_factory.mktemp("whole"), []
    for seed in (0, 1):
        run = run_of(seed=seed, keep_ensembles=[1])
        paths.append(folder / f"run{seed}.nc")
        netcdf.write(runs.dataset(run, train(run)), paths[-1])
    netcdf.write(summaries.summarise_curve(paths), folder / "summary.nc")
    save(Training.start(run_of()).advance(3), folder / "checkpoint.npz", HERE)
    return {"run": paths[0], "summary": folder / "summary.nc", "checkpoint": folder / "checkpoint.npz"}


def places(size: int, count: int, seed: int) -> list[tuple[int, int]]:
    """Bytes and bits to flip: at random, and in the first and the last bytes of the file."""
    rng = np.random.default_rng(seed)
    ends = [*range(16), *range(size - 96, size, 6)]
    chosen = [*ends, *rng.integers(0, size, count - len(ends))]
    return [(int(byte), int(rng.integers(8))) for byte in chosen]


def flipped(content: bytes, byte: int, bit: int) -> bytes:
    changed = bytearray(content)
    changed[byte] ^= 1 << bit
    return bytes(changed)


def attempt(read, path):
    """What is in a file, or the words with which it is refused."""
    try:
        return read(path), ""
    except FileRefused as error:
        return None, str(error)


@pytest.mark.parametrize("kind", ["run", "summary"])
def test_a_flipped_bit_in_a_result_is_noticed(files, tmp_path, kind, record_property):
    read = {"run": runs.read, "summary": summaries.read}[kind]
    whole, content = read(files[kind]), files[kind].read_bytes()
    path = tmp_path / "flipped.nc"
    for byte, bit in places(len(content), FLIPS[kind], seed=1):
        path.write_bytes(flipped(content, byte, bit))
        found, words = attempt(read, path)
        if found is None:
            assert words.startswith(f"{path}: ")
            assert "delete it and make it again" in words
        else:
            xr.testing.assert_identical(found, whole)
    record_property("fault", ["a flipped bit in a run, a summary or a checkpoint", FLIPS[kind], FLIPS[kind], None])


def test_a_flipped_bit_in_a_checkpoint_is_noticed(files, tmp_path, record_property):
    run, content = run_of(), files["checkpoint"].read_bytes()
    whole, _ = resume_or_start(run, files["checkpoint"], HERE)
    assert whole.iteration == 3
    path = tmp_path / "flipped.npz"
    for byte, bit in places(len(content), FLIPS["checkpoint"], seed=2):
        path.write_bytes(flipped(content, byte, bit))
        training, remark = resume_or_start(run, path, HERE)
        if training.iteration:
            np.testing.assert_equal(training.state, whole.state)
            np.testing.assert_equal(vars(training.history), vars(whole.history))
        else:
            assert remark.startswith(f"checkpoint {path} is damaged (")
            assert remark.endswith("starting afresh")
        for left in tmp_path.iterdir():
            left.unlink()
    done = FLIPS["checkpoint"]
    record_property("fault", ["a flipped bit in a run, a summary or a checkpoint", done, done, None])
