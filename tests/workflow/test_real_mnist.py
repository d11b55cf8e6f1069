"""The problem `mnist` on the real images, and what a run on them imports."""

import subprocess
import sys

import numpy as np
import pytest

from cbo_pipeline import problems
from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.numerics.kernels.sparse_lists import dense
from cbo_pipeline.numerics.streams import Streams
from cbo_pipeline.problems import _mnist_arrays
from cbo_pipeline.training.loop import train


@pytest.fixture(autouse=True)
def data(mnist_folder, monkeypatch):
    monkeypatch.setenv("CBO_DATA_DIR", str(mnist_folder))


def test_the_images_are_those_of_mnist():
    problem = problems.find("mnist")(M=20, images=1000)
    problem.load(Streams(0))
    assert problem.training.targets[:5].tolist() == [5, 0, 4, 1, 9]
    x = dense(problem.everything().table)
    assert (x[0] > 0).sum() == 166  # the famous five has that many pixels that are not blank
    images, labels = problem.test_images(7)
    assert labels.tolist() == [7, 2, 1, 0, 4, 1, 4]
    np.testing.assert_array_equal(images, _mnist_arrays.read().test_images[:7])


def test_adam_learns_to_read():
    """After a few epochs most digits that were never seen are read correctly (chance: a tenth)."""
    small = {"images": 2000, "batch_size": 200, "epochs": 8, "dt": 0.01}
    history = train(resolve(load_config(), RunName("mnist", "adam", 20, 1, 0), small))
    assert history.records["accuracy"][-1] > 0.8
    assert history.records["risk"][-1] < 0.5 < 2 < history.records["risk"][0]
    assert history.snapshots["w"].shape[1:] == (1, 20, 784)


@pytest.mark.parametrize(("method", "share"), [("cbo", 0.97), ("hybrid", 0.8)])
def test_ensembles_descend(method, share):
    small = {"images": 600, "batch_size": 200, "epochs": 12}
    history = train(resolve(load_config(), RunName("mnist", method, 20, 100, 0), small))
    assert history.records["risk"][-1] < share * history.records["risk"][0]
    assert np.isfinite(history.records["accuracy"]).all()


def test_a_run_on_the_cpu_imports_neither_torch_nor_torchvision():
    program = """
import sys
from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.training.loop import train
small = {"images": 100, "batch_size": 50, "epochs": 1}
for method, N in (("cbo", 9), ("hybrid", 9), ("adam", 1)):
    train(resolve(load_config(), RunName("mnist", method, 5, N, 0), small))
train(resolve(load_config(), RunName("sine", "adam", 5, 1, 0), {"points": 100, "batch_size": 50, "epochs": 1}))
print(*(name for name in ("torch", "torchvision") if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""
