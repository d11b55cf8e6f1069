"""A table of one's own: inputs, targets, and a two-layer network that computes the targets from the inputs."""

import functools
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from cbo_pipeline.numerics.network import Networks
from cbo_pipeline.numerics.streams import Streams
from cbo_pipeline.problems import _table_files, _table_profile, _table_scales, _table_tasks
from cbo_pipeline.problems._dense import Dense
from cbo_pipeline.problems._table_digest import digest_of
from cbo_pipeline.problems._table_refusals import refused
from cbo_pipeline.problems._table_scales import Scales


class Parts(NamedTuple):
    """The data as it is trained on: the training part, the test part (if there is one), and the units of both."""

    training: Any
    test: Any
    inputs: Scales
    targets: Scales


@dataclass
class Table(Dense):
    """Fit the ``targets`` of a file from its ``inputs``, with the squared loss or, for classes, the cross-entropy.

    A random part of the rows, ``test_share`` of them, is held out; the data's seed chooses it. Inputs, and targets
    that are numbers, are standardised with the means and deviations of the training part. With a method that solves
    several tasks every target is a task; otherwise one network computes all of them.

    ``rows``, ``classes`` (names by target), ``tasks`` and ``data_digest`` are found in the file (``config.tables``).
    """

    data: str = field(kw_only=True)
    data_digest: str = field(kw_only=True)
    inputs: list[str] = field(kw_only=True)
    targets: list[str] = field(kw_only=True)
    rows: int = field(kw_only=True)
    loss: str = field(kw_only=True)
    classes: list[list[str]] = field(default_factory=list)
    tasks: int = 1
    activation: str = "relu"
    standardise: bool = True
    test_share: float = 0.2

    def __post_init__(self):
        self.features, self.outputs = self.sizes(vars(self))

    @classmethod
    def sizes(cls, settings: dict[str, Any]) -> tuple[int, int]:
        """The numbers of features and of outputs of the network, d and O."""
        if settings["loss"] == "cross_entropy":
            return len(settings["inputs"]), max(map(len, settings["classes"]))
        return len(settings["inputs"]), 1 if settings["tasks"] > 1 else len(settings["targets"])

    @classmethod
    def training_rows(cls, settings: dict[str, Any]) -> int:
        """The number of rows S that are not held out."""
        rows, share = settings["rows"], settings["test_share"]
        return rows - (max(1, round(share * rows)) if share > 0 else 0)

    @classmethod
    def data_size(cls, settings):
        """S, rounded up to whole batches: some rows come twice in an epoch, so that every row comes."""
        return -(-cls.training_rows(settings) // settings["batch_size"]) * settings["batch_size"]

    @classmethod
    def check(cls, settings, M, N):
        targets, tasks, classes = (settings[key] for key in ("targets", "tasks", "classes"))
        if settings["loss"] == "cross_entropy":
            if len(targets) > 1 and tasks == 1:
                return "targets", "the cross-entropy takes one target; only multi-task methods take several"
            if len(classes) != len(targets):
                return "classes", f"{len(classes)} lists of classes for {len(targets)} targets"
        if tasks not in (1, len(targets)):
            return "tasks", f"{tasks} tasks for {len(targets)} targets"
        if tasks > 1 and settings["device"] != "cpu":
            return "device", "several tasks on a table need the cpu"
        return None

    @classmethod
    def scratch_bytes(cls, settings, M, N):
        """The lists of a batch, twice; the losses of all networks on it; weights and layers of eight networks."""
        (d, outputs), batch = cls.sizes(settings), settings["batch_size"]
        several = 4 * _table_tasks.BLOCK if settings["tasks"] > 1 else 0
        return 8 * (4 * batch * d + batch * N + several + min(N, 8) * M * (4 * d + 40 * outputs))

    def load(self, streams: Streams) -> None:
        """The file is read when its rows are first needed: looking at a run does not need it."""
        self.check_device()
        self._streams = streams

    @functools.cached_property
    def parts(self) -> Parts:
        """Read, divide and standardise the table."""
        _table_files.require_there(self.data)
        if digest_of(self.data) != self.data_digest:
            raise refused(self.data, "not the content that the settings of this run name", "other-content")
        found = _table_profile.columns(self.data, self.inputs, self.targets, self.loss)
        x, d = found.numbers[:, : self.features], self.features
        y = found.numbers[:, d:] if self.loss == "squared" else self._labels(found.texts)
        order = self._streams.data().permutation(len(x))
        size = self.training_rows(vars(self))
        training, test = order[:size], np.sort(order[size:])
        inputs = _table_scales.learnt(x[training]) if self.standardise else _table_scales.none(d)
        scaled = self.loss == "squared" and self.standardise
        targets = _table_scales.learnt(y[training]) if scaled else _table_scales.none(len(self.targets))

        def held(rows: np.ndarray):
            values = targets.apply(y[rows]).astype(self.precision) if self.loss == "squared" else y[rows]
            if self.loss == "cross_entropy" and self.tasks == 1:
                values = values[:, 0]
            return self.hold(inputs.apply(x[rows]).astype(self.precision), np.ascontiguousarray(values))

        return Parts(held(training), held(test).everything if len(test) else None, inputs, targets)

    def _labels(self, texts: list[np.ndarray]) -> np.ndarray:
        """The classes (rows, targets) by their numbers."""
        numbers = [{name: k for k, name in enumerate(classes)} for classes in self.classes]
        return np.array([[known[t] for t in text.tolist()] for known, text in zip(numbers, texts, strict=True)]).T

    @property
    def training(self):
        return self.parts.training

    def batch(self, indices: np.ndarray) -> Any:
        return self.training.rows(indices % self.training_rows(vars(self)))

    def batch_of_task(self, batch: Any, task: int) -> Any:
        return type(batch)(batch.table, batch.targets[:, task : task + 1]) if self.tasks > 1 else batch

    def risks(self, networks: Networks, batch: Any, alpha: float | None = None) -> np.ndarray:
        if self.tasks > 1:
            return _table_tasks.risks(networks, batch, self.shape())
        return super().risks(networks, batch, alpha)

    def final_measures(self, networks: Networks) -> dict[str, Any]:
        """The risk on the test part and, for classes, the share of it that is classified correctly."""
        test, shape = self.parts.test, self.shape()
        if test is None:
            return {}
        if self.tasks > 1:
            found: dict[str, Any] = {"risk_test": np.diagonal(_table_tasks.risks(networks, test, shape))}
            if self.loss == "cross_entropy":
                found["accuracy"] = _table_tasks.accuracies(networks, test, shape)
            return found
        found = {"risk_test": float(test.risks(networks, shape)[0])}
        return found | ({"accuracy": test.accuracy(networks, shape)} if self.loss == "cross_entropy" else {})

    def kept(self) -> dict[str, tuple[tuple[str, ...], np.ndarray, dict[str, str]]]:
        """What the file of a run holds beside its records, so that it can predict: the units of the columns.

        Their names, those of the classes, the loss and the activation are among the settings.
        """
        inputs, targets = self.parts.inputs, self.parts.targets
        columns = {"feature_mean": inputs.mean, "feature_scale": inputs.scale}
        columns |= {"target_mean": targets.mean, "target_scale": targets.scale}
        words = {"mean": "subtracted from the column of each {}", "scale": "divides the column of each {} after that"}
        found = {"target": (("target",), np.arange(1, len(self.targets) + 1), {"long_name": "target, from 1"})}
        for name, values in columns.items():
            dim, kind = name.split("_")
            found[name] = ((dim,), values, {"long_name": words[kind].format(dim), "units": "1"})
        return found
