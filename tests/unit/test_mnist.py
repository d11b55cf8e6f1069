"""The problem `mnist` on drawn digits: risks, gradients and accuracy against PyTorch's own, and whole runs."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch.nn import functional

from cbo_pipeline import methods, problems
from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.errors import ConfigError, FileRefused
from cbo_pipeline.numerics import consensus, network
from cbo_pipeline.numerics.kernels.noise import Noise
from cbo_pipeline.numerics.kernels.sparse_lists import dense
from cbo_pipeline.numerics.streams import Streams
from cbo_pipeline.problems import _dense_torch, _mnist_arrays
from cbo_pipeline.training import checkpoint
from cbo_pipeline.training.loop import Clock, Training, train

SMALL = {"images": 600, "batch_size": 200, "epochs": 2}


@pytest.fixture(autouse=True)
def data(mnist_folder, monkeypatch):
    monkeypatch.setenv("CBO_DATA_DIR", str(mnist_folder))


MNIST = problems.find("mnist")


@dataclass
class OnDevice(MNIST):
    """MNIST as it is on a GPU, with torch tensors, but on the CPU."""

    def hold(self, x, targets, divisor=1.0, shift=0.0):
        return _dense_torch.Held(x, targets, self.precision, divisor, shift, "cpu")


FORMS = pytest.mark.parametrize("form", [MNIST, OnDevice], ids=["compiled", "tensors"])


def made(form=MNIST, M=20, images=600, **settings):
    problem = form(M=M, images=images, **settings)
    problem.load(Streams(0))
    return problem


def run(method, N, **changes):
    return resolve(load_config(), RunName("mnist", method, 20, N, 0), {**SMALL, **changes})


def by_torch(problem, networks, n, x, labels, gradient=True):
    """Risk and gradients of network n by torch.nn.functional and autograd, image by image the plain network."""
    one = {k: torch.as_tensor(y[n]).clone().requires_grad_() for k, y in networks.items()}
    hidden = functional.relu(functional.linear(torch.as_tensor(x).to(one["w"]), one["w"], one["b"]))
    logits = problem.scale * (hidden @ one["c"]) + one.get("a", 0)
    risk = functional.cross_entropy(logits, torch.as_tensor(labels))
    if gradient:
        risk.backward()
    return risk.item(), {k: x.grad for k, x in one.items()}, logits.detach()


def inputs(problem, rows):
    """The images of these rows as the networks see them, from the file."""
    arrays = _mnist_arrays.read()
    x, labels = arrays.training_images[rows] / 255, arrays.training_labels[rows].astype(np.int64)
    return (x - 0.1307) / 0.3081 if problem.pixels == "standardised" else x, labels


def gradients(problem, networks, batch):
    out = network.zeros_like(networks)
    return problem.risks_and_gradients(networks, batch, out), out


def assert_as_torch(problem, networks, rows, tolerance):
    batch, (x, labels) = problem.batch(rows), inputs(problem, rows)
    risks, found = gradients(problem, networks, batch)
    np.testing.assert_array_equal(risks, problem.risks(networks, batch))
    assert risks.dtype == np.float64
    for n in range(len(risks)):
        risk, wanted, _ = by_torch(problem, networks, n, x, labels)
        assert risks[n] == pytest.approx(risk, rel=tolerance, abs=tolerance)
        for k, y in found.items():
            error = (torch.as_tensor(y[n]) - wanted[k]).abs().max()
            assert error <= tolerance * (1e-3 + wanted[k].abs().max()), (n, k)


@FORMS
@pytest.mark.parametrize(("scaling", "outer_bias"), [("plain", True), ("mean_field", False)])
@pytest.mark.parametrize("pixels", ["unit", "standardised"])
@pytest.mark.parametrize(("M", "N"), [(20, 1), (20, 60), (3, 5)])
def test_risks_and_gradients_are_those_of_pytorch(form, M, N, pixels, scaling, outer_bias):
    """In double precision, so that nothing hides in rounding."""
    problem = made(form, M, pixels=pixels, scaling=scaling, outer_bias=outer_bias, precision="float64")
    networks = problem.initial("uniform", 1.0, N, np.random.default_rng(2))
    assert ("a" in networks) == outer_bias
    assert_as_torch(problem, networks, np.random.default_rng(1).permutation(600)[:50], 1e-11)


@FORMS
@pytest.mark.parametrize("law", ["uniform", "pytorch"])
def test_single_precision(form, law):
    problem = made(form)
    networks = problem.initial(law, 1.0, 9, np.random.default_rng(0))
    assert all(str(x.dtype).endswith("float32") for x in networks.values())
    assert_as_torch(problem, networks, np.arange(600), 2e-5)


def trained_like(N, dtype, pixels="unit"):
    """Networks around one that has learnt to read, the further the higher their number."""
    centre = train(run("adam", 1, images=600, dt=0.01, epochs=60, snapshots=[], pixels=pixels)).snapshots
    centre = {name: x[-1].astype(dtype) for name, x in centre.items()}
    rng, distance = np.random.default_rng(6), np.geomspace(1e-6, 3.0, N)
    return {
        name: (x + distance.reshape(-1, *[1] * (x.ndim - 1)) * rng.standard_normal((N, *x.shape[1:]))).astype(dtype)
        for name, x in centre.items()
    }


@pytest.mark.parametrize("pixels", ["unit", "standardised"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_both_forms_give_the_same_numbers(precision, pixels):
    """Compiled kernels and tensors, on a random and on a trained ensemble, and on one trained network."""
    compiled, tensors = (made(form, precision=precision, pixels=pixels) for form in (MNIST, OnDevice))
    rows, tolerance = np.arange(100, 500), 1e-12 if precision == "float64" else 2e-5
    trained = trained_like(55, precision, pixels)
    one = {name: x[:1].copy() for name, x in trained.items()}
    for networks in (compiled.initial("uniform", 1.0, 55, np.random.default_rng(0)), trained, one):
        risks, found = gradients(compiled, networks, compiled.batch(rows))
        placed = tensors.training.place(networks)
        wanted, on_device = gradients(tensors, placed, tensors.batch(rows))
        np.testing.assert_allclose(risks, wanted, rtol=tolerance, atol=tolerance)
        for name, x in found.items():
            largest = on_device[name].abs().amax(tuple(range(1, x.ndim)), keepdim=True).numpy()
            assert (np.abs(x - on_device[name].numpy()) <= tolerance * (largest + 1e-3)).all(), name
        assert compiled.final_measures(networks)["accuracy"] == pytest.approx(
            tensors.final_measures(placed)["accuracy"], abs=1e-5
        )


@FORMS
@pytest.mark.parametrize("pixels", ["unit", "standardised"])
@pytest.mark.parametrize("N", [1, 9])
def test_trained_networks_have_the_risks_and_gradients_of_pytorch(form, N, pixels):
    problem = made(form, pixels=pixels, precision="float64")
    networks = problem.training.place(trained_like(N, "float64", pixels))
    assert problem.risks(networks, problem.everything())[0] < 0.8  # chance has log 10
    assert_as_torch(problem, networks, np.random.default_rng(1).permutation(600)[:50], 1e-11)


@pytest.mark.parametrize("alpha", [1e4, 1e7])
@pytest.mark.parametrize("pixels", ["unit", "standardised"])
def test_consensus_points_are_the_same_bits_where_hopeless_networks_are_left(pixels, alpha):
    problem, networks = made(pixels=pixels), trained_like(203, "float32", pixels)
    order = np.random.default_rng(0).permutation(203)
    networks, batch = {name: x[order] for name, x in networks.items()}, problem.batch(np.arange(600))
    wanted, found = problem.risks(networks, batch), problem.risks(networks, batch, alpha=alpha)
    assert np.isinf(found).sum() > 20
    np.testing.assert_array_equal(consensus.gibbs_weights(found, alpha), consensus.gibbs_weights(wanted, alpha))
    for name, V in consensus.consensus_point(wanted, alpha, networks).items():
        np.testing.assert_array_equal(consensus.consensus_point(found, alpha, networks)[name], V)


def test_a_network_that_has_run_off_does_not_touch_the_others():
    problem = made()
    networks = problem.initial("uniform", 1.0, 8, np.random.default_rng(0))
    batch = problem.batch(np.arange(200))
    before, gradient = gradients(problem, networks, batch)
    networks["w"][3], networks["c"][5] = np.inf, np.nan
    after, changed = gradients(problem, networks, batch)
    assert not np.isfinite(after[[3, 5]]).any()
    others = [n for n in range(8) if n not in (3, 5)]
    np.testing.assert_array_equal(after[others], before[others])
    for k, x in gradient.items():
        np.testing.assert_array_equal(changed[k][others], x[others])
    assert consensus.gibbs_weights(after, 1e5)[0, [3, 5]].tolist() == [0.0, 0.0]


@FORMS
def test_accuracy_is_the_share_of_test_images_that_are_right(form):
    problem = made(form)
    networks = problem.initial("pytorch", 1.0, 1, np.random.default_rng(5))
    arrays = _mnist_arrays.read()
    *_, logits = by_torch(problem, networks, 0, arrays.test_images / 255, arrays.test_labels.astype(int), False)
    share = (logits.argmax(1).numpy() == arrays.test_labels).mean()
    assert problem.final_measures(networks) == {"accuracy": pytest.approx(share, abs=2e-4)}


def test_probabilities_of_test_images():
    problem = made(pixels="standardised")
    networks = problem.initial("pytorch", 1.0, 2, np.random.default_rng(5))
    images, labels = problem.test_images(7)
    assert labels.tolist() == _mnist_arrays.read().test_labels[:7].tolist()
    found = problem.probabilities(networks, 7)
    for n in range(2):
        *_, logits = by_torch(problem, networks, n, (images / 255 - 0.1307) / 0.3081, labels.astype(int), False)
        np.testing.assert_allclose(found[n], logits.softmax(1), rtol=1e-4)


def test_the_images_are_the_first_of_the_training_set():
    arrays = _mnist_arrays.read()
    problem, standardised = made(images=1000), made(images=1000, pixels="standardised")
    assert problem.training.targets.tolist() == arrays.training_labels[:1000].tolist()
    x = dense(problem.everything().table)
    np.testing.assert_array_equal(x, arrays.training_images[:1000].astype(np.float32) / np.float32(255))
    np.testing.assert_allclose(dense(standardised.everything().table) * 0.3081 + 0.1307, x, rtol=0, atol=1e-6)


def test_a_random_subset_is_fixed_by_the_data_seed():
    def labels(seed, data_seed=None, **settings):
        problem = MNIST(M=3, images=500, subset="random", **settings)
        problem.load(Streams(seed, data_seed))
        return problem.training.targets.tolist()

    assert labels(1) == labels(1) == labels(7, data_seed=1)
    assert labels(1) != labels(2)
    assert labels(1) != made(images=500).training.targets.tolist()


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match=r"^device: cuda is not available"):
        made(device="cuda")


def test_missing_files_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("CBO_DATA_DIR", str(tmp_path))
    with pytest.raises(FileRefused, match=r"arrays.npy: no such file; `cbo-pipeline fetch-mnist"):
        made()


def test_the_step_of_tensors_is_the_step_of_arrays():
    """CBO moves an ensemble of torch tensors to the same bits as one of numpy arrays."""
    problem = made(OnDevice)
    tensors = problem.initial("uniform", 1.0, 7, np.random.default_rng(0))
    arrays = {k: x.numpy().copy() for k, x in tensors.items()}
    method = methods.find("cbo")(**run("cbo", 7).part(methods.find("cbo")))
    risks, clock, noise = problem.risks(tensors, problem.batch(np.arange(100))), Clock(0, 4), Noise((1, 2), 4)
    for networks in (tensors, arrays):
        method.move({"particles": networks}, method.consensus(networks, risks, clock), clock, noise)
    for k, x in arrays.items():
        np.testing.assert_array_equal(tensors[k].numpy(), x)


@pytest.mark.parametrize("place", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])
@pytest.mark.parametrize("points", [1, 40])
def test_squared_distances(place, points):
    rng = np.random.default_rng(0)
    shape = network.shapes(20, 784, 10, True)
    x, v = (network.uniform(shape, n, 1.0, rng, "float32") for n in (40, points))
    wanted = sum(((x[k].astype(float) - v[k]) ** 2).reshape(40, -1).sum(1) for k in shape)
    found = network.squared_distances(*({k: place(y) for k, y in z.items()} for z in (x, v)))
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert found.dtype == np.float64


def test_initial_laws_do_not_depend_on_blocks():
    """The ensemble is drawn in blocks, yet it is that of a single call."""
    shape = network.shapes(20, 784, 10, True)
    found = network.uniform(shape, 50, 0.5, np.random.default_rng(7), "float32")
    rng = np.random.default_rng(7)
    for k, s in shape.items():
        np.testing.assert_array_equal(found[k], rng.uniform(-0.5, 0.5, (50, *s)).astype(np.float32))


@pytest.mark.parametrize(("method", "N"), [("adam", 1), ("cbo", 8), ("hybrid", 8)])
def test_an_interrupted_run_goes_on_to_the_same_numbers(method, N, tmp_path):
    wanted = train(run(method, N))
    checkpoint.save(Training.start(run(method, N)).advance(4), tmp_path / "checkpoint", "code")
    resumed, remark = checkpoint.resume_or_start(run(method, N), tmp_path / "checkpoint", "code")
    assert "continuing from" in remark
    history = resumed.finish()
    assert history.records.keys() == wanted.records.keys()
    for name, values in wanted.records.items():
        np.testing.assert_array_equal(history.records[name], values)
    for name, values in wanted.snapshots.items():
        np.testing.assert_array_equal(history.snapshots[name], values)
