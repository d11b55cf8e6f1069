"""From results to docs/reproduction and to the README: figures, verdicts, summaries, what it cost and where it ran.

Nothing is typed by hand: ``make publish`` builds it all.
"""

import math
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from cbo_pipeline import figures
from cbo_pipeline.claims.files import read_verdicts
from cbo_pipeline.config import Run, load_config, resolve, runs
from cbo_pipeline.errors import FileRefused
from cbo_pipeline.files import mark, whole_file
from cbo_pipeline.pages import claims as pages
from cbo_pipeline.pages import crate, index, provenance
from cbo_pipeline.pages.drawn import figures_in, number
from cbo_pipeline.results import job_times as stages
from cbo_pipeline.results import netcdf, verify
from cbo_pipeline.results import summaries as summary_files
from cbo_pipeline.results.stage_code import digest_of

BEGIN, END = "<!-- made by `make publish`: begin -->", "<!-- made by `make publish`: end -->"
MANIFEST = ".published"  # the list of the files that publish made
VERDICTS = ("claims.md", "claims.json", "speed.json")
OTHERS = ("readings.json", "readings.md", "settings.html", "figures/gathering.gif")  # published if they were made
MEASURED = ("cost", "checks")  # folders: what claims are judged by beside the summaries
# Statistics over the seeds that figures show; those of other series follow from the seeds' own.
STATISTICS_OF = ("risk", "accuracy", "risk_task_min", "variance")
# Claim 15 compares the variances of neighbouring steps to the last bit.
EXACT = ("variance",)
PAGE_BYTES = 3_000_000  # of the published page, if fewer points of single runs suffice: it is kept in the repository
DIGITS = 20  # binary ones of what is rounded: six decimal ones


def publish(results: Path, output: Path, readme: Path | None = None) -> list[Path]:
    """Fill the folder ``output`` from the folder ``results``, and the part of ``readme`` between BEGIN and END.

    What the folder held before is replaced. Results that were not made by one code are refused.
    """
    crate.require_package()
    for name in VERDICTS:
        if not (results / name).is_file():
            words = f"{results / name}: not there; make everything first (make paper)"
            raise FileRefused(words, code="no-such-file", file=str(results / name))
    summaries = {p.name: summary_files.read(p) for p in sorted((results / "summary").glob("*.nc"))}
    jobs = stages.read(results / "benchmarks")
    if not summaries or not jobs:
        words = f"{results}: holds no {'summary' if jobs else 'benchmarks'}; make everything first (make paper)"
        raise FileRefused(words, code="missing", file=str(results))
    claims = read_verdicts(results / "claims.json")
    verify.refuse_mixture(results, verify.verify(results, load_config()))
    drawn = sorted(figures_in(results / "figures", readings=False), key=_order)
    before = _part_of(readme) if readme else None
    _clear(output)
    others = set(output.rglob("*"))
    (output / "figures").mkdir(parents=True, exist_ok=True)
    for figure in drawn:
        shutil.copy(results / "figures" / f"{figure.label}.png", output / "figures")
    for name, data in summaries.items():
        netcdf.write(lean(data), output / "summary" / name)
    for name in VERDICTS:
        shutil.copy(results / name, output)
    for name in OTHERS:
        if (results / name).is_file():
            shutil.copy(results / name, output / name)
    for path in (path for name in MEASURED for path in sorted((results / name).rglob("*.json"))):
        copy = output / path.relative_to(results)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    made = provenance.gather(results, {data.attrs["experiment"]: data for data in summaries.values()})
    provenance.write(made, output)
    said = _said(summaries, jobs, made)
    _write(output / "README.md", _page(said, drawn, jobs, claims, made, output))
    index.write(output, output / index.NAME, wanted=PAGE_BYTES)
    if crate.copy_workflow(output, provenance.ROOT):
        crate.write(output, _new(output, others), made, said, provenance.ROOT)
    if before is not None:
        place = Path(os.path.relpath(output, readme.parent)).as_posix()
        _write(readme, f"{BEGIN}\n{_excerpt(said, claims, drawn, place)}\n{END}".join(before))
    files = _new(output, others)
    _write(output / MANIFEST, "".join(f"{path.relative_to(output).as_posix()}\n" for path in files))
    return files


def _new(output: Path, others: set[Path]) -> list[Path]:
    """The files of the folder that were not there before."""
    return sorted(path for path in output.rglob("*") if path.is_file() and path not in others)


def lean(data: xr.Dataset) -> xr.Dataset:
    """A summary for readers, a third as large: other statistics left out, numbers rounded to six digits."""
    left_out = [n for n in data if n.endswith("_over_seeds") and n.removesuffix("_over_seeds") not in STATISTICS_OF]
    result = data.drop_vars(left_out)
    for name, variable in result.data_vars.items():
        if variable.dtype.kind == "f" and name not in EXACT:
            result[name] = variable.copy(data=rounded(variable.values))
    result.attrs["comment"] = "published: numbers but for the variance rounded to six digits"
    return result


def rounded(x: np.ndarray) -> np.ndarray:
    """Numbers with DIGITS binary digits, which compress well; no exponent is lost."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.round(mantissa * 2**DIGITS) / 2**DIGITS, exponent).astype(x.dtype)


def coverage(summaries: dict[str, xr.Dataset]) -> str:
    """Which part of config.yaml these results are, in words: whether every curve is there as the config has it."""
    config = load_config()
    wanted: dict[str, int] = {}
    for name in runs(config):
        text = resolve(config, name.curve.run(0)).json
        wanted[text] = wanted.get(text, 0) + 1
    found = {}
    for data in summaries.values():
        for curve in data["curve"].values:
            at = data.sel(curve=curve)
            seeds = int(np.isfinite(at["risk"].isel(epoch=0)).sum())
            found[Run.from_json(str(at["settings"].values)).json] = seeds
    whole = [text for text, seeds in wanted.items() if found.get(text, 0) >= seeds]
    if len(whole) == len(wanted):
        further = sum(found[text] > seeds for text, seeds in wanted.items())
        more = f" with more seeds for {further} of its curves" if further else ""
        return f"All of config.yaml{more}: {len(wanted)} curves, {sum(found[text] for text in wanted)} runs"
    others = "the others are missing, or have fewer seeds or other settings"
    return f"{len(whole)} of the {len(wanted)} curves of config.yaml ({others})"


def _order(figure) -> tuple[bool, float, str]:
    """The paper's figures, then ours by their number, then those without a number by their label."""
    place = int(figure.number.lstrip("figs")) if figure.number else math.inf
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
    page = output / "README.md"
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return
    if not page.is_file() or "make publish" not in page.read_text(encoding="utf-8", errors="replace"):
        words = f"{output}: there already, and not made by publish; name another folder"
        raise FileRefused(words, code="foreign", key="--output", file=str(output))
    for path in _published(output):
        path.unlink(missing_ok=True)


def _published(output: Path) -> list[Path]:
    """The files of the last publication: by its list, or by their names if it is older than the list."""
    if (output / MANIFEST).is_file():
        names = (output / MANIFEST).read_text(encoding="utf-8").splitlines()
    else:
        patterns = ("figures/*.png", "figures/*.gif", "summary/*.nc")
        found = (path for pattern in patterns for path in output.glob(pattern))
        names = ["README.md", *VERDICTS, *(path.relative_to(output).as_posix() for path in found)]
    inside = [
        output / name for name in names if name and ".." not in Path(name).parts and not Path(name).is_absolute()
    ]
    return [path for path in inside if path.is_file() or path.is_symlink()]


def _said(summaries: dict[str, xr.Dataset], jobs: Sequence[stages.Job], made: provenance.Made) -> str:
    """What was run, where, and what it took, in a sentence."""
    took = f"{stages.core_hours(jobs):.2f} core hours in {stages.span(stages.wall_seconds(jobs))}"
    return f"{coverage(summaries)}, made on {made.machine} at commit {made.commit}: {took}."


def _page(said, drawn, jobs, claims, made: provenance.Made, output: Path) -> str:
    size = sum(p.stat().st_size for p in (output / "summary").glob("*.nc")) / 1e6
    missing = [f.label for f in figures.FIGURES.values() if f not in drawn]
    parts = [
        "# The reproduction",
        f"Made by `make publish`. {said} The verdicts, with numbers and intervals, are in [claims.md](claims.md):"
        f" {pages.tally(claims)}. How to read them: [docs/reproduction.md](../reproduction.md). All of it with"
        f" interactive figures is one page: download [{index.NAME}]({index.NAME}) and open it.",
        "## Where",
        _table(("what", "which"), [("commit", made.commit), ("machine", made.machine), *made.versions.items()]),
        "## What it cost",
        "One thread per job. The wall time is that in which at least one job of the stage was running; stages"
        " overlap. Core hours are processor time as Snakemake saw it, every half minute; the end of a job may be"
        " missing.",
        _table(stages.COLUMNS, stages.table(jobs, lambda job: job.stage)),
        "Training by method:",
        _table(
            ("runs of", *stages.COLUMNS[1:]),
            stages.table([job for job in jobs if job.stage.startswith("train ")], lambda job: job.curve),
        ),
        "## The summaries",
        f"`summary/{{experiment}}.nc`, {size:.1f} MB in all; docs/trajectories.md tells what is in them. Here numbers"
        " are rounded to six digits (but for the variance), and statistics over the seeds are kept where"
        " figures show them.",
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
