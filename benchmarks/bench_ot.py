"""Optimal-transport CBO at N = M = 200: single iterations, a whole run and a barycentre, against the same with POT.

    python benchmarks/bench_ot.py

POT's way: ``ot.dist`` and ``ot.emd`` for every particle, ``ot.lp.free_support_barycenter`` for the barycentre. Both
ways do the same work on the same ensembles, the initial one and others along a run; that they agree is checked before
they are timed. A whole run takes the sum over its iterations, of which some were timed: time is linear between them.
"""

from timing import Row, report, take_turns  # first: it sets one thread

# isort: split
import numpy as np
import ot

from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.methods.base import Clock
from cbo_pipeline.numerics import transport
from cbo_pipeline.numerics.assignment import by_lapx, by_scipy
from cbo_pipeline.numerics.kernels.squared_costs import squared_costs
from cbo_pipeline.numerics.network import atoms, of_atoms
from cbo_pipeline.training.loop import Training

N = M = 200
TIMED = (1, 60, 200, 500, 800, 1200)  # iterations of a run, the first and the last among them
BARYCENTRE = 60  # the iteration whose particles the barycentre is of
SHOWN = {1: "first", 60: "60th"}  # those with rows of their own
GOAL = 4.5  # times faster than with ot.emd over a run
MASS = np.full(M, 1 / M)


def copied(state):
    return {group: {name: x.copy() for name, x in content.items()} for group, content in state.items()}


def ours(training: Training, state, batch, clock: Clock):
    """One iteration as the training loop does it; the ensemble it starts from is kept."""
    state = copied(state)
    view = training.method.look(state, training.problem, batch, clock)
    return view, training.method.move(state, view, clock, training.streams.noise(clock.iteration))


def with_pot(training: Training, state, batch, clock: Clock):
    """The same iteration, transport by POT."""
    state, method = copied(state), training.method
    risks = training.problem.risks(state["particles"], batch)
    beta = method.weights(risks, clock)[0]
    x = atoms(state["particles"]).astype(np.float64)
    used = np.flatnonzero(beta > method.weight_cut)
    y = x[beta.argmax()] if len(used) == 1 else pot_barycentre(x[used], beta[used] / beta[used].sum())
    y = y.astype(state["particles"]["b"].dtype)
    to = np.array([ot.emd(MASS, MASS, ot.dist(n, y.astype(np.float64))).argmax(axis=1) for n in x])
    goals, sigma = of_atoms(y[to], state["particles"]), method.sigma_at(clock)
    for layer, (name, theta) in enumerate(state["particles"].items()):
        for rows, xi in training.streams.noise(clock.iteration).blocks(theta, layer):
            away = theta[rows] - goals[name][rows]
            theta[rows] += method.dt**0.5 * sigma * xi - method.lambda_ * method.dt * away
    return y, state


def pot_barycentre(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    start = x[weights.argmax()]
    return ot.lp.free_support_barycenter(
        list(x), [MASS] * len(x), start, MASS, weights, numItermax=100, stopThr=1e-12
    )


def iteration(training: Training, when: str | None) -> tuple[dict[str, float], list[Row]]:
    """The times of one iteration from where the training stands.

    With ``when`` also its rows: the iteration, and the solvers by themselves, which are its bound.
    """
    clock, state = Clock(training.iteration // 2, training.iteration), copied(training.state)
    batch = training.problem.batch(training.batches(clock.epoch)[0])
    view, after = ours(training, state, batch, clock)
    y, expected = with_pot(training, state, batch, clock)
    np.testing.assert_allclose(atoms(view.consensus)[0], y, atol=1e-5)
    for name, theta in after["particles"].items():
        np.testing.assert_allclose(theta, expected["particles"][name], atol=1e-5)
    forms = {
        "ours": lambda: ours(training, state, batch, clock),
        "POT": lambda: with_pot(training, state, batch, clock),
    }
    found = take_turns(forms, rounds=4, seconds=0.5)
    if when is None:
        return found, []
    rows = [Row(f"OT, {when} iteration (N {N}, M {M})", "the same with ot.emd", found["ours"], found["POT"], "s")]

    x, y = atoms(state["particles"]).astype(np.float64)[::10], y.astype(np.float64)
    costs = squared_costs(x, y)
    forms = {
        "lapx": lambda: by_lapx(costs),
        "POT": lambda: [ot.emd(MASS, MASS, one) for one in costs],
        "scipy": lambda: by_scipy(costs),
    }
    times = take_turns(forms, rounds=4, seconds=0.3)
    what = f"OT, {len(x)} assignments of the {when} iteration by lapx"
    rows += [Row(what, name, times["lapx"], times[key], "s") for key, name in (("POT", "ot.emd"), ("scipy", "scipy"))]
    return found, rows


def main() -> None:
    training = Training.start(resolve(load_config(), RunName("square", "ot_cbo", M, N, seed=0)))
    assert training.run.settings["epochs"] * training.batches_per_epoch == TIMED[-1]
    times, rows = [], []
    for number in TIMED:
        training.advance(number - 1 - training.iteration)
        found, own = iteration(training, SHOWN.get(number))
        times.append(found)
        rows += own
        if number == BARYCENTRE:
            x = atoms(training.state["particles"]).astype(np.float64)
    every = np.arange(1, TIMED[-1] + 1)
    whole = {name: float(np.interp(every, TIMED, [one[name] for one in times]).sum()) for name in ("ours", "POT")}
    what = f"OT, a whole run of {TIMED[-1]} iterations (N {N}, M {M})"
    rows.insert(0, Row(what, "the same with ot.emd", whole["ours"], whole["POT"], "s", GOAL))

    few, weights = x[:20], np.linspace(1, 3, 20) / np.linspace(1, 3, 20).sum()
    found = transport.barycentre(few, weights, 100)
    theirs = transport.objective(few, weights, pot_barycentre(few, weights))
    assert transport.objective(few, weights, found.support) <= theirs * (1 + 1e-9)
    forms = {
        "ours": lambda: transport.barycentre(few, weights, 100),
        "POT": lambda: pot_barycentre(few, weights),
    }
    times = take_turns(forms, rounds=3, seconds=0.3)
    what = f"OT, barycentre of 20 particles (M {M}, {found.rounds} rounds)"
    rows.append(Row(what, "ot.lp.free_support_barycenter", times["ours"], times["POT"], "s"))

    report(rows)


if __name__ == "__main__":
    main()
