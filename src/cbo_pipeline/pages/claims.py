"""The verdicts as JSON, as Markdown and as a page of the report."""

import html
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cbo_pipeline.claims import rule
from cbo_pipeline.claims.rule import FAILS, HOLDS, IN_PART, NOT_TESTED, UNDECIDED, VERDICTS
from cbo_pipeline.files import mark, whole_file
from cbo_pipeline.results import json_files
from cbo_pipeline.results.contract import CONTRACT
from cbo_pipeline.results.stage_code import digest_of
from cbo_pipeline.results.versions import versions

Row = Mapping[str, Any]
Table = tuple[str, Sequence[str], list[list[str]]]  # a heading, the columns, the lines

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #222; max-width: 75rem; margin: 1.5rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 0.5rem 0 1.5rem; }
th, td { border-bottom: 1px solid #ddd; padding: 0.4rem 0.6rem; text-align: left; vertical-align: top; }
th { border-bottom: 2px solid #888; }
.verdict { white-space: nowrap; font-weight: 600; }
.holds { color: #00694c; } .in-part { color: #8a5a00; } .undecided { color: #34568b; } .fails { color: #a63a00; }
.not-tested { color: #666; }
small { color: #555; }
"""
CLASSES = {
    HOLDS: "holds", IN_PART: "in-part", UNDECIDED: "undecided", FAILS: "fails", NOT_TESTED: "not-tested",
}  # fmt: skip
MARKS = {HOLDS: "●", IN_PART: "◐", UNDECIDED: "?", FAILS: "○", NOT_TESTED: "–"}
TITLE = "The claims of the paper, judged by these results"
INTERVAL = f"interval ({rule.ERROR:.0%} beyond each end)"


def write_json(content: Any, path: Path) -> None:
    """Numbers that JSON does not know (infinite, none) become null."""
    _write(json.dumps(plain(content), indent=1, ensure_ascii=False, allow_nan=False), path)


def write_verdicts(rows: Iterable[Row], path: Path) -> None:
    """The rows as a list; every row has the digest of the code that judged it."""
    code = digest_of("claims")
    write_json([{**row, "code": code} for row in rows], path)


def write_speed(speed: Mapping[str, Any], path: Path) -> None:
    """What ``claims.speed`` found, in its order, and what every JSON file of results says about itself."""
    own = zip(json_files.OWN_KEYS, ("speed", CONTRACT, digest_of("speed"), versions()), strict=True)
    write_json({**speed, **dict(own)}, path)


def write_markdown(rows: Iterable[Row], speed: Mapping[str, Any], path: Path, errors: Row | None = None) -> None:
    """The verdicts as a table, how each is judged, how often the rule errs (``errors``), and what methods cost."""
    rows = list(rows)
    lines = [f"# {TITLE}", "", f"{tally(rows)}.", ""]
    lines += markdown_table(
        ["#", "section", "claim", "verdict", "number", INTERVAL, "seeds", "what was seen", "other readings"],
        [
            [
                str(row["id"]), row["section"], row["claim"], f"{MARKS[row['verdict']]} {row['verdict']}",
                number(row["value"]), interval(row["spread"]), seeds(row), row["seen"], robustness(row),
            ]
            for row in rows
        ],
    )  # fmt: skip
    lines += ["", "## The rule", "", rule.EXPLANATION]
    for heading, columns, table in (_how(rows), *error_tables(errors), *speed_tables(speed)):
        lines += ["", f"## {heading}", "", *markdown_table(columns, table)]
    lines += ["", f"<!-- {mark('verdicts', digest_of('verdicts'))} -->"]
    _write("\n".join(lines), path)


def write_html(rows: Iterable[Row], speed: Mapping[str, Any], path: Path, errors: Row | None = None) -> None:
    """The same as a page of the report."""
    rows = list(rows)
    body = [f"<h1>{TITLE}</h1><p>{html.escape(tally(rows))}.</p>"]
    body.append("<table id='claims'><tr><th>#<th>claim<th>verdict<th>number<th>what was seen<th>other readings</tr>")
    for row in rows:
        verdict = row["verdict"]
        spread = f"<br><small>{interval(row['spread'])}</small>" if row["spread"] is not None else ""
        counted = f"<br><small>{seeds(row)} seeds</small>" if row["seeds"] is not None else ""
        body.append(
            f"<tr id='claim-{row['id']}'><td>{row['id']}<td>{html.escape(row['claim'])}"
            f"<br><small>Section {html.escape(row['section'])}</small>"
            f"<td class='verdict {CLASSES[verdict]}'>{MARKS[verdict]} {verdict}"
            f"<td>{number(row['value'])}{spread}{counted}<td>{html.escape(row['seen'])}"
            f"<td>{html.escape(robustness(row))}</tr>"
        )
    body.append(f"</table><h2>The rule</h2><p>{html.escape(rule.EXPLANATION)}</p>")
    for heading, columns, lines in (_how(rows), *error_tables(errors), *speed_tables(speed)):
        body.append(f"<h2>{html.escape(heading)}</h2>{_html(columns, lines)}")
    ours = f"<meta name='generator' content='{mark('verdicts', digest_of('verdicts'))}'>"
    head = f"<meta charset='utf-8'>{ours}<title>The claims of the paper</title><style>{STYLE}</style>"
    _write(f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(body)}</body></html>", path)


def robustness(row: Row) -> str:
    """Whether other readings of the paper give the same verdict, in words."""
    return row.get("robustness") or "not run"


def seeds(row: Row) -> str:
    """The number of runs behind a verdict."""
    return "–" if row.get("seeds") is None else str(row["seeds"])


def error_tables(errors: Row | None) -> list[Table]:
    """How often the rule errs, from results/checks/rule_errors.json; without it, no table."""
    if not errors:
        return []
    columns = (
        "number", "law", "seeds", "false \"holds\"", "false \"does not hold\"", "false \"in part\"",
        "by counting", f"right, {errors['shift']:g} standard deviation off the line",
    )  # fmt: skip
    chance = 2 * np.sqrt(errors["error"] / errors["samples"])
    tables = []
    for heading, used in (
        (f"How often the rule errs with the truth on the line (to {chance:.1%} by chance)", True),
        ("How often other rules err, which are not used", False),
    ):
        lines = [
            [
                row["kind"], row["law"], str(row["seeds"]),
                *(_percent(row[key]) for key in ("false_holds", "false_fails", "false_in_part", "exact", "right")),
            ]
            for row in errors["rows"]
            if row["used"] == used
        ]  # fmt: skip
        tables.append((heading, columns, lines))
    return tables


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _how(rows: Sequence[Row]) -> Table:
    lines = [[str(row["id"]), row["statistic"], row["threshold"], row["why"]] for row in rows]
    return "How each is judged", ("#", "number", "holds if", "why there"), lines


def tally(rows: Sequence[Row]) -> str:
    """How often each verdict was given, such as "16 claims: holds 9, does not hold 7"."""
    counts = Counter(row["verdict"] for row in rows)
    return f"{len(rows)} claims: " + ", ".join(f"{v} {counts[v]}" for v in VERDICTS if counts[v])


def speed_tables(speed: Mapping[str, Any]) -> list[Table]:
    """The crossing, the epochs to given risks and the costs, as text."""
    tables: list[Table] = [("Sine: from where on CBO is below Adam", *_crossing(speed["crossing"]))]
    tables.append(("MNIST: epochs (and seconds) to reach a risk", *_reaching(speed["epochs_to_reach"])))
    costs = [
        [
            f"{c['experiment']}/{c['variant']}", str(c["M"]), str(c["N"]), number(c["seconds_per_iteration"]),
            number(c["seconds_per_epoch"]), number(c["state_bytes"] / 1e6), number(c["peak_bytes"] / 1e6),
        ]
        for c in speed["costs"]
    ]  # fmt: skip
    columns = ("method", "M", "N", "s per iteration", "s per epoch", "state, MB", "peak, MB")
    tables.append(("What the methods cost (measured where these results were made)", columns, costs))
    return tables


def _crossing(found: Mapping[str, Any]) -> tuple[Sequence[str], list[list[str]]]:
    if "not_tested" in found:
        return ("reason",), [[f"{NOT_TESTED}: {found['not_tested']}"]]
    seconds = ", ".join(f"{name} {number(s)}" for name, s in found["seconds_per_epoch"].items())
    columns = (
        "epoch",
        f"{1 - 2 * rule.ERROR:.0%} of resamples",
        "resamples in which it never is",
        "seconds per epoch",
    )
    return columns, [[number(found["epoch"]), interval(found["spread"]), f"{found['never_in']:.0%}", seconds]]


def _reaching(found: Mapping[str, Any]) -> tuple[Sequence[str], list[list[str]]]:
    if "not_tested" in found:
        return ("reason",), [[f"{NOT_TESTED}: {found['not_tested']}"]]
    methods = found["methods"]
    levels = next(iter(methods.values()))["epochs"]
    lines = []
    for level in levels:
        cells = [f"{float(level):g}"]  # text, where it was read from a file
        for table in methods.values():
            epochs, seconds = table["epochs"][level], table["seconds"][level]
            if epochs is None or np.isinf(epochs):  # None, where it was read from a file
                cells.append("not reached")
            else:
                cells.append(number(epochs) + (f" ({number(seconds)} s)" if seconds is not None else ""))
        lines.append(cells)
    heads = (f"{name}, over {table['epochs_run']} epochs" for name, table in methods.items())
    return ("risk", *heads), lines


def number(value: float | None) -> str:
    if value is None or np.isnan(value):
        return "–"
    return "never" if np.isinf(value) else f"{value:.3g}"


def interval(spread: Sequence[float | None] | None) -> str:
    """Both ends; an end that is infinite (none, in JSON) is unbounded."""
    if spread is None:
        return "–"
    low, high = (np.nan if end is None or np.isinf(end) else end for end in spread)
    return f"{'-∞' if np.isnan(low) else number(low)} to {'∞' if np.isnan(high) else number(high)}"


def plain(content: Any) -> Any:
    """The same in the types of JSON."""
    if isinstance(content, Mapping):
        return {str(key): plain(value) for key, value in content.items()}
    if isinstance(content, np.ndarray | list | tuple):
        return [plain(value) for value in content]
    if isinstance(content, bool | np.bool_):
        return bool(content)
    if isinstance(content, float | np.floating):
        return float(content) if np.isfinite(content) else None
    return int(content) if isinstance(content, np.integer) else content


def markdown_table(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    head = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    return head + [f"| {' | '.join(line)} |" for line in cells]


def _html(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(c)}" for c in columns)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}' for cell in line)}</tr>" for line in lines)
    return f"<table><tr>{head}</tr>{body}</table>"


def _write(text: str, path: Path) -> None:
    with whole_file(path) as partial:
        partial.write_text(f"{text}\n", encoding="utf-8")
