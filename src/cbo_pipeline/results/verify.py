"""Do files of results still fit the code, the settings and the libraries? A row of a table for every file."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from cbo_pipeline.config import Curve, Run, RunName, resolve, runs
from cbo_pipeline.errors import FileRefused, UserError
from cbo_pipeline.results import checks, code, costs, json_files, ledger, netcdf, summaries
from cbo_pipeline.results.told_code import FITS, Stages, same
from cbo_pipeline.results.versions import differences, versions

FIGURES, PAGES = (".pdf", ".png", ".gif"), (".html", ".md")
SUFFIXES = (".nc", ".json", *FIGURES, *PAGES)
WITHOUT_VERSIONS = ("figure", "page", "claims", "provenance")  # those of what they are made from count
COLUMNS = ("file", "kind", "code", "settings", "versions")
NOT_IN_CONFIG = "not in this config"
NAMED = 8  # files that an error names
Wanted = Mapping[RunName, str]  # the runs that are asked for, with the settings of their curves as text


@dataclass(frozen=True)
class Row:
    """One file: its kind, and whether its code, its settings and its versions fit, in words."""

    path: str
    kind: str
    code: str = FITS
    settings: str = FITS
    versions: str = FITS

    @property
    def fits(self) -> bool:
        """Whether the file is what the present code would make. Files of other configs may be there, too."""
        return (self.code, self.versions) == (FITS, FITS) and self.settings in (FITS, NOT_IN_CONFIG)


def verify(folder: str | Path, config: Mapping[str, Any], readings: Mapping[str, Wanted] | None = None) -> list[Row]:
    """A row for every run, summary, cost, check, verdict, figure and page below a folder.

    ``readings`` are the runs that other readings of the paper have under ``readings/{name}``, by name.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileRefused(
            f"{folder}: no such folder of results; is the name right?", code="no-such-folder", file=str(folder)
        )
    entries = ledger.read(folder)
    known = {"": _Known(wanted_by(config), entries)}
    for name in (path.name for path in (folder / ledger.READINGS).glob("*") if path.is_dir()):
        known[name] = _Known((readings or {}).get(name, {}), entries, f"{name}/")
    paths = sorted(path for suffix in SUFFIXES for path in folder.rglob(f"*{suffix}"))
    rows = (_row(path, known[_reading_of(path, folder)]) for path in paths if not path.name.startswith("."))
    found = [row for row in rows if row is not None]
    if not found:
        raise FileRefused(f"{folder}: holds no results; is the name right?", code="no-results", file=str(folder))
    return found


def of_summaries(found: Mapping[Path, xr.Dataset], config: Mapping[str, Any], entries: ledger.Ledger) -> list[Row]:
    """The rows of summaries that are held already, by the paths of their files; ``entries`` is the ledger."""
    known = _Known(wanted_by(config), entries)
    return [_summary(path, data, known, json.loads(data.attrs["versions"])) for path, data in found.items()]


def wanted_by(config: Mapping[str, Any]) -> Wanted:
    """The runs of a config, with the settings of their curves as text."""
    names = tuple(runs(config))
    texts = {curve: summaries.curve_settings(resolve(config, curve.run(0))) for curve in {n.curve for n in names}}
    return {name: texts[name.curve] for name in names}


def _reading_of(path: Path, folder: Path) -> str:
    """The reading of the paper that a file belongs to; nothing for the paper as we read it."""
    parts = path.relative_to(folder).parts
    return parts[1] if parts[0] == ledger.READINGS and len(parts) > 2 else ""


def refuse_mixture(folder: str | Path, rows: Sequence[Row]) -> None:
    """Refuse, by name, files that were made by other code, or other versions of the libraries, than the rest."""
    others = [row for row in rows if row.code != FITS]
    with_versions = [row for row in rows if row.kind not in WITHOUT_VERSIONS and row.code == FITS]
    usual = Counter(row.versions for row in with_versions).most_common(1)
    others += [row for row in with_versions if row.versions != usual[0][0]]
    if others:
        named = ", ".join(str(Path(row.path).relative_to(folder)) for row in others[:NAMED])
        more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
        words = (
            f"{folder}: {len(others)} of {len(rows)} files were made by other code or other versions than the rest:"
            f" {named}{more}; make them again, or accept the code with `cbo-pipeline adopt` (`verify` lists them all)"
        )
        raise FileRefused(words, code="mixture", file=others[0].path)


def lines(rows: Sequence[Row], everything: bool = False) -> list[str]:
    """The table as text: files that do not fit (or all), then the count."""
    shown = [row for row in rows if everything or not row.fits]
    cells = [COLUMNS, *((row.path, row.kind, row.code, row.settings, row.versions) for row in shown)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(COLUMNS))]
    text = (
        ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in cells] if shown else []
    )
    fitting = sum(row.fits for row in rows)
    others = sum(row.settings == NOT_IN_CONFIG for row in rows)
    told = f"{fitting} of {len(rows)} files fit code, settings and versions"
    return [*text, told + (f" ({others} of them not in this config)" if others else "")]


class _Known:
    """What the present code, settings and libraries are. ``prefix`` is the reading's, in the ledger."""

    def __init__(self, wanted: Wanted, entries: ledger.Ledger, prefix: str = ""):
        self.names, self.ledger, self.prefix = set(wanted), entries, prefix
        self.stages = Stages()
        self.curves = {name.curve: text for name, text in wanted.items()}

    def settings(self, run: Run) -> str:
        if run.name not in self.names:
            return NOT_IN_CONFIG
        return self.settings_of_curve(run.name.curve, summaries.curve_settings(run))

    def settings_of_curve(self, curve: Curve, text: str) -> str:
        if curve not in self.curves:
            return NOT_IN_CONFIG
        stored, wanted = (json.loads(t)["settings"] for t in (text, self.curves[curve]))
        keys = [key for key in sorted({**stored, **wanted}) if stored.get(key) != wanted.get(key)]
        if keys:
            return f"other {', '.join(keys)}"
        return FITS if text == self.curves[curve] else "another method or problem"

    def code(self, run: Run, digest: str) -> str:
        now = code.run_digest(run.method, run.problem)
        curve = f"{self.prefix}{run.name.curve}"
        same = ledger.effective_digest(curve, digest, self.ledger) == ledger.effective_digest(curve, now, self.ledger)
        return FITS if same else f"{digest} -> {now}"

    def versions(self, stored: Mapping[str, str], curve: Curve | None = None) -> str:
        if curve is not None and ledger.same_versions(f"{self.prefix}{curve}", stored, versions(), self.ledger):
            return FITS
        return ", ".join(differences(dict(stored))) or FITS


def _row(path: Path, known: _Known) -> Row | None:
    try:
        if path.suffix in FIGURES:
            return _told(path, "figure", known.stages.of_figure(path))
        if path.suffix in PAGES:
            return _told(path, "page", known.stages.of_page(path))
        return _netcdf(path, known) if path.suffix == ".nc" else _json(path, known)
    except UserError as error:
        return Row(str(path), "refused", code=str(error).removeprefix(f"{path}: "))


def _netcdf(path: Path, known: _Known) -> Row:
    data = netcdf.read(path)
    stored = json.loads(data.attrs["versions"])
    if data.attrs["kind"] == "run":
        try:
            run = Run.from_json(data.attrs["settings"])
        except UserError as error:
            return Row(str(path), "run", settings=str(error), versions=known.versions(stored))
        found = known.code(run, data.attrs["code"]), known.settings(run), known.versions(stored, run.name.curve)
        return Row(str(path), "run", *found)
    return _summary(path, data, known, stored)


def _summary(path: Path, data: xr.Dataset, known: _Known, stored: Mapping[str, str]) -> Row:
    """The code of a summary is its own and that of every run in it."""
    codes, settings, problems = [], [], set()
    for index in range(data.sizes["curve"]):
        part = data.isel(curve=index)
        text = str(part["settings"].item())
        try:
            run = Run.from_json(text)
        except UserError as error:
            settings.append(str(error))
            continue
        problems.add(run.problem)
        settings.append(known.settings_of_curve(run.name.curve, text))
        codes += [known.code(run, digest) for digest in np.unique(part["run_code"].values.astype(str)) if digest]
    own = {code.summary_digest(), *(code.summary_digest(problem) for problem in problems)}
    codes.append(FITS if data.attrs["code"] in own else "of the summary")
    return Row(str(path), "summary", _worst(codes), _worst(settings), known.versions(stored))


KEYS_BY_KIND = {"cost": costs.KEYS, "check": checks.KEYS}


def _worst(words: Sequence[str]) -> str:
    """What does not fit, each once; else whether all is in the config."""
    others = [word for word in dict.fromkeys(words) if word not in (FITS, NOT_IN_CONFIG)]
    return "; ".join(others) or (FITS if FITS in words else NOT_IN_CONFIG)


def _json(path: Path, known: _Known) -> Row | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return Row(str(path), "refused", code="not valid JSON")
    if not isinstance(content, dict) or content.get("kind") not in ("cost", "check"):
        return _verdicts(path, content, known)
    content = json_files.read(path, {kind: (*keys, "code", "versions") for kind, keys in KEYS_BY_KIND.items()})
    stored = known.versions(content["versions"])
    if content["kind"] == "check":
        checks.require_content(content, path)
        return Row(str(path), "check", same(content["code"], code.check_digest(content["check"])), FITS, stored)
    words = same(content["code"], code.cost_digest(content["method"], content["problem"]))
    name = RunName(*(content[key] for key in ("experiment", "variant", "M", "N")), 0)
    run = Run(name, content["problem"], content["method"], content["settings"])
    settings = known.settings_of_curve(name.curve, summaries.curve_settings(run))
    return Row(str(path), "cost", words, settings, stored)


def _verdicts(path: Path, content: Any, known: _Known) -> Row | None:
    """Claims, speed, readings, provenance; none for a file that is not ours."""
    words = known.stages.of_json(content)
    kind = content.get("kind", "speed") if isinstance(content, dict) else "claims"
    if words is None or kind in WITHOUT_VERSIONS:
        return _told(path, kind, words)
    stored = content.get("versions")
    return _told(path, kind, words, known.versions(stored if isinstance(stored, dict) else {}))


def _told(path: Path, kind: str, words: str | None, stored: str = FITS) -> Row | None:
    """A row for a file that tells of its code and not of its settings; none for a file that is not ours."""
    return None if words is None else Row(str(path), kind, words, FITS, stored)
