"""The problem `mnist` on real images: risks, gradients and accuracy against PyTorch's own, and whole runs."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from cbo_pipeline import methods, problems
from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.errors import ConfigError, FileRefused
from cbo_pipeline.numerics import consensus, network
from cbo_pipeline.numerics.kernels.noise import Noise
from cbo_pipeline.numerics.streams import Streams
from cbo_pipeline.training import checkpoint
from cbo_pipeline.training.loop import Clock, Training, train

SMALL = {"images": 600, "batch_size": 200, "epochs": 2}


@pytest.fixture(autouse=True)
def data(mnist_folder, monkeypatch):
    monkeypatch.setenv("CBO_DATA_DIR", str(mnist_folder))


def made(M=20, images=600, **settings):
    problem = problems.find("mnist")(M=M, images=images, **settings)
    problem.load(Streams(0))
    return problem


def run(method, N, **changes):
    return resolve(load_config(), RunName("mnist", method, 20, N, 0), {**SMALL, **changes})


def by_torch(problem, networks, n, batch, gradient=True):
    """Risk and gradients of network n by torch.nn.functional and autograd, image by image the plain network."""
    one = {k: x[n].clone().requires_grad_() for k, x in networks.items()}
    hidden = functional.relu(functional.linear(batch.x[:, :-1], one["w"], one["b"]))
    logits = problem.scale * (hidden @ one["c"]) + one["a"]
    risk = functional.cross_entropy(logits, batch.labels)
    if gradient:
        risk.backward()
    return risk.item(), {k: x.grad for k, x in one.items()}, logits.detach()


def gradients(problem, networks, batch):
    out = {k: torch.full_like(x, torch.nan) for k, x in networks.items()}
    return problem.risks_and_gradients(networks, batch, out), out


def assert_as_torch(problem, networks, batch, tolerance):
    risks, found = gradients(problem, networks, batch)
    np.testing.assert_array_equal(risks, problem.risks(networks, batch))
    assert risks.dtype == np.float64
    for n in range(len(risks)):
        risk, wanted, _ = by_torch(problem, networks, n, batch)
        assert risks[n] == pytest.approx(risk, rel=tolerance, abs=tolerance)
        for k, x in found.items():
            error = (x[n] - wanted[k]).abs().max()
            assert error <= tolerance * (1e-3 + wanted[k].abs().max()), (n, k)


@pytest.mark.parametrize("scaling", ["plain", "mean_field"])
@pytest.mark.parametrize("pixels", ["unit", "standardised"])
@pytest.mark.parametrize(("M", "N"), [(20, 1), (20, 60), (3, 5), (1, 101)])
def test_risks_and_gradients_are_those_of_pytorch(M, N, pixels, scaling):
    """In double precision, so that nothing hides in rounding; one block and several, blank pixels left out or not."""
    problem = made(M, pixels=pixels, scaling=scaling, precision="float64")
    batch = problem.batch(np.random.default_rng(1).permutation(600)[:50])
    networks = problem.initial("uniform", 1.0, N, np.random.default_rng(2))
    assert_as_torch(problem, networks, batch, 1e-11)


@pytest.mark.parametrize("law", ["uniform", "pytorch"])
def test_single_precision(law):
    problem = made()
    networks = problem.initial(law, 1.0, 9, np.random.default_rng(0))
    assert all(x.dtype == torch.float32 for x in networks.values())
    assert_as_torch(problem, networks, problem.everything(), 2e-5)


def test_ties():
    """All outputs equal, every neuron at the kink of ReLU: the risk is log 10, the gradient there is PyTorch's."""
    problem = made(precision="float64")
    networks = network.zeros_like(problem.initial("uniform", 1.0, 6, np.random.default_rng(0)))
    networks["c"][1:] += 1.0
    networks["w"][2:] += 0.01
    networks["b"][3] -= 1e3
    assert problem.risks(networks, problem.everything())[:2] == pytest.approx(np.log(10), rel=1e-12)
    assert_as_torch(problem, networks, problem.everything(), 1e-11)


@pytest.mark.parametrize("size", [1e3, 1e10, 1e25])
def test_huge_outputs(size):
    """The exponentials of such outputs overflow; the cross-entropy does not."""
    problem = made()
    networks = problem.initial("uniform", 1.0, 7, np.random.default_rng(3))
    networks["c"] *= size
    batch = problem.batch(np.arange(100))
    risks, _ = gradients(problem, networks, batch)
    assert np.isfinite(risks).all()
    wanted = [by_torch(problem, networks, n, batch, gradient=False)[0] for n in range(7)]
    np.testing.assert_allclose(risks, wanted, rtol=2e-5)
    double = made(precision="float64")
    assert_as_torch(double, {k: x.double() for k, x in networks.items()}, double.batch(np.arange(100)), 1e-11)


def test_a_network_that_has_run_off_does_not_touch_the_others():
    problem = made()
    networks = problem.initial("uniform", 1.0, 8, np.random.default_rng(0))
    batch = problem.batch(np.arange(200))
    before, gradient = gradients(problem, networks, batch)
    networks["w"][3], networks["c"][5] = torch.inf, torch.nan
    after, changed = gradients(problem, networks, batch)
    assert not np.isfinite(after[[3, 5]]).any()
    others = [n for n in range(8) if n not in (3, 5)]
    np.testing.assert_array_equal(after[others], before[others])
    assert all(torch.equal(changed[k][others], gradient[k][others]) for k in gradient)
    assert consensus.gibbs_weights(after, 1e5)[0, [3, 5]].tolist() == [0.0, 0.0]


def test_accuracy_is_the_share_of_test_images_that_are_right():
    problem = made()
    networks = problem.initial("pytorch", 1.0, 1, np.random.default_rng(5))
    *_, logits = by_torch(problem, networks, 0, problem.test, gradient=False)
    share = (logits.argmax(1) == problem.test.labels).double().mean().item()
    assert problem.final_measures(networks) == {"accuracy": pytest.approx(share, abs=2e-4)}
    assert len(problem.test.labels) == 10_000


def test_the_images_are_the_first_of_the_training_set():
    problem, standardised = made(images=1000), made(images=1000, pixels="standardised")
    assert problem.training.labels[:5].tolist() == [5, 0, 4, 1, 9]
    x = problem.training.x
    assert x.shape == (1000, 785)
    assert (x.min(), x.max()) == (0.0, 1.0)
    assert (x[:, -1] == 1).all()
    assert (x[0, :-1] > 0).sum() == 166  # the famous five has that many pixels that are not blank
    again = standardised.training.x[:, :-1] * 0.3081 + 0.1307
    torch.testing.assert_close(again, x[:, :-1], rtol=0, atol=1e-6)


def test_only_blank_pixels_are_left_out():
    """They are zero in all images of the batch, and a good part of all pixels."""
    batch = made().batch(np.arange(300))
    pixels, x = batch.without_blanks
    blank = sorted(set(range(784)) - set(pixels.tolist()))
    assert not batch.x[:, blank].any()
    assert (x[:, :-1] != 0).any(0).all()
    assert len(blank) > 100
    torch.testing.assert_close(x[:, :-1], batch.x[:, pixels], rtol=0, atol=0)


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match=r"^device: cuda is not available"):
        made(device="cuda")


def test_missing_files_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("CBO_DATA_DIR", str(tmp_path))
    with pytest.raises(FileRefused, match=r"train-images-idx3-ubyte: no such file; `cbo-pipeline fetch-mnist"):
        made()


def test_the_step_of_tensors_is_the_step_of_arrays():
    """CBO moves an ensemble of torch tensors to the same bits as one of numpy arrays."""
    problem = made()
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
    checkpoint.save(Training.start(run(method, N)).advance(4), tmp_path / "checkpoint")
    resumed, remark = checkpoint.resume_or_start(run(method, N), tmp_path / "checkpoint")
    assert "going on" in remark
    history = resumed.finish()
    assert history.records.keys() == wanted.records.keys()
    for name, values in wanted.records.items():
        np.testing.assert_array_equal(history.records[name], values)
    for name, values in wanted.snapshots.items():
        np.testing.assert_array_equal(history.snapshots[name], values)


def test_adam_learns_to_read():
    """Real images: after a few epochs most digits that were never seen are read correctly (chance: a tenth)."""
    history = train(run("adam", 1, images=2000, epochs=8, dt=0.01))
    assert history.records["accuracy"][-1] > 0.8
    assert history.records["risk"][-1] < 0.5 < 2 < history.records["risk"][0]
    assert history.snapshots["w"].shape[1:] == (1, 20, 784)


@pytest.mark.parametrize("method", ["cbo", "hybrid"])
def test_ensembles_descend(method):
    history = train(run(method, 100, epochs=12))
    assert history.records["risk"][-1] < 0.8 * history.records["risk"][0]
    assert np.isfinite(history.records["accuracy"]).all()
