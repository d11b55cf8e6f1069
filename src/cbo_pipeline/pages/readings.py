"""The verdicts under other readings of the paper as tables: results/readings.md."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cbo_pipeline import files
from cbo_pipeline.claims.reading_plan import COMBINED, ReadingPlan
from cbo_pipeline.claims.rule import NOT_TESTED, VERDICTS
from cbo_pipeline.pages.article.numbers import counted
from cbo_pipeline.pages.claims import MARKS, interval, markdown_table, number, plain
from cbo_pipeline.results.stage_code import digest_of

Found = Mapping[str, Any]
GRADES = {"as_good": "as good as ours", "possible": "possible"}


def write_markdown(found: Found, path: Path) -> None:
    """The matrix of verdicts, what turns what, every number, and the share of each choice where all are crossed."""
    found = plain(found)
    found["claims"] = dict(sorted(found["claims"].items(), key=lambda item: int(item[0])))
    lines = ["# The claims under other readings of the paper", "", *_introduction(found)]
    for heading, columns, table in (_matrix(found), _turns(found), _numbers(found), *_crossed(found)):
        lines += ["", f"## {heading}", "", *markdown_table(columns, table)]
        if heading == CROSSED:
            lines += ["", found["crossed"]["method"] + "."]
    lines += ["", f"<!-- {files.mark('readings', digest_of('readings'))} -->"]
    with files.whole_file(path) as partial:
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8")


def plan_table(plan: ReadingPlan, seconds: Mapping[str, float]) -> str:
    """What every reading has to train, and the hours by the seconds that the base's runs of the same curves took.

    Where a reading's runs are dearer than the base's, as in double precision, the hours are too few.
    """
    lines, total, known = [], Counter(), True
    for name, curves in plan.counted().items():
        by_experiment: Counter[str] = Counter()
        for curve, runs in curves.items():
            by_experiment[curve.experiment] += runs
        hours = [runs * seconds[str(curve)] / 3600 for curve, runs in curves.items() if str(curve) in seconds]
        complete = len(hours) == len(curves)
        known = known and complete
        total.update(runs=curves.total(), hours=sum(hours))
        said = ", ".join(f"{experiment} {runs}" for experiment, runs in by_experiment.items())
        lines.append([_described(plan, name), said or "none", _hours(sum(hours), complete)])
    lines.append(["**all**", str(total["runs"]), _hours(total["hours"], known)])
    return "\n".join(markdown_table(("reading", "runs", "core hours"), lines))


def _described(plan: ReadingPlan, name: str) -> str:
    if name == COMBINED:
        return f"combinations on the {plan.readings.crossed_experiment}, and what is taken together"
    reading = plan.readings.entries[name]
    return f"{reading.choice.replace('_', ' ')}: {reading.value}"


def _hours(hours: float, complete: bool) -> str:
    """Hours; those of curves that were not timed are missing."""
    if complete:
        return f"{hours:.2f}"
    return f"more than {hours:.2f}" if hours else "not timed"


def tally(found: Found) -> str:
    """How many readings there are, and how many claims turn with one of them."""
    turning = [number for number, text in found["robustness"].items() if text.startswith("turns")]
    return f"{counted_readings(found)}; claims that turn with one: {', '.join(turning) or 'none'}"


def counted_readings(found: Found, noun: str = "reading") -> str:
    """How many readings were run, in words.

    >>> judged, missing = {"verdict": "holds"}, {"verdict": NOT_TESTED}
    >>> counted_readings({"readings": [{"claims": {"1": judged}}]})
    '1 reading'
    >>> counted_readings({"readings": [{"claims": {"1": judged, "4": missing}}, {"claims": {"4": missing}}]})
    '2 readings (1 was not run, 1 only in part)'
    """
    rows = [[one["verdict"] != NOT_TESTED for one in row["claims"].values()] for row in found["readings"]]
    missing, in_part = sum(not any(row) for row in rows), sum(any(row) and not all(row) for row in rows)
    told = [f"{missing} {'was' if missing == 1 else 'were'} not run"] if missing else []
    told += [f"{in_part} only in part"] if in_part else []
    return counted(len(rows), noun) + (f" ({', '.join(told)})" if told else "")


def _introduction(found: Found) -> list[str]:
    marks = ", ".join(f"{MARKS[verdict]} {verdict}" for verdict in VERDICTS)
    return [
        f"{tally(found)}. A reading takes another value of one choice that the paper leaves open"
        " (workflow/readings.yaml). Nothing is averaged: readings are shown beside the base, which is judged on the"
        f" same seeds (at most {found['most_seeds']}) and epochs. A verdict that is neither the published one nor"
        " that of the base on the same seeds is bold: if it is decided, the reading *turns* the claim.",
        "",
        f"{marks}; empty: the reading does not touch the claim. A reading that makes *the same runs* as the base"
        " within the epochs that were run is not counted for or against a claim.",
    ]


def _matrix(found: Found) -> tuple[str, Sequence[str], list[list[str]]]:
    claims = list(found["claims"])
    lines = [["**published**", "", *(MARKS[found["base"][c]["verdict"]] for c in claims)]]
    lines.append(["**the same seeds**", "", *(MARKS[found["compared"][c]["verdict"]] for c in claims)])
    for row in found["readings"]:
        grade = GRADES[row["grade"]] + ("; the same runs" if row.get("same") else "")
        lines.append([row["words"], grade, *(_cell(row["claims"].get(c)) for c in claims)])
    return "Verdicts", ("reading", "grade", *claims), lines


def _cell(one: Found | None) -> str:
    if one is None:
        return ""
    mark = MARKS[one["verdict"]]
    return f"**{mark}**" if one["moved"] else mark


def _turns(found: Found) -> tuple[str, Sequence[str], list[list[str]]]:
    lines = [
        [number, claim, found["base"][number]["verdict"], found["robustness"][number]]
        for number, claim in found["claims"].items()
    ]
    return "What turns what", ("#", "claim", "verdict", "under other readings"), lines


def _numbers(found: Found) -> tuple[str, Sequence[str], list[list[str]]]:
    lines = []
    for row in found["readings"]:
        for claim, one in row["claims"].items():
            if one["verdict"] != NOT_TESTED:
                values = (number(one["value"]), interval(one["spread"]), one["base"], one["seen"])
                lines.append([row["words"], claim, f"{_cell(one)} {one['verdict']}", *values])
    columns = ("reading", "claim", "verdict", "number", "interval", "verdict of the base", "what was seen")
    return "Every number", columns, lines


CROSSED = "The share of each choice in the spread of a claim's number"


def _crossed(found: Found) -> Iterable[tuple[str, Sequence[str], list[list[str]]]]:
    crossed = found["crossed"]
    if not crossed:
        return
    of_claims = crossed["shares"]
    lines = [
        [found["choices"][choice]["what"], "; ".join(values), *(_share(one, choice) for one in of_claims.values())]
        for choice, values in crossed["levels"].items()
    ]
    yield CROSSED, ("choice", "values", *(f"claim {n}" for n in of_claims)), lines
    rows = [row for row in crossed["rows"] if _was_run(row)]
    lines = [[f"claim {n}", *_over_combinations(rows, n)] for n in of_claims]
    heading = f"{_counted(len(rows), len(crossed['rows']))} on the {crossed['experiment']}"
    yield heading, ("claim", "smallest number", "median", "largest", "verdicts"), lines


def _was_run(row: Found) -> bool:
    return any(one["verdict"] != NOT_TESTED for one in row["claims"].values())


def _counted(known: int, of: int) -> str:
    """How many combinations a table tells of.

    >>> _counted(96, 96), _counted(7, 96)
    ('All 96 combinations', '7 of 96 combinations, those that were run,')
    """
    return f"All {of} combinations" if known == of else f"{known} of {of} combinations, those that were run,"


def _share(shares: Found | None, choice: str) -> str:
    return "–" if shares is None else f"{max(0.0, shares['shares'][choice]):.0%}"


def _over_combinations(rows: Sequence[Found], claim: str) -> list[str]:
    values = [row["claims"][claim]["value"] for row in rows]
    known = np.array([value for value in values if value is not None])
    counts = Counter(row["claims"][claim]["verdict"] for row in rows)
    said = ", ".join(f"{verdict} {counts[verdict]}" for verdict in VERDICTS if counts[verdict])
    if not known.size:
        return ["–", "–", "–", said]
    return [number(float(known.min())), number(float(np.median(known))), number(float(known.max())), said]
