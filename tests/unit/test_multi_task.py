"""Multi-Task CBO against plain formulas: the risks of all tasks, the steps, the single-task limit, the records."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.errors import ConfigError
from cbo_pipeline.figures.multi_task import shown_tasks
from cbo_pipeline.methods.base import Clock
from cbo_pipeline.methods.cbo import CBO
from cbo_pipeline.methods.multi_task_cbo import MultiTaskCBO
from cbo_pipeline.methods.separate_cbo import SeparateCBO
from cbo_pipeline.numerics.kernels.piecewise import sorted_points
from cbo_pipeline.numerics.kernels.task_risks import squared_task_risks, task_basis
from cbo_pipeline.numerics.network import evaluate, select
from cbo_pipeline.numerics.streams import Streams
from cbo_pipeline.problems.multi_task import MultiTask
from cbo_pipeline.results import netcdf, runs
from cbo_pipeline.results import summaries as summarise
from cbo_pipeline.training import checkpoint
from cbo_pipeline.training.loop import Training, train

CONFIG = load_config()
COMMON = {"dt": 0.2, "alpha": 50.0, "lambda_": 1.0, "sigma_squared": 1.8, "initial": "uniform", "initial_bound": 1.0}


def problem_of(tasks: int, M: int = 7, points: int = 200, label_noise: float = 0.0) -> MultiTask:
    problem = MultiTask(M=M, points=points, label_noise=label_noise, tasks=tasks)
    problem.load(Streams(3))
    return problem


def run_of(method: str = "multi_task_cbo", experiment: str = "multi_task", M: int = 7, N: int = 10, **changes):
    name = RunName(experiment, method, M, N, seed=1)
    sizes = {"points": 80, "batch_size": 20, "epochs": 4}
    return resolve(CONFIG, name, {**sizes, **changes})


def ensemble(rng, N: int, M: int, size: float):
    shapes = {"w": (N, M, 1), "b": (N, M), "c": (N, M, 1)}
    return {name: (size * rng.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}


def broadcast_risks(networks, x, y, scale):
    """The plain form: all N x P x S differences."""
    values = evaluate(networks, x[:, None], scale)[..., 0]
    return np.mean((values[:, None, :] - y[None]) ** 2, axis=-1)


# --- the risks ---------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    N=st.integers(1, 9),
    tasks=st.integers(1, 12),
    S=st.integers(1, 40),
    rank=st.integers(0, 12),
    size=st.sampled_from([1e-3, 1.0, 1e4]),
)
def test_all_risks_are_those_of_the_broadcast_form(seed, N, tasks, S, rank, size):
    """Any targets: fewer or more tasks than points, of low or full rank, networks near by or far away."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.random(S))
    y = rng.standard_normal(S) + rng.standard_normal((tasks, rank)) @ rng.standard_normal((rank, S))
    networks = ensemble(rng, N, 6, size)
    flat = [networks[k].reshape(N, 6) for k in "wbc"]
    basis = task_basis(y).at(np.arange(S))
    risks = squared_task_risks(*flat, np.zeros(N), 1 / 6, sorted_points(x, y[0]), basis)
    assert risks.shape == (N, tasks)
    assert risks.dtype == np.float64
    np.testing.assert_allclose(risks, broadcast_risks(networks, x, y, 1 / 6), rtol=1e-10)


@pytest.mark.parametrize("outlier", [1.0, 1e4])
@pytest.mark.parametrize("label_noise", [0.0, 0.1])
def test_risks_of_the_paper_on_a_minibatch(outlier, label_noise):
    rng = np.random.default_rng(0)
    problem = problem_of(100, M=100, points=1600, label_noise=label_noise)
    assert problem.y.shape == (100, 1600)
    networks = problem.initial("uniform", 1.0, 50, rng)
    networks["w"][::7] *= np.float32(outlier)
    indices = rng.permutation(1600)[:160]
    expected = broadcast_risks(networks, problem.x[indices], problem.y[:, indices], problem.scale)
    np.testing.assert_allclose(problem.risks(networks, problem.batch(indices)), expected, rtol=1e-10)


@pytest.mark.parametrize("closeness", [1e-2, 1e-4, 1e-6])
def test_a_small_risk_beside_large_ones_keeps_its_digits(closeness):
    """Moments about the mean would lose them to cancellation."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.random(300))
    networks = ensemble(rng, 4, 10, 1.0)
    values = evaluate(networks, x[:, None], 0.1)[..., 0]
    y = values[0] + np.stack([closeness * rng.standard_normal(300), np.full(300, 1.0), np.sin(9 * x)])
    flat = [networks[k].reshape(4, 10) for k in "wbc"]
    risks = squared_task_risks(*flat, np.zeros(4), 0.1, sorted_points(x, y[0]), task_basis(y).at(np.arange(300)))
    assert risks[0, 0] < 2 * closeness**2
    np.testing.assert_allclose(risks, np.mean((values[:, None, :] - y) ** 2, axis=-1), rtol=1e-9)


def test_shifts_of_one_function_have_rank_one():
    """The speed rests on it: rounding must not count as a direction."""
    x = np.sort(np.random.default_rng(0).random(8000))
    for tasks, rank in ((1, 0), (2, 1), (100, 1)):
        y = np.sin(2 * np.pi * x) + np.linspace(-1, 1, tasks)[:, None]
        assert task_basis(y).basis.shape == (rank, 8000)
    y = np.sin(2 * np.pi * x) * np.linspace(1, 2, 5)[:, None] + np.cos(x) * np.arange(5)[:, None] ** 2
    assert len(task_basis(y).basis) == 2


def test_one_task_of_a_batch_is_its_column():
    problem = problem_of(5)
    batch = problem.batch(np.arange(0, 200, 3))
    networks = problem.initial("uniform", 1.0, 6, np.random.default_rng(1))
    columns = [problem.risks(networks, problem.batch_of_task(batch, p)) for p in range(5)]
    np.testing.assert_allclose(np.hstack(columns), problem.risks(networks, batch), rtol=1e-12)


def test_the_targets_are_the_papers():
    problem = problem_of(100)
    for p in (1, 37, 100):
        shift = -1 + 2 * (p - 1) / 99
        np.testing.assert_allclose(problem.y[p - 1], np.sin(2 * np.pi * problem.x) + shift, atol=1e-15)


# --- the method --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("assignment", ["blocks", "cyclic"])
@pytest.mark.parametrize("consensus_over", ["all", "assigned"])
@pytest.mark.parametrize(("N", "tasks"), [(8, 4), (11, 4), (5, 5)])
def test_a_step_is_the_formula_of_the_paper(assignment, consensus_over, N, tasks):
    """Eq. (eq:multi_task_cbo), particle by particle, with naive exponentials."""
    problem = problem_of(tasks)
    method = MultiTaskCBO(**COMMON, assignment=assignment, consensus_over=consensus_over)
    streams, indices = Streams(0), np.arange(0, 200, 2)
    state = method.start(problem, N, streams.initial())
    before = {name: x.astype(np.float64) for name, x in state["particles"].items()}
    batch, clock, noise = problem.batch(indices), Clock(0, 0), streams.noise(0)
    task_of = [n * tasks // N if assignment == "blocks" else n % tasks for n in range(N)]

    risks = broadcast_risks(state["particles"], problem.x[indices], problem.y[:, indices], problem.scale)
    expected = {}
    for layer, (name, theta) in enumerate(before.items()):
        xi = np.concatenate([block.copy() for _, block in noise.blocks(state["particles"][name], layer)])
        expected[name] = theta.copy()
        for n in range(N):
            p = task_of[n]
            who = [m for m in range(N) if consensus_over == "all" or task_of[m] == p]
            weight = np.exp(-method.alpha * risks[who, p])
            V = np.tensordot(weight / weight.sum(), theta[who], 1)
            away = theta[n] - V
            expected[name][n] += -method.dt * away + np.sqrt(1.8 * method.dt) * away * xi[n]

    view = method.look(state, problem, batch, clock)
    after = method.move(state, view, clock, noise)["particles"]
    for name in before:
        np.testing.assert_allclose(after[name], expected[name], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("assignment", ["blocks", "cyclic"])
@pytest.mark.parametrize("consensus_over", ["all", "assigned"])
@pytest.mark.parametrize("method", ["multi_task_cbo", "separate_cbo"])
@pytest.mark.parametrize("problem", ["sine", "multi_task"])
def test_one_task_is_cbo_to_the_bit(problem, method, assignment, consensus_over):
    base = run_of("cbo", "sine", N=9)
    keys = {k: v for k, v in base.settings.items() if k not in ("assignment", "consensus_over")}
    if problem == "multi_task":
        keys |= {"tasks": 1, "shift_low": 0.5, "shift_high": 0.5}
    single = replace(base, problem=problem, settings=keys)
    extra = {"assignment": assignment, "consensus_over": consensus_over} if method == "multi_task_cbo" else {}
    several = replace(single, method=method, settings={**keys, **extra})
    expected, found = train(single), train(several)
    assert sorted(expected.records) == sorted(found.records)
    for name in expected.records:
        np.testing.assert_array_equal(found.records[name], expected.records[name], err_msg=name)
    for name in expected.snapshots:
        np.testing.assert_array_equal(found.snapshots[name], expected.snapshots[name], err_msg=name)


def test_separate_ensembles_are_independent_runs_of_cbo():
    """Ensemble p of separate_cbo is CBO on task p alone: same start, same noise, same batches."""
    tasks, N = 3, 6
    problem, streams = problem_of(tasks), Streams(0)
    together, alone = SeparateCBO(**COMMON), CBO(**COMMON)
    state = together.start(problem, N, streams.initial())
    states = [
        {"particles": {k: x.copy() for k, x in select(state["particles"], slice(p * N, p * N + N)).items()}}
        for p in range(tasks)
    ]
    for k in range(5):
        clock, batch = Clock(0, k), problem.batch(np.arange(k, 200, 5))
        view = together.look(state, problem, batch, clock)
        assert view.risks.shape == (N, tasks)
        assert len(view.consensus["w"]) == tasks
        state = together.move(state, view, clock, streams.noise(k))
        for p in range(tasks):
            risks = problem.risks(states[p]["particles"], batch)[:, p]
            own = alone.consensus(states[p]["particles"], risks, clock)
            _move_alone(alone, states[p], own, streams.noise(k), p * N, tasks * N)
            for name, x in states[p]["particles"].items():
                np.testing.assert_allclose(state["particles"][name][p * N : p * N + N], x, rtol=1e-4, atol=1e-5)


def _move_alone(method, state, view, noise, first: int, total: int) -> None:
    """Eq. (cbo:sde) with the noise that these rows of a larger ensemble get."""
    for layer, (name, theta) in enumerate(state["particles"].items()):
        whole = np.empty((total, *theta.shape[1:]), theta.dtype)
        xi = np.concatenate([block.copy() for _, block in noise.blocks(whole, layer)])[first : first + len(theta)]
        away = theta - view.consensus[name]
        theta += -method.lambda_ * method.dt * away + (method.sigma_squared * method.dt) ** 0.5 * away * xi


def test_separate_ensembles_are_multi_task_cbo_without_sharing():
    """With P * N particles that each weigh only in their own task, Multi-Task CBO is P separate ensembles."""
    separate = train(run_of("separate_5", "multi_task_memory", N=6, tasks=3))
    shared = train(run_of("shared_5", "multi_task_memory", N=18, tasks=3, consensus_over="assigned"))
    np.testing.assert_allclose(separate.records["risk"], shared.records["risk"], rtol=1e-3)
    np.testing.assert_allclose(separate.records["variance"], shared.records["variance"], rtol=1e-3)


def test_the_variance_is_about_each_particles_own_consensus():
    problem, method = problem_of(3), MultiTaskCBO(**COMMON)
    state = method.start(problem, 7, np.random.default_rng(0))
    view = method.look(state, problem, problem.everything(), Clock(0, 0))
    total = 0.0
    for n in range(7):
        for name, x in state["particles"].items():
            total += np.sum((x[n].astype(float) - view.consensus[name][n * 3 // 7]) ** 2)
    assert method.variance(state, view) == pytest.approx(total / 2 / 7, rel=1e-5)


def test_the_best_particle_can_be_reported_for_every_task():
    problem, method = problem_of(3), MultiTaskCBO(**COMMON, reported="best_particle")
    state = method.start(problem, 7, np.random.default_rng(0))
    view = method.look(state, problem, problem.everything(), Clock(0, 0))
    found = np.diagonal(problem.risks(view.reported, problem.everything()))
    np.testing.assert_array_equal(found, view.risks.min(axis=0))


def test_particles_far_away_do_no_harm(tmp_path):
    """Single particles at 1e4 and beyond, even at infinity, are part of the method."""
    training = Training.start(run_of(N=12, tasks=4))
    theta = training.state["particles"]["w"]
    theta[0], theta[5] = 1e4, 1e30
    training.state["particles"]["c"][5] = 1e30
    history = training.finish()
    assert history.diverged == -1
    for name in ("risk", "risk_min", "risk_median"):
        assert np.isfinite(history.records[name]).all()
    netcdf.write(runs.dataset(training.run, history), tmp_path / "run.nc")
    data = summarise.summarise_curve([tmp_path / "run.nc"])
    assert np.isfinite(data["risk_over_seeds"]).all()


# --- settings, records, files ------------------------------------------------------------------------------------


def test_fewer_particles_than_tasks_are_refused_by_name():
    with pytest.raises(ConfigError, match=r"methods\.multi_task_cbo\.N: 50 particles for 100 tasks"):
        run_of(N=50, tasks=100)


def test_a_method_for_one_task_is_refused_several():
    config = load_config()
    config["experiments"]["multi_task"]["methods"]["cbo"] = {
        k: v
        for k, v in config["experiments"]["multi_task"]["methods"]["multi_task_cbo"].items()
        if k not in ("assignment", "consensus_over")
    }
    with pytest.raises(ConfigError, match=r"methods\.cbo\.tasks: cbo solves one task, not 100"):
        resolve(config, RunName("multi_task", "cbo", 7, 200, 0))


def test_the_file_of_a_run_holds_every_task(tmp_path):
    run = run_of(N=8, tasks=4, snapshots=[0, 2])
    history = train(run)
    netcdf.write(runs.dataset(run, history), tmp_path / "run.nc")
    data = runs.read(tmp_path / "run.nc")
    assert data["risk"].dims == ("epoch", "task")
    assert data["risk"].shape == (5, 4)
    assert data["w"].dims == ("snapshot", "task", "neuron", "feature")
    assert list(data["snapshot"].values) == [0, 2, 4]
    assert list(data["task"].values) == [1, 2, 3, 4]
    problem = Training.with_data(run).problem
    for snapshot in range(3):
        networks = {name: data[name].isel(snapshot=snapshot).values for name in "wbc"}
        epoch = int(data["snapshot"][snapshot])
        expected = np.diagonal(broadcast_risks(networks, problem.x, problem.y, problem.scale))
        np.testing.assert_allclose(data["risk"].sel(epoch=epoch), expected, rtol=1e-9)


@pytest.mark.parametrize("method", ["shared_5", "separate_5"])
def test_an_interrupted_run_goes_on_to_the_same_numbers(tmp_path, method):
    run = run_of(method, "multi_task_memory", N=6, tasks=5, snapshots=[1])
    expected, training = train(run), Training.start(run)
    checkpoint.save(training.advance(7), tmp_path / "kept.npz", "code")
    resumed, remark = checkpoint.resume_or_start(run, tmp_path / "kept.npz", "code")
    assert "continuing from" in remark
    found = resumed.finish()
    for kind in ("records", "snapshots"):
        for name, values in getattr(expected, kind).items():
            np.testing.assert_array_equal(getattr(found, kind)[name], values, err_msg=name)


def test_the_file_of_a_run_at_paper_size_stays_small(tmp_path):
    """Random parameters and risks, the worst for compression, at the size of the paper: below 10 MB."""
    name = RunName("multi_task", "multi_task_cbo", 100, 200, 0)
    run = resolve(CONFIG, name)
    P, rng = run.settings["tasks"], np.random.default_rng(0)
    training = Training.with_data(run)
    for epoch in range(run.settings["epochs"] + 1):
        training.history.record(epoch, risk=rng.random(P), risk_min=rng.random(), variance=rng.random())
        if epoch in (*run.settings["snapshots"], run.settings["epochs"]):
            training.history.keep(epoch, training.problem.initial("uniform", 1.0, P, rng))
    netcdf.write(runs.dataset(run, training.history), tmp_path / "run.nc")
    assert (tmp_path / "run.nc").stat().st_size < 10e6


def test_a_summary_has_statistics_over_tasks_and_the_example_of_every_task(tmp_path):
    paths, medians = [], []
    for seed in (0, 1, 2):
        run = run_of(N=8, tasks=4)
        run = replace(run, name=replace(run.name, seed=seed))
        history = train(run)
        medians.append(np.median(history.records["risk"], axis=1))
        paths.append(tmp_path / f"{seed}.nc")
        netcdf.write(runs.dataset(run, history), paths[-1])
    data = summarise.summarise_curve(paths).isel(curve=0)
    np.testing.assert_allclose(data["risk_over_seeds"].sel(statistic="mean"), np.mean(medians, axis=0))
    assert (data["risk_task_min"] <= data["risk"]).all()
    assert (data["risk"] <= data["risk_task_max"]).all()
    assert data["prediction"].dims == data["target"].dims == ("task", "x")
    np.testing.assert_allclose(data["target"].isel(task=0), np.sin(2 * np.pi * data["x"]) - 1, atol=1e-12)
    last = np.mean((data["prediction"] - data["target"]) ** 2, axis=1)
    order = np.argsort([m[-1] for m in medians], kind="stable")
    assert int(data["example_seed"]) == order[1]
    typical = runs.read(paths[int(order[1])])["risk"].isel(epoch=-1)
    np.testing.assert_allclose(last, typical, rtol=0.5)  # the same risks, on a grid instead of the data


def test_the_examples_are_the_papers():
    assert shown_tasks(100) == [1, 25, 50, 75, 100]
    for P in range(1, 30):
        shown = shown_tasks(P)
        assert shown[0] == 1
        assert shown[-1] == P
        assert len(shown) == min(P, 5)
