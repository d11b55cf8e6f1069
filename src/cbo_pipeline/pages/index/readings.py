"""The verdicts under other readings of the paper: a matrix, and the numbers of the claims that turn."""

import html
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cbo_pipeline.claims.reading_verdicts import moving
from cbo_pipeline.claims.reading_verdicts import specifications as specifications_of
from cbo_pipeline.claims.rule import NOT_TESTED, VERDICTS
from cbo_pipeline.pages.index import vega
from cbo_pipeline.pages.index.vega import Chart, Key, Switches
from cbo_pipeline.pages.readings import GRADES, tally

Found = Mapping[str, Any]
COLOURS = ("var(--v-holds)", "var(--v-part)", "var(--v-open)", "var(--v-fails)", "var(--v-none)")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")


def introduction(found: Found) -> str:
    return (
        f"{tally(found)}. A reading takes another value of one choice that the paper leaves open. Nothing is"
        " averaged:"
        f" readings stand beside the base, which is judged on the same seeds, at most {found['most_seeds']}, and the"
        " same epochs. A frame marks a verdict that is neither the published one nor that of the base on the same"
        " seeds."
    )


def matrix(found: Found, mark: Callable[[str], str], classes: Mapping[str, str]) -> str:
    """Readings by claims, each cell a verdict."""
    ids = sorted(found["claims"], key=int)

    def cell(one: Found | None, name: str, id: str) -> str:
        if one is None or one.get("verdict") not in classes:
            return "<td></td>"
        turned = " turned" if one.get("moved") else ""
        label = f"Claim {id}, {name}: {one['verdict']}{', turned' if turned else ''}"
        return (
            f'<td class="v-{classes[one["verdict"]]}{turned}" title="{html.escape(label)}">{mark(one["verdict"])}'
            f'<span class="heard">{one["verdict"]}{", turned" if turned else ""}</span></td>'
        )

    rows = [("as published", "", found["base"]), ("on the same seeds", "", found["compared"])]
    rows += [(row["words"], GRADES.get(row["grade"], ""), row["claims"]) for row in found["readings"]]
    head = "".join(f'<th scope="col"><a href="#claim-{html.escape(id)}">{html.escape(id)}</a></th>' for id in ids)
    body = "".join(
        f'<tr><th scope="row">{html.escape(name)}<small>{html.escape(grade)}</small></th>'
        f"{''.join(cell(verdicts.get(id), name, id) for id in ids)}</tr>"
        for name, grade, verdicts in rows
    )
    return (
        '<div class="scroll"><table class="matrix"><thead><tr><th scope="col">reading</th>'
        f"{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def specifications(found: Found) -> Chart | None:
    """For every claim that moves: its number under each reading, sorted, with its interval."""
    rows, lines, shown = [], [], []
    for id in moving(found):
        points = _points(found, id)
        if len(points) > 1:
            rows += [{"k": len(shown), "i": i, **point} for i, point in enumerate(points)]
            line = found["compared"][id].get("line")
            lines += [{"k": len(shown), "v": line}] if line is not None else []
            shown.append(id)
    if not shown:
        return None
    name, switches = "specification_curve", Switches("specification_curve")
    keys = [Key(None, verdict, COLOURS[c], None, SHAPES[c]) for c, verdict in enumerate(VERDICTS[:-1])]
    if len(shown) > 1:
        chosen = switches.choice("k", "Claim", list(range(len(shown))), shown, 0)
    else:
        chosen = switches.value("k", "0")
    x = {"field": "i", "type": "quantitative", "axis": None, "scale": {"nice": False, "padding": 10}}
    y = {"field": "v", "type": "quantitative", "scale": {"zero": False}, "axis": {"title": None, "format": "~g"}}
    shared = {
        "data": {"name": f"{name}_points"},
        "transform": [{"filter": f"datum.k == {chosen}"}],
    }
    colour = vega.by_curve(COLOURS)
    tips = [
        {"field": "v", "type": "quantitative", "title": "number", "format": ".3~g"},
        {"field": "verdict", "type": "nominal", "title": "verdict"},
        {"field": "choices", "type": "nominal", "title": "choices"},
    ]
    layers = [
        {
            "data": {"name": f"{name}_lines"},
            "transform": shared["transform"],
            "mark": {"type": "rule", "stroke": vega.INK, "strokeDash": list(vega.DOTTED), "aria": False},
            "encoding": {"y": y},
        },
        {
            **shared,
            "mark": {"type": "rule", "strokeWidth": 1.2, "opacity": 0.5, "aria": False},
            "encoding": {
                "x": x, "y": {**y, "field": "lo"}, "y2": {"field": "hi"}, "color": colour,
            },
        },
        {
            **shared,
            "mark": {"type": "point", "filled": True, "size": 46, "opacity": 0.95, "aria": False},
            "encoding": {"x": x, "y": y, "color": colour, "shape": vega.by_curve(SHAPES), "tooltip": tips},
        },
    ]  # fmt: skip
    alt = "The number of each claim that turns, under every reading that was run, sorted."
    spec = {"params": switches.params, "width": 600, "height": 240, "layer": layers}
    made = vega.compiled(spec, {f"{name}_points": rows, f"{name}_lines": lines}, alt)
    keys.append(Key(None, "line", vega.INK, vega.DOTTED))
    return Chart(name, made, 270, alt, "the claim’s number", tuple(keys), tuple(switches.options))


def _points(found: Found, id: str) -> list[dict[str, Any]]:
    """The numbers of one claim under every reading, sorted."""
    base = {choice: own["base"] for choice, own in found["choices"].items()}
    points = []
    for taken, one in specifications_of(found, id):
        if one["verdict"] != NOT_TESTED:
            others = {choice: value for choice, value in taken.items() if value != base[choice]}
            low, high = one.get("spread") or (None, None)
            value = float(f"{one['value']:.4g}")
            ends = [value if end is None else float(f"{end:.4g}") for end in (low, high)]
            points.append(
                {
                    "v": value, "lo": ends[0], "hi": ends[1], "c": VERDICTS.index(one["verdict"]),
                    "verdict": one["verdict"], "choices": _said(others) or "the base",
                }
            )  # fmt: skip
    return sorted(points, key=lambda point: point["v"])


def _said(choices: Mapping[str, str]) -> str:
    return ", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in choices.items())


def shares(found: Found, table_of: Callable[[Sequence[str], Sequence[Sequence[str]]], str]) -> str:
    """How much of a number's spread each choice explains, where all combinations were run."""
    crossed = found.get("crossed") or {}
    known = {id: one["shares"] for id, one in sorted((crossed.get("shares") or {}).items()) if one}
    if not known:
        return ""
    choices = list(crossed["levels"])
    rows = [[f"claim {id}", *(f"{one[choice]:.0%}" for choice in choices)] for id, one in known.items()]
    return (
        '<details class="numbers"><summary>How much of the spread each choice explains</summary>'
        f"{table_of(['', *(choice.replace('_', ' ') for choice in choices)], rows)}"
        f"<p>{html.escape(crossed['method'])}.</p></details>"
    )
