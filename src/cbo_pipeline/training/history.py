"""What training leaves behind: records of the stored epochs, the reported networks, whole ensembles."""

from dataclasses import dataclass, field

import numpy as np

from cbo_pipeline.numerics.network import Networks

# Series whose extremes between two stored epochs are kept where records are thinned: no leap is lost.
EXTREMES = ("risk", "risk_loop")


def stored_epochs(epochs: int, first: int = 0, every: int = 1) -> np.ndarray:
    """The epochs whose records are kept: all up to ``first``, then each ``every``-th, and the last one.

    >>> stored_epochs(10, first=2, every=4).tolist()
    [0, 1, 2, 6, 10]
    >>> stored_epochs(9, every=4).tolist()
    [0, 4, 8, 9]
    """
    dense = np.arange(min(first, epochs) + 1)
    thin = np.arange(dense[-1], epochs + 1, every)
    return np.unique(np.concatenate([dense, thin, [epochs]]))


@dataclass
class History:
    """Records by name, (stored epochs, ...); reported networks and whole ensembles at chosen epochs.

    ``pending`` holds what belongs to epochs that are not stored yet: sums over the minibatches of the current epoch,
    and the extremes since the last stored one.
    """

    epochs: int
    tasks: int
    stored: np.ndarray
    records: dict[str, np.ndarray] = field(default_factory=dict)
    snapshots: dict[str, np.ndarray] = field(default_factory=dict)  # by parameter: (epochs kept, P, ...)
    snapshot_epochs: list[int] = field(default_factory=list)
    ensembles: dict[str, np.ndarray] = field(default_factory=dict)  # by parameter: (epochs kept, N, ...)
    ensemble_epochs: list[int] = field(default_factory=list)
    pending: dict[str, np.ndarray] = field(default_factory=dict)
    latest_risk: object = np.nan  # of the last epoch that was done, stored or not
    diverged: int = -1  # the epoch in which no finite risk was left, or -1

    @property
    def thinned(self) -> bool:
        """Whether some epochs are not stored."""
        return len(self.stored) <= self.epochs

    def stores(self, epoch: int) -> bool:
        """Whether the records of this epoch are kept."""
        place = np.searchsorted(self.stored, epoch)
        return bool(place < len(self.stored) and self.stored[place] == epoch)

    def record(self, epoch: int, **values) -> None:
        """Keep the numbers of one epoch; of an epoch that is not stored, its extremes. Missing numbers stay NaN."""
        self.latest_risk = values.get("risk", self.latest_risk)
        for name in EXTREMES if self.thinned else ():
            if name in values:
                self._widen(f"{name}_smallest", np.fmin, values[name])
                self._widen(f"{name}_largest", np.fmax, values[name])
        if not self.stores(epoch):
            return
        if self.thinned:
            extremes = [f"{name}_{side}" for name in EXTREMES if name in values for side in ("smallest", "largest")]
            values |= {name: self.pending.pop(name) for name in extremes}
        for name, value in values.items():
            if name not in self.records:
                self.records[name] = np.full((len(self.stored), *np.shape(value)), np.nan)
            self.records[name][np.searchsorted(self.stored, epoch)] = value

    def _widen(self, name: str, extreme: np.ufunc, value) -> None:
        self.pending[name] = np.asarray(extreme(self.pending.get(name, value), value), np.float64)

    def add_to(self, name: str, value) -> None:
        """Add to a sum over the minibatches of the current epoch."""
        self.pending[name] = self.pending.get(name, np.zeros(np.shape(value))) + value

    def keep(self, epoch: int, networks: Networks) -> None:
        """Keep the reported networks of one epoch."""
        self.snapshot_epochs.append(epoch)
        _append(self.snapshots, networks)

    def keep_ensemble(self, epoch: int, particles: Networks) -> None:
        """Keep all particles of one epoch."""
        self.ensemble_epochs.append(epoch)
        _append(self.ensembles, particles)

    def last(self, name: str = "risk") -> np.ndarray:
        """A record at the last stored epoch that has one."""
        known = self.records[name]
        rows = np.flatnonzero(np.isfinite(known.reshape(len(known), -1)).any(axis=1))
        return known[rows[-1] if len(rows) else -1]


def _append(kept: dict[str, np.ndarray], networks: Networks) -> None:
    for name, x in networks.items():
        new = np.asarray(x.cpu() if hasattr(x, "cpu") else x)[None]
        kept[name] = np.concatenate([kept[name], new]) if name in kept else new.copy()
