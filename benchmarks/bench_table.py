"""A CBO iteration on a table, against CBXpy 1.0.4 with the best evaluation that a user could write by hand.

    python benchmarks/bench_table.py        (needs cbx==1.0.4 beside the package)

A thousand particles of 50 neurons on 20 inputs and one target that is a number, batches of 1000 rows. CBXpy is used
as in ``bench_mnist``: one product for the inner layers of all particles, in memory that is kept, and one batched
product for the outer ones. Ours is measured at the start of a run and after a hundred iterations: particles whose
weight is certainly zero are dropped. Both take turns in one process with one thread; the best time counts.
"""

from timing import Row, iterations, report, take_turns  # first: it sets one thread

# isort: split
import itertools

N, M, BATCH, INPUTS, ROWS = 1000, 50, 1000, 20, 10_000
BY_HAND = "CBXpy, best by hand"


def table() -> dict:
    """Inputs that are normal, a target with a kink in each of them."""
    import numpy as np

    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, INPUTS))
    columns = {f"x{k}": x[:, k] for k in range(INPUTS)}
    return {**columns, "y": np.abs(x).sum(axis=1) + 0.1 * rng.normal(size=ROWS)}


def ours(done: int = 0):
    """A run on the table, after so many iterations."""
    from cbo_pipeline.config import table_runs
    from cbo_pipeline.training.loop import Training

    name = table_runs.remember(table())
    settings = {"batch_size": BATCH, "test_share": 0.0, "epochs": 10**5}
    training = Training.with_data(table_runs.chosen_run(name, ["y"], None, "cbo", 0, M, N, settings))
    training.draw_ensemble()
    for _ in itertools.islice(training.steps(records=False), done):
        pass
    return iterations(training)


def cbx_by_hand():
    import numpy as np
    import torch
    from cbx.dynamics import CBO
    from cbx.utils.torch_utils import to_torch_dynamic

    columns = table()
    x = torch.from_numpy(np.stack([columns[f"x{k}"] for k in range(INPUTS)], axis=1)).float()
    y = torch.from_numpy(columns["y"]).float()
    y = (y - y.mean()) / y.std()
    order = torch.randperm(ROWS).reshape(-1, BATCH)
    sizes, kept = [INPUTS * M, M, M], torch.empty(N * M, BATCH)
    count = itertools.count()

    def objective(theta):
        rows = order[next(count) % len(order)]
        w, b, c = theta[0].split(sizes, dim=1)
        hidden = torch.mm(w.reshape(N * M, INPUTS), x[rows].T, out=kept).reshape(N, M, BATCH)
        hidden.add_(b[:, :, None]).relu_()
        values = torch.bmm(c[:, None, :], hidden)[:, 0].div_(M)
        return values.sub_(y[rows]).square_().mean(1)[None]

    start = torch.empty(1, N, sum(sizes)).uniform_(-1, 1)
    return to_torch_dynamic(CBO)(
        objective, f_dim="3D", x=start, alpha=1e5, dt=0.1, lamda=1.0, sigma=1.6**0.5, noise="anisotropic",
        max_it=10**9, verbosity=0, track_args={"names": []},
    ).step  # fmt: skip


FORMS = {"cbo": ours, "cbo, trained": lambda: ours(100), BY_HAND: cbx_by_hand}


def main() -> None:
    import torch

    torch.set_num_threads(1)
    times = take_turns({name: make() for name, make in FORMS.items()}, rounds=7, seconds=0.0)
    size = f"(N {N}, M {M}, {INPUTS} inputs, batch {BATCH})"
    words = {"cbo": "a table, one CBO iteration", "cbo, trained": "a table, one CBO iteration after 100"}
    report([Row(f"{what} {size}", BY_HAND, times[name], times[BY_HAND], "s", 3.0) for name, what in words.items()])


if __name__ == "__main__":
    main()
