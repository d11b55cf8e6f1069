"""All benchmarks, one after another: ``make bench``; or some again: ``make bench ONLY="bench_ot paper"``.

Writes results.json, results.md, results.png and growth.png here, and the tables of docs/performance.md.
"""

import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import tables
from cbo_pipeline.pages.provenance import processor
from timing import line

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "performance.md"
SCRIPTS = ("bench_sine", "bench_multi_task", "bench_ot", "bench_mnist", "bench_startup", "limits", "growth", "paper")


def measured(script: str, *options: str) -> list[dict]:
    """The rows of one script, which runs in a process of its own."""
    print(f"{script} ...", flush=True)
    command = [sys.executable, str(HERE / f"{script}.py"), "--json", *options]
    done = subprocess.run(command, cwd=HERE, check=True, stdout=subprocess.PIPE, text=True)
    rows = [{"script": script, **json.loads(text)} for text in done.stdout.splitlines() if text.startswith("{")]
    for row in rows:
        print("  " + (line(row) if row["kind"] == "comparison" else json.dumps(row)), flush=True)
    return rows


def measured_again(scripts: Sequence[str], rows: list[dict]) -> list[dict]:
    """The rows, those of these scripts measured anew. Estimates for larger papers take the exponents of growth."""
    with tempfile.TemporaryDirectory() as folder:
        for script in sorted(scripts, key=SCRIPTS.index):
            exponents = {row["series"]: row["exponent"] for row in rows if row["kind"] == "growth"}
            file = Path(folder) / "exponents.json"
            file.write_text(json.dumps(exponents))
            new = measured(script, *(["--exponents", str(file)] if script == "paper" else []))
            rows = [row for row in rows if row["script"] != script] + new
    return sorted(rows, key=lambda row: SCRIPTS.index(row["script"]))


def plot(rows: list[dict], path: Path) -> None:
    """Ratios with a goal, as bars against the goal."""
    from cbo_pipeline.figures import style

    with style.applied():
        from matplotlib import pyplot as plt

        shown = [row for row in rows if row["kind"] == "comparison" and row["goal"] is not None]
        figure, axes = plt.subplots(figsize=(2 * style.COLUMN, 0.35 * len(shown) + 0.8))
        # Always "further right is better": how many times better than the goal.
        gains = [r["ratio"] / r["goal"] if r["sense"] == "at least" else r["goal"] / r["ratio"] for r in shown]
        axes.barh(range(len(shown)), gains, color=[style.BLUE if g >= 1 else style.RED for g in gains])
        axes.axvline(1.0, color=style.BLACK, linewidth=0.8)
        for place, (row, gain) in enumerate(zip(shown, gains, strict=True)):
            text = f"{row['ratio']:.3g} ({row['sense']} {row['goal']:g})"
            axes.annotate(text, (max(gain, 1.0), place), (3, 0), textcoords="offset points", va="center", fontsize=6)
        labels = [f"{r['what']}\nagainst {r['against']}" for r in shown]
        axes.set_yticks(range(len(shown)), labels, fontsize=6)
        axes.margins(x=0.25)
        axes.invert_yaxis()
        axes.grid(False, axis="y")
        axes.set_axisbelow(True)
        axes.set_xlabel("times better than the goal (line: the goal)")
        style.save(figure, [path])


def publish(found: dict) -> None:
    """Everything that is made of the results."""
    import growth

    rows = found["rows"]
    (HERE / "results.md").write_text(tables.page(found), encoding="utf-8")
    PAGE.write_text(tables.filled(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
    plot(rows, HERE / "results.png")
    growth.plot(rows, HERE / "growth.png")


def main() -> None:
    """Measure and publish, all scripts or those named; with ``--publish``, publish what results.json holds."""
    file, names = HERE / "results.json", sys.argv[1:]
    unknown = set(names) - {*SCRIPTS, "--publish"}
    if unknown:
        sys.exit(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(SCRIPTS)}")
    if "--publish" not in names:
        before = json.loads(file.read_text(encoding="utf-8"))["rows"] if names else []
        rows = measured_again(names or SCRIPTS, before)
        found = {"machine": f"{processor()}, Python {platform.python_version()}", "rows": rows}
        file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    found = json.loads(file.read_text(encoding="utf-8"))
    publish(found)
    print(f"\n{tables.page(found)}")


if __name__ == "__main__":
    main()
