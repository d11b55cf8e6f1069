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


def readings() -> list[tuple[str, dict, str]]:
    """The base and the readings that change runs on MNIST: name, keys laid over the config, variant of the hybrid."""
    from cbo_pipeline.claims.readings import load

    declared = load()
    found = [("as in config.yaml", {}, "hybrid")]
    for reading in declared.entries.values():
        own = reading.config.get("experiments", {}).get("mnist")
        if own:
            name = f"{declared.choices[reading.choice].what}: {reading.value}"
            found.append((name, {"experiments": {"mnist": own}}, reading.judge.get("hybrid", "hybrid")))
    return found


def row(name: str, overlay: Path, hybrid: str) -> str:
    """The risks on all training images under one reading."""
    import cbo_pipeline as cbo

    cells = [name]
    for method, _, epochs in RUNS:
        variant = hybrid if method == "hybrid" else method
        run = cbo.train("mnist", variant, epochs=epochs[-1], snapshots=[], progress=False, config=overlay)
        cells += [f"{float(run['risk'].sel(epoch=epoch)):.3g}" for epoch in epochs]
    print(*cells, sep=", ", file=sys.stderr, flush=True)
    return f"| {' | '.join(cells)} |"


def main() -> None:
    names = [f"{called}, epoch {epoch}" for _, called, epochs in RUNS for epoch in epochs]
    lines = [f"| reading | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    with tempfile.TemporaryDirectory() as folder:
        overlay = Path(folder, "reading.yaml")
        for name, content, hybrid in readings():
            overlay.write_text(json.dumps(content), encoding="utf-8")
            lines.append(row(name, overlay, hybrid))
    print("\n".join(lines))


if __name__ == "__main__":
    from timing import have_mnist

    have_mnist()
    main()
