"""All benchmarks, one after another: ``make bench``; or some again: ``make bench ONLY="bench_ot paper"``.

Writes results.json, results.md, results.png and growth.png here, and the tables of docs/performance.md and
docs/cluster.md.
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
PAGES = [HERE.parent / "docs" / name for name in ("performance.md", "cluster.md")]
SCRIPTS = (
    "bench_sine", "bench_multi_task", "bench_ot", "bench_mnist", "bench_table", "bench_startup", "limits", "growth",
    "paper", "bench_driver",
)  # fmt: skip


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
    """How many times faster than peers, as bars."""
    from cbo_pipeline.figures import style

    with style.applied():
        from matplotlib import pyplot as plt
        from matplotlib.ticker import ScalarFormatter

        shown = [row for row in rows if row["kind"] == "comparison" and row["sense"] == "at least"]
        colours = {"CBXpy": style.BLUE, "torch": style.RED, "PyTorch": style.RED}
        figure, axes = plt.subplots(figsize=(2 * style.COLUMN, 0.26 * len(shown) + 0.6))
        for place, row in enumerate(shown):
            colour = next((colour for name, colour in colours.items() if name in row["against"]), style.GREEN)
            axes.barh(place, row["ratio"] - 1, left=1, color=colour, height=0.65)
            beside = (max(row["ratio"], 1), place)
            axes.annotate(f"{row['ratio']:.3g}", beside, (3, 0), textcoords="offset points", va="center", fontsize=6)
        labels = [f"{r['what']}: {r['against']}" for r in shown]
        axes.set_yticks(range(len(shown)), labels, fontsize=6)
        axes.set_xscale("log")
        axes.set_xlim(left=min(1.0, *(row["ratio"] for row in shown)), right=2 * max(row["ratio"] for row in shown))
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.invert_yaxis()
        axes.grid(False, axis="y")
        axes.set_axisbelow(True)
        axes.set_xlabel("times faster than ...")
        style.save(figure, [path])


def publish(found: dict) -> None:
    """Everything that is made of the results."""
    import growth

    rows = found["rows"]
    (HERE / "results.md").write_text(tables.page(found), encoding="utf-8")
    for page in PAGES:
        page.write_text(tables.filled(page.read_text(encoding="utf-8"), found), encoding="utf-8")
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
