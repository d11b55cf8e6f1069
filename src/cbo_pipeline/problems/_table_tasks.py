"""Risks of networks on several targets at once, each target a task: every network is evaluated once for all tasks."""

from typing import Any

import numpy as np

from cbo_pipeline.numerics.network import Networks, select, size

BLOCK = 1 << 21  # outputs that are held at a time


def risks(networks: Networks, rows: Any, shape) -> np.ndarray:
    """The risks (N, P) in float64; ``rows.targets`` (S, P) has a column for every task."""
    N, (S, P) = size(networks), rows.targets.shape
    found = np.empty((N, P))
    step = max(1, BLOCK // (S * networks["c"].shape[2]))
    for first in range(0, N, step):
        part = slice(first, min(first + step, N))
        outputs = rows.outputs(select(networks, part), shape).astype(np.float64)
        found[part] = (_squared if shape.loss == "squared" else _cross_entropy)(outputs, rows.targets)
    return found


def accuracies(networks: Networks, rows: Any, shape) -> np.ndarray:
    """The share (P,) of the rows that network p puts into the right class of task p."""
    found = rows.outputs(networks, shape).argmax(axis=2)
    return (found == rows.targets.T).mean(axis=1)


def _squared(values: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The mean of |g - y_p|^2 over the rows, Eq. (eq:MSE)."""
    return np.stack([np.square(values[:, :, 0] - y).mean(axis=1) for y in targets.T.astype(np.float64)], axis=1)


def _cross_entropy(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The mean of log sum_o exp(g_o) - g_label over the rows."""
    logits = logits - logits.max(axis=2, keepdims=True)
    total = np.log(np.exp(logits).sum(axis=2))
    rows = np.arange(labels.shape[0])
    return np.stack([(total - logits[:, rows, label]).mean(axis=1) for label in labels.T], axis=1)
