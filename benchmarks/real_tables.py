"""What each method reaches on the tables that ship with scikit-learn: the table of docs/own_research.md.

python benchmarks/real_tables.py            (all defaults, three seeds; some minutes)
python benchmarks/real_tables.py hybrid     (one row again)
"""

import sys
import time
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[1] / "docs" / "own_research.md"
BEGIN, END = "<!-- real_tables: begin -->\n", "<!-- real_tables: end -->"
HEAD = ("| | diabetes, risk | breast cancer, accuracy | digits, accuracy |", "|---|---|---|---|")
SETS, METHODS, SEEDS = ("diabetes", "breast_cancer", "digits"), ("adam", "cbo", "hybrid", "ot_cbo"), 3


def table_of(name: str) -> dict[str, np.ndarray]:
    """A data set as columns, without those that are constant; classes by their names."""
    from sklearn import datasets

    data = getattr(datasets, f"load_{name}")()
    columns = {str(label): data.data[:, k] for k, label in enumerate(data.feature_names) if np.ptp(data.data[:, k])}
    named = [str(data.target_names[t]) for t in data.target] if hasattr(data, "target_names") else data.target
    return {**columns, "target": np.array(named)}


def reached(name: str, method: str) -> str:
    """The median over the seeds on the test part, and processor time of a run, as a cell of the table."""
    import cbo_pipeline as cbo

    found, seconds = [], []
    for seed in range(SEEDS):
        begin = time.process_time()
        run = cbo.train(data=table_of(name), target="target", method=method, seed=seed, progress=False)
        seconds.append(time.process_time() - begin)
        found.append(float(run["accuracy" if "accuracy" in run else "risk_test"][-1]))
    print(name, method, found, f"{min(seconds):.1f} s", file=sys.stderr, flush=True)
    return cell(found, seconds)


def cell(found: list[float], seconds: list[float]) -> str:
    """The first run of a process may compile, so the shortest time counts."""
    return f"{np.median(found):.3f} ({max(1, round(min(seconds)))} s)"


def with_row(text: str, method: str, cells: list[str]) -> str:
    """The page with one row of its table made anew; the others stay."""
    before, rest = text.split(BEGIN)
    table, after = rest.split(END)
    rows = {line.split("`")[1]: line for line in table.splitlines() if "`" in line}
    rows[method] = f"| `{method}` | {' | '.join(cells)} |"
    lines = [*HEAD, *(rows[name] for name in METHODS if name in rows)]
    return before + BEGIN + "\n".join(lines) + "\n" + END + after


def main() -> None:
    for method in sys.argv[1:] or METHODS:
        cells = [reached(name, method) for name in SETS]
        PAGE.write_text(with_row(PAGE.read_text(encoding="utf-8"), method, cells), encoding="utf-8")


if __name__ == "__main__":
    main()
