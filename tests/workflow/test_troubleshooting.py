"""docs/troubleshooting.md has the real messages: each is provoked here, and each row of the table is known here."""

import errno
import os
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from cbo_pipeline import config as settings
from cbo_pipeline.errors import UserError
from cbo_pipeline.problems import _mnist_arrays
from cbo_pipeline.results import netcdf, runs
from cbo_pipeline.training import checkpoint
from cbo_pipeline.training.loop import Training, train
from cbo_pipeline.workflow import fetch_mnist
from tiny import ROOT, run_of

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(.+?)`(?: \(Snakemake\))? \|", PAGE, re.MULTILINE)


def config(tmp_path: Path, text: str) -> None:
    (tmp_path / "own.yaml").write_text(f"experiments: {{sine: {text}}}")
    settings.check_config(settings.load_config(tmp_path / "own.yaml"))


def kept(tmp_path: Path) -> Path:
    """A checkpoint of a run."""
    checkpoint.save(Training.start(run_of()), tmp_path / "run.checkpoint", "")
    return tmp_path / "run.checkpoint"


def other_code(tmp_path, monkeypatch):
    return checkpoint.resume_or_start(run_of(), kept(tmp_path), "other")[1]


def not_a_checkpoint(tmp_path, monkeypatch):
    (tmp_path / "thesis.txt").write_text("once upon a time")
    checkpoint.resume_or_start(run_of(), tmp_path / "thesis.txt", "")


def damaged(tmp_path, monkeypatch):
    path = kept(tmp_path)
    path.write_bytes(path.read_bytes()[:100])
    return checkpoint.resume_or_start(run_of(), path, "")[1]


def no_checkpoint(tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    checkpoint.Keeper(tmp_path / "folder", 0.0, "").stops(Training.start(run_of()))


def other_contract(tmp_path, monkeypatch):
    with monkeypatch.context() as later:
        later.setattr(netcdf, "CONTRACT", 3)
        netcdf.read(written(tmp_path))
    netcdf.read(tmp_path / "run.nc")


def written(tmp_path) -> Path:
    """The file of a run."""
    run = run_of()
    netcdf.write(runs.dataset(run, train(run)), tmp_path / "run.nc")
    return tmp_path / "run.nc"


def cut(tmp_path, monkeypatch):
    path = written(tmp_path)
    path.write_bytes(path.read_bytes()[:-100])
    netcdf.read(path)


def flipped(tmp_path, monkeypatch):
    path = written(tmp_path)
    content = bytearray(path.read_bytes())
    content[5000] ^= 1
    path.write_bytes(content)
    netcdf.read(path)


def not_netcdf(tmp_path, monkeypatch):
    (tmp_path / "run.nc").write_text("cut")
    netcdf.read(tmp_path / "run.nc")


def no_mnist(tmp_path, monkeypatch):
    monkeypatch.setattr(fetch_mnist, "_sources", lambda *_: iter(()))
    fetch_mnist.fetch_originals(tmp_path)


def altered_mnist(tmp_path, monkeypatch):
    path = _mnist_arrays.path_in(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text("altered")
    _mnist_arrays.read(tmp_path)


def no_gpu(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    run = settings.resolve(settings.load_config(), settings.RunName("mnist", "cbo", 2, 2, 0), {"device": "cuda"})
    Training.with_data(run)


def moving_barycentre(tmp_path, monkeypatch):
    changes = {"barycentre_rounds": 1, "epochs": 1, "points": 40, "batch_size": 40, "alpha": 1e-6, "snapshots": []}
    train(settings.resolve(settings.load_config(), settings.RunName("square", "ot_cbo", 8, 8, 0), changes))


def incomplete(tmp_path, monkeypatch):
    from snakemake.exceptions import IncompleteFilesException

    return IncompleteFilesException.__name__


def locked(tmp_path, monkeypatch):
    from snakemake.exceptions import LockException

    return str(LockException())


# Words of a message, and what provokes it: a function that raises, warns, prints or returns it.
PROVOKED = {
    "dt: '1e-3' is text": lambda t, _: config(t, "{methods: {cbo: {dt: 1e-3}}}"),
    "unknown key": lambda t, _: config(t, "{epoch: 1}"),
    "does not divide": lambda t, _: config(t, "{batch_size: 300}"),
    "consensus is not guaranteed": lambda t, _: config(t, "{methods: {cbo: {sigma_squared: 2.5}}}"),
    "of memory": lambda t, _: config(t, "{methods: {cbo: {N: 1000000000000}}}"),
    "could not be obtained": no_mnist,
    "truncated or altered": altered_mnist,
    "device: cuda": no_gpu,
    "not a readable NetCDF file": not_netcdf,
    "it ends without a checksum": cut,
    "its checksum does not fit": flipped,
    "written under contract": other_contract,
    "was written by other code": other_code,
    "belongs to other settings": lambda t, _: checkpoint.resume_or_start(run_of(seed=1), kept(t), "")[1],
    "not a checkpoint": not_a_checkpoint,
    "is damaged": damaged,
    "no checkpoint": no_checkpoint,
    "the barycentre was still moving": moving_barycentre,
    "No space left on device": lambda t, _: os.strerror(errno.ENOSPC),
    "IncompleteFilesException": incomplete,
    "Directory cannot be locked": locked,
}


def test_every_message_of_the_page_is_provoked_here():
    assert len(ROWS) == len(PROVOKED)
    for words in PROVOKED:
        assert sum(words in row for row in ROWS) == 1, words


@pytest.mark.parametrize("words", PROVOKED)
def test_the_message_is_the_real_one(words, tmp_path, monkeypatch, capsys):
    (row,) = [row for row in ROWS if words in row]
    said = []
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            said.append(PROVOKED[words](tmp_path, monkeypatch) or "")
        except UserError as error:
            said.append(str(error))
    said += [str(warning.message) for warning in caught] + [capsys.readouterr().err]
    pattern = ".*".join(map(re.escape, row.split("...")))
    assert re.search(pattern, "\n".join(said)), said
