"""Where the time of an iteration goes, part by part, and what the machine itself can do.

    python benchmarks/limits.py

Every part is timed by itself on the same ensemble, at the paper's size; the parts take turns. A rate beside a part
says what limits it: time per random number, per neuron and per point.
"""

import timing  # first: it sets one thread
from timing import emit, have_mnist, step_alone

# isort: split
import functools
import time

import numpy as np

from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.methods.base import Clock
from cbo_pipeline.numerics import transport
from cbo_pipeline.numerics.assignment import solver_of
from cbo_pipeline.numerics.kernels.squared_costs import squared_costs
from cbo_pipeline.numerics.kernels.ties import has_exchange
from cbo_pipeline.numerics.network import atoms
from cbo_pipeline.training.loop import Training

TRAINED = 60  # iterations, for optimal transport
# Parts are compared with each other, so it is processor time, which no other process takes away.
take_turns = functools.partial(timing.take_turns, clock=time.process_time)


def training_of(experiment: str, method: str, M: int, N: int) -> Training:
    return Training.start(resolve(load_config(), RunName(experiment, method, M, N, 0)))


def noise_alone(training: Training):
    """All normals of one iteration, and nothing done with them."""
    noise = training.streams.noise(0)

    def draw() -> None:
        for layer, theta in enumerate(training.state["particles"].values()):
            for _ in noise.blocks(theta, layer):
                pass

    return draw


def parts_of(training: Training, rounds: int = 5, seconds: float = 0.2) -> tuple[dict[str, float], dict]:
    """Seconds of the parts that all methods of the CBO family share, and what they worked on."""
    problem, method, state = training.problem, training.method, training.state
    indices, clock = training.batches(0)[0], Clock(0, 0)
    batch = problem.batch(indices)
    view = method.look(state, problem, batch, clock)
    few = problem.batch(indices[:8])
    forms = {
        "minibatch": lambda: problem.batch(indices),
        "few": lambda: problem.risks(state["particles"], few),
        "risks": lambda: problem.risks(state["particles"], batch),
        "look": lambda: method.look(state, problem, batch, clock),
        "noise": noise_alone(training),
        "move": step_alone(training, view),
    }
    if hasattr(method, "consensus"):  # that of optimal transport is a barycentre, which has parts of its own
        forms["consensus"] = lambda: method.consensus(state["particles"], view.risks, clock)
    times = take_turns(forms, rounds, seconds)
    numbers = sum(np.prod(x.shape) for x in state["particles"].values())
    return times, {"numbers": int(numbers), "neurons": training.run.name.N * training.run.name.M}


def share(experiment: str, times: dict[str, float], work: dict, between: dict[str, float], rates: dict) -> None:
    """Tell the parts of an iteration: minibatch and step are in all of them, ``between`` is its own.

    The step draws its random numbers as it passes over the ensemble; beside it stands what they cost by themselves.
    """
    parts = {"minibatch": times["minibatch"], **between, "noise and step": times["move"]}
    each, alone = (1e9 * times[name] / work["numbers"] for name in ("move", "noise"))
    rates = {"noise and step": f"{each:.2f} ns per number; the random numbers alone {alone:.2f} ns", **rates}
    whole = sum(parts.values())
    for part, seconds in parts.items():
        emit(
            "share",
            experiment=experiment,
            part=part,
            seconds=seconds,
            share=seconds / whole,
            rate=rates.get(part, ""),
        )


def regression(experiment: str, method: str, M: int, N: int) -> None:
    """Sine and multi-task: minibatch, risks, consensus, noise, update."""
    training = training_of(experiment, method, M, N)
    times, work = parts_of(training)
    points = N * training.run.settings["batch_size"]
    between = {
        "risks: the neurons": times["few"],
        "risks: the points": times["risks"] - times["few"],
        "weights and consensus": times["consensus"],
    }
    rates = {
        "risks: the neurons": f"{1e9 * times['few'] / work['neurons']:.1f} ns per neuron",
        "risks: the points": f"{1e9 * between['risks: the points'] / points:.1f} ns per point and particle",
    }
    share(f"{experiment}, {method} (N {N}, M {M})", times, work, between, rates)


def one_by_one(function, *arguments) -> None:
    """Call for every block; what it makes is let go, so that the next block has the same memory."""
    for block in zip(*arguments, strict=True):
        function(*block)


def square() -> None:
    """Optimal transport after some training: the matchings are nearly all of it."""
    training = training_of("square", "ot_cbo", 200, 200)
    training.advance(TRAINED)
    times, work = parts_of(training, rounds=3)
    clock, batch = Clock(0, 0), training.problem.batch(training.batches(0)[0])
    y = atoms(training.method.look(training.state, training.problem, batch, clock).consensus)[0].astype(np.float64)
    x = atoms(training.state["particles"]).astype(np.float64)
    together = transport.BLOCK // x.shape[1] ** 2
    blocks = [x[first : first + together] for first in range(0, len(x), together)]
    costs = [squared_costs(block, y) for block in blocks]
    columns = [solver_of("auto")(block) for block in costs]
    each = take_turns(
        {
            "match": lambda: transport.match(x, y),
            "costs": lambda: one_by_one(squared_costs, blocks, [y] * len(blocks)),
            "assignment": lambda: one_by_one(solver_of("auto"), costs),
            "ties": lambda: one_by_one(has_exchange, costs, columns),
        },
        rounds=4,
        seconds=0.2,
    )
    matched = each["match"]
    between = {
        "risks": times["risks"],
        "matching: assignments (lapx)": each["assignment"],
        "matching: costs": each["costs"],
        "matching: search for ties": each["ties"],
        "matching: rest": max(0.0, matched - each["assignment"] - each["costs"] - each["ties"]),
        "barycentre": max(0.0, times["look"] - times["risks"] - matched),
    }
    rates = {
        "matching: assignments (lapx)": f"{1e3 * each['assignment'] / len(x):.2f} ms per problem of 200 atoms",
        "matching: costs": f"{1e9 * each['costs'] / (len(x) * x.shape[1] ** 2):.2f} ns per cost",
    }
    share(f"square, ot_cbo after {TRAINED} iterations (N 200, M 200)", times, work, between, rates)


def mnist() -> None:
    """MNIST: the risks of all particles, none of which is left early, over the pixels that are not zero."""
    training = training_of("mnist", "cbo", 20, 1000)
    times, work = parts_of(training, rounds=4, seconds=0.0)
    batch = training.problem.batch(training.batches(0)[0])
    lit = int(batch.table.first.max())
    between = {"risks": times["risks"], "weights and consensus": times["consensus"]}
    rates = {
        "risks": f"{2 * work['neurons'] * lit / times['risks'] / 1e9:.0f} GFLOP/s"
        f" on {lit / (784 * len(batch.targets)):.0%} of the pixels, outer layers and softmax included",
    }
    share("mnist, cbo (N 1000, M 20, batch 1000)", times, work, between, rates)


def machine() -> None:
    """What the machine can do, one thread."""
    import torch

    torch.set_num_threads(1)
    a, b = torch.rand(2000, 2000), torch.rand(2000, 2000)
    out, large = torch.empty(2000, 2000), np.ones(1 << 25)
    other, rng, few = np.empty_like(large), np.random.default_rng(0), np.empty(1 << 16, np.float32)
    times = take_turns(
        {
            "product": lambda: torch.mm(a, b, out=out),
            "copy": lambda: np.copyto(other, large),
            "numpy": lambda: rng.standard_normal(out=few, dtype=np.float32),
            "torch": lambda: torch.randn(1 << 16),
        },
        rounds=5,
    )
    emit("machine", what="matrix product, float32", value=2 * 2000**3 / times["product"] / 1e9, unit="GFLOP/s")
    emit(
        "machine",
        what="copy of main memory, read and write",
        value=2 * large.nbytes / times["copy"] / 1e9,
        unit="GB/s",
    )
    for name in ("numpy", "torch"):
        emit("machine", what=f"a normal random number by {name}", value=1e9 * times[name] / few.size, unit="ns")


def main() -> None:
    have_mnist()
    machine()
    regression("sine", "cbo", 100, 200)
    regression("multi_task", "multi_task_cbo", 100, 200)
    square()
    mnist()


if __name__ == "__main__":
    main()
