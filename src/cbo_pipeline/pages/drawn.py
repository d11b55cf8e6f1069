"""Which figures a folder of results holds: those of the table, and the overviews of experiments without one."""

from pathlib import Path

from cbo_pipeline.figures import FIGURES, OF_READINGS, OVERVIEW, Figure, overview_of


def figures_in(folder: Path) -> list[Figure]:
    """The figures that are there as PNG, in the order of the table; then those of the readings."""
    known = {**FIGURES, **OF_READINGS}
    return [figure for label, figure in known.items() if _is_there(folder, label)] + overviews_in(folder)


def overviews_in(folder: Path) -> list[Figure]:
    """The figures of experiments that have none of their own, by name."""
    found = sorted(path.stem.removesuffix(OVERVIEW) for path in folder.glob(f"?*{OVERVIEW}.png"))
    return [overview_of(experiment) for experiment in found]


def known(label: str) -> Figure | None:
    """The figure of a label, or None if there is none (an interactive chart without a figure beside it)."""
    if label.endswith(OVERVIEW):
        return overview_of(label.removesuffix(OVERVIEW))
    return {**FIGURES, **OF_READINGS}.get(label)


def number(figure: Figure) -> str:
    """The number of a figure, or its label if it has none."""
    return figure.number or figure.label


def _is_there(folder: Path, label: str) -> bool:
    return (folder / f"{label}.png").is_file()
