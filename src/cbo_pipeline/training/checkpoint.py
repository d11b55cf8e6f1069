"""Checkpoints: the whole state of a run under way, written atomically, outside the declared outputs.

All randomness is a function of counters (``streams``, ``noise``), so a checkpoint holds arrays and one text,
nothing that needs unpickling, and ends with a seal (``files``). A checkpoint is a convenience: whatever is wrong with
one, the run starts afresh, and where none can be written, the run continues without one.

The only checkpoints that are ever removed are those of the very run that has ended. One of other settings is set
aside under another name, and found there when its own run is asked for again. A file that is not a checkpoint is
refused.

A checkpoint is continued only by the code and the libraries that wrote it: the *fingerprint*, a text that the caller
gives.
"""

import contextlib
import glob
import itertools
import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from cbo_pipeline.config import Run
from cbo_pipeline.errors import ConfigError, FileRefused, UserError
from cbo_pipeline.files import NotSealed, SealBroken, check_seal, is_damaged, seal, whole_file
from cbo_pipeline.training.history import History
from cbo_pipeline.training.loop import Training

COUNTERS = ("iteration", "epochs", "tasks", "diverged")


class Unfit(Exception):
    """A checkpoint that cannot be continued; the words say why."""


class Foreign(Unfit):
    """A checkpoint that may be worth something to another run; it is not written over."""


def save(training: Training, path: Path, fingerprint: str) -> None:
    """Write the checkpoint of a training that stands between two iterations."""
    history = training.history
    meta = {
        "settings": training.run.json,
        "fingerprint": fingerprint,
        "iteration": training.iteration,
        "epochs": history.epochs,
        "tasks": history.tasks,
        "snapshot_epochs": history.snapshot_epochs,
        "ensemble_epochs": history.ensemble_epochs,
        "diverged": history.diverged,
    }
    with whole_file(path) as partial:
        with partial.open("wb") as file:
            np.savez(file, meta=np.array(json.dumps(meta, sort_keys=True)), **_arrays(training))
        seal(partial)


def _arrays(training: Training) -> dict[str, np.ndarray]:
    """Every array of a training, by kind and name."""
    state = training.method.arrays(training.state)
    arrays = {f"state/{group}/{k}": x for group, content in state.items() for k, x in content.items()}
    arrays |= {f"records/{k}": x for k, x in training.history.records.items()}
    arrays |= {f"snapshots/{k}": x for k, x in training.history.snapshots.items()}
    arrays |= {f"ensembles/{k}": x for k, x in training.history.ensembles.items()}
    arrays |= {f"pending/{k}": x for k, x in training.history.pending.items()}
    return {name: np.asarray(x.cpu() if hasattr(x, "cpu") else x) for name, x in arrays.items()}


def resume_or_start(run: Run, path: Path, fingerprint: str) -> tuple[Training, str]:
    """The training where its checkpoint left it, or a fresh one; and a line for the log, or nothing.

    A file at ``path`` that is not a checkpoint is refused. One that belongs to other settings, or is damaged, is set
    aside.
    """
    if path.exists() and not path.is_dir() and not _looks_like_a_checkpoint(path):
        words = f"{path}: not a checkpoint; name another file with --checkpoint"
        raise FileRefused(words, code="foreign", key="--checkpoint", file=str(path))
    training = Training.start(run)
    remarks = []
    for candidate in (path, *_set_aside(path)):
        try:
            if candidate.exists():
                _restore(training, candidate, fingerprint)
                return training, "; ".join([*remarks, f"continuing from {candidate}, iteration {training.iteration}"])
        except Unfit as reason:
            if candidate == path:
                moved = f", kept as {_move_aside(path)}" if isinstance(reason, Foreign) else ""
                remarks.append(f"checkpoint {path} {reason}{moved}")
        except OSError as error:
            if candidate == path:
                remarks.append(f"checkpoint {path} cannot be read ({error.strerror or error})")
    return training, f"{'; '.join(remarks)}: starting afresh" if remarks else ""


def remove(run: Run, path: Path) -> None:
    """Remove the checkpoints of this very run, now that it has ended."""
    for candidate in (path, *_set_aside(path)):
        try:
            if candidate.is_file() and _content(candidate)[0].get("settings") == run.json:
                candidate.unlink()
        except (Unfit, OSError):
            continue


def refuse_output(path: Path, output: Path) -> None:
    """Refuse a checkpoint that is the output as well."""
    if os.path.realpath(path) == os.path.realpath(output):
        words = f"--checkpoint: {path} is the output itself; name another file"
        raise ConfigError(words, code="is-output", key="--checkpoint", file=str(path))


def _looks_like_a_checkpoint(path: Path) -> bool:
    """Whether a file begins or ends like a checkpoint, as a damaged one still does, or was emptied by a crash."""
    with path.open("rb") as file:
        first = file.read(4)
    if first in (b"", b"PK\x03\x04"):
        return True
    try:
        check_seal(path)
    except NotSealed:
        return not any(first) and is_damaged(path)
    except SealBroken:
        return True
    return first != b"\x89HDF"  # a whole file of results has a seal as well


def _set_aside(path: Path) -> list[Path]:
    """The checkpoints that were set aside from this place, the latest first."""
    return sorted(
        path.parent.glob(f"{glob.escape(path.name)}.old*"), key=lambda p: (len(p.name), p.name), reverse=True
    )


def _move_aside(path: Path) -> Path:
    names = (path.with_name(f"{path.name}.old{k}") for k in itertools.count(1))
    aside = next(name for name in names if not name.exists())
    path.rename(aside)
    return aside


def _content(path: Path) -> tuple[dict, dict[str, np.ndarray]]:
    """The text and the arrays of a checkpoint."""
    try:
        check_seal(path)
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            content = {name: file[name] for name in file.files}
        meta = json.loads(str(content.pop("meta")))
        meta["settings"], meta["fingerprint"]
    except NotSealed:
        raise Foreign("is damaged (it ends without a checksum)") from None
    except SealBroken:
        raise Foreign("is damaged (its checksum does not fit)") from None
    except OSError:
        raise
    except Exception as error:  # numpy and zipfile raise whatever a strange file leads them to
        reason = " ".join(str(error).split()) or type(error).__name__
        raise Foreign(f"is damaged ({reason})") from None
    return meta, content


def _restore(training: Training, path: Path, fingerprint: str) -> None:
    """Put a fresh training where its checkpoint left it; leave it untouched if that is not possible."""
    meta, content = _content(path)
    if meta["settings"] != training.run.json:
        raise Foreign("belongs to other settings")
    if meta["fingerprint"] != fingerprint:
        raise Unfit("was written by other code")
    history, state = _checked(training, meta, content)
    training.resume(state, history, meta["iteration"])


def _checked(training: Training, meta: dict, content: dict[str, np.ndarray]) -> tuple[History, dict]:
    """The content of a checkpoint, if it is laid out like the fresh training that is to take it over."""
    fresh, last = training.history, training.history.epochs * training.batches_per_epoch
    kept, whole = meta.get("snapshot_epochs"), meta.get("ensemble_epochs")
    if (
        not all(type(meta.get(name)) is int for name in COUNTERS)
        or not isinstance(kept, list)
        or not isinstance(whole, list)
    ):
        raise Unfit("is incomplete")
    if (meta["epochs"], meta["tasks"]) != (fresh.epochs, fresh.tasks) or not 0 <= meta["iteration"] <= last:
        raise Unfit("does not fit this run")
    for name, array in _arrays(training).items():
        if name.startswith("pending/"):
            continue  # what is pending depends on the moment
        found = content.get(name)
        skipped = 1 if name.startswith(("snapshots/", "ensembles/")) else 0  # their number grows during the run
        if found is None or (found.dtype, found.shape[skipped:]) != (array.dtype, array.shape[skipped:]):
            raise Unfit(f"does not fit this run ({name})")
    history = History(
        fresh.epochs,
        fresh.tasks,
        fresh.stored,
        snapshot_epochs=kept,
        ensemble_epochs=whole,
        diverged=meta["diverged"],
    )
    model = training.method.arrays(training.state)
    state: dict[str, dict] = {group: {} for group in model}
    for name, array in content.items():
        match name.split("/"):
            case ["state", group, key] if group in model and key in model[group]:
                state[group][key] = _like(model[group][key], array)
            case ["records", key] if len(array) == len(fresh.stored):
                history.records[key] = array
            case ["snapshots", key] if len(array) == len(kept):
                history.snapshots[key] = array
            case ["ensembles", key] if len(array) == len(whole):
                history.ensembles[key] = array
            case ["pending", key] if array.dtype == np.float64:
                history.pending[key] = array
            case _:
                raise Unfit(f"does not fit this run ({name})")
    return history, state


def _like(model, array: np.ndarray):
    """The array in the place of ``model``: on its device, if it is a torch tensor."""
    return model.new_tensor(array) if hasattr(model, "new_tensor") else array


class Keeper:
    """Writes a checkpoint every ``seconds``, and one on SIGTERM or Ctrl-C, after which training should stop."""

    def __init__(self, path: Path, seconds: float, fingerprint: str):
        self.path, self.seconds, self.fingerprint = path, seconds, fingerprint
        self.saved = time.monotonic()
        self.signal: signal.Signals | None = None
        self.failed = ""  # why the last checkpoint could not be written

    def __enter__(self) -> "Keeper":
        self.before = {s: signal.signal(s, self._remember) for s in (signal.SIGTERM, signal.SIGINT)}
        return self

    def __exit__(self, *error) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _remember(self, number: int, frame) -> None:
        self.signal = signal.Signals(number)

    def stops(self, training: Training) -> bool:
        """To be asked after every iteration: save when it is time, and say whether a signal asked to stop."""
        if self.signal is None and time.monotonic() - self.saved < self.seconds:
            return False
        self._try_to_save(training)
        self.saved = time.monotonic()
        return self.signal is not None

    def _try_to_save(self, training: Training) -> None:
        """A full disk or a folder that may not be written costs the checkpoint, not the run."""
        try:
            save(training, self.path, self.fingerprint)
            self.failed = ""
        except (OSError, UserError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            if reason != self.failed:
                with contextlib.suppress(OSError, ValueError):  # a full disk may hold the log as well
                    print(f"no checkpoint: {self.path}: {reason}; training continues without", file=sys.stderr)
            self.failed = reason
