"""The values of the article's template, all of them made from a folder of results."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cbo_pipeline
from cbo_pipeline.claims import rule
from cbo_pipeline.claims.evidence import CurveResults, Evidence
from cbo_pipeline.figures import FIGURES
from cbo_pipeline.pages.article import SHOWN, citation
from cbo_pipeline.pages.article.findings import Finding, findings
from cbo_pipeline.pages.article.numbers import counted, interval, listed, number, sentence
from cbo_pipeline.pages.article.render import Block, Items, Paragraph, Pictures, Said, Table, Text, Value
from cbo_pipeline.pages.claims import MARKS
from cbo_pipeline.pages.index.content import Claim, Content
from cbo_pipeline.pages.readings import counted_readings
from cbo_pipeline.results import summaries as summary_files
from cbo_pipeline.results.job_times import span

# What is said of the claims of each verdict, before the list of them.
GROUPS = {
    "claims_holds": (rule.HOLDS, "These claims hold:", "No claim holds as it is stated."),
    "claims_in_part": (rule.IN_PART, "These hold in part:", "No claim holds in part."),
    "claims_undecided": (
        rule.UNDECIDED,
        "These are undecided: the interval of a number on which the verdict depends contains its line:",
        "No claim is undecided.",
    ),
    "claims_fails": (rule.FAILS, "These do not hold:", "There is no claim that does not hold."),
    "claims_not_tested": (rule.NOT_TESTED, "These were not tested at this scale:", ""),
}
# What to see in the figures that are shown.
CAPTIONS = {
    "figures_reproduced": "Risk per epoch on the sine (Figure 2 of the paper) and on MNIST (Figure 4).",
    "figures_others": (
        "Risk of optimal-transport CBO on the square against the width $M$ (Figure 8) and the number $N$ of particles"
        " (Figure 9)."
    ),
}
MAIN = ("sine", "mnist", "multi_task", "square")


def values(content: Content, evidence: Evidence) -> dict[str, Value]:
    """Everything that the template names."""
    found = findings(evidence, content.claims, _adam_in_double_precision(content.in_double))
    cited = citation.read(" ".join(claim.seen for claim in content.claims))
    return {
        "authors": cited.authors,
        "replicated": cited.replicated(),
        "references": cited.blocks(),
        **{f"cite_{name.lower()}": cited.mark(name) for name in citation.CITED},
        "version": cbo_pipeline.__version__,
        "commit": [Said(content.made.commits)],
        "claims_total": str(len(content.claims)),
        "runs": counted(content.made.runs, "run"),
        "tally": _tally(content.claims),
        "error": f"{rule.ERROR:.0%}",
        "scale": [*_scale(content)],
        "cost": [*_cost(content)],
        "verdict_table": [_table(content.claims)],
        **{name: _group(content.claims, *words) for name, words in GROUPS.items()},
        **{name: _pictures(content, labels, CAPTIONS[name]) for name, labels in SHOWN.items()},
        "readings": _readings(content),
        "readings_abstract": _readings_in_short(content.readings),
        "lessons_abstract": _lessons(found),
        **{f"finding_{name}": one.text for name, one in found.items()},
        "speed": _speed(content.speed),
        "cost_table": _cost_table(content.speed),
    }


def _adam_in_double_precision(paths: Sequence[Path]) -> list[CurveResults]:
    """Adam's curves of the reading in which MNIST is computed in float64, as far as they were run."""
    return [one for path in paths for one in Evidence({"mnist": summary_files.read(path)}).curves("mnist")]


def _tally(claims: Sequence[Claim]) -> str:
    """How many claims got each verdict, in a sentence."""
    said = []
    for verdict in rule.VERDICTS:
        count = sum(claim.verdict == verdict for claim in claims)
        if count:
            said.append(f"{count} {_verb(verdict, count)}")
    return f"Of these, {listed(said)}."


def _verb(verdict: str, count: int) -> str:
    many = count != 1
    return {
        rule.HOLDS: "hold" if many else "holds",
        rule.IN_PART: "hold in part" if many else "holds in part",
        rule.UNDECIDED: "are undecided" if many else "is undecided",
        rule.FAILS: "do not hold" if many else "does not hold",
        rule.NOT_TESTED: "were not tested at this scale" if many else "was not tested at this scale",
    }[verdict]


def _scale(content: Content) -> Text:
    made = content.made
    seeds = [f"{name.replace('_', ' ')} {made.seeds[name]}" for name in MAIN if name in made.seeds]
    text = f"{counted(made.runs, 'run')} of {counted(made.curves, 'curve')}"
    text += f" (most seeds of a curve: {', '.join(seeds)})" if seeds else ""
    return [text + (f", and {made.reading_runs} of other readings" if made.reading_runs else "")]


def _cost(content: Content) -> Text:
    made = content.made
    if made.core_hours is None:
        return ["What they cost was not recorded."]
    took = f"{made.core_hours:.2f} core hours" + (f", {span(made.wall_seconds)} of time" if made.wall_seconds else "")
    return [f"They took {took}, on ", Said(made.machine), "."]


def _table(claims: Sequence[Claim]) -> Table:
    rows = [
        [
            str(claim.id),
            [Said(claim.claim)],
            f"{MARKS[claim.verdict]} {claim.verdict}",
            number(claim.value, 3),
            interval(claim.spread, 3),
            "–" if claim.seeds is None else str(claim.seeds),
        ]
        for claim in claims
    ]
    caption = (
        "The claims of the paper and our verdicts. The number of each is defined in `docs/reproduction/claims.md`."
    )
    return Table(("#", "claim", "verdict", "number", "interval", "seeds"), rows, caption)


def _group(claims: Sequence[Claim], verdict: str, lead: str, none: str) -> list[Block]:
    """The claims of one verdict with what was seen, or that there are none."""
    of_verdict = [claim for claim in claims if claim.verdict == verdict]
    if not of_verdict:
        return [Paragraph([none])] if none else []
    items = [[f"**Claim {claim.id}.** ", Said(sentence(claim.seen))] for claim in of_verdict]
    return [Paragraph([lead]), Items(items)]


def _pictures(content: Content, labels: Sequence[str], caption: str) -> list[Block]:
    files = [(path, FIGURES[label].title) for label in labels if (path := content.figure(label, ".png"))]
    if len(files) < len(labels):
        missing = listed([f"`{label}`" for label in labels if content.figure(label, ".png") is None])
        return [Paragraph([f"Not drawn from these results: {missing}."])]
    return [Pictures(files, caption)]


NO_READINGS = (
    "Other readings of the paper were not run for these results, so they cannot tell which verdicts depend on ours."
)


def _readings(content: Content) -> list[Block]:
    """Which verdicts other readings turn."""
    found = content.readings
    if not found:
        return [Paragraph([NO_READINGS])]
    said = sorted(found["robustness"].items(), key=lambda item: int(item[0]))
    turning = {int(id): text for id, text in said if text.startswith("turns")}
    robust = [id for id, text in said if text.startswith("robust")]
    open_ones = [id for id, text in said if text.startswith("open")]
    others = [id for id, _ in said if int(id) not in turning and id not in (*robust, *open_ones)]
    parts: list[Block] = [
        Paragraph(
            [
                f"A reading is another value of one open choice that a fair reader could defend."
                f" There are {counted_readings(found)}, each judged beside our own on the same seeds (at most"
                f" {found['most_seeds']}); some on MNIST over fewer epochs."
                f" {_these(robust, 'keeps its verdict', 'keep their verdicts')}: no reading that was run turns"
                " them, though under some they are undecided, or differ from what is published only as our own"
                " reading does on as few seeds and epochs."
                + (f" {_these(open_ones, 'is', 'are')} left undecided by other readings, too." if open_ones else "")
                + (f" {_these(others, 'was', 'were')} not judged under other readings." if others else "")
                + (" These turn:" if turning else " No verdict turns.")
            ]
        )
    ]
    items = [[f"**Claim {id}.** ", Said(sentence(text))] for id, text in turning.items()]
    return [*parts, Items(items)] if items else parts


def _these(ids: Sequence[str], one: str, many: str) -> str:
    if not ids:
        return f"No claim {one}"
    return f"Claim {ids[0]} {one}" if len(ids) == 1 else f"Claims {listed(ids)} {many}"


def _readings_in_short(found: Mapping[str, Any] | None) -> str:
    if not found:
        return "Other readings of the paper were not run."
    turning = [id for id, text in found["robustness"].items() if text.startswith("turns")]
    count = counted_readings(found, "other reading")
    if not turning:
        return f"Under {count} of what the text leaves open no verdict turns."
    turn = "verdict turns" if len(turning) == 1 else "verdicts turn"
    return f"Under {count} of what the text leaves open, {len(turning)} {turn} with at least one."


def _lessons(found: Mapping[str, Finding]) -> str:
    seen = [one.short for one in found.values() if one.seen]
    return f"Beside the verdicts we found that {listed(seen)}." if seen else ""


def _speed(speed: Mapping[str, Any]) -> Text:
    """Seconds per epoch on MNIST, and the epochs to a risk that all methods reach."""
    table = speed.get("epochs_to_reach", {})
    if "methods" not in table:
        reason = table.get("not_tested", "they were not measured")
        return ["Speeds on MNIST cannot be compared here: ", Said(reason), "."]
    names = {"adam": "Adam", "cbo": "CBO", "hybrid": "the hybrid"}
    methods = table["methods"]
    seconds = [
        f"{number(one['seconds_per_epoch'])} s with {names.get(name, name)}"
        for name, one in methods.items()
        if one["seconds_per_epoch"] is not None
    ]
    text = f"On MNIST an epoch takes {listed(seconds)} (one thread). " if seconds else ""
    shared = [
        level
        for level in next(iter(methods.values()))["epochs"]
        if all(one["epochs"][level] is not None for one in methods.values())
    ]
    if shared:
        level = min(shared, key=float)
        took = [f"{names.get(name, name)} {number(one['epochs'][level])}" for name, one in methods.items()]
        text += (
            "The lowest of our levels that all of them reach is a risk of"
            f" {number(float(level))}; epochs to it: {listed(took)}. "
        )
    else:
        text += "There is no level that all of them reach. "
    return [text.strip()]


def _cost_table(speed: Mapping[str, Any]) -> list[Block]:
    """What the methods of the four examples cost, at their largest sizes."""
    largest: dict[tuple[str, str], Mapping[str, Any]] = {}
    for cost in speed.get("costs", ()):
        key = (cost["experiment"], cost["variant"])
        if cost["experiment"] in MAIN and (key not in largest or _size(cost) > _size(largest[key])):
            largest[key] = cost
    if not largest:
        return [Paragraph(["The costs of single methods were not measured."])]
    rows = [
        [
            [Said(f"{cost['experiment']}/{cost['variant']}")],
            f"{cost['M']}, {cost['N']}",
            number(1e3 * cost["seconds_per_iteration"], 3),
            number(cost["seconds_per_epoch"]),
            number(cost["state_bytes"] / 1e6),
        ]
        for cost in largest.values()
    ]
    head = ("method", "M, N", "ms per iteration", "s per epoch", "state, MB")
    return [Table(head, rows, "Measured with one thread, where the results were made.")]


def _size(cost: Mapping[str, Any]) -> int:
    return cost["M"] * cost["N"]
