"""From results to docs/reproduction: figures, verdicts, summaries, what it cost and where it ran. Nothing by hand."""

import csv
import platform
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

from cbo_pipeline import figures, trajectory
from cbo_pipeline.errors import UserError
from cbo_pipeline.files import whole_file


def publish(results: Path, output: Path) -> list[Path]:
    """Fill the folder ``output`` from the folder ``results``; what it held before is replaced."""
    if not (results / "claims.md").is_file():
        raise UserError(f"{results}/claims.md: not there; make everything first (make paper)")
    drawn = [f for f in figures.FIGURES.values() if (results / "figures" / f"{f.label}.png").is_file()]
    if output.exists():
        shutil.rmtree(output)
    (output / "figures").mkdir(parents=True)
    (output / "summary").mkdir()
    for figure in drawn:
        shutil.copy(results / "figures" / f"{figure.label}.png", output / "figures")
    for summary in sorted((results / "summary").glob("*.nc")):
        shutil.copy(summary, output / "summary")
    shutil.copy(results / "claims.md", output)
    shutil.copy(results / "claims.json", output)
    with whole_file(output / "README.md") as partial:
        partial.write_text(_page(results, drawn), encoding="utf-8")
    return sorted(p for p in output.rglob("*") if p.is_file())


def _page(results: Path, drawn: list) -> str:
    parts = [
        "# The reproduction\n",
        "Made by `make publish`; the verdicts are in [claims.md](claims.md).\n",
        _where(),
        _cost(results),
    ]
    for figure in sorted(drawn, key=lambda f: (f.category != "The paper", _number(f.number))):
        parts.append(f"## {figure.number}: {figure.title}\n\n![{figure.label}](figures/{figure.label}.png)\n")
    return "\n".join(parts)


def _number(number: str) -> int:
    return int(number.lstrip("figs"))


def _where() -> str:
    """Machine, versions, commit."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    rows = {"commit": commit or "unknown", "machine": f"{_processor()}, {platform.system()}", **trajectory.versions()}
    return "## Where\n\n| what | which |\n|---|---|\n" + "".join(f"| {k} | {v} |\n" for k, v in rows.items())


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine()
    )


def _cost(results: Path) -> str:
    """Jobs, core hours, the longest run and the largest memory of every method, from Snakemake's benchmark files."""
    table: dict[str, list[dict]] = defaultdict(list)
    for path in sorted((results / "benchmarks").rglob("*.tsv")):
        with path.open(newline="") as file:
            table["/".join(path.relative_to(results / "benchmarks").parts[:2])] += list(
                csv.DictReader(file, delimiter="\t")
            )
    lines = ["| runs of | jobs | core hours | longest (min) | most memory (MB) |", "|---|---|---|---|---|"]
    total = 0.0
    for name, rows in table.items():
        seconds = [float(row["s"]) for row in rows]
        memory = [float(row["max_rss"]) for row in rows if row["max_rss"] not in ("-", "NA")]
        total += sum(seconds)
        most = f"{max(memory):.0f}" if memory else "unknown"
        lines.append(f"| {name} | {len(rows)} | {sum(seconds) / 3600:.2f} | {max(seconds) / 60:.1f} | {most} |")
    lines.append(f"| all | {sum(map(len, table.values()))} | {total / 3600:.2f} | | |")
    return "## What it cost\n\nOne thread a job.\n\n" + "\n".join(lines) + "\n"
