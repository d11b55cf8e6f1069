"""What several tests share."""

import fcntl
import os
import shutil

import hypothesis
import pytest

import tiny
from cbo_pipeline import methods, problems
from cbo_pipeline.results import code
from cbo_pipeline.workflow import fetch_mnist

# The same examples in every run, however busy the machine. HYPOTHESIS_PROFILE=explore looks for new ones.
hypothesis.settings.register_profile("same", derandomize=True, deadline=None)
hypothesis.settings.register_profile("explore", deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


# Whole files are handed out in this order, those of `make test` before those of `make test-faults`, so that no long
# one is left when all others are done. A worker gets its next file with its last two tests: the first file, which has
# so few, is followed by the fifth, a short one.
LONGEST = (
    "test_soak", "test_stale_kernels", "test_workflow", "test_shared_jobs", "test_rulegraph", "test_driver",
    "test_docs", "test_mnist_workflow", "test_publish", "test_startup", "test_commands",
    "test_slurm", "test_soak_on_one_machine", "test_grid_engine", "test_faults", "test_safety",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    """The tests of the longest files first, all others as they were."""
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))


@pytest.fixture(autouse=True)
def no_plugins_are_left():
    """Folders of plugins that a test names stay on the path of their package: take them off again."""
    before = {package: list(package.__path__) for package in (methods, problems)}
    yield
    for package, path in before.items():
        package.__path__[:] = path


@pytest.fixture(scope="session")
def mnist_folder(request):
    """A data folder with the real MNIST: CBO_DATA_DIR if it has the files, else pytest's cache, filled by a fetch."""
    folder, source = fetch_mnist.places(str(request.config.cache.mkdir("mnist")))
    fetch_mnist.fetch(folder, source)
    return folder.absolute()


@pytest.fixture(scope="session")
def reference(tmp_path_factory):
    """A folder in which the tiny workflow ran undisturbed, on this machine.

    It lies as deep as the folders of single tests: a copy of it there sees the project's files at the same place.
    """
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # one for all processes; the first that comes makes it
        place = place.parent / "shared"
        place.mkdir(exist_ok=True)
    folder = place / "reference" / "work"
    with (place / "reference.lock").open("w") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        if not (folder / tiny.SUMMARY).exists():
            folder.mkdir(parents=True)
            done = tiny.finish(tiny.snakemake_command(tiny.SUMMARY), folder)
            assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def copy_of_package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("copy") / "package"
    return shutil.copytree(code.ROOT, folder, ignore=shutil.ignore_patterns("__pycache__"))


@pytest.fixture
def package(copy_of_package, monkeypatch):
    """A copy of the package that can be edited, whose digests count."""
    monkeypatch.setattr(code, "ROOT", copy_of_package)
    return copy_of_package
