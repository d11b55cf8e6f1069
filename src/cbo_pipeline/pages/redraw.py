"""All figures, verdicts and the page from published summaries: nothing is trained."""

import gc
import shutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import xarray as xr

from cbo_pipeline import claims, figures
from cbo_pipeline.claims import files, speed
from cbo_pipeline.claims.evidence import Evidence
from cbo_pipeline.config import Curve
from cbo_pipeline.errors import UserError
from cbo_pipeline.pages import claims as pages
from cbo_pipeline.pages import index, provenance
from cbo_pipeline.pages.index import content, html
from cbo_pipeline.results import ledger, readings, stage_code

COPIED = ("readings.json", "readings.md", provenance.NAME, "settings.html")
FILM, FILM_OF = "gathering.gif", "gathering"


def redraw(published: Path, output: Path) -> Iterator[str]:
    """Fill ``output`` like a folder of results from a folder that ``publish`` made; yields a line for each step."""
    evidence = files.read_folder(published)
    if not evidence.summaries:
        words = f"{published}: holds no summaries; name a folder that `publish` made"
        raise UserError(words, code="no-results", file=str(published))
    for name in ("summary", ledger.READINGS, "cost", "checks"):
        if (published / name).is_dir():
            shutil.copytree(published / name, output / name, dirs_exist_ok=True)
    for name in COPIED:
        if (published / name).is_file():
            shutil.copy(published / name, output)
    yield from fill(output, evidence)


def fill(
    output: Path,
    evidence: Evidence | None = None,
    suffixes: tuple[str, ...] = (".pdf", ".png"),
    wanted: int = index.LARGEST,
) -> Iterator[str]:
    """Make figures, verdicts and the page of a folder from its summaries; yields a line for each step."""
    evidence = evidence or files.read_folder(output)
    (output / "figures").mkdir(parents=True, exist_ok=True)
    found = output / "readings.json"
    own = [figures.overview_of(name) for name in evidence.summaries if not figures.has_own(name)]
    known = (*figures.FIGURES.values(), *own)
    jobs = [figure.label for figure in known if _can_draw(figure, evidence)]
    jobs += list(figures.OF_READINGS) if found.is_file() else []
    # The film takes longest: it is begun first, and the others are drawn beside it.
    jobs = [*([FILM] if FILM_OF in evidence.summaries else []), *jobs]
    with ProcessPoolExecutor(initializer=_share, initargs=(evidence, output, suffixes)) as pool:
        drawn = pool.map(_draw, jobs)
        rows = claims.judge_all(evidence)
        if found.is_file():
            rows = readings.with_robustness(rows, found)
        pages.write_verdicts(rows, output / "claims.json")
        yield pages.tally(rows)
        measured = speed.speed(evidence)
        pages.write_speed(measured, output / "speed.json")
        pages.write_markdown(rows, measured, output / "claims.md", evidence.checks.get("rule_errors"))
        shown = content.read(output, found if found.is_file() else None)
        html.vega_bundle()  # kept for the page, as is the digest of its code
        stage_code.digest_of("page")
        yield from drawn
    size = index.write_content(shown, output / "index.html", wanted)
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


# What the processes that draw have in common: what was read, and where figures go.
_SHARED: dict[str, Any] = {}


def _share(evidence: Evidence, output: Path, suffixes: tuple[str, ...]) -> None:
    _SHARED.update(evidence=evidence, output=output, suffixes=suffixes)
    gc.disable()  # the process ends soon; to look for cycles would take a tenth of its time


def _draw(job: str) -> str:
    """Draw one figure, or the animation; returns what was made."""
    evidence, output, suffixes = (_SHARED[name] for name in ("evidence", "output", "suffixes"))
    if job == FILM:
        from cbo_pipeline.figures import animation

        animation.gathering({FILM_OF: evidence.summaries[FILM_OF]}, _figure(output, FILM))
        return str(_figure(output, FILM))
    files = [_figure(output, f"{job}{suffix}") for suffix in suffixes]
    if job in figures.OF_READINGS:
        figures.draw_readings(job, output / "readings.json", files)
    else:
        figure = figures.find(job)
        experiments = {need.experiment for need in (*figure.needs, *figure.also)}
        data = {name: _shown(figure, found) for name, found in evidence.summaries.items() if name in experiments}
        measured = {need.experiment for need in figure.needs} if figure.costs else set()
        costs = [cost for cost in evidence.costs if cost["experiment"] in measured]
        figures.draw_data(figure, data, costs, evidence.checks, files)
    return f"{_figure(output, job)}{', '.join(suffixes)}"


def _shown(figure: figures.Figure, data: xr.Dataset) -> xr.Dataset:
    """The curves of a summary that a figure shows, as the workflow hands them to it."""
    experiment, sizes = data.attrs["experiment"], zip(*(data[n].values for n in ("variant", "M", "N")), strict=True)
    curves = [Curve(experiment, str(variant), int(M), int(N)) for variant, M, N in sizes]
    shown = set(figures.shown_curves(figure, curves))
    return data.isel(curve=[k for k, curve in enumerate(curves) if curve in shown])


def _figure(output: Path, name: str) -> Path:
    return output / "figures" / name
