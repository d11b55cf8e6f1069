"""The figures of the paper, and ours. One function per figure, named by its label; one style for all.

This table is read by the workflow, so it imports nothing heavy.
"""

import difflib
import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cbo_pipeline.errors import UserError
from cbo_pipeline.results import checks


@dataclass(frozen=True)
class Need:
    """Curves that a figure shows: variants of an experiment (all if None), along one sweep (all if None).

    The sweep ``M`` has the curves of largest N, the sweep ``N`` those of largest M.
    """

    experiment: str
    variants: tuple[str, ...] | None = None
    sweep: str | None = None


@dataclass(frozen=True)
class Figure:
    """A figure: its label, its number (fig2; ours are s1, s2, ...), the module that draws it, what it needs.

    An experiment without a figure of its own has one without a number (``overview_of``).
    What it shows ``also`` is shown where it is there.
    With ``costs`` its function gets, after the summaries, the measured costs of the same curves; with ``checks`` the
    numerical checks of these names that are there.
    """

    label: str
    number: str | None
    module: str
    title: str
    needs: tuple[Need, ...]
    category: str = "The paper"
    costs: bool = False
    function: str | None = None  # of the module; the label if left out
    also: tuple[Need, ...] = ()
    checks: tuple[str, ...] = ()


FIGURES = {
    figure.label: figure
    for figure in (
        Figure("diagram_multi_task", "fig1", "diagrams", "Single-task and Multi-Task CBO", (Need("one_neuron"),)),
        Figure("sine_training", "fig2", "sine", "Sine: risk per epoch", (Need("sine", ("cbo", "adam")),)),
        Figure("sine_example", "fig3", "sine", "Sine: approximations", (Need("sine", ("cbo", "adam")),)),
        Figure(
            "comparison_cbo_adam",
            "fig4",
            "mnist",
            "MNIST: risk per epoch of Adam, CBO and the hybrid",
            (Need("mnist", ("adam",)), Need("mnist", ("cbo",)), Need("mnist", ("hybrid",))),
            also=(Need("mnist_horizon", ("cbo", "hybrid", "hybrid_v1")), Need("mnist", ("adam_lr1",))),
        ),
        Figure("multi_task_training", "fig5", "multi_task", "Multi-Task CBO: risk per epoch", (Need("multi_task"),)),
        Figure("multi_task_examples", "fig6", "multi_task", "Multi-Task CBO: five tasks", (Need("multi_task"),)),
        Figure("meanfield_diagram", "fig7", "diagrams", "The mean-field limits", ()),
        Figure(
            "mean_field_M", "fig8", "square", "Square: risk against the width M", (Need("square", ("ot_cbo",), "M"),)
        ),
        Figure(
            "mean_field_N",
            "fig9",
            "square",
            "Square: risk against the particles N",
            (Need("square", ("ot_cbo",), "N"),),
        ),
        Figure(
            "mnist_learning_rates",
            "s1",
            "mnist",
            "MNIST: Adam at four learning rates, every seed, and the share of epochs in a leap",
            (Need("mnist", ("adam_lr1", "adam_lr2", "adam", "adam_lr4")),),
            "Supplement",
            also=(Need("mnist_floor", ("hybrid", "hybrid_v1")), Need("mnist_horizon", ("hybrid", "hybrid_v1"))),
        ),
        Figure(
            "mnist_accuracy",
            "s2",
            "mnist",
            "MNIST: accuracy on the test images",
            (Need("mnist", ("adam",)), Need("mnist", ("cbo",)), Need("mnist", ("hybrid",))),
            "Supplement",
        ),
        Figure(
            "multi_task_memory",
            "s3",
            "multi_task",
            "One ensemble for all tasks against one for each: memory, time and risk",
            (Need("multi_task_memory"),),
            "Supplement",
            costs=True,
        ),
        Figure(
            "variance_decay",
            "s4",
            "square",
            "Proposition 3: decay of the variance without noise",
            (Need("variance_decay"),),
            "Supplement",
        ),
        Figure(
            "square_training",
            "s5",
            "square",
            "Square: risk per epoch for every M and N",
            (Need("square", ("ot_cbo",)),),
            "Supplement",
        ),
        Figure(
            "precision",
            "s6",
            "precision",
            "Sine: CBO in single and double precision",
            (Need("sine", ("cbo", "cbo_float64")),),
            "Supplement",
            checks=("spread",),
        ),
        Figure(
            "gathering",
            "s8",
            "gathering",
            "Sine: the ensemble gathers around the target",
            (Need("gathering"),),
            "Supplement",
        ),
        Figure(
            "multi_task_ot",
            "s7",
            "square",
            "Multi-task optimal-transport CBO: risk per epoch, five tasks",
            (Need("multi_task_ot"),),
            "Supplement",
        ),
        Figure(
            "sine_pairs",
            "s9",
            "pairs",
            "Sine: CBO's risk over Adam's at the end, pair by pair",
            (Need("sine", ("cbo", "adam")),),
            "Supplement",
        ),
        Figure(
            "consensus_condition",
            "s10",
            "theory",
            "Where consensus forms: noise and dimension",
            (Need("consensus_condition"),),
            "Supplement",
        ),
    )
}

# Figures of the verdicts under other readings of the paper: drawn from results/readings.json.
OF_READINGS = {
    figure.label: figure
    for figure in (
        Figure("readings", "s11", "readings", "The claims under other readings of the paper", (), "Readings"),
        Figure(
            "specification_curve",
            "s12",
            "readings",
            "Claims that turn: their number under every reading",
            (),
            "Readings",
        ),
    )
}

OVERVIEW = "_overview"
FORMATS = (".pdf", ".png", ".svg")


def overview_of(experiment: str) -> Figure:
    """The figure of an experiment that has none of its own."""
    title = f"{experiment}: risk per epoch of all its curves, and where they ended"
    needs = (Need(experiment),)
    return Figure(f"{experiment}{OVERVIEW}", None, "overview", title, needs, "Own experiments", function="overview")


class Shown(Protocol):
    """What a figure needs to know of a curve."""

    experiment: str
    variant: str
    M: int
    N: int


def shows(need: Need, curve: Shown, curves: Iterable[Shown]) -> bool:
    """Whether a figure that states this need shows this curve; ``curves`` are all that there are."""
    if curve.experiment != need.experiment or (need.variants is not None and curve.variant not in need.variants):
        return False
    if need.sweep is None:
        return True
    other = "N" if need.sweep == "M" else "M"
    same = (c for c in curves if (c.experiment, c.variant) == (curve.experiment, curve.variant))
    return getattr(curve, other) == max(getattr(c, other) for c in same)


def shown_curves(figure: Figure, curves: Sequence[Shown]) -> list[Shown]:
    """The curves that a figure shows."""
    needs = (*figure.needs, *figure.also)
    return [curve for curve in curves if any(shows(need, curve, curves) for need in needs)]


def has_own(experiment: str) -> bool:
    """Whether a figure of the table shows the experiment, or a check of its runs.

    What it shows also, beside what it needs, is more than it shows: an overview has all of it.
    """
    shown = {need.experiment for figure in FIGURES.values() for need in figure.needs}
    checked = {checks.OF_RUNS.get(name) for figure in FIGURES.values() for name in figure.checks}
    return experiment in shown | checked


def find(label: str) -> Figure:
    """The figure of that label."""
    if label in FIGURES:
        return FIGURES[label]
    if label in OF_READINGS:
        return OF_READINGS[label]
    if label.endswith(OVERVIEW) and label != OVERVIEW:
        return overview_of(label.removesuffix(OVERVIEW))
    numbers = {figure.number: name for name, figure in {**FIGURES, **OF_READINGS}.items() if figure.number}
    near = [numbers[label]] if label in numbers else difflib.get_close_matches(label, [*FIGURES, *OF_READINGS], 1)
    known = f"did you mean {near[0]}?" if near else f"known: {', '.join(FIGURES)}, or EXPERIMENT{OVERVIEW}"
    raise UserError(f"{label}: not the label of a figure; {known}", code="unknown-name", key="label")


def check_formats(outputs: Sequence[Path]) -> None:
    """Refuse a file whose name does not end like a format of figures."""
    for path in map(Path, outputs):
        if path.suffix not in FORMATS:
            words = f"{path}: a figure is written as {', '.join(FORMATS)}; end the name with one of these"
            raise UserError(words, code="not-an-option", key="--output", file=str(path))


def draw(
    label: str,
    summaries: Sequence[Path],
    outputs: Sequence[Path],
    costs: Sequence[Path] = (),
    check_files: Sequence[Path] = (),
) -> None:
    """Draw a figure from the summaries (and costs) of its curves and save it under every name in ``outputs``."""
    from cbo_pipeline.results import costs as cost_files
    from cbo_pipeline.results import summaries as summary_files

    figure = find(label)
    if label in OF_READINGS:
        raise UserError(
            f"{label}: shows results/readings.json; name it with --readings", code="missing", key="--readings"
        )
    by_experiment: dict[str, list] = {}
    for path in summaries:
        data = summary_files.read(path)
        by_experiment.setdefault(data.attrs["experiment"], []).append((path, data))
    missing = {need.experiment for need in figure.needs} - set(by_experiment)
    if missing:
        raise UserError(
            f"{label}: needs summaries of {', '.join(sorted(missing))}; name them too",
            code="missing",
            key="summaries",
        )
    for parts in by_experiment.values():
        summary_files.refuse_mixture([path for path, _ in parts], [data for _, data in parts])
    data = {name: summary_files.join([data for _, data in parts]) for name, parts in by_experiment.items()}
    found = [checks.read(path) for path in check_files]
    named = {content["check"]: checks.numbers(content) for content in found}
    draw_data(figure, data, [cost_files.read(path) for path in costs], named, outputs)


def draw_data(figure: Figure, data: dict, costs: Sequence[dict], checked: dict, outputs: Sequence[Path]) -> None:
    """Draw a figure from summaries by experiment, costs and checks, and save it under every name in ``outputs``."""
    from cbo_pipeline.figures import style
    from cbo_pipeline.results.code import stage_digest

    module = importlib.import_module(f"cbo_pipeline.figures.{figure.module}")
    further = [costs] if figure.costs else []
    further += [{name: checked[name] for name in figure.checks if name in checked}] if figure.checks else []
    with style.applied():
        drawn = getattr(module, figure.function or figure.label)(data, *further)
        style.save(drawn, outputs, stage_digest(f"figures.{figure.module}"))
        style.close(drawn)


def draw_readings(label: str, readings: Path, outputs: Sequence[Path]) -> None:
    """Draw a figure of the verdicts under other readings, from results/readings.json."""
    from cbo_pipeline.figures import style
    from cbo_pipeline.results import readings as reading_files
    from cbo_pipeline.results.code import stage_digest

    if label not in OF_READINGS:
        raise UserError(
            f"{label}: not a figure of readings; known: {', '.join(OF_READINGS)}", code="unknown-name", key="label"
        )
    module = importlib.import_module(f"cbo_pipeline.figures.{OF_READINGS[label].module}")
    with style.applied():
        drawn = getattr(module, label)(reading_files.read(readings))
        style.save(drawn, outputs, stage_digest(f"figures.{OF_READINGS[label].module}"))
        style.close(drawn)
