"""Checkpoints: the whole state of a run under way, written atomically, outside the declared outputs.

All randomness is a function of counters (``streams``, ``noise``), so a checkpoint holds arrays and one text,
nothing that needs unpickling.
"""

import hashlib
import json
import signal
import time
import zipfile
from pathlib import Path

import numpy as np

from cbo_pipeline.files import whole_file
from cbo_pipeline.settings import Run
from cbo_pipeline.training import History, Interrupted, Training


def code_fingerprint() -> str:
    """A hash of the package's sources: a checkpoint of other code is not continued."""
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        if "figures" not in path.parts:
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def save(training: Training, path: Path) -> None:
    """Write the checkpoint of a training that stands between two iterations."""
    history = training.history
    meta = {
        "settings": training.run.json,
        "code": code_fingerprint(),
        "iteration": training.iteration,
        "epochs": history.epochs,
        "tasks": history.tasks,
        "snapshot_epochs": history.snapshot_epochs,
        "diverged": history.diverged,
    }
    arrays = {"meta": np.array(json.dumps(meta, sort_keys=True))}
    for group, content in training.method.arrays(training.state).items():
        arrays |= {f"state/{group}/{k}": np.asarray(v.cpu() if hasattr(v, "cpu") else v) for k, v in content.items()}
    arrays |= {f"records/{k}": v for k, v in history.records.items()}
    arrays |= {f"snapshots/{k}": v for k, v in history.snapshots.items()}
    with whole_file(path) as partial, partial.open("wb") as file:
        np.savez(file, **arrays)


def load(run: Run, path: Path) -> tuple[Training | None, str]:
    """The training that a checkpoint holds, or nothing and the reason why it is not used."""
    if not path.exists():
        return None, ""
    try:
        with np.load(path, allow_pickle=False) as file:
            content = {name: file[name] for name in file.files}
        meta = json.loads(str(content.pop("meta")))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        return None, f"checkpoint {path} is damaged ({error}): starting afresh"
    if meta["settings"] != run.json:
        return None, f"checkpoint {path} belongs to other settings: starting afresh"
    if meta["code"] != code_fingerprint():
        return None, f"checkpoint {path} was written by other code: starting afresh"
    groups: dict[str, dict] = {"records": {}, "snapshots": {}}
    state: dict[str, dict] = {}
    for name, array in content.items():
        kind, *rest = name.split("/")
        if kind == "state":
            state.setdefault(rest[0], {})[rest[1]] = array
        else:
            groups[kind][rest[0]] = array
    history = History(meta["epochs"], meta["tasks"], **groups)
    history.snapshot_epochs, history.diverged = meta["snapshot_epochs"], meta["diverged"]
    return Training.resume(run, state, history, meta["iteration"]), f"going on from {path}"


class Keeper:
    """Called after every iteration: writes a checkpoint every ``seconds``, and on SIGTERM or Ctrl-C stops."""

    def __init__(self, path: Path, seconds: float):
        self.path, self.seconds = path, seconds
        self.saved = time.monotonic()
        self.signal: signal.Signals | None = None

    def __enter__(self) -> "Keeper":
        self.before = {s: signal.signal(s, self._remember) for s in (signal.SIGTERM, signal.SIGINT)}
        return self

    def __exit__(self, *error) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _remember(self, number: int, frame) -> None:
        self.signal = signal.Signals(number)

    def __call__(self, training: Training) -> None:
        if self.signal is None and time.monotonic() - self.saved < self.seconds:
            return
        save(training, self.path)
        self.saved = time.monotonic()
        if self.signal is not None:
            raise Interrupted(self.signal.name)
