"""Ensembles of networks of many inputs against the plain dense form in PyTorch, in float64 with autograd."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from cbo_pipeline.numerics.consensus import consensus_point, gibbs_weights
from cbo_pipeline.numerics.kernels import threads
from cbo_pipeline.numerics.kernels.dense_networks import (
    ACTIVATIONS,
    Shape,
    needs_columns,
    outputs,
    risks,
    risks_and_gradients,
)
from cbo_pipeline.numerics.kernels.sparse_lists import CHUNK, by_column, dense, lists, table_of

TORCH_ACTIVATIONS = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "softplus": functional.softplus,
    "identity": lambda x: x,
}
TOLERANCE = {"float32": 3e-6, "float64": 1e-13}
SHIFTS = pytest.mark.parametrize("shift", [0.0, -0.42], ids=["unit", "standardised"])


def images(rng, S, d=60, zeros=0.8):
    """Bytes like those of images: most are zero, some columns in all rows."""
    x = rng.integers(1, 256, (S, d)).astype(np.uint8)
    x[rng.random((S, d)) < zeros] = 0
    x[:, 3:9] = 0
    return x


def networks(rng, N, M, d, outs, dtype="float32", outer_bias=True, size=1.0):
    shapes = {"w": (N, M, d), "b": (N, M), "c": (N, M, outs)} | ({"a": (N, outs)} if outer_bias else {})
    return {name: (size * rng.uniform(-1, 1, shape)).astype(dtype) for name, shape in shapes.items()}


def by_torch(ensemble, shape, x, targets):
    """Risks, gradients and outputs by the plain formula."""
    p = {name: torch.tensor(y, dtype=torch.float64, requires_grad=True) for name, y in ensemble.items()}
    hidden = torch.einsum("nmd,sd->nsm", p["w"], torch.tensor(x, dtype=torch.float64)) + p["b"][:, None]
    values = shape.scale * torch.einsum("nsm,nmo->nso", TORCH_ACTIVATIONS[shape.activation](hidden), p["c"])
    values = values + p["a"][:, None] if "a" in p else values
    if shape.loss == "squared":
        losses = (values - torch.tensor(targets, dtype=torch.float64)).square().sum(2)
    else:
        repeated = torch.as_tensor(targets).repeat(len(values))
        losses = functional.cross_entropy(values.flatten(0, 1), repeated, reduction="none").reshape(len(values), -1)
    found = losses.mean(1)
    found.sum().backward()
    return found.detach().numpy(), {name: y.grad.numpy() for name, y in p.items()}, values.detach().numpy()


def assert_as_torch(ensemble, shape, table, targets):
    dtype = ensemble["w"].dtype.name
    tolerance = TOLERANCE[dtype]
    wanted, gradients, values = by_torch(ensemble, shape, dense(table), targets)
    out = {name: np.full_like(x, np.nan) for name, x in ensemble.items()}
    columns = by_column(table) if needs_columns(ensemble) else None
    found = risks_and_gradients(ensemble, shape, table, columns, targets, out)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, risks(ensemble, shape, table, targets))
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(outputs(ensemble, shape, table), values, rtol=tolerance, atol=2 * tolerance)
    for name, gradient in gradients.items():
        np.testing.assert_allclose(out[name], gradient, rtol=0, atol=tolerance * (np.abs(gradient).max() + 1e-3))


@pytest.mark.parametrize("dtype", TOLERANCE)
@SHIFTS
@pytest.mark.parametrize(
    ("N", "M", "S"), [(1, 20, 300), (3, 5, 97), (1, 1, 1), (4, 3, 96), (19, 20, 200), (2, 101, 9)]
)
def test_risks_gradients_and_outputs_are_those_of_torch(N, M, S, shift, dtype):
    """Few networks and many, part of a chunk and several, vectors that are not full, more neurons than registers."""
    rng = np.random.default_rng(N + S)
    table = lists(table_of(images(rng, 300, d=203), dtype, 255.0, shift), rng.permutation(300)[:S])
    ensemble = networks(rng, N, M, 203, 10, dtype)
    assert_as_torch(ensemble, Shape(1 / M), table, rng.integers(0, 10, S))


@pytest.mark.parametrize("N", [1, 9])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("loss", ["cross_entropy", "squared"])
def test_every_activation_with_every_loss(N, activation, loss):
    """Inputs without zeros, as a table has them; one output or three, with and without outer biases."""
    rng = np.random.default_rng(5)
    table = lists(table_of(rng.normal(size=(150, 7)), "float64"), np.arange(150))
    for outs, outer_bias in ((3, True), (3, False)) if loss == "cross_entropy" else ((1, True), (3, False)):
        targets = rng.integers(0, outs, 150) if loss == "cross_entropy" else rng.normal(size=(150, outs))
        ensemble = networks(rng, N, 6, 7, outs, "float64", outer_bias)
        assert_as_torch(ensemble, Shape(0.7, activation, loss), table, targets)


@pytest.mark.parametrize("dtype", TOLERANCE)
@SHIFTS
@pytest.mark.parametrize("N", [1, 9])
def test_a_network_that_has_learnt_its_labels(N, shift, dtype):
    """As training leaves them: outputs far apart, nearly all losses small; alone and among others."""
    rng = np.random.default_rng(9)
    table, ensemble = table_of(images(rng, 300), dtype, 255.0, shift), networks(rng, N, 20, 60, 10, dtype)
    ensemble["c"] *= 2
    table = lists(table, np.arange(300))
    labels = outputs(ensemble, Shape(1.0), table)[0].argmax(1)
    assert risks(ensemble, Shape(1.0), table, labels)[0] < 0.5
    assert_as_torch(ensemble, Shape(1.0), table, labels)


@pytest.mark.parametrize("dtype", TOLERANCE)
@SHIFTS
@pytest.mark.parametrize("N", [1, 9])
def test_a_batch_of_blank_images_and_blank_images_among_others(N, shift, dtype):
    rng = np.random.default_rng(3)
    x = images(rng, 130)
    x[::3] = 0
    table, ensemble = table_of(x, dtype, 255.0, shift), networks(rng, N, 4, 60, 10, dtype)
    for rows in (np.arange(130), np.arange(0, 130, 3)):
        assert_as_torch(ensemble, Shape(0.25), lists(table, rows), rng.integers(0, 10, len(rows)))


@pytest.mark.parametrize("N", [1, 8])
def test_ties_and_kinks(N):
    """All outputs equal: the risk is log 10. At the kink of ReLU the derivative is zero, as in torch."""
    rng = np.random.default_rng(0)
    table, labels = lists(table_of(images(rng, 50), "float64", 255.0), np.arange(50)), rng.integers(0, 10, 50)
    ensemble = {name: 0 * x for name, x in networks(rng, N, 5, 60, 10, "float64").items()}
    np.testing.assert_allclose(risks(ensemble, Shape(1.0), table, labels), np.log(10), rtol=1e-14)
    ensemble["c"] += rng.normal(size=ensemble["c"].shape)
    assert_as_torch(ensemble, Shape(1.0), table, labels)


@pytest.mark.parametrize("size", [1e3, 1e10, 1e25])
def test_huge_outputs(size):
    """The exponentials of such outputs would overflow; the cross-entropy does not."""
    rng = np.random.default_rng(1)
    x, labels = images(rng, 100), rng.integers(0, 10, 100)
    ensemble = networks(rng, 9, 4, 60, 10)
    ensemble["c"] *= np.float32(size)
    table = lists(table_of(x, "float32", 255.0), np.arange(100))
    wanted, _, _ = by_torch(ensemble, Shape(1.0), dense(table), labels)
    np.testing.assert_allclose(risks(ensemble, Shape(1.0), table, labels), wanted, rtol=1e-5)


def test_a_perfect_network_has_no_risk():
    """The smallest risks in float32 are multiples of the rounding of 1, as in PyTorch."""
    x, labels = np.eye(10, dtype=np.uint8), np.arange(10)
    table = lists(table_of(x, "float32"), labels)
    ensemble = {"w": 200 * np.eye(10, dtype=np.float32)[None], "b": np.zeros((1, 10), np.float32)}
    ensemble["c"] = np.eye(10, dtype=np.float32)[None]
    assert risks(ensemble, Shape(1.0), table, labels) == 0
    ensemble["w"] *= np.float32(16.5 / 200)
    values = torch.from_numpy(outputs(ensemble, Shape(1.0), table)[0])
    wanted = functional.cross_entropy(values, torch.from_numpy(labels)).item()
    assert risks(ensemble, Shape(1.0), table, labels)[0] == pytest.approx(wanted, abs=5 * 2.0**-24)


@pytest.mark.parametrize("N", [1, 9])
@pytest.mark.parametrize("logit", [20.0, 75.0, 85.0])
def test_gradients_by_tiny_probabilities_are_numbers_that_processors_are_fast_with(N, logit):
    """exp(-85) / S is no normal number, and products with it are slow. It is no gradient that any step would feel."""
    x, labels = np.eye(10, dtype=np.uint8), np.arange(10)
    table = lists(table_of(x, "float32"), labels)
    one = {
        "w": logit * np.eye(10, dtype=np.float32),
        "b": np.zeros(10, np.float32),
        "c": np.eye(10, dtype=np.float32),
    }
    ensemble = {name: np.repeat(y[None], N, axis=0) for name, y in one.items()}
    out = {name: np.empty_like(y) for name, y in ensemble.items()}
    risks_and_gradients(ensemble, Shape(1.0), table, by_column(table), labels, out)
    for gradient in out.values():
        sizes = np.abs(gradient[gradient != 0])
        assert (sizes > np.finfo(np.float32).tiny).all()
    assert (out["c"] != 0).any() == (logit == 20.0)


def test_overflow_of_a_hidden_neuron_is_relu_of_minus_infinity():
    """A weight that has run off switches its neuron off; one that is not a number spoils its own network only."""
    rng = np.random.default_rng(2)
    x, labels = images(rng, 60), rng.integers(0, 10, 60)
    x[:, 20] = 255
    table = lists(table_of(x, "float32", 255.0), np.arange(60))
    for N in (2, 11):
        ensemble = networks(rng, N, 4, 60, 10)
        before = risks(ensemble, Shape(0.25), table, labels)
        ensemble["w"][0, 1, 20], ensemble["w"][1, 2, 20] = -np.inf, np.nan
        after = risks(ensemble, Shape(0.25), table, labels)
        without = {name: y[:1].copy() for name, y in ensemble.items()}
        without["w"][0, 1], without["b"][0, 1] = 0, 0
        assert after[0] == risks(without, Shape(0.25), table, labels)[0]
        assert not np.isfinite(after[1])
        np.testing.assert_array_equal(after[2:], before[2:])


@SHIFTS
@pytest.mark.parametrize("loss", ["cross_entropy", "squared"])
def test_the_risk_of_a_network_does_not_depend_on_its_company(loss, shift):
    """Bit by bit: alone, among a few, among many, in another order."""
    rng = np.random.default_rng(7)
    table = lists(table_of(images(rng, 250), "float32", 255.0, shift), np.arange(250))
    targets = rng.integers(0, 10, 250) if loss == "cross_entropy" else rng.normal(size=(250, 10))
    ensemble, shape = networks(rng, 21, 20, 60, 10), Shape(0.05, loss=loss)
    wanted = risks(ensemble, shape, table, targets)
    for rows in (
        np.arange(1),
        np.arange(3),
        np.arange(5),
        rng.permutation(21),
        np.array([20, 4, 4, 4, 0, 1, 2, 9, 9]),
    ):
        some = {name: x[rows] for name, x in ensemble.items()}
        np.testing.assert_array_equal(risks(some, shape, table, targets), wanted[rows])


def test_the_same_bytes_each_time():
    rng = np.random.default_rng(8)
    table = lists(table_of(images(rng, 200), "float32", 255.0), np.arange(200))
    labels, ensemble = rng.integers(0, 10, 200), networks(rng, 21, 7, 60, 10)
    results = []
    for offset in (0, 1):  # numbers from the start of a memory block, or not
        moved = {}
        for name, x in ensemble.items():
            memory = np.empty(x.size + offset, x.dtype)
            moved[name] = memory[offset:].reshape(x.shape)
            moved[name][:] = x
        out = {name: np.empty_like(x) for name, x in ensemble.items()}
        found = risks_and_gradients(moved, Shape(1 / 7), table, by_column(table), labels, out)
        results.append([found.tobytes(), *(x.tobytes() for x in out.values())])
    assert results[0] == results[1]


def spread_out(rng, N, M, d):
    """An ensemble as training makes it: around one network, each particle at its own distance."""
    centre, ensemble = networks(rng, 1, M, d, 10, size=2.0), networks(rng, N, M, d, 10)
    distance = rng.exponential(0.5, N)
    return {
        k: (centre[k] + distance.reshape(-1, *[1] * (x.ndim - 1)) * x).astype("float32") for k, x in ensemble.items()
    }


@pytest.mark.parametrize("alpha", [1e2, 1e3, 1e5, 1e7])
@pytest.mark.parametrize("made", ["uniform", "spread out"])
@SHIFTS
def test_networks_without_weight_are_left_early_and_the_weights_stay_bit_by_bit(shift, alpha, made):
    rng = np.random.default_rng(11)
    x = images(rng, 5 * CHUNK + 20)
    ensemble = networks(rng, 203, 5, 60, 10) if made == "uniform" else spread_out(rng, 203, 5, 60)
    teacher = networks(rng, 1, 5, 60, 10)
    table = lists(table_of(x, "float32", 255.0, shift), np.arange(len(x)))
    labels = outputs(teacher, Shape(1.0), table)[0].argmax(1)
    wanted = risks(ensemble, Shape(1.0), table, labels)
    found = risks(ensemble, Shape(1.0), table, labels, alpha)
    np.testing.assert_array_equal(gibbs_weights(found, alpha), gibbs_weights(wanted, alpha))
    for name, V in consensus_point(wanted, alpha, ensemble).items():
        np.testing.assert_array_equal(consensus_point(found, alpha, ensemble)[name], V)
    finite = np.isfinite(found)
    np.testing.assert_array_equal(found[finite], wanted[finite])
    assert (wanted[~finite] > wanted.min() + 746 / alpha).all()
    if alpha >= 1e5:
        assert (~finite).sum() > 100


@pytest.fixture
def several_threads():
    """A function that says how many; one again at the end."""
    yield threads.use
    threads.use(1)


@pytest.mark.parametrize("count", [2, 3, 40])
def test_the_same_bytes_with_any_number_of_threads(several_threads, count):
    rng = np.random.default_rng(13)
    x = images(rng, 5 * CHUNK + 20)
    table, ensemble, shape = (
        lists(table_of(x, "float32", 255.0), np.arange(len(x))),
        spread_out(rng, 203, 5, 60),
        Shape(0.2),
    )
    labels = outputs(networks(rng, 1, 5, 60, 10), shape, table)[0].argmax(1)

    def evaluate():
        gradients = {name: np.empty_like(y) for name, y in ensemble.items()}
        found = risks_and_gradients(ensemble, shape, table, by_column(table), labels, gradients)
        weights = gibbs_weights(risks(ensemble, shape, table, labels, 1e5), 1e5)
        return [y.tobytes() for y in (found, outputs(ensemble, shape, table), weights, *gradients.values())]

    wanted = evaluate()
    several_threads(count)
    assert evaluate() == wanted


def test_early_leaving_survives_networks_that_are_not_numbers():
    rng = np.random.default_rng(12)
    table = lists(table_of(images(rng, 3 * CHUNK), "float32", 255.0), np.arange(3 * CHUNK))
    labels, ensemble = rng.integers(0, 10, 3 * CHUNK), networks(rng, 40, 5, 60, 10)
    ensemble["w"][:8], ensemble["c"][9] = np.nan, np.inf
    wanted = risks(ensemble, Shape(0.2), table, labels)
    for alpha in (1e-3, 1e5):
        found = risks(ensemble, Shape(0.2), table, labels, alpha)
        np.testing.assert_array_equal(gibbs_weights(found, alpha), gibbs_weights(wanted, alpha))
    ensemble["b"][:] = np.nan
    assert not np.isfinite(risks(ensemble, Shape(0.2), table, labels, 1e5)).any()


def test_lists_hold_the_table():
    rng = np.random.default_rng(4)
    x = images(rng, 230, d=250)
    table = table_of(x, "float64", 255.0, 0.5)
    rows = rng.integers(0, 230, 150)
    chosen = lists(table, rows)
    np.testing.assert_array_equal(dense(chosen), x[rows] / 255 + 0.5)
    assert len(chosen.index) == (x[rows] != 0).sum()
    assert by_column(chosen).first[-1, -1] == len(chosen.index)


def test_a_table_without_rows_or_entries():
    empty = lists(table_of(np.zeros((5, 4)), "float32"), np.arange(5))
    assert (dense(empty), empty.index.size) == (pytest.approx(np.zeros((5, 4))), 0)
    ensemble = networks(np.random.default_rng(0), 9, 3, 4, 2)
    assert np.isfinite(risks(ensemble, Shape(1.0), empty, np.zeros(5, int))).all()
