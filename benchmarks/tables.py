"""The results as Markdown: one table per kind of result. Pages of docs/ show them between marks."""

import re

from timing import amount

MARK = re.compile(r"(<!-- made by `make bench`: ([a-z ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def of_kind(rows: list[dict], kind: str) -> list[dict]:
    return [row for row in rows if row["kind"] == kind]


def table(head: str, lines: list[list[str]]) -> str:
    """A Markdown table; a column whose name starts with > is aligned to the right."""
    names = head.split(" | ")
    rule = ["---:" if name.startswith(">") else "---" for name in names]
    rows = [[name.lstrip(">") for name in names], rule, *lines]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def comparisons(rows: list[dict]) -> str:
    lines = []
    for row in of_kind(rows, "comparison"):
        goal = "" if row["goal"] is None else f"{row['sense']} {row['goal']:g}"
        verdict = {None: "", True: "reached", False: "**not reached**"}[row["reached"]]
        numbers = [amount(row["ours"], row["unit"]), amount(row["theirs"], row["unit"]), f"{row['ratio']:.3g}"]
        lines.append([row["what"], row["against"], *numbers, goal, verdict])
    return table("what | against | >ours | >theirs | >ratio | goal | ", lines)


def shares(rows: list[dict]) -> str:
    lines, shown = [], None
    for row in of_kind(rows, "share"):
        name = "" if row["experiment"] == shown else row["experiment"]
        shown = row["experiment"]
        lines.append([name, row["part"], amount(row["seconds"], "s"), f"{100 * row['share']:.0f} %", row["rate"]])
    return table("iteration | part | >time | >share | rate", lines)


def machine(rows: list[dict]) -> str:
    return table("one thread of this machine | >", [
        [row["what"], f"{row['value']:.3g} {row['unit']}"] for row in of_kind(rows, "machine")
    ])  # fmt: skip


def memory(rows: list[dict]) -> str:
    parts = of_kind(rows, "memory")
    lines = [[row["what"], f"{row['megabytes']:.0f}"] for row in parts]
    lines.append(["**together**", f"**{sum(row['megabytes'] for row in parts):.0f}**"])
    return table("resident memory of CBO on MNIST | >MB", lines)


def growth(rows: list[dict]) -> str:
    lines = []
    for kind, what in (("growth", "time"), ("memory growth", "memory")):
        for row in of_kind(rows, kind):
            low, high = (amount(row["values"][k], row["unit"]) for k in (0, -1))
            sizes = f"{row['sizes'][0]} to {row['sizes'][-1]}"
            verdict = "within" if row["within"] else "**above**"
            lines.append(
                [what, row["series"], sizes, low, high, f"{row['exponent']:.2f}", f"{row['order']:g}", verdict]
            )
    return table("what | iteration of, and what grows | sizes | >first | >last | >exponent | >order | ", lines)


def estimates(rows: list[dict]) -> str:
    head = "what | >jobs | >core hours | >longest job [h] | >8 cores [h] | >1000 cores [h] | >largest job [GB] | >8 jobs [GB] | >files [GB]"  # noqa: E501
    keys = ("core_hours", "longest_job_hours", "machine_hours", "cluster_hours", "largest_job_gb", "machine_gb",
            "files_gb")  # fmt: skip
    found = [*of_kind(rows, "experiment"), *of_kind(rows, "estimate")]
    lines = [
        [row.get("what") or row["experiment"], f"{row['jobs']}", *(_digits(row[key]) for key in keys)]
        for row in found
    ]
    return table(head, lines)


def _digits(value: float) -> str:
    """Two digits are as much as an estimate has."""
    return f"{value:,.0f}".replace(",", " ") if value >= 100 else f"{value:.2g}"


def driver(rows: list[dict]) -> str:
    """What Snakemake takes to plan, and to do nothing."""
    lines = [
        [_count(row["runs"]), f"{row['runs_per_job']}", _time(row["seconds"]), _memory(row)]
        for row in of_kind(rows, "plan")
    ]
    text = table(">runs | >runs per job | >time to plan | >memory", lines)
    for row in of_kind(rows, "plan exponent"):
        text += f"\nWith {_per_job(row['runs_per_job'])} the planning time, less that of an almost empty plan, grows "
        text += f"as the number of runs to the power {row['exponent']:.2f}."
    text += "\n" if of_kind(rows, "plan exponent") else ""
    return text + _instant_jobs(rows)


def _instant_jobs(rows: list[dict]) -> str:
    """What jobs that do nothing cost; older results have one number of them."""
    found = of_kind(rows, "instant jobs")
    if not found:
        return ""
    start = next((row["seconds"] for row in of_kind(rows, "plan") if row["runs"] == 1), 0.0)
    each = [amount((row["seconds"] - start) / row["jobs"], "s") for row in found]
    lines = [
        [_count(row["jobs"]), _time(row["seconds"]), one, _memory(row)] for row, one in zip(found, each, strict=True)
    ]
    text = "\nStarting and recording jobs that do nothing, on one machine (per job without an almost empty plan):\n\n"
    text += table(">jobs that do nothing | >time | >per job | >memory", lines)
    for row in of_kind(rows, "instant exponent"):
        text += "\nTheir time, less that of an almost empty plan, grows as the number of jobs to the power "
        text += f"{row['exponent']:.2f}.\n"
    return text


def _count(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 20 else f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def _memory(row: dict) -> str:
    return f"{row['megabytes']:.0f} MB" if row["megabytes"] < 1000 else f"{row['megabytes'] / 1000:.1f} GB"


def _per_job(runs: int) -> str:
    return "one run per job" if runs == 1 else f"{runs} runs per job"


def peers(rows: list[dict]) -> str:
    return "![How many times faster than other ways of doing the same](../benchmarks/results.png)\n"


def picture(rows: list[dict]) -> str:
    return "![Time and memory against N, M, S' and P](../benchmarks/growth.png)\n"


TABLES = {
    "comparisons": comparisons,
    "machine": machine,
    "shares": shares,
    "memory": memory,
    "growth": growth,
    "estimates": estimates,
    "driver": driver,
}


def heading(found: dict) -> str:
    return f"Measured by `make bench` on {found['machine']}, with one thread; the best of several turns counts.\n"


def page(found: dict) -> str:
    """results.md: all tables."""
    return heading(found) + "".join(f"\n{make(found['rows'])}" for make in TABLES.values())


def filled(text: str, found: dict) -> str:
    """The text with the tables between its marks made anew."""

    def made(match: re.Match) -> str:
        begin, name, end = match.groups()
        before = f"{heading(found)}\n" if name == "comparisons" else ""
        return begin + before + {**TABLES, "peers": peers, "picture": picture}[name](found["rows"]) + end

    return MARK.sub(made, text)
