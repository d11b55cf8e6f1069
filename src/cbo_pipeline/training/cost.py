"""What a method costs: bytes of its state, growth of memory to its peak, seconds per iteration.

Measured on a few iterations from the start of training, in a process that does nothing else: Python, its libraries,
the compiled kernels and the data set are there before the count begins. These are measurements: unlike
all other results they differ from machine to machine and, a little, from one measurement to the next.
"""

import contextlib
import ctypes
import dataclasses
import gc
import itertools
import statistics
import time
from pathlib import Path
from typing import Any

from cbo_pipeline import methods, problems
from cbo_pipeline.config import Run
from cbo_pipeline.training.loop import Training

LEAST, MOST = 5, 500  # iterations
WATCHED = 4  # iterations in which memory is watched: always as many, so that the peak means the same everywhere


def measure(run: Run, seconds: float = 1.0) -> dict[str, Any]:
    """The cost of a run, from some iterations that take about so many seconds.

    ``seconds_per_iteration`` is the best of them, as every disturbance makes an iteration slower and none makes it
    faster. It is processor time, which depends little on what else the machine does (on other devices: wall-clock
    time). ``seconds_per_epoch`` is that times the iterations of an epoch, without the records. ``state_bytes`` counts
    the arrays that the method keeps between iterations, ``peak_bytes`` is what resident memory grew by at its
    highest, from before the ensemble was drawn.
    """
    _iterations(Training.with_data(_small(run)), 0.0)  # libraries and kernels are loaded now
    training = Training.with_data(run)
    before = _forget_peak()
    times, peak = _iterations(training, seconds)
    best = min(times)
    return {
        "experiment": run.name.experiment,
        "variant": run.name.variant,
        "method": run.method,
        "problem": run.problem,
        "M": run.name.M,
        "N": run.name.N,
        "settings": run.settings,
        "iterations": len(times),
        "seconds_per_iteration": best,
        "seconds_per_iteration_median": statistics.median(times),
        "seconds_per_epoch": best * training.batches_per_epoch,
        "state_bytes": state_bytes(training),
        "peak_bytes": max(0, peak - before),
    }


def state_bytes(training: Training) -> int:
    """The bytes of everything that the method carries from one iteration to the next."""
    groups = training.method.arrays(training.state).values()
    return sum(int(array.nbytes) for group in groups for array in group.values())


def _small(run: Run) -> Run:
    """The same run with as few neurons and particles as its method and problem allow."""
    M, tasks = min(2, run.name.M), run.settings.get("tasks", 1)
    checks = methods.find(run.method).check, problems.find(run.problem).check
    for N in sorted(n for n in {1, 2, tasks, run.name.N} if n <= run.name.N):
        if not any(check(run.settings, M, N) for check in checks):
            return dataclasses.replace(run, name=dataclasses.replace(run.name, M=M, N=N))
    return run


def _iterations(training: Training, seconds: float) -> tuple[list[float], int]:
    """Seconds of single iterations, nothing recorded, and the peak of memory in the first of them."""
    training.draw_ensemble()
    clock = time.process_time if training.run.settings.get("device", "cpu") == "cpu" else time.perf_counter
    ends, peak, started = [clock()], 0, time.perf_counter()
    for _ in training.steps(records=False):
        ends.append(clock())
        if training.iteration == WATCHED:
            peak = _peak()
        enough = training.iteration >= LEAST and time.perf_counter() - started > seconds
        if enough or training.iteration >= MOST:
            break
    times = [end - start for start, end in itertools.pairwise(ends)]
    return times[1:] or times, peak or _peak()  # the first iteration warms the caches


def _forget_peak() -> int:
    """Give freed memory back, reset the peak, and return the resident memory in bytes."""
    gc.collect()
    # Where there is no glibc, freed memory that was not given back may hide some of the growth.
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:
        return _peak()  # the peak so far: growth below it cannot be seen here


def _peak() -> int:
    """The highest resident memory, in bytes, since the start or since it was last forgotten."""
    try:
        return _status("VmHWM")
    except OSError:
        import resource
        import sys

        largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return largest if sys.platform == "darwin" else largest * 1024


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {name}")
