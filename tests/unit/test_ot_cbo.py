"""The problem `square`, optimal-transport CBO and its multi-task form against the equations written out."""

import dataclasses

import numpy as np
import ot
import pytest

from cbo_pipeline import problems
from cbo_pipeline.config import RunName, load_config, resolve, runs
from cbo_pipeline.errors import ConfigError
from cbo_pipeline.methods.base import Clock
from cbo_pipeline.methods.cbo import CBO
from cbo_pipeline.methods.multi_task_ot_cbo import MultiTaskOTCBO
from cbo_pipeline.methods.ot_cbo import OTCBO
from cbo_pipeline.numerics import network, transport
from cbo_pipeline.numerics.kernels.noise import Noise
from cbo_pipeline.numerics.network import atoms, of_atoms
from cbo_pipeline.numerics.streams import Streams
from cbo_pipeline.problems.multi_task import MultiTask
from cbo_pipeline.problems.square import Square
from cbo_pipeline.results import netcdf
from cbo_pipeline.results import runs as run_files
from cbo_pipeline.training.loop import Training, train

COMMON = {"dt": 0.1, "alpha": 30.0, "lambda_": 1.3, "sigma_squared": 1.2, "initial": "uniform", "initial_bound": 2.0}


def square(M=8, points=200, precision="float64") -> Square:
    problem = Square(M=M, points=points, label_noise=0.01, precision=precision)
    problem.load(Streams(0))
    return problem


def run_of(method="ot_cbo", experiment="square", M=8, N=10, seed=0, **changes):
    small = {"points": 200, "batch_size": 100, "epochs": 4, **changes}
    return resolve(load_config(), RunName(experiment, method, M, N, seed), small)


def gibbs(risks, alpha):
    return np.exp(-alpha * (risks - risks.min())) / np.exp(-alpha * (risks - risks.min())).sum()


def image(x, y):
    """For the atoms x (M, D) the atoms of y that POT's plan sends them to."""
    plan = ot.emd([], [], ot.dist(x, y))
    return y[plan.argmax(axis=1)]


# --- the problem -------------------------------------------------------------------------------------------------


def test_the_data_are_those_of_example_4():
    run = next(resolve(load_config(), name) for name in runs(load_config()) if name.variant == "ot_cbo")
    cls = problems.find("square")
    problem = cls(M=run.name.M, **run.part(cls))
    problem.load(Streams(0))
    assert len(problem.x) == 5000
    assert run.settings["batch_size"] == 2500
    noise = problem.y - problem.x**2
    assert noise.std() == pytest.approx(0.01, rel=0.05)
    assert abs(np.corrcoef(noise, problem.x)[0, 1]) < 0.05


def test_the_sweeps_are_run_once_each():
    names = [name for name in runs(load_config()) if (name.experiment, name.variant) == ("square", "ot_cbo")]
    assert len(names) == len(set(names)) == 9 * 10
    assert {(n.M, n.N) for n in names} == {(m, 200) for m in (10, 25, 50, 100, 200)} | {
        (200, n) for n in (10, 25, 50, 100, 200)
    }


# --- the method --------------------------------------------------------------------------------------------------


def test_atoms_are_rows_of_all_parameters_of_a_neuron():
    shape = network.shapes(5, 3, 2, outer_bias=False)
    particles = network.uniform(shape, 4, 1.0, np.random.default_rng(0), "float32")
    points = atoms(particles)
    assert points.shape == (4, 5, 3 + 1 + 2)
    np.testing.assert_array_equal(points[2, 4], [*particles["w"][2, 4], particles["b"][2, 4], *particles["c"][2, 4]])
    for name, back in of_atoms(points, particles).items():
        np.testing.assert_array_equal(back, particles[name])


def test_a_step_is_the_equation():
    """Eqs. (eq:OT_discrete_w) to (eq:OT_discrete_c): barycentre and plans by POT, the noise of the stream."""
    problem, method = square(), OTCBO(**COMMON, sigma_factor=0.9, sigma_every=100)
    state = method.start(problem, 6, np.random.default_rng(3))
    before = {k: v.copy() for k, v in state["particles"].items()}
    batch, clock, noise = problem.batch(np.arange(100)), Clock(125, 250), Noise((5, 6), 250)
    view = method.look(state, problem, batch, clock)
    x, weights = atoms(before), gibbs(problem.risks(before, batch), 30.0)
    mass = np.full(8, 1 / 8)
    y = ot.lp.free_support_barycenter(
        list(x), [mass] * 6, x[weights.argmax()], mass, weights, numItermax=500, stopThr=1e-20
    )
    np.testing.assert_allclose(atoms(view.consensus)[0], y, atol=1e-12)
    variance = 0.5 * np.mean([ot.emd2([], [], ot.dist(n, y)) for n in x])
    assert method.variance(state, view) == pytest.approx(variance, rel=1e-9)
    after = method.move(state, view, clock, noise)["particles"]
    goals = of_atoms(np.stack([image(n, y) for n in x]), before)
    for layer, (name, theta) in enumerate(before.items()):
        xi = np.concatenate([block.copy() for _, block in noise.blocks(theta, layer)])
        sigma = np.sqrt(1.2) * 0.9**2
        expected = theta - 1.3 * 0.1 * (theta - goals[name]) + sigma * np.sqrt(0.1) * xi
        np.testing.assert_allclose(after[name], expected, atol=1e-12)


@pytest.mark.parametrize(("unit", "falls"), [("iterations", 3), ("epochs", 1)])
def test_sigma_falls_by_its_schedule(unit, falls):
    """sigma_0 * 0.9^floor(k / 100), k in iterations or epochs (docs/reproduction.md)."""
    method = OTCBO(**COMMON, sigma_factor=0.9, sigma_every=100, sigma_unit=unit)
    assert method.parameters(Clock(150, 301))["sigma"] == pytest.approx(np.sqrt(1.2) * 0.9**falls)


def test_the_noise_stops_and_the_weights_become_equal():
    method = OTCBO(**COMMON, quiet_from=7, quiet_weights="equal")
    risks = np.array([0.1, 0.3, np.inf])
    assert method.sigma_at(Clock(6, 6)) == pytest.approx(np.sqrt(1.2))
    assert method.sigma_at(Clock(7, 7)) == 0
    np.testing.assert_allclose(method.weights(risks, Clock(6, 6)), [[*gibbs(risks[:2], 30.0), 0]])
    np.testing.assert_allclose(method.weights(risks, Clock(7, 7)), [[0.5, 0.5, 0]])
    gibbs_too = dataclasses.replace(method, quiet_weights="gibbs")
    np.testing.assert_allclose(gibbs_too.weights(risks, Clock(7, 7)), [[*gibbs(risks[:2], 30.0), 0]])


def noise_free_risks(problem, method, particles, steps=15):
    state = {"particles": particles, "count": {"unsettled": np.zeros((), np.int64)}}
    found = []
    for k in range(steps):
        view = method.look(state, problem, problem.everything(), Clock(k, k))
        state = method.move(state, view, Clock(k, k), Noise((0, 0), k))
        found.append([*view.risks, *problem.risks(view.reported, problem.everything())])
    return np.array(found)


@pytest.mark.parametrize("weights", ["gibbs", "equal"])
def test_the_order_of_the_atoms_does_not_matter(weights):
    """Networks are measures: permuting the neurons of any particle changes no risk of a noise-free run."""
    problem, rng = square(M=12), np.random.default_rng(4)
    method = OTCBO(**COMMON, quiet_from=0, quiet_weights=weights)
    particles = method.start(problem, 9, rng)["particles"]
    orders = np.argsort(rng.random((9, 12)), axis=1)
    shuffled = {name: x[np.arange(9)[:, None], orders] for name, x in particles.items()}
    assert not np.array_equal(shuffled["b"], particles["b"])
    risks = noise_free_risks(problem, method, {k: v.copy() for k, v in particles.items()})
    np.testing.assert_allclose(noise_free_risks(problem, method, shuffled), risks, rtol=1e-9)


def test_single_neurons_follow_classical_cbo():
    """M = 1 without noise: Eq. (cbo:sde) with sigma = 0."""
    quiet = {**COMMON, "sigma_squared": 0.0}
    problem, results = square(M=1), []
    for method in (OTCBO(**quiet), CBO(**quiet)):
        state = method.start(problem, 12, np.random.default_rng(5))
        for k in range(30):
            view = method.look(state, problem, problem.everything(), Clock(k, k))
            assert method.variance(state, view) > 0
            state = method.move(state, view, Clock(k, k), Noise((0, 0), k))
        results.append(state["particles"])
    for name, theta in results[0].items():
        np.testing.assert_allclose(theta, results[1][name], rtol=1e-8)


def test_the_limit_on_the_rounds_is_warned_of_and_counted():
    run = run_of(M=20, barycentre_rounds=1, alpha=1.0, alpha_factor=1)
    with pytest.warns(UserWarning, match="still moving after barycentre_rounds = 1"):
        history = train(run)
    np.testing.assert_array_equal(history.records["rounds"], 1)
    # Two iterations per epoch, each ended by the limit; the look at the start counts itself alone.
    np.testing.assert_array_equal(history.records["unsettled"], [1, 2, 4, 6, 8])


def test_the_file_of_a_run_holds_every_record(tmp_path):
    run = run_of()
    netcdf.write(run_files.dataset(run, train(run)), tmp_path / "run.nc")
    data = run_files.read(tmp_path / "run.nc")
    for name in ("risk", "risk_min", "risk_median", "variance", "alpha", "sigma", "rounds", "unsettled"):
        assert data[name].dims == ("epoch",)
        assert np.isfinite(data[name]).all()
        assert data[name].attrs["long_name"]
    assert data["sigma"][0] == pytest.approx(np.sqrt(1.2))
    assert (data["unsettled"] == 0).all()


def test_training_learns_the_square():
    """Much better than the best constant, whose risk is the variance of x^2, 4/45."""
    history = train(run_of(M=20, N=30, points=1000, batch_size=500, epochs=60))
    assert np.median(history.records["risk"][-15:]) < 0.1 * 4 / 45


def test_a_particle_that_is_not_finite_does_no_harm():
    problem, method = square(), OTCBO(**COMMON)
    state = method.start(problem, 5, np.random.default_rng(0))
    state["particles"]["b"][2] = np.nan
    view = method.look(state, problem, problem.everything(), Clock(0, 0))
    after = method.move(state, view, Clock(0, 0), Noise((0, 0), 0))["particles"]
    assert all(np.isfinite(x[[0, 1, 3, 4]]).all() for x in after.values())
    assert all(np.isfinite(x).all() for x in view.reported.values())


def test_networks_with_an_outer_bias_are_refused():
    with pytest.raises(ConfigError) as refused:
        resolve(load_config(), RunName("square", "ot_cbo", 3, 3, 0), {"outer_bias": True})
    assert refused.value.key == "experiments.square.methods.ot_cbo.outer_bias"


def test_going_on_from_a_checkpoint_gives_the_same_numbers():
    run, whole = run_of(), train(run_of())
    first, second = Training.start(run).advance(3), Training.with_data(run)
    kept = {
        group: {k: v.copy() for k, v in content.items()}
        for group, content in first.method.arrays(first.state).items()
    }
    second.resume(kept, first.history, 3)
    for name, values in second.finish().records.items():
        np.testing.assert_array_equal(values, whole.records[name])


# --- several tasks -----------------------------------------------------------------------------------------------


def test_one_task_is_optimal_transport_cbo_to_the_bit():
    run = run_of(M=6, N=9)
    one, other = train(run), train(dataclasses.replace(run, method="multi_task_ot_cbo"))
    for name, values in one.records.items():
        np.testing.assert_array_equal(other.records[name], values)


def test_every_particle_moves_to_the_barycentre_of_its_task():
    """The multi-task equation of Section 5.1: all particles weigh in, with the risk of the task."""
    P, N, M = 3, 7, 6
    problem = MultiTask(M=M, points=100, label_noise=0.0, tasks=P, precision="float64")
    problem.load(Streams(1))
    method = MultiTaskOTCBO(**{**COMMON, "sigma_squared": 0.0})
    state = method.start(problem, N, np.random.default_rng(2))
    x = atoms(state["particles"])
    risks = problem.risks(state["particles"], problem.everything())
    view = method.look(state, problem, problem.everything(), Clock(0, 0))
    after = atoms(method.move(state, view, Clock(0, 0), Noise((0, 0), 0))["particles"])
    y = [transport.barycentre(x, gibbs(risks[:, p], 30.0), 100, 1e-10).support for p in range(P)]
    np.testing.assert_allclose(atoms(view.consensus), y, atol=1e-12)
    for n, task in enumerate([0, 0, 0, 1, 1, 2, 2]):
        np.testing.assert_allclose(after[n], x[n] - 1.3 * 0.1 * (x[n] - image(x[n], y[task])), atol=1e-12)


def test_fewer_particles_than_tasks_are_refused():
    with pytest.raises(ConfigError, match="N: 4 particles for 5 tasks"):
        run_of("multi_task_ot_cbo", "multi_task_ot", N=4)


def test_the_multi_task_run_improves_every_task():
    history = train(run_of("multi_task_ot_cbo", "multi_task_ot", M=20, N=30, epochs=40, tasks=3))
    risk = history.records["risk"]
    assert risk.shape == (41, 3)
    assert (risk[-5:].mean(axis=0) < risk[0]).all()


# --- Solvers and starts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["lapx", "scipy", "pot"])
@pytest.mark.parametrize(("method", "experiment"), [("ot_cbo", "square"), ("multi_task_ot_cbo", "multi_task_ot")])
def test_every_solver_gives_the_same_run(method, experiment, solver):
    """Whole trained ensembles, bit by bit; with 40 atoms only suspect problems are searched for ties."""
    changes = {"M": 40, "N": 12, "epochs": 3, "keep_ensembles": [3]}
    changes |= {"tasks": 2} if experiment == "multi_task_ot" else {}
    auto, other = (train(run_of(method, experiment, **changes, solver=name)) for name in ("auto", solver))
    for name, values in {**auto.records, **auto.ensembles}.items():
        np.testing.assert_array_equal({**other.records, **other.ensembles}[name], values)


def test_better_starts_are_counted():
    one = train(run_of(N=8, M=12, epochs=3, alpha=1.0))
    many = train(run_of(N=8, M=12, epochs=3, alpha=1.0, barycentre_starts=8))
    assert "better_starts" not in one.records
    count = many.records["better_starts"]
    assert count[-1] > 0
    assert (np.diff(count) >= 0).all()
