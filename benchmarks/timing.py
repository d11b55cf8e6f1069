"""What the benchmarks share: one thread, forms that take turns, rows of the table. Import it before numpy."""

import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

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


def take_turns(forms: dict[str, Callable[[], object]], rounds: int = 7, seconds: float = 0.3) -> dict[str, float]:
    """The shortest time of each form in seconds. The forms take turns, so that a busy machine meets all alike."""
    for form in forms.values():
        form()
    shortest = dict.fromkeys(forms, float("inf"))
    for _ in range(rounds):
        for name, form in forms.items():
            until = time.perf_counter() + seconds
            while True:
                start = time.perf_counter()
                form()
                end = time.perf_counter()
                shortest[name] = min(shortest[name], end - start)
                if end >= until:
                    break
    return shortest


def report(rows: list[Row]) -> None:
    """Print the rows: for people, or as JSON lines where ``run.py`` asks for them."""
    for row in rows:
        if "--json" in sys.argv:
            print(json.dumps({**dataclasses.asdict(row), "ratio": row.ratio, "reached": row.reached}))
        else:
            print(line(dataclasses.asdict(row) | {"ratio": row.ratio, "reached": row.reached}))


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
