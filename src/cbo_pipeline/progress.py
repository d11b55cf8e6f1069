"""What a person sees while a run trains: a bar on a terminal, now and then a plain line in a log."""

import sys
import time
from typing import TextIO

import numpy as np

WIDTH = 24


class Progress:
    """Rate, risk and time left, refreshed a few times a second on a terminal, at every tenth in a log."""

    def __init__(self, name: str, epochs: int, done: int = 0, stream: TextIO | None = None):
        self.name, self.epochs, self.first = name, epochs, done
        self.stream = stream or sys.stderr
        self.terminal = self.stream.isatty()
        self.started = self.shown = time.monotonic()
        self.tenth = 10 * done // epochs

    def __call__(self, epoch: int, history) -> None:
        now = time.monotonic()
        risk = float(np.median(history.records["risk"][epoch]))
        rate = (epoch - self.first) / max(now - self.started, 1e-9)
        left = (self.epochs - epoch) / rate
        if self.terminal:
            if now - self.shown < 0.1 and epoch < self.epochs:
                return
            full = WIDTH * epoch // self.epochs
            bar = "█" * full + "░" * (WIDTH - full)
            state = f"{epoch}/{self.epochs}  {rate:.3g} epochs/s  risk {risk:.2e}  {_span(left)} left"
            print(
                f"\r{self.name} {bar} {state}\033[K",
                end="\n" if epoch == self.epochs else "",
                file=self.stream,
                flush=True,
            )
            self.shown = now
        elif 10 * epoch // self.epochs > self.tenth:
            self.tenth = 10 * epoch // self.epochs
            line = f"{self.name}: epoch {epoch}/{self.epochs}, risk {risk:.3e}, {rate:.3g} epochs/s"
            print(line, file=self.stream, flush=True)


def _span(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
