"""One CBO iteration on the sine at the paper's size, against CBXpy 1.0.4 and against plain torch.

    python benchmarks/bench_sine.py        (needs cbx==1.0.4 beside the package)

All forms do the same iteration: risks of N = 200 networks of M = 100 neurons on a minibatch of 800 points,
weights, consensus point, noise, step. They take turns in one process with one thread; the best time counts.

- CBXpy as documented: ``eval_losses``, which maps ``functional_call`` over the particles with ``vmap``.
- CBXpy, best by hand: the same dynamic with the best dense evaluation that a user could write, one batched
  product of all particles for each layer, in memory that is kept from call to call.
- plain torch: the dense evaluation with a bare update, without cbx.
"""

from timing import Row, iterations, report, take_turns  # first: it sets one thread

# isort: split
import numpy as np
import torch

from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.training.loop import Training

N, M, BATCH = 200, 100, 800


class Net(torch.nn.Module):
    """Eq. (intro:disc_nn) as a torch module."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(1, M)
        self.outer = torch.nn.Linear(M, 1, bias=False)

    def forward(self, x):
        return self.outer(torch.relu(self.inner(x))) / M


def ours():
    """One iteration as the training loop does it, new minibatch included."""
    return iterations(Training.start(resolve(load_config(), RunName("sine", "cbo", M, N, 0))))


def minibatches():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(10, BATCH, 1)).astype(np.float32)
    y = np.sin(2 * np.pi * x) + 0.01 * rng.standard_normal(x.shape).astype(np.float32)
    return torch.tensor(x), torch.tensor(y, dtype=torch.float32)


def cbx_dynamic(objective):
    from cbx.dynamics import CBO
    from cbx.utils.torch_utils import to_torch_dynamic

    x = torch.empty(1, N, 3 * M).uniform_(-1, 1)
    return to_torch_dynamic(CBO)(
        objective, f_dim="3D", x=x, alpha=1e5, dt=0.1, lamda=1.0, sigma=1.6**0.5,
        noise="anisotropic", max_it=10**9, verbosity=0, track_args={"names": []},
    ).step  # fmt: skip


def cbx_documented():
    from cbx.utils.torch_utils import eval_losses, flatten_parameters, get_param_properties

    models = [Net() for _ in range(N)]
    names = [name for name, _ in models[0].named_parameters()]
    properties = get_param_properties(models, pnames=names)
    assert flatten_parameters(models, names).shape == (N, 3 * M)
    x, y = minibatches()
    count = iter(range(10**9))

    def objective(w):
        k = next(count) % len(x)
        return eval_losses(x[k], y[k], torch.nn.functional.mse_loss, models[0], w[0], properties)[None]

    return cbx_dynamic(objective)


def dense_risks():
    """The risks of all particles at once: one batched product for each layer, in memory that is kept."""
    hidden = torch.empty(N, M, BATCH)

    def risks(w, x, y):
        inner, bias, outer = w.split(M, dim=1)
        torch.baddbmm(bias[:, :, None], inner[:, :, None], x[:, 0].expand(N, 1, BATCH), out=hidden).relu_()
        values = torch.bmm(outer[:, None, :], hidden)[:, 0] / M
        return ((values - y[:, 0]) ** 2).mean(1)

    return risks


def cbx_by_hand():
    x, y = minibatches()
    risks = dense_risks()
    count = iter(range(10**9))

    def objective(w):
        k = next(count) % len(x)
        return risks(w[0], x[k], y[k])[None]

    return cbx_dynamic(objective)


def torch_by_hand():
    x, y = minibatches()
    w, risks = torch.empty(N, 3 * M).uniform_(-1, 1), dense_risks()
    count = iter(range(10**9))

    def iterate():
        k = next(count) % len(x)
        V = torch.softmax(-1e5 * risks(w, x[k], y[k]), 0) @ w
        away = w - V
        w.add_(away * ((1.6 * 0.1) ** 0.5 * torch.randn_like(w) - 0.1))

    return iterate


def adam():
    """One Adam step on a new minibatch, as the training loop does it, with epochs enough for a fast machine."""
    training = Training.start(resolve(load_config(), RunName("sine", "adam", M, 1, 0), {"epochs": 100_000}))
    return iterations(training)


def plain_adam():
    """The same by torch.nn, autograd and torch.optim, as anybody writes it."""
    net = Net()
    optimiser = torch.optim.Adam(net.parameters(), lr=0.1)
    x, y = minibatches()
    count = iter(range(10**9))

    def iterate():
        k = next(count) % len(x)
        loss = torch.nn.functional.mse_loss(net(x[k]), y[k])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    return iterate


def main() -> None:
    torch.set_num_threads(1)
    times = take_turns(
        {
            "ours": ours(),
            "CBXpy as documented": cbx_documented(),
            "CBXpy, best by hand": cbx_by_hand(),
            "plain torch": torch_by_hand(),
            "our adam": adam(),
            "torch.optim": plain_adam(),
        }
    )
    what = "sine, one CBO iteration (N 200, M 100, batch 800)"
    rows = [Row(what, "CBXpy as documented", times["ours"], times["CBXpy as documented"], "s", 150.0)]
    rows += [Row(what, name, times["ours"], times[name], "s") for name in ("CBXpy, best by hand", "plain torch")]
    rows.append(Row("sine, one Adam step", "torch.nn and torch.optim", times["our adam"], times["torch.optim"], "s"))
    report(rows)


if __name__ == "__main__":
    main()
