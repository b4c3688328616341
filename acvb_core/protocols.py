"""The contract between a method, the model it fits and everything that runs or shows it.

A method (`Inference`) knows its data and its priors from the day it is built; it is started, swept and read
out, and knows nothing of threads, stopping, storage or pages. States are immutable: a sweep returns a new
one, so that a sweep cut short leaves the last whole state valid, and a run can be stopped, extended or
repeated bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
#: Called between pieces of work of at most about 100 ms. Blocks while a run is paused, raises to end a sweep.
Checkpoint = Callable[[], None]


def no_checkpoint() -> None:
    """The checkpoint of a run that nobody pauses or stops."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """What a state (or an average of states) says about the data.

    Attributes
    ----------
    arrays : mapping of str to ndarray
        Every array that has a cluster axis: the responsibilities and whatever goes with them.
    axes : mapping of str to tuple of (str or None)
        For each array, the domain whose clusters run along each axis, None where it is not a cluster axis.
        `{"rows": (None, "rows"), "ones": ("rows", "columns")}`.
    averaged : tuple of str
        Names of the arrays a running mean is taken of: the responsibilities, one for each domain, under
        the domain's own name, objects along axis 0.
    derived : tuple of str
        Names of arrays that follow from the averaged ones and the data; an average drops them.
    hyper : mapping of str to float
        Hyper-parameters that have no cluster axis, by name.
    """

    arrays: Mapping[str, Array]
    axes: Mapping[str, tuple[str | None, ...]]
    averaged: tuple[str, ...]
    derived: tuple[str, ...] = ()
    hyper: Mapping[str, float] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Array:
        return self.arrays[name]

    def with_arrays(self, changed: Mapping[str, Array], *, drop: tuple[str, ...] = ()) -> Posterior:
        """Return a copy with some arrays replaced and some left out."""
        kept = {name: array for name, array in self.arrays.items() if name not in drop}
        kept.update(changed)
        return replace(
            self,
            arrays=kept,
            axes={name: self.axes[name] for name in kept},
            derived=tuple(name for name in self.derived if name not in drop),
        )

    def n_clusters(self) -> dict[str, int]:
        """Number of clusters left in each domain."""
        return {domain: int(self.arrays[domain].shape[1]) for domain in self.averaged}

    def labels(self, domain: str) -> NDArray[np.int64]:
        """Most probable cluster (0-based) of each object of a domain; ties go to the larger cluster."""
        return np.asarray(self.arrays[domain].argmax(axis=1), dtype=np.int64)


class SweepInfo(NamedTuple):
    """What a sweep tells about itself.

    Attributes
    ----------
    pseudo_loo : float or None
        Pseudo leave-one-out log likelihood in nats, where it falls out of the sweep at no cost.
    order : dict of str to ndarray, or None
        For each domain, old index of each new cluster; shorter than before when clusters were dropped.
        None when nothing moved (and for samplers, whose clusters are born and die).
    progress : float
        1.0 for a full pass over the data, the share of it for a minibatch.
    change : float or None
        Mean over objects of the L1 change of the responsibilities, from a method that knows it itself; None
        leaves it to be computed from the posteriors.
    settling : bool
        True while the method may still make moves that are not part of its fixed point (merging clusters): a
        run is not judged converged, and an average does not begin by itself, before they are over.
    """

    pseudo_loo: float | None
    order: dict[str, NDArray[np.int64]] | None
    progress: float = 1.0
    change: float | None = None
    settling: bool = False


@runtime_checkable
class Inference(Protocol):
    """A method bound to its data and priors."""

    def init(self, rng: np.random.Generator, checkpoint: Checkpoint = no_checkpoint) -> Any:
        """Return the first state."""
        ...

    def sweep(
        self, state: Any, rng: np.random.Generator, checkpoint: Checkpoint = no_checkpoint
    ) -> tuple[Any, SweepInfo]:
        """Return the state after one pass; `state` itself is left as it was."""
        ...

    def posterior(self, state: Any) -> Posterior:
        """Return what `state` says about the data: an averaged run's mean, once there is one."""
        ...

    def current(self, state: Any) -> Posterior:
        """Return what the last sweep alone says about the data."""
        ...

    def phase(self, state: Any) -> Phase:
        """Return where in its course a run in this state is."""
        ...


class Phase(NamedTuple):
    """Where a run is: in burn-in or past it.

    Attributes
    ----------
    burn_in : bool
        True while the method has not begun to average (always False for methods that do not).
    samples : int
        Number of sweeps in the running mean (the s of ACVB17 eq. 21), 0 where nothing is averaged.
    mean_change : float or None
        Change of the running mean in the last sweep: mean over objects of the L1 norm (ACVB17 Lemma 1).
    """

    burn_in: bool = False
    samples: int = 0
    mean_change: float | None = None


class Unaveraged:
    """The parts of `Inference` that are the same for every method without a running mean."""

    def posterior(self, state: Any) -> Posterior:
        """Return what `state` says about the data."""
        raise NotImplementedError

    def current(self, state: Any) -> Posterior:
        """Return the posterior: there is nothing else."""
        return self.posterior(state)

    def phase(self, state: Any) -> Phase:
        """Nothing is averaged."""
        return Phase()


class Model(Protocol):
    """What can be said of any posterior of one model on one data set, an averaged one included."""

    @property
    def domains(self) -> tuple[str, ...]:
        """Names of the domains that have clusters, in the order they are shown."""
        ...

    def lower_bound(self, posterior: Posterior) -> float | None:
        """Return the variational lower bound of log p(data) in nats."""
        ...

    def pseudo_loo(self, posterior: Posterior, checkpoint: Checkpoint = no_checkpoint) -> float | None:
        """Return the pseudo leave-one-out log likelihood in nats."""
        ...

    def predict(self, posterior: Posterior, heldout: Any) -> Array:
        """Return the predicted probability of a one for each held-out entry, shape (n,)."""
        ...

    def baseline(self) -> float:
        """Return the probability of a one that a single block would predict."""
        ...

    def tables(self, posterior: Posterior) -> dict[str, Any]:
        """Return the results a user takes away, as pandas frames by name."""
        ...
