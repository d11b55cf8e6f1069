"""How time and memory of an iteration grow with N, M, S' and P: two decades each, fitted exponents, one picture.

    python benchmarks/growth.py             (writes nothing; `make bench` draws benchmarks/growth.png)

An iteration is timed as the training loop does it, without records, in processor time. The exponent is fitted
over the upper decade, where the term that grows fastest shows: a hidden quadratic term would draw it towards two. An
ensemble that no longer fits into a cache takes up to twice as long per number, which adds up to 0.3. Memory is what
the resident memory of a process grew by at its peak (``cbo_pipeline.training.cost``).
"""

from timing import emit, have_mnist, iterations, take_turns  # first: it sets one thread

# isort: split
import copy
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cbo_pipeline.config import Run, RunName, load_config, resolve
from cbo_pipeline.training import cost
from cbo_pipeline.training.loop import Training

TOLERANCE = 0.3  # of an exponent: the step from one cache to the next


@dataclass(frozen=True)
class Series:
    """One sweep: what grows, through which sizes, by which order at most."""

    name: str
    grows: str  # N, M, S' or P
    sizes: tuple[int, ...]
    order: float
    run: Callable[[int], Run]
    fresh: bool = False  # every iteration from the same ensemble


def run_of(experiment: str, method: str, M: int, N: int, **settings) -> Run:
    return resolve(load_config(), RunName(experiment, method, M, N, 0), settings)


def sine(M: int = 100, N: int = 200, batch: int = 800) -> Run:
    return run_of("sine", "cbo", M, N, points=batch, batch_size=batch)


def multi_task(P: int) -> Run:
    return run_of("multi_task", "multi_task_cbo", 20, 1000, tasks=P, points=200, batch_size=200)


def square(M: int = 50, N: int = 50) -> Run:
    return run_of("square", "ot_cbo", M, N)


def mnist(M: int = 20, N: int = 100) -> Run:
    return run_of("mnist", "cbo", M, N)


# Two decades each; the other sizes are the paper's, or such that the term in question is the largest one.
TIME = (
    Series("sine CBO, N", "N", (100, 316, 1000, 3162, 10_000), 1, lambda N: sine(N=N)),
    Series("sine CBO, M", "M", (200, 632, 2000, 6325, 20_000), 1, lambda M: sine(M=M, N=40)),
    Series("sine CBO, S'", "S'", (800, 2530, 8000, 25_298, 80_000), 1, lambda S: sine(N=40, batch=S)),
    Series("Multi-Task CBO, P", "P", (10, 32, 100, 316, 1000), 1, multi_task),
    Series("OT-CBO, N", "N", (10, 32, 100, 316, 1000), 1, lambda N: square(N=N), fresh=True),
    Series("OT-CBO, M", "M", (12, 38, 120, 380, 1200), 3, lambda M: square(M=M, N=10), fresh=True),
    Series("MNIST CBO, N", "N", (10, 32, 100, 316, 1000), 1, lambda N: mnist(N=N)),
    Series("MNIST CBO, M", "M", (3, 10, 30, 95, 300), 1, lambda M: mnist(M=M, N=50)),
)
MEMORY = (
    Series("sine CBO, N", "N", (2000, 6325, 20_000, 63_246, 200_000), 1, lambda N: sine(N=N, batch=80)),
    Series("sine CBO, M", "M", (2000, 6325, 20_000, 63_246, 200_000), 1, lambda M: sine(M=M, N=100, batch=80)),
    Series("OT-CBO, N", "N", (1000, 3162, 10_000, 31_623, 100_000), 1, lambda N: square(M=10, N=N)),
    Series("OT-CBO, M", "M", (40, 126, 400, 1265, 4000), 2, lambda M: square(M=M, N=2)),
    Series("MNIST CBO, N", "N", (10, 32, 100, 316, 1000), 1, lambda N: mnist(M=20, N=N)),
)


def seconds(series: Series, size: int) -> float:
    """The best time of one iteration."""
    training = Training.start(series.run(size))
    if not series.fresh:
        return take_turns({"": iterations(training)}, rounds=5, seconds=0.15, clock=time.process_time)[""]
    state = copy.deepcopy(training.state)

    def first_iteration() -> None:
        training.state = copy.deepcopy(state)
        iterations(training)()

    return take_turns({"": first_iteration}, rounds=4, seconds=0.1, clock=time.process_time)[""]


def peak_megabytes(series: Series, size: int) -> float:
    return cost.measure(series.run(size), seconds=0.0)["peak_bytes"] / 1e6


def exponent(sizes, values) -> float:
    """The slope in logarithms over the upper decade: the three largest sizes."""
    return float(np.polyfit(np.log(sizes[-3:]), np.log(np.maximum(values[-3:], 1e-9)), 1)[0])


def measure(kind: str, all_series: tuple[Series, ...], value, unit: str) -> None:
    for series in all_series:
        values = [value(series, size) for size in series.sizes]
        found = exponent(series.sizes, values)
        emit(
            kind, series=series.name, grows=series.grows, sizes=list(series.sizes), values=values, unit=unit,
            exponent=found, order=series.order, within=found <= series.order + TOLERANCE,
        )  # fmt: skip


def plot(rows: list[dict], path) -> None:
    """Time and memory against the sizes, with the expected order as a guide line below each curve."""
    from cbo_pipeline.figures import style

    with style.applied():
        from matplotlib import pyplot as plt

        panels = [("growth", grows) for grows in ("N", "M", "S'", "P")] + [("memory growth", g) for g in ("N", "M")]
        figure, axes = plt.subplots(2, 3, figsize=(2 * style.COLUMN, 4.4))
        looks = {"sine CBO": (style.BLUE, "o"), "Multi-Task CBO": (style.PURPLE, "s"), "OT-CBO": (style.RED, "^"),
                 "MNIST CBO": (style.GREEN, "D")}  # fmt: skip
        for letter, ax, (kind, grows) in zip("abcdef", axes.flat, panels, strict=True):
            for row in (r for r in rows if r["kind"] == kind and r["grows"] == grows):
                colour, marker = looks[row["series"].rpartition(",")[0]]
                sizes, values = np.array(row["sizes"], float), np.array(row["values"])
                label = f"{row['series'].rpartition(',')[0]}: {row['exponent']:.2f} ({row['order']:g})"
                ax.loglog(sizes, values, color=colour, marker=marker, markersize=3.5, label=label)
                guide = 0.6 * values[-1] * (sizes[-3:] / sizes[-1]) ** row["order"]
                ax.loglog(sizes[-3:], guide, color=colour, linestyle=":", linewidth=1)
            name = {"N": "particles $N$", "M": "width $M$", "S'": "minibatch size $S'$", "P": "tasks $P$"}[grows]
            ax.set_xlabel(name)
            ax.set_ylabel("time of an iteration [s]" if kind == "growth" else "memory of an ensemble [MB]")
            ax.set_title(f"({letter})", loc="left")
            legend = {"title": "fitted exponent (expected order)", "title_fontsize": 6, "alignment": "left"}
            ax.legend(fontsize=6, loc="upper left", handlelength=1.8, **legend)
            low, high = np.log10(ax.get_ylim())
            taken = 0.14 + 0.09 * len(ax.get_legend().get_texts())  # of the height, by the legend
            ax.set_ylim(top=10 ** (low + (high - low) / (1 - taken)))
        style.save(figure, [path])


def main() -> None:
    have_mnist()
    measure("growth", TIME, seconds, "s")
    measure("memory growth", MEMORY, peak_megabytes, "MB")


if __name__ == "__main__":
    main()
