"""What a person sees while a run trains: a bar on a terminal, now and then a plain line in a log."""

import contextlib
import shutil
import sys
import time
from typing import TextIO

import numpy as np

from cbo_pipeline.cli import streams

WIDTH = 24
BAR, PLAIN_BAR = ("█", "░"), ("#", "-")  # done and left; plain where a terminal knows no others


class Progress:
    """Rate, risk and time left, refreshed a few times a second on a terminal, at every tenth in a log."""

    def __init__(self, name: str, epochs: int, done: int = 0, stream: TextIO | None = None):
        self.name, self.epochs, self.first = name, epochs, done
        self.stream = stream or sys.stderr
        self.terminal = self.stream.isatty()
        self.bar = BAR if streams.can_show("".join(BAR), self.stream) else PLAIN_BAR
        self.started = self.shown = time.monotonic()
        self.tenth = 10 * done // epochs

    def __call__(self, epoch: int, history) -> None:
        now = time.monotonic()
        risk = float(np.median(history.latest_risk))
        rate = (epoch - self.first) / max(now - self.started, 1e-9)
        left = (self.epochs - epoch) / rate
        if self.terminal:
            if now - self.shown < 0.1 and epoch < self.epochs:
                return
            ended = epoch == self.epochs
            time_shown = f"{_span(now - self.started)} in all" if ended else f"{_span(left)} left"
            state = f"{epoch}/{self.epochs}  {rate:.3g} epochs/s  risk {risk:.2e}  {time_shown}"
            line = f"\r{_fitted(self.name, epoch / self.epochs, state, self.bar)}\033[K"
            self._print(line, end="\n" if ended else "")
            self.shown = now
        elif 10 * epoch // self.epochs > self.tenth:
            self.tenth = 10 * epoch // self.epochs
            line = f"{self.name}: epoch {epoch}/{self.epochs}, risk {risk:.3e}, {rate:.3g} epochs/s"
            self._print(line)

    def _print(self, line: str, end: str = "\n") -> None:
        """What cannot be shown is lost: a full disk under the log costs the log, not the run."""
        with contextlib.suppress(OSError, ValueError):
            print(line, end=end, file=self.stream, flush=True)


def _fitted(name: str, share: float, state: str, signs: tuple[str, str]) -> str:
    """Name, bar and state in one line of the terminal: a longer one would not be overwritten but repeated."""
    columns = shutil.get_terminal_size().columns - 1
    width = min(WIDTH, columns - len(name) - len(state) - 2)
    full = int(width * share)
    bar = f" {signs[0] * full}{signs[1] * (width - full)}" if width > 2 else ""
    return f"{name}{bar} {state}"[:columns]


def _span(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
