"""What CBO does: the particles' approximations of the sine gather around the target. From a real run."""

import numpy as np
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from cbo_pipeline.figures import style
from cbo_pipeline.methods.base import Clock
from cbo_pipeline.methods.cbo import CBO
from cbo_pipeline.numerics.network import Networks, evaluate
from cbo_pipeline.numerics.streams import Streams
from cbo_pipeline.problems.sine import Sine

SHOWN = (0, 1, 5, 20, 60, 200)  # epochs
SEED, N, M, POINTS, BATCH = 3, 200, 100, 4000, 800


def ensembles() -> list[tuple[Networks, Networks]]:
    """Particles and consensus point of the sine experiment, alpha growing faster, at the epochs SHOWN."""
    problem, streams = Sine(M=M, points=POINTS, label_noise=0.01), Streams(SEED)
    problem.load(streams)
    method = CBO(
        dt=0.1, alpha=1e5, lambda_=1.0, sigma_squared=1.6, initial="uniform", initial_bound=1.0,
        alpha_factor=10, alpha_every=20, alpha_max=1e7,
    )  # fmt: skip
    state = method.start(problem, N, streams.initial())
    kept, iteration = [], 0
    for epoch in range(SHOWN[-1] + 1):
        for part, indices in enumerate(streams.batches(epoch).permutation(POINTS).reshape(-1, BATCH)):
            clock = Clock(epoch, iteration)
            view = method.look(state, problem, problem.batch(indices), clock)
            if part == 0 and epoch in SHOWN:
                kept.append(({k: v.copy() for k, v in state["particles"].items()}, view.consensus))
            state = method.move(state, view, clock, streams.noise(iteration))
            iteration += 1
    return kept


def gathering(data: dict[str, xr.Dataset]) -> Figure:
    """Six epochs of one run: every particle a thin line, the consensus point a thick one, the target dotted."""
    figure, panels = plt.subplots(2, 3, figsize=(2 * style.COLUMN, 3.6), sharex=True, sharey=True)
    x = np.linspace(0.0, 1.0, 201)
    for axes, epoch, (particles, consensus) in zip(panels.flat, SHOWN, ensembles(), strict=True):
        axes.plot(x, evaluate(particles, x[:, None], 1 / M)[:, :, 0].T, color=style.SKY, linewidth=0.3, alpha=0.5)
        axes.plot(x, np.sin(2 * np.pi * x), ":", color=style.BLACK, linewidth=1.2)
        axes.plot(x, evaluate(consensus, x[:, None], 1 / M)[0, :, 0], color=style.RED)
        axes.set(title=f"epoch {epoch}", xlim=(0, 1), ylim=(-1.6, 1.6))
    for name, look in {
        "particles": {"color": style.SKY},
        "consensus point": {"color": style.RED},
        r"$\sin(2\pi x)$": {"color": style.BLACK, "linestyle": ":"},
    }.items():
        panels[0, 0].plot([], [], label=name, **look)
    panels[0, 0].legend(fontsize=6, loc="lower left")
    for axes in panels[1]:
        axes.set_xlabel("$x$")
    for axes in panels[:, 0]:
        axes.set_ylabel("$y$")
    return figure
