"""One iteration of CBO and of the hybrid on MNIST at the paper's size, against a bare matrix product and CBXpy 1.0.4.

    python benchmarks/bench_mnist.py        (CBXpy is left out where it is not installed; CBO_DATA_DIR names the data)

The yardstick is the one product that no dense evaluation of all particles can avoid, (20000 x 784)(784 x 1000). CBXpy
is used as documented: ``eval_losses``, which maps ``functional_call`` over the particles with ``vmap``. All forms
are timed in turn, in one process with one thread; the best of several repeats counts. Then each runs in a process
of its own, which tells its peak memory.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse  # noqa: E402
import importlib.util  # noqa: E402
import json  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

import torch  # noqa: E402

from cbo_pipeline.methods.base import Clock  # noqa: E402
from cbo_pipeline.problems.mnist import MNIST  # noqa: E402
from cbo_pipeline.settings import RunName, load_config, resolve  # noqa: E402
from cbo_pipeline.streams import Streams  # noqa: E402
from cbo_pipeline.training import Training  # noqa: E402

N, M, BATCH, PIXELS, CLASSES = 1000, 20, 1000, 784, 10
TARGETS = {"cbo": 1.4, "hybrid": 3.0}  # at most so many bare products


def gemm():
    w, x = torch.rand(N * M, PIXELS), torch.rand(BATCH, PIXELS)
    out = torch.empty(N * M, BATCH)
    return lambda: torch.mm(w, x.T, out=out)


def ours(method):
    """One iteration as the training loop does it, new minibatch included."""
    training = Training.begin(resolve(load_config(), RunName("mnist", method, M, N, 0)))
    batches, count = training._batches(0), iter(range(10**9))

    def iterate():
        k = next(count)
        batch, clock = training.problem.batch(batches[k % len(batches)]), Clock(0, k)
        view = training.method.look(training.state, training.problem, batch, clock)
        training.method.move(training.state, view, clock, training.streams.noise(k))

    return iterate


class Net(torch.nn.Module):
    """The network of Section 4.2."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = torch.nn.Linear(PIXELS, M), torch.nn.Linear(M, CLASSES)

    def forward(self, x):
        return self.outer(torch.relu(self.inner(x)))


def cbx():
    from cbx.dynamics import CBO
    from cbx.utils.torch_utils import eval_losses, get_param_properties, to_torch_dynamic

    problem = MNIST(M=M, images=10 * BATCH)
    problem.load(Streams(0))
    model, count = Net(), iter(range(10**9))
    properties = get_param_properties([model], pnames=[name for name, _ in model.named_parameters()])
    order = torch.randperm(10 * BATCH).reshape(10, BATCH)

    def objective(w):
        rows = order[next(count) % 10]
        x, y = problem.training.x[rows, :-1], problem.training.labels[rows]
        return eval_losses(x, y, torch.nn.functional.cross_entropy, model, w[0], properties)[None]

    x = torch.empty(1, N, sum(p.numel() for p in model.parameters())).uniform_(-1, 1)
    return to_torch_dynamic(CBO)(
        objective, f_dim="3D", x=x, alpha=1e5, dt=0.1, lamda=1.0, sigma=1.4**0.5,
        noise="anisotropic", max_it=10**9, verbosity=0, track_args={"names": []},
    ).step  # fmt: skip


FORMS = {"gemm": gemm, "cbo": lambda: ours("cbo"), "hybrid": lambda: ours("hybrid")}
if importlib.util.find_spec("cbx"):
    FORMS["cbx"] = cbx


def best(repeats):
    """Best wall-clock and processor time of each form in seconds; they take turns, to meet the same machine."""
    forms = {name: make() for name, make in FORMS.items()}
    times = {name: ([], []) for name in forms}
    for repeat in range(repeats + 1):
        for name, form in forms.items():
            wall, processor = time.perf_counter(), time.process_time()
            form()
            if repeat:  # the first one warms up
                times[name][0].append(time.perf_counter() - wall)
                times[name][1].append(time.process_time() - processor)
    return {name: (min(wall), min(processor)) for name, (wall, processor) in times.items()}


def peak_memory(name):
    """Peak memory in MiB of a process that does a few iterations of one form."""
    done = subprocess.run([sys.executable, __file__, "--only", name], check=True, capture_output=True, text=True)
    return float(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--json", type=Path, help="file for the numbers")
    parser.add_argument(
        "--only", choices=FORMS, help="do three iterations of one form and tell the peak memory in MiB"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.only:
        form = FORMS[options.only]()
        for _ in range(3):
            form()
        # Not getrusage: there a new process starts with the peak of the one that started it.
        status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        print(int(status["VmHWM"].split()[0]) / 1024)
        return
    times = best(options.repeats)
    bare = times["gemm"]
    result = {}
    print(
        "one iteration, N = 1000, M = 20, batch 1000        wall   in products   processor   in products  peak memory"
    )
    for name, (wall, processor) in times.items():
        result[name] = {
            "seconds": wall,
            "products": wall / bare[0],
            "products_of_processor_time": processor / bare[1],
            "peak_mib": peak_memory(name),
        }
        goal = f"   (to reach: {TARGETS[name]})" if name in TARGETS else ""
        print(
            f"{name:45} {1e3 * wall:7.0f} ms {wall / bare[0]:11.2f} {1e3 * processor:11.0f} ms"
            f" {processor / bare[1]:11.2f} {result[name]['peak_mib']:11.0f} MiB{goal}"
        )
    if options.json:
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
