"""The contract between a method, the model it fits and everything that runs or shows it.

A method (`Algorithm`) knows its data and its priors from the day it is built; it is started, swept and read
out, and knows nothing of threads, stopping, storage or pages. What a state says about the data never changes:
a sweep returns a new state, so that a sweep cut short leaves the last whole state valid, and a run can be
stopped, extended or repeated bit by bit. A method may hand one large working array on from state to state;
it then refuses to sweep a state that was swept before, and continues with a sweep that was cut short.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
#: Called between pieces of work of at most about 100 ms. Blocks while a run is paused, raises to end a sweep.
Poll = Callable[[], None]


def no_poll() -> None:
    """The poll of a run that nobody pauses or stops."""


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """The posterior of the data by a state, or by an average of states."""

    #: Every array that has a cluster axis: the responsibilities and whatever goes with them.
    arrays: Mapping[str, Array]
    #: For each array, the domain whose clusters run along each axis, None if it is not a cluster axis. `{"rows":
    #: (None, "rows"), "ones": ("rows", "columns")}`.
    axes: Mapping[str, tuple[str | None, ...]]
    #: Names of the arrays a running mean is taken of, objects along axis 0: the responsibilities, one array a domain
    #: under the domain's own name; or the counts they add up to, where there are too many of them.
    averaged: tuple[str, ...]
    #: Names of arrays that follow from the averaged ones and the data; an average drops them.
    derived: tuple[str, ...] = ()
    #: Hyper-parameters that have no cluster axis, by name.
    hyper: Mapping[str, float] = field(default_factory=dict)
    normalised: bool = True  #: rows of the averaged arrays sum to one (responsibilities, not counts)

    def __getitem__(self, name: str) -> Array:
        return self.arrays[name]

    def __repr__(self) -> str:
        shapes = (f"{name} {' x '.join(map(str, array.shape))}" for name, array in self.arrays.items())
        return f"Posterior({', '.join(shapes)})"

    def with_arrays(
        self,
        changed: Mapping[str, Array],
        *,
        drop: tuple[str, ...] = (),
        axes: Mapping[str, tuple[str | None, ...]] | None = None,
    ) -> Posterior:
        """Return a copy with some arrays replaced, some left out, and some added, which need their `axes`."""
        arrays = {name: array for name, array in self.arrays.items() if name not in drop} | dict(changed)
        return replace(
            self,
            arrays=arrays,
            axes={name: (axes or {}).get(name) or self.axes[name] for name in arrays},
            derived=tuple(name for name in self.derived if name not in drop),
        )

    def masses(self) -> dict[str, Array]:
        """Return the expected size of every cluster of each domain, by its first averaged array."""
        masses: dict[str, Array] = {}
        for name in self.averaged:
            domain = self.axes[name][-1]
            if domain is not None and domain not in masses:
                masses[domain] = self.arrays[name].sum(axis=0, dtype=np.float64)
        return masses

    def n_clusters(self) -> dict[str, int]:
        """Number of clusters left in each domain."""
        widths = {self.axes[name][-1]: int(self.arrays[name].shape[-1]) for name in self.averaged}
        return {domain: width for domain, width in widths.items() if domain is not None}

    def labels(self, name: str) -> NDArray[np.int64]:
        """Most probable cluster (0-based) of each object of an averaged array; ties go to the larger cluster."""
        return np.asarray(self.arrays[name].argmax(axis=1), dtype=np.int64)


class Responsibilities(NamedTuple):
    """Responsibilities that are too many to be part of a posterior."""

    #: Shape (n, K); rows sum to one. Valid until the next sweep, which may write over it.
    q: Array
    weights: Array  #: shape (n,); how many objects share each row
    layout: Any = None  #: the order of the rows, for their model; None: that of the data


@runtime_checkable
class RemoteResponsibilities(Protocol):
    """Responsibilities that stay where the data are: in shards, which are asked for sums of them."""

    def ask(self, name: str, *arguments: Any) -> Any:
        """Return the sum of what the shards give for a question; None once they have moved to another sweep."""
        ...

    def start_mean(self) -> RemoteResponsibilities:
        """Begin a running mean where the data are, with these alone, and return it."""
        ...

    def add_to_mean(self, samples: int) -> tuple[RemoteResponsibilities, float]:
        """Add these to the running mean, the last of so many; return it and the mean L1 change of a row."""
        ...


AnyResponsibilities = Responsibilities | RemoteResponsibilities


class SweepInfo(NamedTuple):
    """Facts about one sweep."""

    #: Pseudo leave-one-out log likelihood in nats, where it falls out of the sweep at no cost.
    pseudo_loo: float | None
    #: For each domain, old index of each new cluster; shorter than before when clusters were dropped. None when
    #: nothing moved (and for samplers, whose clusters are born and die).
    cluster_permutation: dict[str, NDArray[np.int64]] | None
    progress: float = 1.0  #: 1.0 for a full pass over the data, the share of it for a minibatch
    #: Mean over objects of the L1 change of the responsibilities, from a method that knows it itself; None leaves it
    #: to be computed from the posteriors.
    change: float | None = None
    #: True while the method may still make moves that are not part of its fixed point (merging clusters), or has just
    #: made one after which its bound is of another size of model: a run is not judged converged, and an average does
    #: not begin by itself, before they are over.
    not_stationary: bool = False
    #: How many such moves were made at the end of this sweep, by kind ("merged", "split", "dropped"); None when none
    #: was.
    moves: Mapping[str, int] | None = None
    #: Clusters of each domain that are in use, where those that are not stay in the arrays.
    effective: Mapping[str, int] | None = None
    remote_cpu_seconds: float = 0.0  #: processor seconds of the sweep in other threads, processes or machines
    losses: int = 0  #: workers that were lost and replaced in the sweep
    unsaved: int = 0  #: times that the states of shards could not be saved

    @property
    def marks(self) -> Mapping[str, int] | None:
        """Moves, lost workers and failed savings, which a chart marks."""
        troubles = {"lost": self.losses, "unsaved": self.unsaved}
        return {**(self.moves or {}), **{name: n for name, n in troubles.items() if n}} or None


@runtime_checkable
class Algorithm(Protocol):
    """A method bound to its data and priors."""

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> Any:
        """Return the first state."""
        ...

    def sweep(self, state: Any, rng: np.random.Generator, poll: Poll = no_poll) -> tuple[Any, SweepInfo]:
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

    def responsibilities(self, state: Any) -> AnyResponsibilities | None:
        """Return what the posterior's counts add up from; None if there is no more than the posterior."""
        ...


def can_keep(algorithm: Algorithm, state: Any) -> bool:
    """Return whether a run can continue from a state that was written to a file; a method may say so by `can_keep`."""
    asked = getattr(algorithm, "can_keep", None)
    return asked is None or bool(asked(state))


class Start(Protocol):
    """A start that a run can continue from, such as the topics of an earlier run."""

    @property
    def label(self) -> str:
        """Description in words."""
        ...

    @property
    def implied(self) -> dict[str, Any]:
        """Settings of the next run that follow from it."""
        ...

    def extend_data(self, data: Any) -> Any:
        """Return data that have all that was trained on, words say, so that a stream loses no part of it."""
        ...


class Phase(NamedTuple):
    """Phase of a run: in burn-in or past it."""

    #: True while the method has not begun to average (always False for methods that do not).
    burn_in: bool = False
    #: Number of sweeps in the running mean (the s of ACVB17 eq. 21), 0 if nothing is averaged.
    samples: int = 0
    #: Change of the running mean in the last sweep: mean over objects of the L1 norm (ACVB17 Lemma 1).
    mean_change: float | None = None


class UnaveragedMethod:
    """The parts of `Algorithm` that are the same for every method without a running mean."""

    def posterior(self, state: Any) -> Posterior:
        """Return what `state` says about the data."""
        raise NotImplementedError

    def current(self, state: Any) -> Posterior:
        """Return the posterior: there is nothing else."""
        return self.posterior(state)

    def phase(self, state: Any) -> Phase:
        """Nothing is averaged."""
        return Phase()

    def responsibilities(self, state: Any) -> AnyResponsibilities | None:
        """Return None: the posterior has them."""
        return None


class Model(Protocol):
    """Diagnostics, predictions and tables of any posterior of one model on one data set, an averaged one included."""

    @property
    def domains(self) -> tuple[str, ...]:
        """Names of the domains that have clusters, in the order they are shown."""
        ...

    def lower_bound(
        self, posterior: Posterior, responsibilities: AnyResponsibilities | None = None
    ) -> float | None:
        """Return the variational lower bound of log p(data) in nats; None if too little is known for it."""
        ...

    def pseudo_loo(
        self,
        posterior: Posterior,
        poll: Poll = no_poll,
        responsibilities: AnyResponsibilities | None = None,
    ) -> float | None:
        """Return the pseudo leave-one-out log likelihood in nats; None if the model has none."""
        ...

    def extras(
        self,
        posterior: Posterior,
        responsibilities: AnyResponsibilities | None = None,
        pseudo_loo: float | None = None,
        lower_bound: float | None = None,
    ) -> dict[str, float]:
        """Return further diagnostics of this model, by name; what is known already is given, to be used again."""
        ...

    def predict(self, posterior: Posterior, heldout: Any) -> Array:
        """Return what is predicted of what was held out: the probability of a one, or of the word, shape (n,).

        Of continuous values, the density of each and its mean, shape (n, 2), longdouble. The mean of what samples
        predict is what they predict together.
        """
        ...

    def score(self, probability: Array, heldout: Any) -> Any:
        """Return the scores (a `ModelSpec.score_type`) of what `predict` gave, or of the mean of several."""
        ...

    def complete_posterior(self, posterior: Posterior) -> Posterior:
        """Return the posterior with what a method did not keep of it, where that can be worked out."""
        ...

    def tables(self, posterior: Posterior) -> dict[str, Any]:
        """Return the results a user takes away, as pandas frames by name."""
        ...


def predict_averaged(model: Model, posterior: Posterior, heldout: Any) -> Array | None:
    """Return the mean of what samples kept in a posterior predict; None for a model or a posterior without samples."""
    predict = getattr(model, "predict_averaged", None)
    return None if predict is None else predict(posterior, heldout)


def count_in_use(model: Model, posterior: Posterior) -> dict[str, int]:
    """Return how many clusters of each domain are in use: all, unless the model says which hold nothing."""
    count = getattr(model, "count_in_use", None)
    return posterior.n_clusters() if count is None else dict(count(posterior))


def take_excerpt(model: Model, posterior: Posterior) -> dict[str, Array]:
    """Return the small part of a posterior by which a sweep is shown later; nothing for a model without one."""
    take = getattr(model, "take_excerpt", None)
    return {} if take is None else dict(take(posterior))


def find_samples(model: Model, posterior: Posterior, domain: str) -> Array | None:
    """Return the cluster of each object in each sample of a posterior, shape (S, N); None without samples."""
    find = getattr(model, "sampled_labels", None)
    return None if find is None else find(posterior, domain)
