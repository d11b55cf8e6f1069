"""What a soak has found, as the Markdown between the marks in docs/reliability.md."""

from collections.abc import Sequence
from pathlib import Path

from soak.campaign import Outcome

BEGIN, END = "<!-- made by `make soak`: begin -->", "<!-- soak: end -->"


def table(outcomes: Sequence[Outcome]) -> str:
    """One column for each place."""
    rows = [["", *(outcome.place for outcome in outcomes)]]
    rows += [["---", *("---:" for _ in outcomes)]]
    for what in dict.fromkeys(kind for outcome in outcomes for kind in sorted(outcome.faults)):
        rows.append([what, *(str(o.faults[what]) if what in o.faults else "–" for o in outcomes)])
    rows.append(["**faults**", *(f"**{sum(o.faults.values())}**" for o in outcomes)])
    rows.append(["seed of the monkey", *(str(o.seed) for o in outcomes)])
    rows.append(["runs", *(str(o.runs) for o in outcomes)])
    rows.append(["times that Snakemake was started", *(str(o.starts) for o in outcomes)])
    rows.append(["processes that trained (quiet)", *(f"{o.trained} ({o.quiet.trained})" for o in outcomes)])
    arrays = [f"{sum(o.arrays)} ({len(o.arrays)})" if o.arrays else "–" for o in outcomes]
    rows.append(["training jobs sent in arrays (arrays)", *arrays])
    rows.append(["core seconds of the pipeline, quiet", *(f"{o.quiet.core_seconds:.0f}" for o in outcomes)])
    rows.append(["work lost, as a share of them", *(f"{o.lost:.0%}" for o in outcomes)])
    rows.append(["minutes under fire", *(f"{o.minutes:.1f}" for o in outcomes)])
    rows.append(["minutes of the quiet run before", *(f"{o.quiet.minutes:.1f}" for o in outcomes)])
    rows.append(["files that differ or are left over", *(str(len(o.wrong)) for o in outcomes)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def write(outcomes: Sequence[Outcome], path: Path) -> None:
    """Put the table between its marks."""
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n{table(outcomes)}{END}{after}", encoding="utf-8")
