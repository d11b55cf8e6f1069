"""One iteration of CBO and of the hybrid on MNIST at the paper's size, against a bare matrix product and CBXpy 1.0.4.

    python benchmarks/bench_mnist.py        (needs cbx==1.0.4 beside the package; CBO_DATA_DIR names the data)

The bound is the one product that no dense evaluation of all particles can avoid, (20000 x 784)(784 x 1000). All
forms take turns in one process with one thread; the best time counts. CBXpy is used in two ways:

- as documented: ``eval_losses``, which maps ``functional_call`` over the particles with ``vmap``.
- written by hand: the same dynamic with the best dense evaluation that a user could write, one product for the
  inner layers of all particles, in memory that is kept, and one batched product for the outer ones.

Then each form runs in a process of its own, which tells its peak memory; and one process more tells what ours
consists of, step by step.
"""

from timing import Row, emit, have_mnist, iterations, report, resident, take_turns  # first: it sets one thread

# isort: split
import subprocess
import sys

N, M, BATCH, PIXELS, CLASSES = 1000, 20, 1000, 784, 10
CBX, CBX_BY_HAND = "CBXpy as documented", "CBXpy, best by hand"


def gemm():
    import torch

    w, x = torch.rand(N * M, PIXELS), torch.rand(BATCH, PIXELS)
    out = torch.empty(N * M, BATCH)
    return lambda: torch.mm(w, x.T, out=out)


def ours(method: str):
    from cbo_pipeline.config import RunName, load_config, resolve
    from cbo_pipeline.training.loop import Training

    return iterations(Training.start(resolve(load_config(), RunName("mnist", method, M, N, 0))))


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


def minibatches():
    """The images as CBXpy's user would hold them, and an epoch of minibatches."""
    import torch
    from cbo_pipeline.problems._mnist_files import folder, torchvision_mnist

    files = torchvision_mnist()(folder(), train=True)
    x, y = files.data[: 10 * BATCH].reshape(-1, PIXELS) / 255, files.targets[: 10 * BATCH]
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
    "the bare matrix product": gemm,
    "cbo": lambda: ours("cbo"),
    "hybrid": lambda: ours("hybrid"),
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

    import numpy as np

    step("Python and numpy")
    import torch

    torch.set_num_threads(1)
    step("torch")
    from cbo_pipeline.problems import _mnist_files as mnist_data

    mnist_data.torchvision_mnist()
    step("torchvision, which reads the files")
    import numba  # noqa: F401

    step("numba")
    from cbo_pipeline.config import RunName, load_config, resolve
    from cbo_pipeline.training.loop import Training

    training = Training.with_data(resolve(load_config(), RunName("mnist", "cbo", M, N, 0)))
    step("training and test images")
    training.state = training.method.start(training.problem, N, np.random.default_rng(0))
    step("particles")
    form = iterations(training)
    for _ in range(3):
        form()
    step("compiled kernels, memory of a step")
    print(resident("VmHWM") - before, "more at the peak", sep="\t")


def main() -> None:
    have_mnist()
    if "--only" in sys.argv:
        return print_peak(sys.argv[sys.argv.index("--only") + 1])
    if "--parts" in sys.argv:
        return print_parts()
    import torch

    torch.set_num_threads(1)
    times = take_turns({name: make() for name, make in FORMS.items()}, rounds=7, seconds=0.0)
    bound = times["the bare matrix product"]
    rows = []
    for method, name, goal in (("cbo", "CBO", 1.4), ("hybrid", "hybrid", 3.0)):
        what = f"MNIST, one {name} iteration (N {N}, M {M}, batch {BATCH})"
        rows.append(Row(what, "the bare matrix product", times[method], bound, "s", goal, "at most"))
    what = f"MNIST, one CBO iteration (N {N}, M {M}, batch {BATCH})"
    rows += [Row(what, name, times["cbo"], times[name], "s") for name in (CBX, CBX_BY_HAND)]
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
