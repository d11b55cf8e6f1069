"""Figures s11 and s12, ours: the claims under other readings of the paper, from results/readings.json."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from cbo_pipeline.claims.reading_verdicts import moving, specifications
from cbo_pipeline.claims.rule import FAILS, HOLDS, IN_PART, NOT_TESTED, UNDECIDED
from cbo_pipeline.figures import style

Found = Mapping[str, Any]
# Colours and signs: either alone tells the verdicts apart.
LOOKS = {
    HOLDS: (style.BLUE, "●"),
    IN_PART: (style.SKY, "◐"),
    UNDECIDED: ("#dddddd", "?"),
    FAILS: (style.ORANGE, "○"),
    NOT_TESTED: ("#ffffff", "–"),
}
BLANK = "#f7f7f7"
LONGEST = 64  # characters of a label
TITLE = 120  # characters of a line of a title
NOTHING = -100.0  # the logarithm of a ratio is below this only where its numerator is zero


def readings(found: Found) -> Figure:
    """Claims by readings: each cell its verdict, the base first; a frame where a reading turns the verdict.

    The names of readings that are graded as possible are italic; the others are as good as ours.
    """
    claims = sorted(found["claims"], key=int)
    bases = {"base, as published": "base", f"base, at most {found['most_seeds']} seeds": "compared"}
    columns = [(name, {c: {**o, "moved": False} for c, o in found[key].items()}) for name, key in bases.items()]
    columns += [(_label(row), row["claims"]) for row in found["readings"]]
    possible = [False, False, *(row["grade"] == "possible" for row in found["readings"])]
    figure, axes = plt.subplots(figsize=(0.26 * len(columns) + 1.6, 0.23 * len(claims) + 2.4))
    for x, (_, verdicts) in enumerate(columns):
        for y, claim in enumerate(claims):
            _cell(axes, x, y, verdicts.get(claim))
    axes.axvline(1.5, color=style.BLACK, linewidth=1.2)
    axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(claims) - 0.5, -0.5), ylabel="claim")
    axes.set_yticks(range(len(claims)), claims)
    axes.xaxis.tick_top()  # the labels above are others than those below: before they are written and styled
    axes.set_xticks(range(len(columns)), [name for name, _ in columns], rotation=90, fontsize=6)
    for tick, slanted in zip(axes.get_xticklabels(), possible, strict=True):
        tick.set_style("italic" if slanted else "normal")
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    shown = [Patch(facecolor=LOOKS[v][0], edgecolor="#888888", label=f"{LOOKS[v][1]} {v}") for v in LOOKS]
    moved = "unlike the base, also on as few seeds and epochs"
    shown.append(Patch(facecolor="none", edgecolor=style.RED, linewidth=1.6, label=moved))
    shown.append(Patch(facecolor="none", edgecolor="none", label="italic: possible, but less likely than ours"))
    figure.legend(handles=shown, loc="outside lower center", ncols=4, fontsize=6.5)
    return figure


def _cell(axes: Axes, x: int, y: int, one: Found | None) -> None:
    colour, sign = (BLANK, "") if one is None else LOOKS[one["verdict"]]
    axes.add_patch(Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, facecolor=colour, edgecolor="none"))
    axes.text(x, y, sign, ha="center", va="center", fontsize=6, color=style.BLACK)
    if one is not None and one["moved"]:
        frame = Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, fill=False, edgecolor=style.RED, linewidth=1.6, zorder=3)
        axes.add_patch(frame)


def _label(row: Found) -> str:
    text = ", ".join(f"{choice.replace('_', ' ')}: {value}" for choice, value in row["choices"].items())
    return textwrap.shorten(text, LONGEST, placeholder=" ...")


def specification_curve(found: Found) -> Figure:
    """For every claim that moves: its number under all readings, sorted; below, which choice has which value."""
    panels = {claim: panel for claim in moving(found) if len((panel := _specifications(found, claim))[1]) > 1}
    if not panels:
        figure, axes = plt.subplots()
        axes.text(0.5, 0.5, "no claim turns with a reading that was run", ha="center", va="center")
        axes.set_axis_off()
        return figure
    heights = [h for choices, _ in panels.values() for h in (1.6, 0.14 * sum(map(len, choices.values())) + 0.1)]
    figure, rows = plt.subplots(
        2 * len(panels), 1, figsize=(2 * style.COLUMN, sum(heights) + 0.5 * len(panels)), height_ratios=heights,
        squeeze=False,
    )  # fmt: skip
    for (claim, (choices, points)), upper, lower in zip(panels.items(), rows[::2, 0], rows[1::2, 0], strict=True):
        _draw_numbers(upper, points, found["base"][claim].get("line"))
        said = f"{claim}. {found['claims'][claim]}", f"Number: {found['statistics'][claim]}"
        title = "\n".join(textwrap.fill(text, TITLE) for text in said)
        upper.set_title(title, fontsize=6.5, loc="left", x=-0.45)
        _draw_choices(lower, choices, points, found)
        lower.sharex(upper)
    return figure


Point = tuple[float, tuple[float, float], str, dict[str, str]]  # number, interval, verdict, value of each choice


def _specifications(found: Found, claim: str) -> tuple[dict[str, list[str]], list[Point]]:
    """The choices that vary with their values, and a point for each specification, sorted by its number."""
    given = specifications(found, claim)
    names = given[0][0] if given else {}
    levels = {choice: list(dict.fromkeys(taken[choice] for taken, _ in given)) for choice in names}
    points = [(one["value"], _ends(one), one["verdict"], taken) for taken, one in given]
    return {c: values for c, values in levels.items() if len(values) > 1}, sorted(points, key=lambda point: point[0])


def _ends(one: Found) -> tuple[float, float]:
    low, high = one["spread"] or (one["value"], one["value"])
    return (np.nan if low is None else low, np.nan if high is None else high)


def _draw_numbers(axes: Axes, points: Sequence[Point], line: float | None) -> None:
    """Numbers and intervals; a triangle at the lower edge for the logarithm of nothing."""
    limits = _limits(points, line)
    for verdict, (colour, _) in LOOKS.items():
        chosen = [(x, point) for x, point in enumerate(points) if point[2] == verdict]
        if not chosen:
            continue
        places = np.array([x for x, _ in chosen])
        values = np.array([point[0] for _, point in chosen])
        low, high = np.array([point[1] for _, point in chosen]).T
        shade = "#888888" if verdict in (UNDECIDED, NOT_TESTED) else colour
        axes.vlines(places, np.fmin(low, values), np.fmax(high, values), color=shade, linewidth=0.6, alpha=0.6)
        size, there = 3 if len(points) > 100 else 5, values > NOTHING
        axes.plot(places[there], values[there], ".", color=shade, markersize=size, label=verdict)
        if not there.all():
            edge = np.full(np.count_nonzero(~there), limits[0])
            axes.plot(places[~there], edge, "v", color=shade, markersize=size, clip_on=False)
    if line is not None:
        axes.axhline(line, color=style.BLACK, linewidth=0.8, linestyle=":")
    axes.set(ylabel="number", xlim=(-1, len(points)), ylim=limits)
    axes.tick_params(labelbottom=False)
    axes.legend(fontsize=6, ncols=4, loc="upper right")


def _limits(points: Sequence[Point], line: float | None) -> tuple[float, float]:
    """From the lowest to the highest end of an interval, but not far beyond all numbers: an end may be -300.

    Above them there is room for a legend.
    """
    numbers = [point[0] for point in points if point[0] > NOTHING] + ([] if line is None else [line])
    low, high = min(numbers, default=0.0), max(numbers, default=0.0)
    span = (high - low) or 1.0
    ends = np.clip([low, high, *(end for point in points for end in point[1])], low - span, high + span)
    bottom, top = float(np.nanmin(ends)), float(np.nanmax(ends))
    return bottom - 0.05 * span, top + 0.05 * span + 0.15 * (top - bottom)


def _draw_choices(axes: Axes, choices: Mapping[str, Sequence[str]], points: Sequence[Point], found: Found) -> None:
    """One row of marks for each value of each choice."""
    labels, y, width = [], 0, 0.4 if len(points) > 100 else 1.2
    for k, (choice, values) in enumerate(choices.items()):
        for value in values:
            places = [x for x, point in enumerate(points) if point[3][choice] == value]
            look = {"color": (style.BLACK, style.BLUE)[k % 2], "markersize": 4, "markeredgewidth": width}
            axes.plot(places, [y] * len(places), "|", **look)
            labels.append(textwrap.shorten(f"{found['choices'][choice]['what']}: {value}", 60, placeholder=" ..."))
            y += 1
        axes.axhline(y - 0.5, color="#cccccc", linewidth=0.5)
    axes.set_yticks(range(y), labels, fontsize=5.5)
    axes.set(ylim=(y - 0.5, -0.5), xlabel=f"{len(points)} specifications, sorted by the number")
    axes.tick_params(labelbottom=False)
    axes.grid(visible=False)
