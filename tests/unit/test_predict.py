"""Predictions by a run on a table: by hand, in Python, in the units of the table, with classes by name."""

import csv

import numpy as np
import pytest

import cbo_pipeline as cbo
from cbo_pipeline.cli.main import main
from cbo_pipeline.errors import ConfigError, FileRefused
from cbo_pipeline.numerics.network import evaluate
from table_files import small, with_classes, write_csv

SHORT = {"epochs": 5, "batch_size": 16, "M": 5, "N": 8, "progress": False}


def networks_of(run):
    last = {name: run[name].isel(snapshot=-1).values for name in "wbc"}
    return last if "task" in run["w"].dims else {name: x[None] for name, x in last.items()}


def test_numbers_come_back_in_their_units():
    """The network by the plain formula, on inputs that are standardised by hand."""
    columns = small()
    run = cbo.train(
        data=columns, target=["y", "z"], inputs=["a", "b", "c"], method="cbo", precision="float64", **SHORT
    )
    new = small(rows=7, seed=5)
    found = cbo.predict(run, {name: new[name] for name in "cab"})  # in any order, without the targets
    x = np.stack([new[name] for name in "abc"], axis=1)
    order = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(0,))).permutation(60)[:48]
    old = np.stack([columns[name] for name in "abc"], axis=1)[order]
    values = evaluate(networks_of(run), (x - old.mean(0)) / old.std(0), 1 / 5)[0]
    for k, name in enumerate(["y", "z"]):
        target = columns[name][order]
        np.testing.assert_allclose(found[name], values[:, k] * target.std() + target.mean(), rtol=1e-10)


def test_every_task_is_predicted_by_its_own_network():
    run = cbo.train(data=small(), target=["y", "z"], method="multi_task_cbo", **SHORT)
    found = cbo.predict(run, small(rows=7, seed=5))
    assert found["y"].shape == found["z"].shape == (7,)
    seen = np.stack([small(rows=7, seed=5)[name] for name in "abc"], axis=1)
    seen = (seen - run["feature_mean"].values) / run["feature_scale"].values
    values = evaluate(networks_of(run), seen, 1 / 5)
    for k, name in enumerate(["y", "z"]):
        expected = values[k, :, 0] * float(run["target_scale"][k]) + float(run["target_mean"][k])
        np.testing.assert_allclose(found[name], expected, rtol=1e-4)


def test_classes_come_back_by_name(tmp_path, monkeypatch, capsys):
    """By hand: train, predict, and count how many are right; they are the accuracy of the run if all are tested."""
    monkeypatch.chdir(tmp_path)
    columns = with_classes(rows=200)
    write_csv(tmp_path / "table.csv", columns)
    options = ["--target", "kind", "--inputs", "a,b,c", "--method", "hybrid", "--output", "run.nc"]
    sizes = ["--width", "10", "--particles", "10", "--set", "epochs=60", "test_share=0.5"]
    assert main(["train", "--data", "table.csv", *options, *sizes]) == 0
    said = capsys.readouterr().err
    assert "100 rows to train on, 100 to test on, 3 inputs, kind (2 classes)" in said
    assert "gamma=0.7" in said
    assert "batch_size=32" in said
    assert main(["predict", "run.nc", "--data", "table.csv", "--output", "predictions.csv"]) == 0
    with (tmp_path / "predictions.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["kind", "kind_probability"]
    predicted = np.array([row["kind"] for row in rows])
    assert set(predicted) == {"warm", "cold"}
    assert all(0.5 <= float(row["kind_probability"]) <= 1 for row in rows)
    order = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(0,))).permutation(200)[100:]
    right = np.mean(predicted[order] == columns["kind"][order])
    run = cbo.open_run("run.nc")
    assert right == pytest.approx(float(run["accuracy"][-1]), abs=1e-9)
    assert right > 0.8


def test_a_run_without_a_network_does_not_predict():
    run = cbo.train(data=small(), target="y", method="adam", **{**SHORT, "N": 1})
    with pytest.raises(FileRefused) as refused:
        cbo.predict(run.isel(snapshot=slice(0, 0)), small())
    assert refused.value.code == "diverged"


@pytest.mark.parametrize(
    ("arguments", "key"),
    [({"data": small()}, "target"), ({"target": "y"}, "target"), ({}, "experiment"),
     ({"data": small(), "target": "y", "experiment": "sine"}, "experiment")],
)  # fmt: skip
def test_what_does_not_go_together_in_python(arguments, key):
    with pytest.raises(ConfigError) as refused:
        cbo.train(method="cbo", progress=False, **arguments)
    assert refused.value.key == key
