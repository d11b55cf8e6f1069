"""Tables for tests: small ones with known contents, and the real ones that ship with scikit-learn."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cbo_pipeline.config import Run, table_runs


def write_csv(path: Path, columns: dict[str, Sequence]) -> Path:
    """A .csv file of these columns; numbers with all their digits."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(list(values) for values in columns.values()), strict=True))
    return path


def small(rows: int = 60, seed: int = 0) -> dict[str, np.ndarray]:
    """Three inputs of different units, and two targets that depend on them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3)) * [1.0, 10.0, 0.1] + [0.0, 50.0, 3.0]
    y = 100 + 20 * np.abs(x[:, 0]) + x[:, 1]
    return {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": y, "z": 7 - 3 * x[:, 1] ** 2}


def with_classes(rows: int = 60, seed: int = 0) -> dict[str, np.ndarray]:
    """The same inputs, and classes by name and by number."""
    columns = {name: values for name, values in small(rows, seed).items() if name in "abc"}
    a, c = columns["a"], columns["c"] - 3
    return {**columns, "kind": np.where(a + 5 * c > 0, "warm", "cold"), "grade": (a > -0.5).astype(int) + (a > 0.5)}


def of_sklearn(name: str) -> tuple[dict[str, np.ndarray], str]:
    """A data set of scikit-learn as columns, without those that are constant, and the name of its target."""
    from sklearn import datasets

    data = getattr(datasets, f"load_{name}")()
    varying = [k for k in range(data.data.shape[1]) if np.ptp(data.data[:, k]) > 0]
    columns = {str(data.feature_names[k]): data.data[:, k] for k in varying}
    classes = name != "diabetes"
    return {**columns, "target": data.target_names[data.target] if classes else data.target}, "target"


def run_of(data: str | Path, targets="y", method: str = "cbo", inputs=None, seed=0, M=5, N=None, **changes) -> Run:
    """A short run on a table."""
    few = {"epochs": 3, "batch_size": 16, **changes}
    targets = [targets] if isinstance(targets, str) else targets
    N = N or (1 if method == "adam" else 8)
    return table_runs.chosen_run(str(data), targets, inputs, method, seed, M, N, few)
