"""What the benchmarks share: one thread, forms that take turns, rows of the tables. Import it before numpy."""

import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"


@dataclass(frozen=True)
class Row:
    """One comparison: ours against another way to do the same, measured in one run.

    ``goal`` is the ratio to reach: at least that many times better ("at least"), or at most that many times as much
    as a bound that nobody can beat ("at most").
    """

    what: str
    against: str
    ours: float
    theirs: float
    unit: str  # s or MB
    goal: float | None = None
    sense: str = "at least"

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours if self.sense == "at least" else self.ours / self.theirs

    @property
    def reached(self) -> bool | None:
        if self.goal is None:
            return None
        return self.ratio >= self.goal if self.sense == "at least" else self.ratio <= self.goal


def take_turns(
    forms: dict[str, Callable[[], object]],
    rounds: int = 7,
    seconds: float = 0.3,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """The shortest time of each form in seconds. The forms take turns, so that a busy machine meets all alike."""
    for form in forms.values():
        form()
    shortest = dict.fromkeys(forms, float("inf"))
    for _ in range(rounds):
        for name, form in forms.items():
            until = clock() + seconds
            while True:
                start = clock()
                form()
                end = clock()
                shortest[name] = min(shortest[name], end - start)
                if end >= until:
                    break
    return shortest


def iterations(training) -> Callable[[], object]:
    """A function that does one iteration of a run whenever it is called. Nothing is recorded."""
    steps = training.steps(records=False)
    return lambda: next(steps)


def step_alone(training, view) -> Callable[[], object]:
    """A function that takes a run's step from this view, noise included; the ensemble stays where it is.

    With so small a dt the step moves nothing that matters, by the same operations.
    """
    from cbo_pipeline.methods.base import Clock

    still = dataclasses.replace(training.method, dt=1e-16)
    return lambda: still.move(training.state, view, Clock(0, 0), training.streams.noise(0))


def have_mnist() -> None:
    """See that MNIST is there: in CBO_DATA_DIR, or fetched to the project's data folder."""
    from cbo_pipeline.problems._mnist_arrays import ENVIRONMENT
    from cbo_pipeline.workflow import fetch_mnist

    folder, source = fetch_mnist.places(str(Path(__file__).parents[1] / "data"))
    fetch_mnist.fetch(folder, source, lambda text: print(text, file=sys.stderr))
    os.environ[ENVIRONMENT] = str(folder.absolute())


def resident(name: str = "VmRSS") -> float:
    """Resident memory of this process in MB; ``VmHWM`` is its peak.

    Not by getrusage: there a new process starts with the peak of the one that started it.
    """
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(text.split()[1]) * 1024 / 1e6 for text in status if text.startswith(f"{name}:"))


def report(rows: list[Row]) -> None:
    """Print the comparisons: for people, or as JSON lines where ``run.py`` asks for them."""
    for row in rows:
        emit("comparison", **dataclasses.asdict(row), ratio=row.ratio, reached=row.reached)


def emit(kind: str, **values) -> None:
    """Print one result of a kind."""
    if "--json" in sys.argv:
        print(json.dumps({"kind": kind, **values}), flush=True)
    elif kind == "comparison":
        print(line(values), flush=True)
    else:
        print(f"{kind}: " + ", ".join(f"{key} {_short(value)}" for key, value in values.items()), flush=True)


def _short(value) -> str:
    if isinstance(value, list):
        return " ".join(map(_short, value))
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def line(row: dict) -> str:
    """A row in words."""
    goal = "" if row["goal"] is None else f" (to reach: {row['sense']} {row['goal']:g}, {_word(row['reached'])})"
    numbers = f"{amount(row['ours'], row['unit'])} against {amount(row['theirs'], row['unit'])}"
    return f"{row['what']} against {row['against']}: {numbers}, ratio {row['ratio']:.3g}{goal}"


def _word(reached: bool) -> str:
    return "reached" if reached else "not reached"


def amount(value: float, unit: str) -> str:
    """A measured number with its unit."""
    if unit == "s":
        return f"{value:.2f} s" if value >= 1 else f"{1e3 * value:.3g} ms"
    return f"{value:.4g} {unit}"
