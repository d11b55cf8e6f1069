"""A table as a problem: what its file says, the two parts, all methods, and the numbers against other forms."""

import numpy as np
import pytest
import torch
import xarray as xr

from cbo_pipeline import methods
from cbo_pipeline.config import Run, memory, table_runs
from cbo_pipeline.errors import UserError
from cbo_pipeline.numerics.network import evaluate, select
from cbo_pipeline.pages import show
from cbo_pipeline.problems import _table_arrays
from cbo_pipeline.results import adopt, code, finished, netcdf, runs, summaries
from cbo_pipeline.training.loop import Training
from table_files import run_of, small, with_classes, write_csv


@pytest.fixture
def numbers(tmp_path):
    return write_csv(tmp_path / "numbers.csv", small())


@pytest.fixture
def names(tmp_path):
    return write_csv(tmp_path / "names.csv", with_classes())


def trained(run: Run) -> Training:
    training = Training.start(run)
    training.finish()
    return training


def by_hand(columns: dict, inputs: list[str], targets: list[str], seed: int = 0, share: float = 0.2):
    """The two parts of a table, standardised, as somebody else would write it: (x, y) of training and test."""
    x, y = (np.stack([columns[name] for name in chosen], axis=1) for chosen in (inputs, targets))
    order = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,))).permutation(len(x))
    held_out = round(share * len(x))
    first, last = order[: len(x) - held_out], np.sort(order[len(x) - held_out :])
    x = (x - x[first].mean(0)) / x[first].std(0)
    if y.dtype.kind == "f":
        y = (y - y[first].mean(0)) / y[first].std(0)
    return (x[first], y[first]), (x[last], y[last])


# --- What the file says ---------------------------------------------------------------------------------------------


def test_columns_rows_classes_and_the_loss_come_from_the_file(numbers, names):
    settings = run_of(numbers, "y").settings
    assert (settings["inputs"], settings["targets"]) == (["a", "b", "c", "z"], ["y"])
    assert (settings["rows"], settings["loss"], settings["classes"], settings["tasks"]) == (60, "squared", [], 1)
    settings = run_of(names, "kind", inputs=["a", "c"]).settings
    assert (settings["loss"], settings["classes"]) == ("cross_entropy", [["cold", "warm"]])
    assert run_of(names, "grade", inputs=["a"]).settings["loss"] == "squared"
    settings = run_of(names, "grade", inputs=["a"], loss="cross_entropy").settings
    assert settings["classes"] == [["0", "1", "2"]]


def test_batches_and_epochs_that_suit_the_size(tmp_path):
    sizes = {}
    for rows in (40, 1000, 30_000):
        path = write_csv(tmp_path / f"{rows}.csv", {"x": range(rows), "y": np.arange(rows) % 7})
        for method in ("cbo", "adam"):
            settings = table_runs.chosen_run(str(path), ["y"], None, method).settings
            sizes[rows, method] = settings["batch_size"]
            assert 2000 <= settings["epochs"] * -(-round(0.8 * rows) // settings["batch_size"]) < 2050
    assert [sizes[rows, "cbo"] for rows in (40, 1000, 30_000)] == [32, 800, 1000]
    assert [sizes[rows, "adam"] for rows in (40, 1000, 30_000)] == [32, 80, 1000]


def test_numbers_of_classes_are_sorted_as_numbers(tmp_path):
    path = write_csv(tmp_path / "t.csv", {"x": range(30), "y": [10, 9, 100] * 10})
    assert run_of(path, loss="cross_entropy").settings["classes"] == [["9", "10", "100"]]


@pytest.mark.parametrize("kind", ["npz", "nc", "mapping", "dataset", "frame"])
def test_other_forms_of_the_same_table_give_the_same_numbers(tmp_path, numbers, kind):
    columns = small()
    expected = trained(run_of(numbers, "y", "hybrid")).history.records
    if kind == "npz":
        np.savez(path := tmp_path / "t.npz", **columns)
    elif kind in ("nc", "dataset"):
        path = xr.Dataset({name: ("row", values) for name, values in columns.items()})
        if kind == "nc":
            path.to_netcdf(path := tmp_path / "t.nc")
    elif kind == "mapping":
        path = columns
    else:
        path = pytest.importorskip("pandas").DataFrame(columns)
    path = path if kind in ("npz", "nc") else _table_arrays.remember(path)
    found = trained(run_of(path, "y", "hybrid")).history.records
    assert found["risk_test"].tolist() == expected["risk_test"].tolist()
    assert found["risk"].tolist() == expected["risk"].tolist()


def test_a_matrix_stands_for_its_columns(tmp_path):
    columns = small()
    X = np.stack([columns[name] for name in "abc"], axis=1)
    np.savez(tmp_path / "t.npz", X=X, y=columns["y"])
    settings = run_of(tmp_path / "t.npz", "y", inputs=["X"]).settings
    assert settings["inputs"] == ["X_1", "X_2", "X_3"]
    assert run_of(tmp_path / "t.npz", "y").settings["inputs"] == ["X_1", "X_2", "X_3"]


def test_another_content_is_another_run_and_is_noticed(numbers):
    run = run_of(numbers)
    write_csv(numbers, small(seed=1))
    assert run_of(numbers).settings["data_digest"] != run.settings["data_digest"]
    with pytest.raises(UserError) as refused:
        Training.start(run)
    assert (refused.value.code, refused.value.file) == ("other-content", str(numbers))


# --- The two parts --------------------------------------------------------------------------------------------------


def test_the_test_part_is_held_out_by_seed_and_never_seen(numbers):
    parts = [trained(run_of(numbers, seed=seed)).problem.parts for seed in (0, 0, 1)]
    means = [part.inputs.mean.tolist() for part in parts]
    assert means[0] == means[1] != means[2]
    columns = small()
    (x, y), (test_x, test_y) = by_hand(columns, ["a", "b", "c", "z"], ["y"])
    training = trained(run_of(numbers, precision="float64"))
    networks = {name: values[-1] for name, values in training.history.snapshots.items()}
    for record, inputs, targets in (("risk", x, y), ("risk_test", test_x, test_y)):
        risk = np.mean((evaluate(networks, inputs, 1 / 5)[0] - targets) ** 2)
        np.testing.assert_allclose(training.history.records[record][-1], risk, rtol=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, 0.3, 1e8 + 0.1])
def test_a_column_that_varies_only_in_the_test_part_keeps_its_unit(value):
    held_out = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(0,))).permutation(60)[-1]
    columns = {**small(), "a": np.full(60, value)}
    columns["a"][held_out] += 1.0
    training = trained(run_of(_table_arrays.remember(columns), "y"))
    assert training.problem.parts.inputs.scale[0] == 1.0
    assert np.isfinite(training.history.records["risk_test"]).all()
    assert training.history.records["risk_test"].max() < 100


def test_every_row_comes_in_an_epoch(numbers):
    """48 rows in batches of 20: twelve of them come twice."""
    training = Training.start(run_of(numbers, batch_size=20))
    assert training.batches_per_epoch == 3
    rows = np.concatenate([indices % 48 for indices in training.batches(0)])
    assert sorted(set(rows)) == list(range(48))
    assert np.bincount(rows).tolist() == [2] * 12 + [1] * 36


def test_without_a_test_part_and_without_standardisation(numbers):
    training = trained(run_of(numbers, test_share=0, standardise=False, batch_size=60))
    assert "risk_test" not in training.history.records
    assert training.problem.parts.inputs.mean.tolist() == [0.0] * 4
    assert training.problem.parts.targets.scale.tolist() == [1.0]


# --- The numbers, against other forms -------------------------------------------------------------------------------

ACTIVATIONS = {
    "relu": torch.nn.ReLU,
    "tanh": torch.nn.Tanh,
    "sigmoid": torch.nn.Sigmoid,
    "softplus": torch.nn.Softplus,
    "identity": torch.nn.Identity,
}


@pytest.mark.parametrize(
    ("loss", "activation", "outer_bias"),
    [*(("squared", name, name == "relu") for name in ACTIVATIONS), ("cross_entropy", "relu", True),
     ("cross_entropy", "tanh", False)],
)  # fmt: skip
def test_adam_is_torch_nn_with_torch_optim(numbers, names, loss, activation, outer_bias):
    """Network, loss, gradients, steps, batches and both parts of the data, written again in PyTorch."""
    inputs, M, epochs = ["a", "b", "c"], 6, 4
    columns, path = (small(), numbers) if loss == "squared" else (with_classes(), names)
    targets = ["y", "z"] if loss == "squared" else ["kind"]
    run = run_of(path, targets, "adam", inputs, M=M, activation=activation, outer_bias=outer_bias, epochs=epochs,
                 precision="float64", scaling="plain", dt=0.01, batch_size=16, snapshots=[0])  # fmt: skip
    training = trained(run)
    kept = training.history.snapshots
    (x, y), (test_x, test_y) = by_hand(columns, inputs, targets)

    def tensors(x, y):
        classes = torch.tensor((y[:, 0] == "warm").astype(int)) if loss == "cross_entropy" else torch.tensor(y)
        return torch.tensor(x), classes

    network = torch.nn.Sequential(
        torch.nn.Linear(3, M), ACTIVATIONS[activation](), torch.nn.Linear(M, 2, bias=outer_bias)
    ).double()
    with torch.no_grad():
        network[0].weight[:], network[0].bias[:] = torch.tensor(kept["w"][0, 0]), torch.tensor(kept["b"][0, 0])
        network[2].weight[:] = torch.tensor(kept["c"][0, 0]).T
        if outer_bias:
            network[2].bias[:] = torch.tensor(kept["a"][0, 0])

    def risk(x, y):
        if loss == "cross_entropy":
            return torch.nn.functional.cross_entropy(network(x), y)
        return (network(x) - y).square().sum(1).mean()

    (x, y), (test_x, test_y) = tensors(x, y), tensors(test_x, test_y)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    for epoch in range(epochs):
        for indices in training.batches(epoch):
            optimiser.zero_grad()
            risk(x[indices], y[indices]).backward()
            optimiser.step()
    np.testing.assert_allclose(kept["w"][-1, 0], network[0].weight.detach().numpy(), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(kept["c"][-1, 0].T, network[2].weight.detach().numpy(), rtol=1e-8, atol=1e-10)
    records = training.history.records
    np.testing.assert_allclose(records["risk_test"][-1], risk(test_x, test_y).item(), rtol=1e-8)
    if loss == "cross_entropy":
        right = (network(test_x).argmax(1) == test_y).double().mean().item()
        assert records["accuracy"][-1] == pytest.approx(right, abs=1e-12)


@pytest.mark.parametrize("method", methods.names())
@pytest.mark.parametrize("targets", [["y"], ["y", "z"], ["kind"], ["kind", "grade"]], ids="-".join)
def test_every_method_trains_on_a_table(numbers, names, method, targets):
    several = methods.find(method).many_tasks and len(targets) > 1
    classes = "kind" in targets
    changes = {"loss": "cross_entropy"} if classes else {}
    path = names if classes else numbers
    if classes and len(targets) > 1 and not several:
        with pytest.raises(UserError) as refused:
            run_of(path, targets, method, ["a", "b", "c"], **changes)
        assert refused.value.key.endswith(".targets")
        return
    run = run_of(path, targets, method, ["a", "b", "c"], **changes)
    training = trained(run)
    records, kept = training.history.records, training.history.snapshots
    outputs = 1 if several and not classes else 3 if several else len(targets) if not classes else 2
    assert kept["w"].shape[1:] == (2 if several else 1, 5, 3)
    assert kept["c"].shape[-1] == outputs
    for name in ("risk", "risk_test", *(["accuracy"] if classes else [])):
        assert records[name].shape == ((4, 2) if several else (4,))
        assert np.isfinite(records[name]).all()
    assert memory.estimate(run) > 0


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_the_risks_of_all_tasks_are_those_of_each_by_itself(numbers, names, loss):
    path, targets = (numbers, ["y", "z"]) if loss == "squared" else (names, ["kind", "grade"])
    training = Training.start(
        run_of(path, targets, "multi_task_cbo", ["a", "b", "c"], loss=loss, precision="float64", outer_bias=True)
    )
    problem, networks = training.problem, training.state["particles"]
    rows = np.arange(16)
    found = problem.risks(networks, problem.batch(rows))
    assert found.shape == (8, 2)
    for task in range(2):
        alone = problem.risks(networks, problem.batch_of_task(problem.batch(rows), task))
        np.testing.assert_array_equal(alone[:, 0], found[:, task])
        values = problem.batch(rows).outputs(select(networks, slice(0, 3)), problem.shape())
        wanted = problem.batch(rows).targets[:, task]
        if loss == "squared":
            risk = ((values[:, :, 0] - wanted) ** 2).mean(1)
        else:
            logits = torch.tensor(values).reshape(-1, values.shape[2])
            rows_of_all = torch.tensor(wanted).repeat(3)
            risk = torch.nn.functional.cross_entropy(logits, rows_of_all, reduction="none").reshape(3, -1).mean(1)
        np.testing.assert_allclose(found[:3, task], risk, rtol=1e-12)


def test_one_task_of_many_is_the_squared_loss_of_one_target(numbers):
    """Multi-Task CBO with one target takes the kernels of the other methods: the same numbers as CBO."""
    one, other = (trained(run_of(numbers, "y", method)).history.records for method in ("cbo", "multi_task_cbo"))
    np.testing.assert_array_equal(one["risk"], other["risk"])


# --- Files ----------------------------------------------------------------------------------------------------------


def test_the_file_of_a_run_can_be_read_and_made_again(names, tmp_path):
    run = run_of(names, "kind", inputs=["a", "b", "c"])
    training = trained(run)
    netcdf.write(finished.dataset(training, code.run_digest("cbo", "table")), tmp_path / "run.nc")
    data = runs.read(tmp_path / "run.nc")
    np.testing.assert_array_equal(data["feature_mean"], training.problem.parts.inputs.mean)
    assert runs.run_of(data) == run
    again = adopt.remade(run, 3, data.attrs["code"])
    assert adopt.compare(data, again, 3)[1] == ""
    names.unlink()  # who only looks at a run need not have its data
    summary = summaries.summarise_curve([tmp_path / "run.nc"])
    assert summary["accuracy_over_seeds"].sizes["epoch"] == 4


@pytest.mark.parametrize(
    ("targets", "loss", "words"),
    [(["kind", "grade"], "cross_entropy", "risk, risk on the test part, accuracy: median of the 2 tasks"),
     (["kind"], "cross_entropy", "accuracy"), (["grade"], "squared", "risk on the test part")],
)  # fmt: skip
def test_what_the_test_part_says_is_shown_and_summarised(names, tmp_path, targets, loss, words):
    run = run_of(names, targets, "multi_task_cbo", ["a", "b", "c"], loss=loss)
    training = trained(run)
    netcdf.write(finished.dataset(training, code.run_digest("multi_task_cbo", "table")), tmp_path / "run.nc")
    told = show.text(tmp_path / "run.nc")
    assert words in told
    last = np.median(training.history.records["risk_test"][-1])
    assert f"{last:.3e}" in told.split("\n\n")[1].splitlines()[4]
    summary = summaries.summarise_curve([tmp_path / "run.nc"])
    shown = summary["risk_test_over_seeds"].sel(statistic="median").isel(epoch=-1)
    np.testing.assert_allclose(np.median(shown), last)
