"""docs/tour.ipynb: short, readable without running it, and it runs."""

import base64
from pathlib import Path

import nbformat
import pytest

from tiny import ROOT

PAGE = ROOT / "docs" / "tour.ipynb"
MOST_CELLS, LARGEST, LARGEST_PICTURE = 15, 400_000, 60_000


@pytest.fixture
def notebook():
    return nbformat.read(PAGE, as_version=4)


def pictures(notebook) -> list[bytes]:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return [base64.b64decode(o["data"]["image/png"]) for o in outputs if "image/png" in o.get("data", {})]


def test_it_is_short_and_readable_without_running(notebook):
    nbformat.validate(notebook)
    assert len(notebook.cells) <= MOST_CELLS
    assert PAGE.stat().st_size < LARGEST
    assert all(cell.outputs for cell in notebook.cells if cell.cell_type == "code")
    assert len(pictures(notebook)) >= 2
    assert all(len(picture) < LARGEST_PICTURE for picture in pictures(notebook))
    assert str(Path.home()) not in PAGE.read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore")
def test_it_runs_and_shows_as_many_pictures(notebook, monkeypatch):
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.delenv("MPLBACKEND", raising=False)  # the command line sets it for its own process
    before = len(pictures(notebook))
    NotebookClient(
        notebook, timeout=900, kernel_name="python3", resources={"metadata": {"path": PAGE.parent}}
    ).execute()
    assert len(pictures(notebook)) >= before
