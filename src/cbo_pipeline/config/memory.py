"""How much memory a run takes, estimated from its settings before anything starts.

The estimate serves twice: a run that cannot fit is refused with it, and the workflow asks the cluster for it.
It counts the arrays that grow with the settings and adds what Python and its libraries take; it is meant to
be right within a factor of three, on the safe side.
"""

import math
import os
from pathlib import Path

from cbo_pipeline import methods, problems
from cbo_pipeline.errors import ConfigError
from cbo_pipeline.numerics import network

LIBRARIES = 500 << 20  # the interpreter with numpy, numba, xarray and torch, in bytes
SNAKEMAKE = 300 << 20  # the two Snakemake processes that Slurm counts with a job's own
DOUBLE = 8
# Per epoch: at most twelve numbers are recorded, and copied once when they are written.
RECORDS = 2 * 12 * DOUBLE
ENOUGH = "CBO_MEMORY_GB"  # environment variable: memory of the machines that train, where it is not this one's


def parts(run) -> dict[str, int]:
    """Bytes by the setting that they grow with; ``run`` is a ``run.Run``."""
    problem, method = problems.find(run.problem), methods.find(run.method)
    M, N, settings = run.name.M, run.name.N, run.settings
    d, outputs = problem.sizes(settings) if hasattr(problem, "sizes") else (problem.features, problem.outputs)
    shapes = network.shapes(M, d, outputs, settings.get("outer_bias", problem.outer_bias))
    parameters = sum(math.prod(shape) for shape in shapes.values())
    single = DOUBLE if settings.get("precision") == "float64" else DOUBLE // 2
    # The initial law is drawn in double precision before it is rounded.
    particles = N * parameters * max(method.copies * single, DOUBLE + single)
    networks = settings.get("tasks", 1) * parameters * single
    return {
        "N" if N >= M else "M": particles,
        "points": 4 * problem.data_size(settings) * (d + outputs) * DOUBLE,
        "batch_size": problem.scratch_bytes(settings, M, N) + method.scratch_bytes(settings, M, N),
        "epochs": settings["epochs"] * RECORDS * settings.get("tasks", 1),
        "snapshots": 3 * (len(settings["snapshots"]) + 1) * networks,
    }


def estimate(run) -> int:
    """Bytes that the run needs, all in all."""
    return LIBRARIES + sum(parts(run).values())


def megabytes(run) -> int:
    """The estimate as a job asks for it, rounded up to 100 MB so that similar runs ask for the same."""
    return 100 * math.ceil((estimate(run) + SNAKEMAKE) / 100e6)


def available() -> int:
    """Bytes of memory of this machine, or of the machines that train where CBO_MEMORY_GB names it."""
    told = os.environ.get(ENOUGH)
    if told:
        try:
            if float(told) > 0:
                return int(float(told) * 1e9)
        except (ValueError, OverflowError):
            pass
        words = f"{ENOUGH}: {told!r} is not a number of gigabytes; set it to one, such as 500, or unset it"
        raise ConfigError(words, code="wrong-type", key=ENOUGH)
    return min(_physical(), _allowed())


def _physical() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _allowed(file: Path = Path("/sys/fs/cgroup/memory.max")) -> int:
    """The limit of the container, where there is one."""
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return 1 << 62


def check(run, where: str) -> None:
    """Refuse a run that cannot fit, in one line that names the setting which takes most."""
    needed, there = estimate(run), available()
    if needed > there:
        key = f"{where}.{max(parts(run), key=parts(run).get)}"
        raise ConfigError(
            f"{key}: a run needs {size(needed)} of memory, but only {size(there)} is available"
            f" (where other machines train, {ENOUGH} says how much they have)",
            code="memory",
            key=key,
        )


def size(count: int) -> str:
    """A number of bytes in words.

    >>> size(2_500_000), size(24_000_000_000)
    ('about 2.5 MB', 'about 24 GB')
    """
    if count >= 10**21:
        return "over 1000 EB"
    for power, unit in ((18, "EB"), (15, "PB"), (12, "TB"), (9, "GB")):
        if count >= 10**power:
            return f"about {count // 10 ** (power - 2) / 100:.3g} {unit}"
    return f"about {count / 1e6:.3g} MB"
