"""The one training loop: a generator of steps. Methods and problems are its arguments.

Whatever needs iterations drives ``Training.steps``: training itself, checkpoints, measured costs, benchmarks.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cbo_pipeline import methods, problems
from cbo_pipeline.config import Run
from cbo_pipeline.methods.base import Clock, Method, State, View
from cbo_pipeline.numerics.consensus import Diverged
from cbo_pipeline.numerics.network import Networks
from cbo_pipeline.numerics.streams import Streams
from cbo_pipeline.problems.base import Problem
from cbo_pipeline.training.history import History, stored_epochs

# Particles may fly off to infinity: that is recorded, and no reason for a warning.
BLOWING_UP_IS_DATA = np.errstate(over="ignore", invalid="ignore")


class Step(NamedTuple):
    """One iteration that was done."""

    epoch: int  # the epoch that it belongs to, from 1
    ends_epoch: bool  # whether it was the last of that epoch


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
    def with_data(cls, run: Run) -> "Training":
        """A run with its data and its settings, but no ensemble yet."""
        problem_class, method_class = problems.find(run.problem), methods.find(run.method)
        problem = problem_class(M=run.name.M, **run.part(problem_class))
        streams = Streams(run.name.seed, run.settings["data_seed"])
        problem.load(streams)
        epochs = run.settings["epochs"]
        stored = stored_epochs(epochs, run.settings["record_first"], run.settings["record_every"])
        history = History(epochs, problem.tasks, stored)
        return cls(run, problem, method_class(**run.part(method_class)), streams, {}, history)

    @classmethod
    def start(cls, run: Run) -> "Training":
        """A fresh run, its initial state recorded as epoch 0."""
        training = cls.with_data(run)
        training.draw_ensemble()
        training._record_start()
        return training

    @BLOWING_UP_IS_DATA
    def draw_ensemble(self) -> None:
        """Draw the initial ensemble."""
        self.state = self.method.start(self.problem, self.run.name.N, self.streams.initial())

    def resume(self, arrays: State, history: History, iteration: int) -> None:
        """Put the run where a checkpoint left it."""
        self.state, self.history, self.iteration = self.method.restored(arrays), history, iteration

    @property
    def batches_per_epoch(self) -> int:
        return self.problem.data_size(self.run.settings) // self.run.settings["batch_size"]

    @property
    def finished(self) -> bool:
        return self.history.diverged >= 0 or self.iteration >= self.history.epochs * self.batches_per_epoch

    def steps(self, records: bool = True) -> Iterator[Step]:
        """Do one iteration after the other, to the end of the run or until the caller stops asking.

        The state is complete whenever a step is yielded. Without ``records`` nothing is recorded: these are the
        bare iterations of the method.
        """
        while not self.finished:
            epoch, first = divmod(self.iteration, self.batches_per_epoch)
            for indices in self.batches(epoch)[first:]:
                ends_epoch = (self.iteration + 1) % self.batches_per_epoch == 0
                if not self._iterate(indices, epoch, ends_epoch, records):
                    return
                yield Step(epoch + 1, ends_epoch)

    def advance(self, iterations: int | None = None) -> "Training":
        """Do so many iterations, or all that are left."""
        for _ in itertools.islice(self.steps(), iterations):
            pass
        return self

    def finish(self) -> History:
        """Do all iterations that are left."""
        return self.advance().history

    def batches(self, epoch: int) -> np.ndarray:
        """The indices of an epoch's minibatches, one row each; the same for all particles and methods."""
        rng, size = self.streams.batches(epoch), self.problem.data_size(self.run.settings)
        count, batch_size = self.batches_per_epoch, self.run.settings["batch_size"]
        if self.run.settings["batches"] == "partition":
            return rng.permutation(size).reshape(count, batch_size)
        return np.stack([rng.choice(size, batch_size, replace=False) for _ in range(count)])

    @BLOWING_UP_IS_DATA
    def _iterate(self, indices: np.ndarray, epoch: int, ends_epoch: bool, records: bool) -> bool:
        """One iteration: look, record, move. False if the run has diverged."""
        batch = self.problem.batch(indices)
        clock = Clock(epoch, self.iteration, all_risks=records and ends_epoch and self.history.stores(epoch + 1))
        try:
            view = self.method.look(self.state, self.problem, batch, clock)
        except Diverged:
            self._record_divergence(epoch + 1)
            return False
        if records:
            self.history.add_to("risk_loop", self._loop_risk(view, batch) / self.batches_per_epoch)
            if clock.all_risks:
                self._record_ensemble(epoch + 1, view, clock)
        self.state = self.method.move(self.state, view, clock, self.streams.noise(self.iteration))
        if records and ends_epoch:
            loop_risk = self.history.pending.pop("risk_loop")
            self._record_reported(epoch + 1, view.reported, loop_risk)
        self.iteration += 1
        return True

    @BLOWING_UP_IS_DATA
    def _record_start(self) -> None:
        clock = Clock(0, 0)
        batch = self.problem.batch(self.batches(0)[0])
        try:
            view = self.method.look(self.state, self.problem, batch, clock)
        except Diverged:
            self._record_divergence(0)
            return
        self._record_ensemble(0, view, clock)
        self._record_reported(0, view.reported, self._loop_risk(view, batch))

    def _loop_risk(self, view: View, batch) -> np.ndarray:
        """The risk on the minibatch at the consensus point, for each task: what a training loop would print.

        The consensus point of Adam is its network, whose risk before the step is known already.
        """
        known = view.consensus is self.state["particles"]
        return np.asarray(_own_risks(view.risks if known else self.problem.risks(view.consensus, batch)))

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

    def _record_reported(self, epoch: int, networks: Networks, loop_risk: np.ndarray) -> None:
        """The risk on all data is computed in every epoch, so that no leap is missed."""
        risk = _own_risks(self.problem.risks(networks, self.problem.everything()))
        measures = self.problem.final_measures(networks) if self.history.stores(epoch) else {}
        self.history.record(epoch, risk=risk, risk_loop=loop_risk, **measures)
        if epoch in self.run.settings["snapshots"] or epoch == self.history.epochs:
            self.history.keep(epoch, networks)
        if epoch in self.run.settings["keep_ensembles"]:
            self.history.keep_ensemble(epoch, self.state["particles"])

    def _record_divergence(self, epoch: int) -> None:
        """Nothing is known from this epoch on; the records say so, even where there were none before."""
        nothing = np.full(self.history.tasks, np.nan) if self.history.tasks > 1 else np.nan
        last = int(self.history.stored[np.searchsorted(self.history.stored, epoch)])
        self.history.record(
            last, risk=nothing, risk_loop=nothing, risk_min=np.nan, risk_median=np.nan, variance=np.nan
        )
        self.history.diverged = epoch


def _own_risks(risks: np.ndarray):
    """With P tasks network p answers for task p: the diagonal of the P x P risks."""
    return float(risks[0]) if risks.ndim == 1 else np.diagonal(risks)


def train(run: Run) -> History:
    """Train from the beginning to the end, quietly: the whole pipeline of one run as one call.

    >>> from cbo_pipeline.config import RunName, load_config, resolve
    >>> name = RunName("sine", "cbo", M=10, N=8, seed=0)
    >>> history = train(resolve(load_config(), name, {"epochs": 2}))
    >>> history.records["risk"].shape
    (3,)
    """
    return Training.start(run).finish()
