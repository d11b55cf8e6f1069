"""Data and networks in main memory, evaluated by compiled kernels."""

import functools
from dataclasses import dataclass

import numpy as np

from cbo_pipeline.numerics.kernels import dense_networks
from cbo_pipeline.numerics.kernels.dense_networks import Shape
from cbo_pipeline.numerics.kernels.sparse_lists import ColumnLists, Lists, by_column, lists, table_of
from cbo_pipeline.numerics.network import Networks


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of the data: their inputs as lists, their targets."""

    table: Lists
    targets: np.ndarray

    @functools.cached_property
    def columns(self) -> ColumnLists:
        return by_column(self.table)

    def risks(self, networks: Networks, shape: Shape, alpha: float | None = None) -> np.ndarray:
        return dense_networks.risks(networks, shape, self.table, self.targets, alpha)

    def risks_and_gradients(self, networks: Networks, shape: Shape, out: Networks) -> np.ndarray:
        columns = self.columns if dense_networks.needs_columns(networks) else None
        return dense_networks.risks_and_gradients(networks, shape, self.table, columns, self.targets, out)

    def outputs(self, networks: Networks, shape: Shape) -> np.ndarray:
        return dense_networks.outputs(networks, shape, self.table)

    def accuracy(self, networks: Networks, shape: Shape) -> float:
        """The share of the rows whose largest output is that of their class, over all networks."""
        return float((self.outputs(networks, shape).argmax(2) == self.targets).mean())


class Held:
    """The inputs x / divisor + shift and their targets."""

    def __init__(self, x, targets, precision, divisor=1.0, shift=0.0, device="cpu"):
        self.table, self.targets = table_of(np.ascontiguousarray(x), precision, divisor, shift), targets

    def rows(self, indices: np.ndarray) -> Rows:
        return Rows(lists(self.table, indices), self.targets[indices])

    @functools.cached_property
    def everything(self) -> Rows:
        return self.rows(np.arange(len(self.targets)))

    def place(self, networks: Networks) -> Networks:
        return networks
