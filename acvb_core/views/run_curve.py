"""One run as the convergence figure draws it: its history, and columns that follow from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acvb_core.engine.history import MOVES, History
from acvb_core.registry import MODELS

Floats = NDArray[np.float64]

#: A speed is the mean over this many sweeps: one window alone may be the one in which something else ran.
_LAG = 5


@dataclass(frozen=True)
class RunCurve:
    """One run to draw."""

    id: str  #: id of the run: a curve keeps its identity from refresh to refresh
    label: str  #: for people
    method: str  #: name in the registry; decides colour and dash
    seed: int
    history: History
    #: Drawn in the panel of changes if the run is averaged, as the change of the mean is compared with it.
    tolerance: float | None = None
    heldout: bool = False  #: some of the data were held out
    model: str = MODELS[0].name  #: name in the registry; the first run's decides which panels there are
    learns: bool = False  #: the run learns the concentrations of its model
    streams: bool = False  #: a sweep is a window of the documents
    n_documents: int | None = None  #: documents in a pass, if there are any
    n_tokens: int | None = None  #: words that a batch method is trained on, if there are any
    completion: bool = False  #: whole documents are held out
    unit: float | None = None  #: number of objects that the lower bound is divided by, if its model's is
    first_score: int | None = None  #: sweep with the first held-out score, where it is known beforehand

    def column(self, name: str) -> Floats:
        """Return one column so far, shape (n,); all NaN for an unknown name.

        Beside the columns of the history there are `passes`, also in an old history without them (a sweep was a
        pass); `documents_seen`; `loo_perplexity` of every sweep with a leave-one-out score; `documents_per_second` over
        the last few sweeps by the clock, without diagnostics;
        and `bound_per_unit`, the lower bound per object.
        """
        if name == "passes":
            return self.history.column("passes" if "passes" in self.history.columns else "sweep")
        if name == "documents_seen":
            return self.column("passes") * (np.nan if self.n_documents is None else float(self.n_documents))
        if name == "documents_per_second":
            return self._speed()
        if name == "loo_perplexity" and self.n_tokens and not self.streams:
            # The history has it of some sweeps only, and its sum in nats of all where the method knows it by itself.
            return np.exp(np.minimum(-self.history.column("pseudo_loo") / self.n_tokens, 700.0))
        if name == "bound_per_unit":
            return self.history.column("lower_bound") / (self.unit or 1.0)
        return self.history.column(name)

    def _speed(self) -> Floats:
        """Return the documents per second of each sweep."""
        # The lengths may differ: another thread appends.
        parts = [self.column(name) for name in ("documents_seen", "wall_seconds", "diagnostics_seconds")]
        n = min(map(len, parts))
        if not n:
            return np.empty(0)
        seen, wall, diagnostics = (part[:n] for part in parts)
        seconds = wall - diagnostics
        before = np.maximum(np.arange(n) - _LAG, 0)
        documents, time = seen - seen[before], seconds - seconds[before]
        documents[0], time[0] = seen[0], seconds[0]
        known = time > 0
        return np.where(known, documents / np.where(known, time, 1.0), np.nan)

    @property
    def averaged(self) -> bool:
        """The run has a running mean, or is in the burn-in before one."""
        burning, mean = self.history.column("burn_in"), self.history.column("mean_change")
        return bool((burning > 0).any() or np.isfinite(mean).any())

    @property
    def burn_in_end(self) -> int | None:
        """Index of the last sweep of the burn-in; None while it goes on, or without one."""
        burning = self.history.column("burn_in") > 0
        ends = np.flatnonzero(burning[:-1] & ~burning[1:])
        return int(ends[-1]) if len(ends) else None

    def move_counts(self, length: int) -> NDArray[np.int64]:
        """Return how many moves of each kind (`MOVES`) each of the first sweeps made, shape (length, kinds)."""
        columns = np.stack([self.history.column(kind)[:length] for kind in MOVES], axis=1)
        return np.nan_to_num(columns).astype(np.int64)
