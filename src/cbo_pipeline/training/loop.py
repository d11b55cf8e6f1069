"""The one training loop: epochs, batches, records, checkpoints. Methods and problems are its arguments."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from cbo_pipeline import methods, problems
from cbo_pipeline.config.settings import Run
from cbo_pipeline.methods.base import Clock, Method, State, View
from cbo_pipeline.numerics.consensus import Diverged
from cbo_pipeline.numerics.network import Networks
from cbo_pipeline.numerics.streams import Streams
from cbo_pipeline.problems.base import Problem

# Particles may fly off to infinity: that is recorded, and no reason for a warning.
BLOWING_UP_IS_DATA = np.errstate(over="ignore", invalid="ignore")


class Interrupted(Exception):
    """Training was asked to stop; its state is whole, and a checkpoint can be made of it."""


@dataclass
class History:
    """What training leaves behind: records for the epochs 0 .. E and the reported networks at some of them."""

    epochs: int
    tasks: int
    records: dict[str, np.ndarray] = field(default_factory=dict)
    snapshots: dict[str, np.ndarray] = field(default_factory=dict)  # by name: (epochs kept, P, ...)
    snapshot_epochs: list[int] = field(default_factory=list)
    diverged: int = -1  # the epoch in which no finite risk was left, or -1

    def record(self, epoch: int, **values) -> None:
        """Store numbers of one epoch; what is never stored stays not-a-number."""
        for name, value in values.items():
            if name not in self.records:
                self.records[name] = np.full((self.epochs + 1, *np.shape(value)), np.nan)
            self.records[name][epoch] = value

    def keep(self, epoch: int, networks: Networks) -> None:
        """Store the reported networks of one epoch."""
        self.snapshot_epochs.append(epoch)
        for name, x in networks.items():
            new = np.asarray(x.cpu() if hasattr(x, "cpu") else x)[None]
            old = self.snapshots.get(name)
            self.snapshots[name] = new.copy() if old is None else np.concatenate([old, new])


@dataclass
class Training:
    """A run under way. ``iteration`` is the next one to be done; state and history belong to that moment."""

    run: Run
    problem: Problem
    method: Method
    streams: Streams
    state: State
    history: History
    iteration: int = 0

    @classmethod
    @BLOWING_UP_IS_DATA
    def begin(cls, run: Run) -> "Training":
        """A fresh run, its initial state recorded as epoch 0."""
        training = cls.assembled(run)
        training.state = training.method.start(training.problem, run.name.N, training.streams.initial())
        training._record_start()
        return training

    def go_back_to(self, arrays: State, history: History, iteration: int) -> None:
        """Put the run where a checkpoint left it."""
        self.state, self.history, self.iteration = self.method.restored(arrays), history, iteration

    @classmethod
    def assembled(cls, run: Run) -> "Training":
        """A run with its data and its settings, but no ensemble yet."""
        problem_class, method_class = problems.find(run.problem), methods.find(run.method)
        problem = problem_class(M=run.name.M, **run.part(problem_class))
        streams = Streams(run.name.seed, run.settings["data_seed"])
        problem.load(streams)
        history = History(run.settings["epochs"], problem.tasks)
        return cls(run, problem, method_class(**run.part(method_class)), streams, {}, history)

    @property
    def batches_per_epoch(self) -> int:
        return self.problem.data_size(self.run.settings) // self.run.settings["batch_size"]

    @property
    def finished(self) -> bool:
        return self.history.diverged >= 0 or self.iteration >= self.history.epochs * self.batches_per_epoch

    @BLOWING_UP_IS_DATA
    def go_on(
        self,
        on_epoch: Callable[[int, History], None] = lambda epoch, history: None,
        on_iteration: Callable[["Training"], None] = lambda training: None,
    ) -> History:
        """Train to the end. ``on_iteration`` may raise ``Interrupted``, with the training whole."""
        try:
            while not self.finished:
                epoch = self.iteration // self.batches_per_epoch
                first = self.iteration % self.batches_per_epoch
                for indices in self._batches(epoch)[first:]:
                    self._iterate(self.problem.batch(indices), epoch)
                    on_iteration(self)
                on_epoch(epoch + 1, self.history)
        except Diverged:
            self._record_divergence(self.iteration // self.batches_per_epoch + 1)
        return self.history

    def _batches(self, epoch: int) -> np.ndarray:
        """The indices of an epoch's minibatches, one row each; the same for all particles and methods."""
        rng, size = self.streams.batches(epoch), self.problem.data_size(self.run.settings)
        count, batch_size = self.batches_per_epoch, self.run.settings["batch_size"]
        if self.run.settings["batches"] == "partition":
            return rng.permutation(size).reshape(count, batch_size)
        return np.stack([rng.choice(size, batch_size, replace=False) for _ in range(count)])

    def _iterate(self, batch, epoch: int) -> None:
        clock = Clock(epoch, self.iteration)
        view = self.method.look(self.state, self.problem, batch, clock)
        last = (self.iteration + 1) % self.batches_per_epoch == 0
        if last:
            self._record_ensemble(epoch + 1, view, clock)
        self.state = self.method.move(self.state, view, clock, self.streams.noise(self.iteration))
        if last:
            self._record_reported(epoch + 1, self.method.report(self.state, view))
        self.iteration += 1

    def _record_start(self) -> None:
        clock = Clock(0, 0)
        try:
            view = self.method.look(self.state, self.problem, self.problem.batch(self._batches(0)[0]), clock)
        except Diverged:
            self._record_divergence(0)
            return
        self._record_ensemble(0, view, clock)
        self._record_reported(0, self.method.report(self.state, view))

    def _record_ensemble(self, epoch: int, view: View, clock: Clock) -> None:
        finite = np.where(np.isfinite(view.risks), view.risks, np.inf)
        self.history.record(
            epoch,
            risk_min=finite.min(),
            risk_median=np.median(finite),
            variance=self.method.variance(self.state, view),
            **self.method.parameters(clock),
            **view.extra,
        )

    def _record_reported(self, epoch: int, networks: Networks) -> None:
        risk = self.problem.risks(networks, self.problem.everything())
        # With P tasks network p answers for task p: the diagonal of the P x P risks.
        risk = float(risk[0]) if risk.ndim == 1 else np.diagonal(risk)
        self.history.record(epoch, risk=risk, **self.problem.final_measures(networks))
        if epoch in self.run.settings["snapshots"] or epoch == self.history.epochs:
            self.history.keep(epoch, networks)

    def _record_divergence(self, epoch: int) -> None:
        """Nothing is known from this epoch on; the records say so, even where there were none before."""
        nothing = np.full(self.history.tasks, np.nan) if self.history.tasks > 1 else np.nan
        self.history.record(epoch, risk=nothing, risk_min=np.nan, risk_median=np.nan, variance=np.nan)
        self.history.diverged = epoch


def train(run: Run) -> History:
    """Train from the beginning to the end, quietly: the whole pipeline of one run as one call.

    >>> from cbo_pipeline.config.settings import RunName, load_config, resolve
    >>> name = RunName("sine", "cbo", M=10, N=8, seed=0)
    >>> history = train(resolve(load_config(), name, {"epochs": 2}))
    >>> history.records["risk"].shape
    (3,)
    """
    return Training.begin(run).go_on()
