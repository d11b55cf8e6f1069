"""All benchmarks, one after another: ``make bench``. Writes results.json, results.md and results.png here."""

import json
import platform
import subprocess
import sys
from pathlib import Path

from timing import amount, line

HERE = Path(__file__).parent
SCRIPTS = ("bench_sine", "bench_multi_task", "bench_ot", "bench_mnist", "bench_startup")


def processor() -> str:
    """The name of the processor, where the system tells it."""
    info = Path("/proc/cpuinfo")
    names = (
        [s.split(":", 1)[1].strip() for s in info.read_text().splitlines() if s.startswith("model name")]
        if info.exists()
        else []
    )
    return names[0] if names else platform.processor() or platform.machine()


def measured() -> list[dict]:
    """The rows of all scripts; each runs in a process of its own."""
    rows = []
    for script in SCRIPTS:
        print(f"{script} ...", flush=True)
        command = [sys.executable, str(HERE / f"{script}.py"), "--json"]
        done = subprocess.run(command, cwd=HERE, check=True, stdout=subprocess.PIPE, text=True)
        found = [json.loads(text) for text in done.stdout.splitlines() if text.startswith("{")]
        for row in found:
            print("  " + line(row), flush=True)
        rows += found
    return rows


def table(rows: list[dict], machine: str) -> str:
    """The rows as Markdown."""
    head = ["what", "against", "ours", "theirs", "ratio", "to reach", ""]
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    for row in rows:
        goal = "" if row["goal"] is None else f"{row['sense']} {row['goal']:g}"
        verdict = {None: "", True: "reached", False: "**not reached**"}[row["reached"]]
        numbers = [amount(row["ours"], row["unit"]), amount(row["theirs"], row["unit"]), f"{row['ratio']:.3g}"]
        lines.append(" | ".join([row["what"], row["against"], *numbers, goal, verdict]))
    body = "".join(f"| {text} |\n" for text in lines)
    return f"Measured by `make bench` on {machine}, one thread, the best of several turns.\n\n{body}"


def plot(rows: list[dict], path: Path) -> None:
    """Ratios with a goal, as bars against the goal."""
    from cbo_pipeline.figures import style

    with style.applied():
        from matplotlib import pyplot as plt

        shown = [row for row in rows if row["goal"] is not None]
        figure, axes = plt.subplots(figsize=(2 * style.COLUMN, 0.35 * len(shown) + 0.8))
        # Always "further right is better": how many times better than the goal.
        gains = [r["ratio"] / r["goal"] if r["sense"] == "at least" else r["goal"] / r["ratio"] for r in shown]
        axes.barh(range(len(shown)), gains, color=[style.BLUE if g >= 1 else style.RED for g in gains])
        axes.axvline(1.0, color=style.BLACK, linewidth=0.8)
        labels = [f"{r['what']}\nagainst {r['against']}" for r in shown]
        axes.set_yticks(range(len(shown)), labels, fontsize=6)
        axes.invert_yaxis()
        axes.set_xlabel("times better than the goal")
        style.save(figure, [path])


def main() -> None:
    rows = measured()
    machine = f"{processor()}, Python {platform.python_version()}"
    (HERE / "results.json").write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
    (HERE / "results.md").write_text(table(rows, machine))
    plot(rows, HERE / "results.png")
    print(f"\n{table(rows, machine)}")


if __name__ == "__main__":
    main()
