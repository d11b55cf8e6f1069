"""What several tests share."""

import os

import hypothesis
import pytest

import tiny
from cbo_pipeline import methods, problems
from cbo_pipeline.workflow import fetch_mnist

# The same examples in every run, however busy the machine. HYPOTHESIS_PROFILE=explore looks for new ones.
hypothesis.settings.register_profile("same", derandomize=True, deadline=None)
hypothesis.settings.register_profile("explore", deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


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
    folder = tmp_path_factory.mktemp("reference") / "work"
    folder.mkdir()
    done = tiny.finish(tiny.snakemake_command(tiny.SUMMARY), folder)
    assert done.returncode == 0, done.stderr
    return folder
