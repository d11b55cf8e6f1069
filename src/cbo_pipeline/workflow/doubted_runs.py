"""Runs that Snakemake deletes and makes again, although they may be whole: it was killed while their jobs ran.

It notes what a job is about to make, and takes the note away when the job has ended. What is noted when it starts
again is made again. Our files are whole or not there at all: so what is there is kept beside its checkpoint, where
its job finds it (``whole_runs``), and nothing is trained twice.
"""

import base64
import contextlib
from pathlib import Path

from cbo_pipeline.results import whole_runs

RESULTS, CHECKPOINTS = Path("results"), Path("results", "checkpoints")


def named(folder: str | Path = ".") -> set[str]:
    """The files that Snakemake has noted.

    A note is named by the path in Base64, in pieces if it is long (as of 9.27; ``tests/workflow/test_shared_jobs.py``
    tells when it is not).
    """
    notes, found = Path(folder, ".snakemake", "incomplete"), set()
    for note in notes.rglob("*"):
        text = "".join(part.removeprefix("@") for part in note.relative_to(notes).parts)
        with contextlib.suppress(ValueError):  # of another kind
            found.add(base64.urlsafe_b64decode(text).decode())
    return found


def keep() -> None:
    """Keep the runs among them that are there."""
    for run in map(Path, named()):
        kept = _kept(run)
        if kept is not None and run.is_file() and not kept.exists():
            with contextlib.suppress(OSError):
                kept.parent.mkdir(parents=True, exist_ok=True)
                whole_runs.put(run, kept)


def clear_kept() -> None:
    """Remove what was kept of runs that are in their places for good.

    A job that failed once, and whose runs were finished by others, leaves some.
    """
    doubted = named()
    for kept in CHECKPOINTS.rglob(f"*{whole_runs.ENDING}"):
        run = _place(kept)
        if str(run) not in doubted and run.is_file():
            kept.unlink(missing_ok=True)


def _kept(run: Path) -> Path | None:
    """Where a run of the plan, or of another reading, is kept.

    >>> _kept(Path("results/readings/float64/runs/sine/cbo/M5_N8_seed0.nc")).as_posix()
    'results/checkpoints/readings/float64/sine/cbo/M5_N8_seed0.npz.whole'
    """
    match run.parts:
        case "results", "runs", *rest:
            checkpoint = CHECKPOINTS.joinpath(*rest)
        case "results", "readings", reading, "runs", *rest:
            checkpoint = CHECKPOINTS.joinpath("readings", reading, *rest)
        case _:
            return None
    return whole_runs.beside(checkpoint.with_suffix(".npz"))


def _place(kept: Path) -> Path:
    """The place of a run that is kept.

    >>> _place(Path("results/checkpoints/sine/cbo/M5_N8_seed0.npz.whole")).as_posix()
    'results/runs/sine/cbo/M5_N8_seed0.nc'
    """
    run = kept.relative_to(CHECKPOINTS).with_name(kept.name.partition(".")[0] + ".nc")
    match run.parts:
        case "readings", reading, *rest:
            return RESULTS.joinpath("readings", reading, "runs", *rest)
        case _:
            return RESULTS / "runs" / run
