"""From results to docs/reproduction and to the README: figures, verdicts, summaries, what it cost and where it ran.

Nothing is typed by hand: ``make publish`` builds it all. Results that were made later or elsewhere, such as other
readings or longer runs, are added to a publication; all that depends on them is then made again from its summaries.
"""

import math
import os
import re
import shutil
from collections import Counter
from collections.abc import Container, Mapping, Sequence, Sized
from pathlib import Path

import numpy as np
import xarray as xr

from cbo_pipeline import figures
from cbo_pipeline.claims import reading_verdicts
from cbo_pipeline.claims.files import read_verdicts
from cbo_pipeline.claims.reading_plan import ReadingPlan
from cbo_pipeline.config import Run, load_config, resolve, runs
from cbo_pipeline.errors import FileRefused
from cbo_pipeline.files import mark, whole_file
from cbo_pipeline.pages import claims as pages
from cbo_pipeline.pages import crate, index, provenance, published_data, redraw
from cbo_pipeline.pages import readings as readings_page
from cbo_pipeline.pages.article.numbers import listed
from cbo_pipeline.pages.drawn import figures_in, number
from cbo_pipeline.results import job_times as stages
from cbo_pipeline.results import ledger, verify
from cbo_pipeline.results import readings as reading_files
from cbo_pipeline.results import summaries as summary_files
from cbo_pipeline.results.stage_code import digest_of

BEGIN, END = "<!-- made by `make publish`: begin -->", "<!-- made by `make publish`: end -->"
MANIFEST = ".published"  # the list of the files that publish made
VERDICTS = ("claims.md", "claims.json", "speed.json")
READINGS = ("readings.json", "readings.md")
OTHERS = (*READINGS, ledger.FILE, "settings.html", "figures/gathering.gif")  # published if they were made
PAGE_BYTES = 3_000_000  # of the published page, if fewer points of single runs suffice: it is kept in the repository
PAPER = "the paper"  # what the first part of a publication holds
OF_READINGS = "other readings of "  # what parts that were added begin with, before their experiments
MADE_AGAIN = ", made again"  # how a part ends that gave no numbers, only what it took


def publish(results: Path, output: Path, readme: Path | None = None) -> list[Path]:
    """Fill the folder ``output`` from the folder ``results``, and the part of ``readme`` between BEGIN and END.

    What the folder held before is replaced. Results that were not made by one code are refused.
    """
    crate.require_package()
    for name in VERDICTS:
        if not (results / name).is_file():
            words = f"{results / name}: not there; make everything first (make paper)"
            raise FileRefused(words, code="no-such-file", file=str(results / name))
    summaries, jobs = published_data.summaries_in(results), stages.read(results / "benchmarks")
    if not summaries or not jobs:
        words = f"{results}: holds no {'summary' if jobs else 'benchmarks'}; make everything first (make paper)"
        raise FileRefused(words, code="missing", file=str(results))
    read_verdicts(results / "claims.json")
    verify.refuse_mixture(results, verify.verify(results, load_config()))
    before = _part_of(readme) if readme else None
    _clear(output)
    others = set(output.rglob("*"))
    (output / "figures").mkdir(parents=True, exist_ok=True)
    for figure in figures_in(results / "figures"):
        shutil.copy(results / "figures" / f"{figure.label}.png", output / "figures")
    published_data.store(results, summaries, output)
    for name in (*VERDICTS, *OTHERS):
        if (results / name).is_file():
            shutil.copy(results / name, output / name)
    parts = [provenance.part_of(PAPER, provenance.runs_in(summaries.values()), jobs)]
    made = provenance.published(parts, _by_experiment(summaries), _readings(output))
    provenance.write(made, output)
    index.write(output, output / index.NAME, wanted=PAGE_BYTES)
    return _finish(output, others, made, readme, before)


def add(results: Path, output: Path, readme: Path | None = None) -> list[Path]:
    """Add the curves whose summaries a folder of results holds to the publication in ``output``, over those there.

    Measured costs and numerical checks are taken, too. Figures, verdicts and pages are made again from all of it.
    Results of other code are refused, and so is a publication of other code, but for what is replaced.
    """
    _require_publication(output)
    summaries = published_data.summaries_in(results)
    found = summaries or published_data.readings_in(results) or published_data.measured_in(results)
    jobs = _jobs_that_made(found, results)
    _refuse_other_code(output, published_data.replaced(summaries, results, output))
    _refuse_other_curves(output, published_data.kept(summaries, output))
    others, before = _of_others(output), _part_of(readme) if readme else None
    stored = published_data.store(results, published_data.with_published(summaries, output), output)
    if new := [entry for entry in ledger.read(results) if entry not in ledger.read(output)]:
        ledger.add(output, new)
    added = [_added(stored, summaries, output, jobs)] if stored else []
    return _make_again(output, [*provenance.read(output, {}).parts, *added], others, readme, before)


def repeated(results: Path, output: Path, readme: Path | None = None) -> list[Path]:
    """Add what it took to make the results again, on this machine, to the publication in ``output``.

    The published numbers stay, also where the results have fewer seeds. Results of other code are refused, and so
    are curves that were not published.
    """
    _require_publication(output)
    summaries = published_data.summaries_in(results)
    jobs = _jobs_that_made(summaries, results)
    if unknown := published_data.not_published(summaries, output):
        words = f"{results}: {listed(unknown)} not published with these settings; add the results (publish --add)"
        raise FileRefused(words, code="other-settings", key="--results", file=str(results))
    _refuse_other_code(output)
    whole = not _lacking(_wanted(), _seeds_by_settings(summaries))
    what = PAPER if whole else listed(sorted(_by_experiment(summaries)))
    part = provenance.part_of(what + MADE_AGAIN, provenance.runs_in(summaries.values()), jobs)
    others, before = _of_others(output), _part_of(readme) if readme else None
    return _make_again(output, [*provenance.read(output, {}).parts, part], others, readme, before)


def _jobs_that_made(found: Sized, results: Path) -> list[stages.Job]:
    """The jobs that made what was found in a folder of results; refused if there is nothing, or a mixture."""
    jobs = stages.read(results / "benchmarks")
    if not found or not jobs:
        words = f"{results}: holds no {'summary' if jobs else 'benchmarks'}; there is nothing to add"
        raise FileRefused(words, code="missing", key="--results", file=str(results))
    verify.refuse_mixture(results, verify.verify(results, load_config()))
    return jobs


def again(output: Path, readme: Path | None = None) -> list[Path]:
    """Make figures, verdicts and pages of the publication in ``output`` again from its summaries.

    So after a change of what shows or judges results, or after changed code was adopted for them. A publication whose
    summaries, costs or checks were made by other code is refused.
    """
    _require_publication(output)
    _refuse_other_code(output)
    before = _part_of(readme) if readme else None
    return _make_again(output, provenance.read(output, {}).parts, _of_others(output), readme, before)


def _require_publication(output: Path) -> None:
    crate.require_package()
    if not (output / MANIFEST).is_file():
        words = f"{output}: holds no publication to add to; publish the paper first (make publish)"
        raise FileRefused(words, code="no-results", key="--output", file=str(output))


def _refuse_other_code(output: Path, replaced: Container[Path] = ()) -> None:
    rows = [row for row in verify.verify(output, load_config()) if row.kind in ("summary", "cost", "check")]
    verify.refuse_mixture(output, [row for row in rows if Path(row.path) not in replaced])


def _refuse_other_curves(output: Path, kept: Mapping[str, xr.Dataset]) -> None:
    """The same for the curves that stay in summaries of which others are replaced."""
    found = {output / "summary" / name: data for name, data in kept.items()}
    verify.refuse_mixture(output, verify.of_summaries(found, load_config(), ledger.read(output)))


def _of_others(output: Path) -> set[Path]:
    """What is in the folder and was not published. Code is adopted for a publication, so the ledger belongs to it."""
    return set(output.rglob("*")) - set(_published(output)) - {output / ledger.FILE}


def _make_again(
    output: Path, parts: Sequence[provenance.Part], others: set[Path], readme: Path | None, before
) -> list[Path]:
    """All that a publication holds beside its summaries, costs and checks."""
    made = provenance.published(parts, _by_experiment(published_data.summaries_in(output)), _readings(output))
    provenance.write(made, output)
    if published_data.readings_in(output):
        found = reading_verdicts.judge_readings(ReadingPlan.of(), output)
        reading_files.write(pages.plain(found), output / READINGS[0])
        readings_page.write_markdown(found, output / READINGS[1])
    for _ in redraw.fill(output, suffixes=(".png",), wanted=PAGE_BYTES):
        pass
    return _finish(output, others, made, readme, before)


def _finish(
    output: Path, others: set[Path], made: provenance.Made, readme: Path | None, before: tuple[str, str] | None
) -> list[Path]:
    """Write what describes a publication: its page, its crate, its list of files, and the part of the README."""
    claims = read_verdicts(output / "claims.json")
    drawn = sorted(figures_in(output / "figures"), key=_order)
    said = _said(published_data.summaries_in(output), made)
    _write(output / "README.md", _page(said, drawn, claims, made, output))
    (output / crate.NAME).unlink(missing_ok=True)  # it does not describe itself
    if crate.copy_workflow(output, provenance.ROOT):
        crate.write(output, _all(output), made, said, provenance.ROOT)
    if before is not None:
        place = Path(os.path.relpath(output, readme.parent)).as_posix()
        _write(readme, f"{BEGIN}\n{_excerpt(said, claims, drawn, place)}\n{END}".join(before))
    files = _new(output, others)
    _write(output / MANIFEST, "".join(f"{path.relative_to(output).as_posix()}\n" for path in files))
    return files


def _added(
    stored: Sequence[Path], summaries: Mapping[str, xr.Dataset], output: Path, jobs: Sequence[stages.Job]
) -> provenance.Part:
    """The part of a publication that these summaries are, with the jobs that made them.

    Of ``summaries`` themselves, not of the published ones in which they are joined with other curves.
    """
    made = {_owner(path.with_suffix("").parts) for path in stored}
    experiments = sorted(experiment for reading, experiment in made if not reading)
    of_readings = sorted({experiment for reading, experiment in made if reading})
    told = [OF_READINGS + ", ".join(of_readings)] if of_readings else []
    added = (summaries[p.name] if p.parts[0] == "summary" else summary_files.read(output / p) for p in stored)
    runs = provenance.runs_in(added)
    return provenance.part_of("; ".join([*experiments, *told]), runs, [j for j in jobs if _owner(j.parts) in made])


def _owner(parts: Sequence[str]) -> tuple[str, str]:
    """The reading (none is the base) and the experiment that a summary, or the benchmark of a job, belongs to.

    >>> _owner(("readings", "float64", "summary", "sine", "cbo_M100_N200")), _owner(("sine", "cbo", "M5_N8_seed0"))
    (('float64', 'sine'), ('', 'sine'))
    """
    match tuple(parts):
        case (ledger.READINGS, reading, "summary", experiment, *_) | (ledger.READINGS, reading, experiment, *_):
            return reading, experiment
        case ("summary" | "cost", experiment, *_) | (experiment, *_):
            return "", experiment


def _readings(output: Path) -> list[xr.Dataset]:
    return [summary_files.read(output / path) for path in published_data.readings_in(output)]


def _by_experiment(summaries: Mapping[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    return {data.attrs["experiment"]: data for data in summaries.values()}


def _new(output: Path, others: set[Path]) -> list[Path]:
    """The files of the folder that were not there before."""
    return [path for path in _all(output) if path not in others]


def _all(output: Path) -> list[Path]:
    """The files of the folder, also those that were put there by hand, such as runs; not publish's own list."""
    return sorted(path for path in output.rglob("*") if path.is_file() and path != output / MANIFEST)


def coverage(summaries: Mapping[str, xr.Dataset]) -> str:
    """Which part of config.yaml these results are, in words: whether every curve is there as the config has it."""
    wanted, found = _wanted(), _seeds_by_settings(summaries)
    lacking = _lacking(wanted, found)
    if not lacking:
        further = sum(found[text] > seeds for text, seeds in wanted.items())
        more = f" with more seeds for {further} of its curves" if further else ""
        return f"All of config.yaml{more}: {len(wanted)} curves, {sum(found[text] for text in wanted)} runs"
    others = "the others are missing, or have fewer seeds or other settings"
    return f"{len(wanted) - len(lacking)} of the {len(wanted)} curves of config.yaml ({others})"


def _lacking(wanted: Mapping[str, int], found: Mapping[str, int]) -> list[str]:
    """The curves that are not there with all their seeds."""
    return [text for text, seeds in wanted.items() if found.get(text, 0) < seeds]


def _wanted() -> dict[str, int]:
    """How many seeds each curve of config.yaml has, by its settings as text."""
    config = load_config()
    return Counter(resolve(config, name.curve.run(0)).json for name in runs(config))


def _seeds_by_settings(summaries: Mapping[str, xr.Dataset]) -> dict[str, int]:
    """The same of the curves of these summaries."""
    found = {}
    for data in summaries.values():
        for curve in data["curve"].values:
            at = data.sel(curve=curve)
            found[Run.from_json(str(at["settings"].values)).json] = int(np.isfinite(at["risk"].isel(epoch=0)).sum())
    return found


def _order(figure) -> tuple[bool, float, str]:
    """The paper's figures, then ours by their number, then those without a number by their label."""
    place = int(re.search(r"\d+", figure.number)[0]) if figure.number else math.inf
    return figure.category != "The paper", place, figure.label


def _part_of(readme: Path) -> tuple[str, str]:
    """What stands before and after the part that is made."""
    text = readme.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        words = f"{readme}: has no part between {BEGIN} and {END}; add these two lines"
        raise FileRefused(words, code="foreign", key="--readme", file=str(readme))
    return text.split(BEGIN)[0], text.split(END)[1]


def _clear(output: Path) -> None:
    """Remove what was published into the folder before, and nothing else; a folder of another kind is refused."""
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return
    if not (output / MANIFEST).is_file():
        words = f"{output}: there already, and not made by publish; name another folder"
        raise FileRefused(words, code="foreign", key="--output", file=str(output))
    for path in _published(output):
        path.unlink(missing_ok=True)


def _published(output: Path) -> list[Path]:
    """The files of the last publication, by its list."""
    names = (output / MANIFEST).read_text(encoding="utf-8").splitlines()
    inside = [
        output / name for name in names if name and ".." not in Path(name).parts and not Path(name).is_absolute()
    ]
    return [path for path in inside if path.is_file() or path.is_symlink()]


def _said(summaries: dict[str, xr.Dataset], made: provenance.Made) -> str:
    """What was run and what it took, in a few sentences."""
    later = [part for part in made.parts[1:] if not part.what.endswith(MADE_AGAIN)]
    told = [word for part in later for word in part.what.split("; ")]
    added = [word for word in dict.fromkeys(told) if not word.startswith(OF_READINGS)]
    of_readings = {name for word in told for name in word.removeprefix(OF_READINGS).split(", ") if name != word}
    if of_readings:
        added.append(f"{OF_READINGS}{listed(sorted(of_readings))} ({made.reading_runs} runs)")
    said = [f"{coverage(summaries)}.", *([f"Added later: {listed(added)}."] if added else [])]
    return " ".join([*said, f"{made.core_hours:.2f} core hours in all."])


def _page(said, drawn, claims, made: provenance.Made, output: Path) -> str:
    size = sum(p.stat().st_size for p in output.rglob("*.nc")) / 1e6
    missing = [f.label for f in figures.FIGURES.values() if f not in drawn]
    where = [
        (p.what, str(p.runs), f"{p.core_hours:.2f}", stages.span(p.wall_seconds), p.machine, p.commit)
        for p in made.parts
    ]
    parts = [
        "# The reproduction",
        f"Made by `make publish`. {said} The verdicts, with numbers and intervals, are in [claims.md](claims.md):"
        f" {pages.tally(claims)}. How to read them: [docs/reproduction.md](../reproduction.md). All of it with"
        f" interactive figures is one page: download [{index.NAME}]({index.NAME}) and open it.",
        *(
            ["Every claim under every reading of the paper: [readings.md](readings.md)."]
            * (output / READINGS[1]).is_file()
        ),
        "## Where",
        _table(("part", "runs", "core hours", "wall time", "machine", "commit"), where),
        _table(("package", "version"), list(made.versions.items())),
        "## What it cost",
        "One thread per job, unless more were asked for (`--set-threads`). The wall time is that in which at least"
        " one job of the stage was running; stages overlap. Core hours are processor time by the jobs' benchmark"
        " files; Snakemake looks every half minute, so that the end of a job may be missing.",
    ]
    for part in made.parts:
        heading = part.what[:1].upper() + part.what[1:]
        parts += [f"### {heading}", f"Commit {part.commit}, {part.machine}.", _table(stages.COLUMNS, part.stages)]
        if part.curves:
            parts += ["Training by method:", _table(("runs of", *stages.COLUMNS[1:]), part.curves)]
    parts += [
        "## The summaries",
        f"`summary/{{experiment}}.nc`, and `readings/{{reading}}/summary/{{experiment}}/` for other readings,"
        f" {size:.1f} MB in all; docs/trajectories.md tells what is in them. Here numbers are rounded to six digits"
        " (but for the variance), and statistics over the seeds are kept where figures show them; of other readings"
        " there is what they are judged by.",
    ]
    for figure in drawn:
        parts += [f"## {number(figure)}: {figure.title}", f"![{figure.title}](figures/{figure.label}.png)"]
    if missing:
        parts += [f"Not drawn: {', '.join(missing)}."]
    parts += [f"<!-- {mark('publication', digest_of('publication'))} -->"]
    return "\n\n".join(parts) + "\n"


def _excerpt(said: str, claims: list[dict], drawn: list, place: str) -> str:
    """The part of the README: the verdicts, and the paper's figures in a grid."""
    verdicts = [
        (str(row["id"]), row["claim"], f"{pages.MARKS[row['verdict']]} {row['verdict']}", pages.seeds(row),
         pages.robustness(row))
        for row in claims
    ]  # fmt: skip
    cells = [
        f"[![{f.title}]({place}/figures/{f.label}.png)]({place}/figures/{f.label}.png) {f.number}: {f.title}"
        for f in drawn
        if f.category == "The paper"
    ]
    cells += [""] * (-len(cells) % 3)
    grid = [cells[i : i + 3] for i in range(0, len(cells), 3)]
    return "\n\n".join(
        [
            said,
            f"{pages.tally(claims)}. The numbers behind them: [claims.md]({place}/claims.md). All figures, what each"
            f" stage took, the summaries: [docs/reproduction]({place}/README.md). One page with interactive figures:"
            f" [{index.NAME}]({place}/{index.NAME}), to be downloaded and opened, or made by `make figures`.",
            _table(("#", "claim of the paper", "verdict", "seeds", "other readings"), verdicts),
            _table(("", "", ""), grid),
        ]
    )


def _table(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(pages.markdown_table(columns, lines))


def _write(path: Path, text: str) -> None:
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")
