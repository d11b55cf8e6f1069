"""Bad tables: each is answered in one line with the file, the row and the column, and nothing is written."""

from pathlib import Path

import numpy as np
import pytest

from cbo_pipeline.cli.main import main
from refusals import refusal
from table_files import small, with_classes, write_csv


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def text(content: str | bytes):
    return lambda path: path.write_bytes(content if isinstance(content, bytes) else content.encode())


def rows(count: int, last: str = "", header: str = "a,b,y") -> str:
    """A good table of so many rows, and a last one that is not."""
    return f"{header}\n" + "".join(f"{k},{k * k},{k % 7}\n" for k in range(count)) + last


def columns(**changes):
    return lambda path: write_csv(path, {**small(), **changes})


# What is wrong: how the file is made, the code, the words that name the place.
SPOILED = {
    "a missing file": (lambda path: None, "no-such-file", ["table.csv"]),
    "a folder": (Path.mkdir, "no-such-file", ["table.csv"]),
    "an empty file": (text(""), "empty", ["row 1"]),
    "a header alone": (text("a,b,y\n"), "no-rows", []),
    "a column that does not exist": (text(rows(40, header="a,b,why")), "no-such-column", ["row 1", "column y"]),
    "text among numbers": (text(rows(40, "1,two,3\n")), "text-among-numbers", ["row 42", "column b", "two"]),
    "text in the target": (text(rows(40, "1,2,three\n")), "text-among-numbers", ["row 42", "column y"]),
    "a missing value": (text(rows(40, "1,,3\n")), "missing-value", ["row 42", "column b"]),
    "NaN": (text(rows(40, "1,nan,3\n") + rows(3).partition("\n")[2]), "not-finite", ["row 42", "column b"]),
    "infinity": (text(rows(40, "-inf,2,3\n")), "not-finite", ["row 42", "column a", "-inf"]),
    "an infinite target": (text(rows(40, "1,2,1e999\n")), "not-finite", ["row 42", "column y"]),
    "a constant column": (columns(b=[4.5] * 60), "constant", ["column b", "4.5"]),
    "a constant target": (columns(y=[1] * 60), "constant", ["column y"]),
    "too short a row": (text(rows(40, "1,2\n")), "ragged", ["row 42"]),
    "decimal commas": (text("a,b,y\n1,5,2,5,3,5\n"), "ragged", ["row 2"]),
    "semicolons": (text(rows(40).replace(",", ";")), "delimiter", ["row 1", "semicolons"]),
    "tabs": (text(rows(40).replace(",", "\t")), "delimiter", ["row 1", "tabs"]),
    "a byte-order mark": (text(b"\xef\xbb\xbf" + rows(40).encode()), "byte-order-mark", ["row 1", "UTF-8"]),
    "UTF-16": (text(rows(40).encode("utf-16")), "byte-order-mark", ["row 1", "UTF-16"]),
    "Latin-1": (text("a,é,y\n1,2,3\n".encode("latin-1")), "not-a-table", ["row 1"]),
    "bytes": (text(bytes(range(256)) * 20), "not-a-table", ["row 1"]),
    "duplicate names": (text(rows(40, header="a,a,y")), "twice", ["row 1", "column a"]),
    "a column without a name": (text(rows(40, header=",b,y")), "bad-name", ["row 1"]),
    "one column": (text("y\n1\n2\n"), "one-column", ["row 1", "column y"]),
    "fewer rows than a batch": (text(rows(20)), "too-few-rows", ["16 rows"]),
    "a blank line counts as a row of the file": (
        text("a,b,y\n1,2,3\n\n4,x,6\n"), "text-among-numbers", ["row 4", "column b"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spoil", "code", "words"), SPOILED.values(), ids=SPOILED)
def test_a_bad_table_is_refused_with_its_place(folder, capsys, spoil, code, words, record_property):
    spoil(folder / "table.csv")
    command = ["train", "--data", "table.csv", "--target", "y", "--method", "cbo", "--output", "new/run.nc"]
    error = refusal(capsys, [*command, "--set", "batch_size=32"], folder)
    assert (error.code, error.file) == (code, "table.csv"), error
    for word in ["table.csv", *words]:
        assert word in str(error), error
    record_property("refused", "a bad table")


CLASSES = {
    "one class": (["warm"] * 60, "one-class", ["column kind", "warm"]),
    "a missing class": ([*["warm", "cold"] * 29, "", "cold"], "missing-value", ["row 60", "column kind"]),
    "classes without end": ([f"name {k}" for k in range(2000)], "too-many-classes", ["column kind", "2000"]),
}


@pytest.mark.parametrize(("labels", "code", "words"), CLASSES.values(), ids=CLASSES)
def test_bad_classes_are_refused(folder, capsys, labels, code, words, record_property):
    write_csv(folder / "t.csv", {"x": range(len(labels)), "kind": labels})
    error = refusal(
        capsys, ["train", "--data", "t.csv", "--target", "kind", "--method", "cbo", "--output", "r.nc"], folder
    )
    assert (error.code, error.file) == (code, "t.csv")
    for word in words:
        assert word in str(error), error
    record_property("refused", "a bad table")


def test_a_table_of_two_gigabytes_is_refused_before_it_is_read(folder, capsys, monkeypatch, record_property):
    """The file has two gigabytes of nothing: to read it would take minutes, or end in another error."""
    with (folder / "large.csv").open("wb") as file:
        file.truncate(2 << 30)
    monkeypatch.setenv("CBO_MEMORY_GB", "8")
    monkeypatch.setattr("refusals.state", lambda folder: sorted(folder.iterdir()))
    error = refusal(
        capsys, ["train", "--data", "large.csv", "--target", "y", "--method", "cbo", "--output", "r.nc"], folder
    )
    assert (error.code, error.file) == ("memory", "large.csv")
    assert "8 GB" in str(error)
    record_property("refused", "a bad table")


ARRAYS = {
    "not a zip file": (lambda p: p.write_text("a,b\n1,2\n"), "not-a-table", []),
    "other lengths": (lambda p: np.savez(p, a=np.arange(9.0), y=np.arange(8.0)), "ragged", ["column y"]),
    "objects": (lambda p: np.savez(p, a=np.array([{}, {}]), y=np.arange(2.0)), "not-a-table", []),
    "text": (
        lambda p: np.savez(p, a=np.array(["1", "x"]), y=np.arange(2)),
        "text-among-numbers",
        ["row 2", "column a"],
    ),
    "NaN": (lambda p: np.savez(p, a=np.array([1, np.nan]), y=np.arange(2)), "not-finite", ["row 2", "column a"]),
    "cubes": (lambda p: np.savez(p, a=np.ones((2, 2, 2)), y=np.arange(2)), "one-column", []),
}


@pytest.mark.parametrize(("spoil", "code", "words"), ARRAYS.values(), ids=ARRAYS)
def test_bad_arrays_are_refused(folder, capsys, spoil, code, words, record_property):
    spoil(folder / "t.npz")
    error = refusal(
        capsys, ["train", "--data", "t.npz", "--target", "y", "--method", "cbo", "--output", "r.nc"], folder
    )
    assert (error.code, error.file) == (code, "t.npz"), error
    for word in words:
        assert word in str(error), error
    record_property("refused", "a bad table")


TABLE = ["--data", "t.csv", "--target", "y", "--method", "cbo"]
OPTIONS = {
    "no target": (["--data", "t.csv", "--method", "cbo"], "missing", "--target"),
    "no method": (["--data", "t.csv", "--target", "y"], "missing", "--method"),
    "an experiment too": ([*TABLE, "--experiment", "sine"], "conflict", "--experiment"),
    "a config too": ([*TABLE, "--config", "own.yaml"], "conflict", "--config"),
    "a target without data": (["--experiment", "sine", "--method", "cbo", "--target", "y"], "conflict", "--target"),
    "inputs without data": (["--experiment", "sine", "--method", "cbo", "--inputs", "y"], "conflict", "--inputs"),
    "what is filled in": ([*TABLE, "--set", "rows=3"], "filled-in", "experiments.table.methods.cbo.rows"),
    "its digest": (
        [*TABLE, "--set", f"data_digest={'a' * 64}"], "filled-in", "experiments.table.methods.cbo.data_digest",
    ),
    "an unknown activation": (
        [*TABLE, "--set", "activation=cube"], "not-an-option", "experiments.table.methods.cbo.activation",
    ),
    "a share of all": (
        [*TABLE, "--set", "test_share=1.0"], "out-of-bounds", "experiments.table.methods.cbo.test_share",
    ),
    "an unknown method": (
        ["--data", "t.csv", "--target", "y", "--method", "cob"], "unknown-name", "experiments.table.methods.cob",
    ),
    "an input that is a target": ([*TABLE, "--inputs", "a,y"], "conflict", "y"),
    "the table as the output": ([*TABLE, "--output", "t.csv"], "is-input", "--output"),
    "an outer bias with transport": (
        ["--data", "t.csv", "--target", "y", "--method", "ot_cbo", "--set", "outer_bias=true"], "does-not-fit",
        "experiments.table.methods.ot_cbo.outer_bias",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("options", "code", "key"), OPTIONS.values(), ids=OPTIONS)
def test_options_that_do_not_fit_are_refused(folder, capsys, options, code, key, record_property):
    write_csv(folder / "t.csv", small())
    output = [] if "--output" in options else ["--output", "r.nc"]
    error = refusal(capsys, ["train", *options, *output], folder)
    assert (error.code, error.key) == (code, key), error
    record_property("refused", "a wrong option")


def test_predictions_of_bad_rows_are_refused(folder, capsys, record_property):
    write_csv(folder / "t.csv", with_classes())
    small_run = ["--set", "epochs=1", "batch_size=16", "--width", "3", "--particles", "4"]
    command = ["train", "--data", "t.csv", "--target", "kind", "--inputs", "a,b", "--method", "cbo"]
    assert main([*command, *small_run, "--output", "run.nc"]) == 0
    assert main(["train", "--experiment", "sine", "--method", "cbo", "--output", "sine.nc", "--width", "3",
                 "--particles", "4", "--set", "epochs=1", "snapshots=[]"]) == 0  # fmt: skip
    capsys.readouterr()
    bad = {
        "a,c\n1,2\n": ("run.nc", "no-such-column", ["row 1", "column b"]),
        "a,b\n1,2\nx,2\n": ("run.nc", "text-among-numbers", ["row 3", "column a"]),
        "a,b\n1,2\n1,nan\n": ("run.nc", "not-finite", ["row 3", "column b"]),
        "a,b\n1,5\n": ("sine.nc", "not-a-table", ["sine"]),
    }
    for content, (run, code, words) in bad.items():
        (folder / "new.csv").write_text(content)
        error = refusal(capsys, ["predict", run, "--data", "new.csv", "--output", "p.csv"], folder)
        assert (error.code, error.file) == (code, run if run == "sine.nc" else "new.csv"), error
        for word in words:
            assert word in str(error), error
        record_property("refused", "a bad table")
    error = refusal(capsys, ["predict", "run.nc", "--data", "new.csv", "--output", "new.csv"], folder)
    assert error.code == "is-input"
    record_property("refused", "an output that is also an input, or another output")
