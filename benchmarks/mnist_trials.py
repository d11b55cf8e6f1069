"""MNIST under other readings, for some epochs each, as a Markdown table.

    python benchmarks/mnist_trials.py        (one seed; about a quarter of an hour; CBO_DATA_DIR names the data)

The base was chosen before the long runs, and this is what there was to choose from.
"""

import json
import sys
import tempfile
from pathlib import Path

# Method, how it is called, and the epochs whose risk is told; the last of them ends the run.
RUNS = (
    ("cbo", "CBO", (5, 20)),
    ("hybrid", "hybrid", (5, 20)),
    ("adam", "Adam 1e-3", (20, 100)),
    ("adam_lr2", "Adam 1e-2", (20, 100)),
)


def readings() -> dict[str, dict]:
    """The base and the readings of workflow/readings.yaml that change runs on MNIST: keys laid over the config."""
    from cbo_pipeline.claims.readings import load

    found = {reading.value: reading.config for reading in load().entries.values()}
    return {"as in config.yaml": {}} | {
        value: {"experiments": {"mnist": config["experiments"]["mnist"]}}
        for value, config in found.items()
        if "mnist" in config.get("experiments", {})
    }


def row(name: str, overlay: Path) -> str:
    """The risks on all training images under one reading."""
    import cbo_pipeline as cbo

    cells = [name]
    for method, _, epochs in RUNS:
        run = cbo.train("mnist", method, epochs=epochs[-1], snapshots=[], progress=False, config=overlay)
        cells += [f"{float(run['risk'].sel(epoch=epoch)):.3g}" for epoch in epochs]
    print(*cells, sep=", ", file=sys.stderr, flush=True)
    return f"| {' | '.join(cells)} |"


def main() -> None:
    names = [f"{called}, epoch {epoch}" for _, called, epochs in RUNS for epoch in epochs]
    lines = [f"| reading | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    with tempfile.TemporaryDirectory() as folder:
        overlay = Path(folder, "reading.yaml")
        for name, content in readings().items():
            overlay.write_text(json.dumps(content), encoding="utf-8")
            lines.append(row(name, overlay))
    print("\n".join(lines))


if __name__ == "__main__":
    from timing import have_mnist

    have_mnist()
    main()
