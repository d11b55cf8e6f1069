"""How often does one particle have all the weight on MNIST, and how often is it the same one again?

    python benchmarks/winners.py

trains CBO of example 2, one seed, over 400 steps (a minute) and prints it for every hundred. What follows for the
spread of the ensemble in directions that the risk does not see is measured by `cbo-pipeline check-unseen`.
"""

import itertools

import numpy as np

from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.training.loop import Training

STEPS, PART = 400, 100


class Watched:
    """A method that keeps, of every look, the best particle and whether the consensus point is that particle."""

    def __init__(self, method):
        self.method, self.best, self.alone = method, [], []

    def __getattr__(self, name: str):
        return getattr(self.method, name)

    def look(self, state, problem, batch, clock):
        view = self.method.look(state, problem, batch, clock)
        best = int(np.argmin(view.risks))
        self.best.append(best)
        self.alone.append(all(np.array_equal(V[0], state["particles"][k][best]) for k, V in view.consensus.items()))
        return view


def main() -> None:
    training = Training.with_data(resolve(load_config(), RunName("mnist", "cbo", 20, 1000, seed=0)))
    training.draw_ensemble()
    training.method = watched = Watched(training.method)
    for _ in itertools.islice(training.steps(records=False), STEPS):
        pass
    best, alone = np.array(watched.best), np.array(watched.alone)
    again = np.r_[False, best[1:] == best[:-1]]
    print("steps        all the weight    the same as before")
    for first in range(0, STEPS, PART):
        part = slice(first, first + PART)
        print(f"{first + 1:4d} to {first + PART:4d} {alone[part].mean():14.0%} {again[part].mean():21.0%}")


if __name__ == "__main__":
    main()
