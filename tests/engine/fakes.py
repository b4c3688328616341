"""Inferences that do as they are told, and problems around them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from acvb_core.core.protocols import Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.data.relation import Relation
from acvb_core.engine.history import SweepRecord
from acvb_core.engine.prepared import Binding, PreparedRun, prepare_run
from acvb_core.engine.run import run
from acvb_core.samples.planted_relations import planted_relation

DOMAINS = ("rows", "cols")
_SIZE: dict[str, Any] = {"k_rows": 6, "k_cols": 5, "max_sweeps": 400}
#: Every method, with settings under which it is quick on a small relation.
QUICK = dict.fromkeys(("acvb0", "acvb", "cvb0", "cvb", "vb"), _SIZE)
QUICK["gibbs"] = _SIZE | {"burn_in": 5, "max_sweeps": 20}


def soft(rng: np.random.Generator, n_objects: int, n_clusters: int) -> np.ndarray:
    """Return random responsibilities."""
    return rng.dirichlet(np.full(n_clusters, 0.3), size=n_objects)


@dataclass(frozen=True)
class Script:
    """What a sweep of `Scripted` gives."""

    rows: np.ndarray
    cols: np.ndarray
    order: dict[str, np.ndarray] | None = None
    not_stationary: bool = False
    moves: dict[str, int] | None = None


class Scripted(UnaveragedMethod):
    """An inference whose sweeps are written down beforehand; its state is the number of sweeps done."""

    def __init__(self, scripts: list[Script]) -> None:
        self.scripts = scripts  # the first is the state before any sweep

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> int:
        return 0

    def sweep(self, state: int, rng: np.random.Generator, poll: Poll = no_poll) -> tuple[int, SweepInfo]:
        script = self.scripts[state + 1]
        return state + 1, SweepInfo(
            None, script.order, not_stationary=script.not_stationary, moves=script.moves
        )

    def posterior(self, state: int) -> Posterior:
        script = self.scripts[state]
        counts = np.full((script.rows.shape[1], script.cols.shape[1]), float(state))
        return Posterior(
            {"rows": script.rows, "cols": script.cols, "ones": counts},
            {"rows": (None, "rows"), "cols": (None, "cols"), "ones": DOMAINS},
            averaged=DOMAINS,
            derived=("ones",),
        )


class Wrapped:
    """An inference with something done around each sweep of another."""

    def __init__(self, inner: Any, after: Callable[[Any, SweepInfo, Poll], tuple[Any, SweepInfo]]) -> None:
        self.inner, self.after = inner, after

    def sweep(self, state: Any, rng: np.random.Generator, poll: Poll = no_poll) -> tuple[Any, SweepInfo]:
        return self.after(*self.inner.sweep(state, rng, poll), poll)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def small_relation() -> Relation:
    """Return a planted relation with missing entries, of 40 x 30 objects."""
    return planted_relation(40, 30, 3, 3, 5, missing_share=0.1).relation


def small_run(method: str, *, heldout: float = 0.1, seed: int = 3, **values: Any) -> PreparedRun:
    """Return a quick run on the small relation."""
    return prepare_run(small_relation(), method, QUICK[method] | values, heldout=heldout, seed=seed)


def with_parts(prepared: PreparedRun, **parts: Any) -> PreparedRun:
    """Return the run with another split, algorithm or model."""
    build = {name: partial(prepared.binding.find, name) for name in ("split", "algorithm", "model")}
    given = {name: partial(lambda part: part, part) for name, part in parts.items()}
    return replace(prepared, binding=Binding(**build | given))


def with_inference(prepared: PreparedRun, algorithm: Any) -> PreparedRun:
    """Return the run with another algorithm."""
    return with_parts(prepared, algorithm=algorithm)


#: Diagnostics that differ from run to run, being times.
TIMES = ("cpu_seconds", "wall_seconds", "diagnostics_seconds")


def bits(snapshot: SweepRecord) -> dict[str, Any]:
    """Return everything a snapshot says but its times, in a form that == compares bit by bit."""
    numbers = {
        name: np.float64(value).tobytes() for name, value in snapshot.row().items() if name not in TIMES
    }
    arrays = {name: (array.shape, array.tobytes()) for name, array in snapshot.posterior.arrays.items()}
    return numbers | {"verdict": snapshot.verdict} | arrays


def all_snapshots(prepared: PreparedRun, **options: Any) -> list[SweepRecord]:
    """Return every snapshot of a run."""
    return list(run(prepared, **options))
