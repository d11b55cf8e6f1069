"""What several tests share."""

import pytest

from cbo_pipeline import mnist_data


@pytest.fixture(scope="session")
def mnist_folder(request):
    """A data folder with the real MNIST: CBO_DATA_DIR if it has the files, else pytest's cache, filled by a fetch."""
    folder, source = mnist_data.places(str(request.config.cache.mkdir("mnist")))
    mnist_data.fetch(folder, source)
    return folder.absolute()
