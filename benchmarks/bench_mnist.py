"""MNIST at the paper's size: iterations against a bare matrix product, CBXpy 1.0.4 and PyTorch, and memory.

    python benchmarks/bench_mnist.py        (needs cbx==1.0.4 beside the package; CBO_DATA_DIR names the data)

The bare product, (20000 x 784)(784 x 1000), is what no dense evaluation of all particles can avoid. Ours is not
dense: it skips the pixels that are zero, and drops particles whose weight is certainly zero. How much that saves
depends on the ensemble, so CBO is measured twice, at the start of a run and after twelve epochs, and then once more
with no particle dropped. What it consists of is measured alone too: the risks of all particles, their risks and
gradients, and the one pass over the ensemble that draws the noise and takes the step. All forms take turns in one
process with one thread; the best time counts. CBXpy is used in two ways:

- as documented: ``eval_losses``, which maps ``functional_call`` over the particles with ``vmap``.
- written by hand: the same dynamic with the best dense evaluation that a user could write, one product for the
  inner layers of all particles, in memory that is kept, and one batched product for the outer ones.

An epoch of Adam, with the risk on all training images and the accuracy on all test images at its end, is compared
with the same loop in PyTorch. Then each form of CBO runs in a process of its own, which tells its peak memory; and
one process more tells what ours consists of, step by step.
"""

from timing import (  # first: it sets one thread
    Row,
    emit,
    have_mnist,
    iterations,
    report,
    resident,
    step_alone,
    take_turns,
)

# isort: split
import itertools
import subprocess
import sys

N, M, BATCH, PIXELS, CLASSES = 1000, 20, 1000, 784, 10
PRODUCT, TORCH, CBX, CBX_BY_HAND = "the bare matrix product", "PyTorch", "CBXpy as documented", "CBXpy, best by hand"


def gemm():
    import torch

    w, x = torch.rand(N * M, PIXELS), torch.rand(BATCH, PIXELS)
    out = torch.empty(N * M, BATCH)
    return lambda: torch.mm(w, x.T, out=out)


def started(method: str, particles: int, epochs: int = 0):
    """A run, after so many epochs."""
    from cbo_pipeline.config import RunName, load_config, resolve
    from cbo_pipeline.training.loop import Training

    training = Training.with_data(resolve(load_config(), RunName("mnist", method, M, particles, 0)))
    training.draw_ensemble()
    for _ in itertools.islice(training.steps(records=False), epochs * training.batches_per_epoch):
        pass
    return training


def all_risks():
    """The evaluation of CBO alone, in which no particle is left out."""
    import numpy as np

    training = started("cbo", N)
    batch = training.problem.batch(np.arange(BATCH))
    return lambda: training.problem.risks(training.state["particles"], batch)


def all_gradients():
    """The evaluation of the hybrid alone: risks and gradients; the minibatch's lists by column are made before."""
    import numpy as np

    from cbo_pipeline.numerics.network import zeros_like

    training = started("cbo", N)
    batch, out = training.problem.batch(np.arange(BATCH)), zeros_like(training.state["particles"])
    return lambda: training.problem.risks_and_gradients(training.state["particles"], batch, out)


def noise_and_step():
    """The second half of an iteration of CBO alone, one compiled pass over the ensemble."""
    import numpy as np

    from cbo_pipeline.methods.base import Clock

    training = started("cbo", N)
    batch = training.problem.batch(np.arange(BATCH))
    return step_alone(training, training.method.look(training.state, training.problem, batch, Clock(0, 0)))


def without_dropping(training):
    """The same run, in which the risks of all particles are computed to the end: every number stays the same."""
    risks = training.problem.risks
    training.problem.risks = lambda networks, batch, alpha=None: risks(networks, batch)
    return training


def adam_epoch():
    """Ten minibatches and the records of an epoch."""
    from cbo_pipeline.config import RunName, load_config, resolve
    from cbo_pipeline.training.loop import Training

    training = Training.start(resolve(load_config(), RunName("mnist", "adam", M, 1, 0)))
    steps = training.steps()
    return lambda: [next(steps) for _ in range(training.batches_per_epoch)]


def torch_epoch():
    """The same in PyTorch."""
    import torch

    (x, y), (test_x, test_y) = images(train=True), images(train=False)
    model = torch.nn.Sequential(torch.nn.Linear(PIXELS, M), torch.nn.ReLU(), torch.nn.Linear(M, CLASSES, bias=False))
    optimiser, loss = torch.optim.Adam(model.parameters(), lr=1e-3), torch.nn.functional.cross_entropy

    def epoch():
        for rows in torch.randperm(len(x)).split(BATCH):
            optimiser.zero_grad()
            loss(model(x[rows]) / M, y[rows]).backward()
            optimiser.step()
        with torch.no_grad():
            return loss(model(x) / M, y).item(), (model(test_x).argmax(1) == test_y).double().mean().item()

    return epoch


def cbx_dynamic(objective):
    """CBXpy's CBO on an objective of the weights (N, parameters) and the number of the call."""
    import torch
    from cbx.dynamics import CBO
    from cbx.utils.torch_utils import to_torch_dynamic

    count, parameters = iter(range(10**9)), (PIXELS + 1) * M + (M + 1) * CLASSES
    x = torch.empty(1, N, parameters).uniform_(-1, 1)
    return to_torch_dynamic(CBO)(
        lambda w: objective(w[0], next(count))[None], f_dim="3D", x=x, alpha=1e5, dt=0.1, lamda=1.0, sigma=1.4**0.5,
        noise="anisotropic", max_it=10**9, verbosity=0, track_args={"names": []},
    ).step  # fmt: skip


def images(train: bool):
    """Images and labels as a user of PyTorch would hold them."""
    import numpy as np
    import torch

    from cbo_pipeline.problems import _mnist_arrays

    arrays = _mnist_arrays.read()
    pixels, labels = (
        (arrays.training_images[: 10 * BATCH], arrays.training_labels[: 10 * BATCH])
        if train
        else (arrays.test_images, arrays.test_labels)
    )
    return torch.from_numpy(np.array(pixels)) / 255, torch.from_numpy(labels.astype(np.int64))


def minibatches():
    """An epoch of minibatches, over and over."""
    import torch

    x, y = images(train=True)
    order = torch.randperm(10 * BATCH).reshape(10, BATCH)
    return lambda k: (x[order[k % 10]], y[order[k % 10]])


def cbx_documented():
    import torch
    from cbx.utils.torch_utils import eval_losses, get_param_properties

    class Net(torch.nn.Module):
        """The network of Section 4.2."""

        def __init__(self):
            super().__init__()
            self.inner, self.outer = torch.nn.Linear(PIXELS, M), torch.nn.Linear(M, CLASSES)

        def forward(self, x):
            return self.outer(torch.relu(self.inner(x)))

    model, batch = Net(), minibatches()
    properties = get_param_properties([model], pnames=[name for name, _ in model.named_parameters()])
    loss = torch.nn.functional.cross_entropy
    return cbx_dynamic(lambda w, k: eval_losses(*batch(k), loss, model, w, properties))


def cbx_by_hand():
    import torch

    batch, sizes = minibatches(), [PIXELS * M, M, M * CLASSES, CLASSES]
    kept = torch.empty(N * M, BATCH)

    def objective(theta, k):
        x, y = batch(k)
        w, b, c, a = theta.split(sizes, dim=1)
        hidden = torch.mm(w.reshape(N * M, PIXELS), x.T, out=kept).reshape(N, M, BATCH)
        hidden.add_(b[:, :, None]).relu_()
        logits = torch.baddbmm(a[:, :, None], c.reshape(N, CLASSES, M), hidden)
        losses = torch.nn.functional.cross_entropy(logits, y.expand(N, BATCH), reduction="none")
        return losses.mean(1)

    return cbx_dynamic(objective)


FORMS = {
    PRODUCT: gemm,
    "all risks": all_risks,
    "all gradients": all_gradients,
    "noise and step": noise_and_step,
    "cbo": lambda: iterations(started("cbo", N)),
    "cbo, trained": lambda: iterations(started("cbo", N, epochs=12)),
    "cbo, trained, none dropped": lambda: iterations(without_dropping(started("cbo", N, epochs=12))),
    "hybrid": lambda: iterations(started("hybrid", N)),
    "adam": adam_epoch,
    TORCH: torch_epoch,
    CBX: cbx_documented,
    CBX_BY_HAND: cbx_by_hand,
}


def alone(*arguments: str) -> list[str]:
    """What this script prints in a process of its own."""
    done = subprocess.run([sys.executable, __file__, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.splitlines()


def print_peak(name: str) -> None:
    form = FORMS[name]()
    for _ in range(3):
        form()
    print(resident("VmHWM"))


def print_parts() -> None:
    """Resident memory of one CBO run as it grows, step by step: lines of MB and what they are for."""
    before = 0.0

    def step(what: str) -> None:
        nonlocal before
        print(resident() - before, what, sep="\t")
        before = resident()

    import numpy  # noqa: F401

    step("Python and numpy")
    import numba  # noqa: F401

    step("numba")
    from cbo_pipeline.config import RunName, load_config, resolve
    from cbo_pipeline.training.loop import Training

    training = Training.with_data(resolve(load_config(), RunName("mnist", "cbo", M, N, 0)))
    step("training and test images")
    training.draw_ensemble()
    step("particles")
    form = iterations(training)
    for _ in range(3):
        form()
    step("compiled kernels and the memory of a step")
    print(resident("VmHWM") - before, "additional memory at the peak", sep="\t")


def main() -> None:
    have_mnist()
    if "--only" in sys.argv:
        return print_peak(sys.argv[sys.argv.index("--only") + 1])
    if "--parts" in sys.argv:
        return print_parts()
    import torch

    torch.set_num_threads(1)
    times = take_turns({name: make() for name, make in FORMS.items()}, rounds=7, seconds=0.0)
    size = f"(N {N}, M {M}, batch {BATCH})"
    goals = {"cbo": 0.5, "cbo, trained": 0.5, "hybrid": 1.2}
    words = {
        "all risks": f"MNIST, risks of all particles {size}",
        "all gradients": f"MNIST, risks and gradients of all particles {size}",
        "noise and step": f"MNIST, noise and step of CBO in one pass {size}",
        "cbo": f"MNIST, one CBO iteration {size}",
        "cbo, trained": f"MNIST, one CBO iteration after 12 epochs {size}",
        "cbo, trained, none dropped": f"MNIST, one CBO iteration after 12 epochs, no particle dropped {size}",
        "hybrid": f"MNIST, one hybrid iteration {size}",
    }
    rows = [
        Row(what, PRODUCT, times[name], times[PRODUCT], "s", goals.get(name), "at most")
        for name, what in words.items()
    ]
    rows += [Row(words["cbo"], name, times["cbo"], times[name], "s") for name in (CBX, CBX_BY_HAND)]
    rows.append(Row("MNIST, one epoch of Adam with its records", TORCH, times["adam"], times[TORCH], "s"))
    peaks = {name: float(alone("--only", name)[-1]) for name in ("cbo", CBX, CBX_BY_HAND)}
    rows.append(Row("MNIST, peak memory of CBO", CBX, peaks["cbo"], peaks[CBX], "MB", 0.6, "at most"))
    rows.append(
        Row("MNIST, peak memory of CBO", CBX_BY_HAND, peaks["cbo"], peaks[CBX_BY_HAND], "MB", None, "at most")
    )
    report(rows)
    for text in alone("--parts"):
        size, what = text.split("\t")
        emit("memory", what=what, megabytes=float(size))


if __name__ == "__main__":
    main()
