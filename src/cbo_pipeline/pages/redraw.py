"""All figures, verdicts and the page from published summaries: nothing is trained."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from cbo_pipeline import claims, figures
from cbo_pipeline.claims import files, speed
from cbo_pipeline.errors import UserError
from cbo_pipeline.pages import claims as pages
from cbo_pipeline.pages import index, provenance
from cbo_pipeline.results import readings

COPIED = ("readings.json", "readings.md", provenance.NAME, "settings.html")


def redraw(published: Path, output: Path) -> Iterator[str]:
    """Fill ``output`` like a folder of results from a folder that ``publish`` made; yields a line for each step."""
    evidence = files.read_folder(published)
    if not evidence.summaries:
        words = f"{published}: holds no summaries; name a folder that `publish` made"
        raise UserError(words, code="no-results", file=str(published))
    (output / "figures").mkdir(parents=True, exist_ok=True)
    for name in ("summary", "cost", "checks"):
        if (published / name).is_dir():
            shutil.copytree(published / name, output / name, dirs_exist_ok=True)
    for name in COPIED:
        if (published / name).is_file():
            shutil.copy(published / name, output)
    rows = claims.judge_all(evidence)
    found = output / "readings.json"
    if found.is_file():
        words = readings.read(found)["robustness"]
        rows = [{**row, "robustness": words[str(row["id"])]} for row in rows]
    measured = speed.speed(evidence)
    pages.write_json(rows, output / "claims.json")
    pages.write_json(measured, output / "speed.json")
    pages.write_markdown(rows, measured, output / "claims.md", evidence.checks.get("rule_errors"))
    yield pages.tally(rows)
    own = [figures.overview_of(name) for name in evidence.summaries if not figures.has_own(name)]
    drawn = (*figures.FIGURES.values(), *own)
    jobs = [figure.label for figure in drawn if _can_draw(figure, evidence.summaries)]
    with ProcessPoolExecutor() as pool:
        for label in pool.map(_draw, jobs, [published] * len(jobs), [output] * len(jobs)):
            yield f"{output / 'figures' / label}.pdf, .png"
    if found.is_file():
        for label in figures.OF_READINGS:
            figures.draw_readings(label, found, _files(output, label))
    size = index.write(output, output / "index.html", found if found.is_file() else None)
    yield f"{output / 'index.html'}: {size / 1e6:.1f} MB"


def _can_draw(figure: figures.Figure, summaries) -> bool:
    """Whether the summaries hold every variant that a figure shows."""
    for need in figure.needs:
        if need.experiment not in summaries:
            return False
        variants = set(summaries[need.experiment]["variant"].values.tolist())
        if not variants >= set(need.variants or ()):
            return False
    return True


def _files(output: Path, label: str) -> list[Path]:
    return [output / "figures" / f"{label}{suffix}" for suffix in (".pdf", ".png")]


def _draw(label: str, published: Path, output: Path) -> str:
    figure = figures.find(label)
    experiments = sorted({need.experiment for need in figure.needs})
    costs = sorted((published / "cost").rglob("*.json")) if figure.costs else []
    summaries = [published / "summary" / f"{experiment}.nc" for experiment in experiments]
    others = (published / "summary" / f"{need.experiment}.nc" for need in figure.also)
    summaries += [path for path in others if path.is_file()]
    figures.draw(label, summaries, _files(output, label), costs)
    return label
