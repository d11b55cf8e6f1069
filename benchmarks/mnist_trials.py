"""MNIST under other readings, for some epochs each, as a Markdown table.

    python benchmarks/mnist_trials.py        (one seed; about a quarter of an hour; CBO_DATA_DIR names the data)

The base was chosen before the long runs, and this is what there was to choose from.
"""

import sys

READINGS = {
    "as in config.yaml": {},
    "with an outer bias": {"outer_bias": True},
    "a plain PyTorch network": {"outer_bias": True, "scaling": "plain"},
    "standardised pixels": {"pixels": "standardised"},
    "a random subset": {"subset": "random"},
    "minibatches drawn anew": {"batches": "resample"},
    "float64": {"precision": "float64"},
}
# Method, how it is called, and the epochs whose risk is told; the last of them ends the run.
RUNS = (
    ("cbo", "CBO", (5, 20)),
    ("hybrid", "hybrid", (5, 20)),
    ("adam", "Adam 1e-3", (20, 100)),
    ("adam_lr2", "Adam 1e-2", (20, 100)),
)


def row(name: str, changes: dict) -> str:
    """The risks on all training images under one reading."""
    import cbo_pipeline as cbo

    cells = [name]
    for method, _, epochs in RUNS:
        run = cbo.train("mnist", method, epochs=epochs[-1], snapshots=[], progress=False, **changes)
        cells += [f"{float(run['risk'].sel(epoch=epoch)):.3g}" for epoch in epochs]
    print(*cells, sep=", ", file=sys.stderr, flush=True)
    return f"| {' | '.join(cells)} |"


def main() -> None:
    names = [f"{called}, epoch {epoch}" for _, called, epochs in RUNS for epoch in epochs]
    lines = [f"| reading | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    lines += [row(name, changes) for name, changes in READINGS.items()]
    print("\n".join(lines))


if __name__ == "__main__":
    from timing import have_mnist

    have_mnist()
    main()
