"""The snapshot that a run publishes after every sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from acvb_core.core.protocols import Array, Posterior
from acvb_core.engine.history import StoredArrays


class Verdict(StrEnum):
    """The end of a run. Reaching the cap is not convergence."""

    CONVERGED = "CONVERGED"
    MAX_SWEEPS = "MAX_SWEEPS"
    STOPPED = "STOPPED"
    DIVERGED = "DIVERGED"


#: Distance below which a sweep agrees with the mean (`scaled_change`, L1, mean over objects): half a percent of an
#: object's probability is in another cluster.
SETTLED = 0.01
#: The sweeps of a converged run in words.
MOTION = {True: "settled", False: "fluctuations remain"}
#: Said of converged runs that start at random: they end near their start.
ELSEWHERE = "another seed may end elsewhere"

#: Kinds of moves, as columns of a history: clusters merged or split; features dropped, recoded, or turned to their
#: complement; and, which changes nothing else, workers that were lost and replaced, and states of shards that could not
#: be saved.
MOVES = ("merged", "split", "dropped", "recoded", "turned", "lost", "unsaved")


@dataclass(frozen=True, kw_only=True)
class SweepRecord:
    """The run after a sweep."""

    sweep: int  #: sweeps done
    cpu_seconds: float = 0.0  #: processor time of the method itself (start and sweeps), summed over the run
    wall_seconds: float = 0.0  #: clock time of the run, pauses left out
    diagnostics_seconds: float = 0.0  #: processor time spent on diagnostics, which the method does not need
    #: `lower_bound`, `pseudo_loo`: nats; None where not evaluated in this sweep. The bound is that of the answer (of
    #: the mean, where averaged), the pseudo leave-one-out that of the sweep.
    lower_bound: float | None = None
    pseudo_loo: float | None = None
    change: float | None = None  #: mean over objects of the L1 change of the responsibilities in this sweep
    #: `mean_change`, `scaled_change`: the same for their running mean, and that times the number of sweeps in it: the
    #: distance of the sweep from the mean before it.
    mean_change: float | None = None
    scaled_change: float | None = None
    samples: int = 0  #: sweeps in the running mean; 0 during burn-in and where nothing is averaged
    burn_in: bool
    effective_k: Mapping[str, int]  #: clusters left in each domain
    hyper: Mapping[str, float]
    #: The model's own diagnostics; empty where not evaluated in this sweep.
    extras: Mapping[str, float] = field(default_factory=dict)
    #: The model's scores (`ModelSpec.score_type`); None where nothing is held out or it was not scored in this sweep.
    heldout: Any = None
    verdict: Verdict | None = None  #: None while the run goes on
    posterior: Posterior = field(repr=False)  #: the answer so far
    state: Any = field(repr=False)  #: what the run goes on from
    memory: Any = field(repr=False, default=None)  #: what the engine itself keeps between sweeps
    #: Clusters merged and split, or features dropped, at the end of this sweep (`MOVES`); None where there were none.
    moves: Mapping[str, int] | None = None
    #: How often all the data were gone through: the number of sweeps, or less where a sweep is a part of the data.
    passes: float = 0.0

    @property
    def has_settled(self) -> bool | None:
        """True when the last sweep of a converged run lies close to the mean, which is the answer; None without a mean.

        A mean over many sweeps may stand still while the sweeps circle around it.
        """
        if self.verdict is not Verdict.CONVERGED or self.scaled_change is None:
            return None
        return self.scaled_change < SETTLED

    def release_state(self) -> SweepRecord:
        """Return the snapshot without the state, by far the largest part, when the run cannot be extended."""
        return replace(self, state=None) if self.verdict in (Verdict.CONVERGED, Verdict.DIVERGED) else self

    def release_posterior(self, read: Callable[[str], Array], *, is_new: bool = False) -> SweepRecord:
        """Return the snapshot without the arrays of the answer; `read` gives them back, by their names in the store.

        `is_new`: they were just read, and will be shown.
        """
        known = self.posterior.arrays if is_new else None
        arrays = StoredArrays(tuple(self.posterior.arrays), lambda name: read(f"posterior_{name}"), known)
        return replace(self, posterior=replace(self.posterior, arrays=arrays))

    def hold_posterior(self) -> None:
        """Hold the arrays of the answer again."""
        if isinstance(self.posterior.arrays, StoredArrays):
            self.posterior.arrays.hold()

    def row(self) -> dict[str, float]:
        """Return the diagnostics as one flat row; NaN, or no entry, where there is none."""

        def number(value: float | None) -> float:
            return float("nan") if value is None else float(value)

        row = {
            "sweep": float(self.sweep),
            "cpu_seconds": self.cpu_seconds,
            "wall_seconds": self.wall_seconds,
            "diagnostics_seconds": self.diagnostics_seconds,
            "lower_bound": number(self.lower_bound),
            "pseudo_loo": number(self.pseudo_loo),
            "change": number(self.change),
            "mean_change": number(self.mean_change),
            "scaled_change": number(self.scaled_change),
            "samples": float(self.samples),
            "burn_in": float(self.burn_in),
            "passes": self.passes,
        }
        row |= {f"effective_k_{domain}": float(k) for domain, k in self.effective_k.items()}
        row |= {name: float(value) for name, value in self.hyper.items()}
        row |= {name: float(value) for name, value in self.extras.items()}
        row |= {kind: float(count) for kind, count in (self.moves or {}).items() if count}
        if self.heldout is not None:
            row |= {f"heldout_{name}": number(value) for name, value in self.heldout._asdict().items()}
        return row
