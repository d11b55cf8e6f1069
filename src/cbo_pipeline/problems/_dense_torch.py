"""Data and networks as torch tensors on a device: the same numbers as the compiled kernels, to rounding.

All N networks are evaluated together: the inner layers of a block of networks are one matrix, so that a batch is one
matrix product per block.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

BLOCK = 50  # networks evaluated together
FEW = 4  # for so few networks finding the columns of zeros would take longer than it saves

ACTIVATIONS = {
    "relu": torch.relu_,
    "tanh": torch.tanh_,
    "sigmoid": torch.sigmoid_,
    "softplus": functional.softplus,
    "identity": lambda x: x,
}
# Their derivatives in terms of their values.
DERIVATIVES = {
    "relu": torch.sign,
    "tanh": lambda value: 1 - value.square(),
    "sigmoid": lambda value: value * (1 - value),
    "softplus": lambda value: -torch.expm1(-value),
    "identity": torch.ones_like,
}

Tensors = dict[str, Tensor]


class _Block(NamedTuple):
    """A block of n networks on S rows: what they saw, their inner layers, hidden layers and outputs."""

    columns: Tensor  # (K,): those of the d columns that are used
    x: Tensor  # (S, K + 1)
    inner: Tensor  # (n M, K + 1), biases last
    hidden: Tensor  # (n, M, S)
    outputs: Tensor  # (n, O, S)


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of the data. The last column of ``x`` (S, d + 1) is one: it takes the inner biases."""

    x: Tensor
    targets: Tensor  # (S,) classes, or (S, O) values

    @functools.cached_property
    def without_zeros(self) -> tuple[Tensor, Tensor]:
        """The columns that are not zero in all rows (a quarter is, in a batch of MNIST), and ``x`` without these."""
        columns = self.x.abs().amax(0).nonzero().squeeze(1)
        return columns[:-1], self.x.index_select(1, columns)

    def risks(self, networks: Tensors, shape, alpha: float | None = None) -> np.ndarray:
        risks = np.empty(len(networks["b"]))
        for rows, block in self._blocks(networks, shape):
            risks[rows], _ = self._losses(block.outputs, shape.loss)
        return risks

    def risks_and_gradients(self, networks: Tensors, shape, out: Tensors) -> np.ndarray:
        """The risks and their gradients by back-propagation, block by block, written out by hand."""
        risks, M = np.empty(len(networks["b"])), networks["b"].shape[1]
        for rows, block in self._blocks(networks, shape):
            risks[rows], gains = self._losses(block.outputs, shape.loss, gains=True)
            if "a" in out:
                out["a"][rows] = gains.sum(2)
            gains *= shape.scale
            out["c"][rows] = block.hidden.bmm(gains.mT)
            slopes = torch.bmm(networks["c"][rows], gains).mul_(DERIVATIVES[shape.activation](block.hidden))
            inner = torch.mm(slopes.flatten(0, 1), block.x, out=block.inner)
            out["b"][rows] = inner[:, -1].reshape(-1, M)
            w = out["w"][rows].flatten(0, 1)
            w.zero_().index_copy_(1, block.columns, inner[:, :-1])
        return risks

    def outputs(self, networks: Tensors, shape) -> Tensor:
        """(N, S, O)"""
        return torch.cat([block.outputs.mT.clone() for _, block in self._blocks(networks, shape)])

    def accuracy(self, networks: Tensors, shape) -> float:
        right = [(b.outputs.argmax(1) == self.targets).sum().item() for _, b in self._blocks(networks, shape)]
        return sum(right) / (len(networks["b"]) * len(self.targets))

    def _blocks(self, networks: Tensors, shape) -> Iterator[tuple[slice, _Block]]:
        """Evaluate the networks, ``BLOCK`` at a time: scale * c^T activation(W x + b) + a, at every row.

        The memory of a block is reused for the next one.
        """
        w, b, c = (networks[name] for name in "wbc")
        (N, M, d), outs = w.shape, c.shape[2]
        columns, x = (torch.arange(d, device=w.device), self.x) if N <= FEW else self.without_zeros
        size, S = min(BLOCK, N), len(x)
        memory = x.new_empty(size * M, x.shape[1]), x.new_empty(size, M, S), x.new_empty(size, outs, S)
        for first in range(0, N, size):
            rows = slice(first, min(first + size, N))
            n = rows.stop - rows.start
            inner, hidden, outputs = memory[0][: n * M], memory[1][:n], memory[2][:n]
            inner[:, :-1] = w[rows].flatten(0, 1).index_select(1, columns)
            inner[:, -1] = b[rows].flatten()
            torch.mm(inner, x.mT, out=hidden.flatten(0, 1))
            hidden = ACTIVATIONS[shape.activation](hidden)
            torch.bmm(c[rows].mT, hidden, out=outputs).mul_(shape.scale)
            if "a" in networks:
                outputs += networks["a"][rows].unsqueeze(2)
            yield rows, _Block(columns, x, inner, hidden, outputs)

    def _losses(self, outputs: Tensor, loss: str, gains: bool = False):
        """Risks in float64 and, if wanted, their derivatives by the outputs; ``outputs`` are overwritten."""
        S = outputs.shape[2]
        if loss == "squared":
            outputs -= self.targets.T
            losses = outputs.square().sum(1)
            gained = outputs.mul_(2 / S) if gains else None
        else:
            outputs -= outputs.amax(1, keepdim=True)
            labels = self.targets.expand(len(outputs), 1, S)
            right = outputs.gather(1, labels)
            total = outputs.exp_().sum(1, keepdim=True)
            losses = (total.log() - right).squeeze(1)
            gained = None
            if gains:
                gained = outputs.div_(total.mul_(S))
                gained.scatter_add_(1, labels, gained.new_full((), -1 / S).expand(labels.shape))
        return losses.sum(1, dtype=torch.float64).div_(S).cpu().numpy(), gained


class Held:
    """The inputs x / divisor + shift and their targets, on a device."""

    def __init__(self, x, targets, precision, divisor=1.0, shift=0.0, device="cpu"):
        torch.set_num_threads(1)
        dtype = getattr(torch, str(np.dtype(precision)))
        inputs = torch.ones(len(x), x.shape[1] + 1, dtype=dtype)
        inputs[:, :-1] = torch.from_numpy(np.array(x))
        inputs[:, :-1] /= divisor
        inputs[:, :-1] += shift
        wanted = torch.from_numpy(np.array(targets))
        wanted = wanted.long() if wanted.ndim == 1 else wanted.to(dtype)
        self.everything = Rows(inputs.to(device), wanted.to(device))
        self.device = device

    def rows(self, indices: np.ndarray) -> Rows:
        chosen = torch.as_tensor(indices, device=self.device)
        return Rows(self.everything.x.index_select(0, chosen), self.everything.targets.index_select(0, chosen))

    def place(self, networks: dict[str, np.ndarray]) -> Tensors:
        """Copies in torch's own memory: its alignment can decide the last bit of a matrix product."""
        return {name: torch.tensor(x, device=self.device) for name, x in networks.items()}
