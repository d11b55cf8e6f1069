"""All figures, verdicts and the page from published summaries: nothing is trained."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from cbo_pipeline import claims, figures
from cbo_pipeline.claims import files, speed
from cbo_pipeline.claims.evidence import Evidence
from cbo_pipeline.errors import UserError
from cbo_pipeline.pages import claims as pages
from cbo_pipeline.pages import index, provenance
from cbo_pipeline.pages.index import html
from cbo_pipeline.results import readings, summaries

COPIED = ("readings.json", "readings.md", provenance.NAME, "settings.html")
FILM, FILM_OF = "gathering.gif", "gathering"


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
    pages.write_verdicts(rows, output / "claims.json")
    yield pages.tally(rows)
    own = [figures.overview_of(name) for name in evidence.summaries if not figures.has_own(name)]
    known = (*figures.FIGURES.values(), *own)
    jobs = [figure.label for figure in known if _can_draw(figure, evidence)]
    jobs += list(figures.OF_READINGS) if found.is_file() else []
    # The film takes longest: it is begun first, and the others are drawn beside it.
    jobs = [*([FILM] if FILM_OF in evidence.summaries else []), *jobs]
    with ProcessPoolExecutor() as pool:
        drawn = pool.map(_draw, jobs, [published] * len(jobs), [output] * len(jobs))
        measured = speed.speed(evidence)
        pages.write_speed(measured, output / "speed.json")
        pages.write_markdown(rows, measured, output / "claims.md", evidence.checks.get("rule_errors"))
        html.vega_bundle()  # kept for the page
        yield from drawn
    size = index.write(output, output / "index.html", found if found.is_file() else None)
    yield f"{output / 'index.html'}: {size / 1e6:.1f} MB"


def _can_draw(figure: figures.Figure, evidence: Evidence) -> bool:
    """Whether the summaries hold every variant that a figure shows, and the costs if it shows them."""
    for need in figure.needs:
        if need.experiment not in evidence.summaries:
            return False
        if figure.costs and not any(cost["experiment"] == need.experiment for cost in evidence.costs):
            return False
        variants = set(evidence.summaries[need.experiment]["variant"].values.tolist())
        if not variants >= set(need.variants or ()):
            return False
    return True


def _draw(job: str, published: Path, output: Path) -> str:
    """Draw one figure, or the animation; returns what was made."""
    if job == FILM:
        from cbo_pipeline.figures import animation

        animation.gathering({FILM_OF: summaries.read(published / "summary" / f"{FILM_OF}.nc")}, _figure(output, FILM))
        return str(_figure(output, FILM))
    files = [_figure(output, f"{job}{suffix}") for suffix in (".pdf", ".png")]
    if job in figures.OF_READINGS:
        figures.draw_readings(job, output / "readings.json", files)
    else:
        figure = figures.find(job)
        experiments = sorted({need.experiment for need in (*figure.needs, *figure.also)})
        shown = [published / "summary" / f"{name}.nc" for name in experiments]
        measured = {need.experiment for need in figure.needs} if figure.costs else set()
        costs = [path for name in sorted(measured) for path in sorted((published / "cost" / name).glob("*.json"))]
        figures.draw(job, [path for path in shown if path.is_file()], files, costs)
    return f"{_figure(output, job)}.pdf, .png"


def _figure(output: Path, name: str) -> Path:
    return output / "figures" / name
