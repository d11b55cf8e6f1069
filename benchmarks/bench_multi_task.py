"""One iteration of Multi-Task CBO at the paper's scale against the plain broadcast form in PyTorch.

    python benchmarks/bench_multi_task.py

The plain form: a dense forward pass of all particles, N x M x S', all differences to all targets, N x P x S',
weights by softmax, and a step. It is timed as it stands, to which the goal is held, and with its two large arrays
kept from call to call, the best that one could make of it: what new memory costs differs much between machines. All
forms do the same work on the same batch; that they agree is checked before they are timed.
"""

from timing import Row, report, take_turns  # first: it sets one thread

# isort: split
import numpy as np
import torch

from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.methods.base import Clock
from cbo_pipeline.training.loop import Training

N, M = 200, 100


def ours(training: Training, indices: np.ndarray):
    """One iteration as the training loop does it, the preparation of the batch included."""
    method, clock = training.method, Clock(0, training.iteration)
    view = method.look(training.state, training.problem, training.problem.batch(indices), clock)
    training.state = method.move(training.state, view, clock, training.streams.noise(training.iteration))
    training.iteration += 1
    return view


def plain(theta, x, y, task, alpha: float, dt: float, diffusion: float, kept=(None, None)):
    """The same iteration, broadcast: theta is (w, b, c), each (N, M); x is (S',), y is (P, S')."""
    w, b, c = theta
    hidden = torch.baddbmm(b[:, :, None], w[:, :, None], x.expand(len(w), 1, -1), out=kept[0]).relu_()
    values = torch.bmm(c[:, None, :], hidden)[:, 0] / c.shape[1]
    risks = torch.sub(values[:, None, :], y[None, :, :], out=kept[1]).square_().mean(2)
    weights = torch.softmax(-alpha * risks, dim=0)
    flat = torch.cat(theta, dim=1)
    V = weights.T @ flat
    away = flat - V[task]
    moved = flat - dt * away + (diffusion * dt) ** 0.5 * away * torch.randn_like(flat)
    return risks, V, moved


def main() -> None:
    torch.set_num_threads(1)
    run = resolve(load_config(), RunName("multi_task", "multi_task_cbo", M, N, seed=0))
    training = Training.start(run)
    problem, method, P = training.problem, training.method, training.problem.tasks
    indices = np.sort(np.random.default_rng(0).permutation(problem.points)[: run.settings["batch_size"]])
    theta = [torch.from_numpy(training.state["particles"][k].reshape(N, M).copy()) for k in "wbc"]
    x = torch.from_numpy(problem.x[indices].astype(np.float32))
    y = torch.from_numpy(problem.y[:, indices].astype(np.float32))
    task = torch.from_numpy(method.assigned(N, P))
    arguments = (theta, x, y, task, method.alpha, method.dt, method.sigma_squared)

    risks, V, _ = plain(*arguments)
    view = ours(training, indices)
    np.testing.assert_allclose(risks.numpy(), view.risks, rtol=1e-4)
    flat = np.concatenate([view.consensus[k].reshape(P, M) for k in "wbc"], axis=1)
    np.testing.assert_allclose(V.numpy(), flat, atol=2e-2)  # softmax of float32 risks times 1e4

    kept = torch.empty(N, M, len(x)), torch.empty(N, P, len(x))
    times = take_turns(
        {
            "ours": lambda: ours(training, indices),
            "broadcast": lambda: plain(*arguments),
            "broadcast, memory kept": lambda: plain(*arguments, kept),
        }
    )
    what = f"multi-task, one iteration (N {N}, M {M}, P {P}, batch {len(x)})"
    report(
        [
            Row(what, "the broadcast form", times["ours"], times["broadcast"], "s", 80.0),
            Row(what, "the broadcast form, memory kept", times["ours"], times["broadcast, memory kept"], "s"),
        ]
    )


if __name__ == "__main__":
    main()
