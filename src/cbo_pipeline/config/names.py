"""The names of runs and curves, which are also the paths of their files."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from cbo_pipeline.errors import UserError

MOST_SEEDS = 10**6  # in one range


@dataclass(frozen=True, order=True)
class Curve:
    """Runs that differ in their seed alone: a variant of an experiment at one M and N.

    >>> curve = Curve("sine", "cbo", M=100, N=200)
    >>> str(curve), curve.stem, str(curve.run(seed=3))
    ('sine/cbo_M100_N200', 'cbo_M100_N200', 'sine/cbo/M100_N200_seed3')
    """

    experiment: str
    variant: str
    M: int
    N: int

    @property
    def stem(self) -> str:
        """The name of the curve within its experiment, and of its files."""
        return f"{self.variant}_M{self.M}_N{self.N}"

    def __str__(self) -> str:
        return f"{self.experiment}/{self.stem}"

    def run(self, seed: int) -> "RunName":
        """The run of this curve with that seed."""
        return RunName(self.experiment, self.variant, self.M, self.N, seed)


@dataclass(frozen=True, order=True)
class RunName:
    """The address of a run: results/runs/{experiment}/{variant}/M{M}_N{N}_seed{seed}.nc.

    >>> name = RunName("sine", "cbo", M=100, N=200, seed=3)
    >>> str(name), str(name.curve), name.place
    ('sine/cbo/M100_N200_seed3', 'sine/cbo_M100_N200', 'experiments.sine.methods.cbo')
    """

    experiment: str
    variant: str
    M: int
    N: int
    seed: int

    def __str__(self) -> str:
        return f"{self.experiment}/{self.variant}/M{self.M}_N{self.N}_seed{self.seed}"

    @property
    def curve(self) -> Curve:
        """The curve that the run belongs to."""
        return Curve(self.experiment, self.variant, self.M, self.N)

    @property
    def place(self) -> str:
        """Where the config holds the settings of the run."""
        return f"experiments.{self.experiment}.methods.{self.variant}"


def short_list(seeds: Iterable[int]) -> str:
    """Seeds as a short text, so that a command can name thousands of them.

    >>> short_list([0, 1, 2, 3, 7, 9, 10])
    '0-3,7,9-10'
    """
    parts: list[list[int]] = []
    for seed in sorted(seeds):
        if parts and seed == parts[-1][1] + 1:
            parts[-1][1] = seed
        else:
            parts.append([seed, seed])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def seeds_of(text: str) -> list[int]:
    """The inverse of ``short_list``.

    >>> seeds_of("0-3,7")
    [0, 1, 2, 3, 7]
    """
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not 0 <= last - first < MOST_SEEDS or set(seeds) & set(range(first, last + 1)):
            words = f"--seeds {text}: write numbers and ascending ranges, each seed once, such as 0-99,120"
            raise UserError(words, code="bad-list", key="--seeds")
        seeds += range(first, last + 1)
    return seeds
