"""Columns of a history as figures draw them: what is stored, and what follows from it for a stream."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from acvb_core.engine.history import History

#: Sweeps that a speed is taken over: one window alone is as often as not the one in which something else ran.
_LAG = 5


class Table(Protocol):
    """What has columns of one length."""

    def __len__(self) -> int: ...

    def column(self, name: str) -> NDArray[np.float64]:
        """Return one column, shape (n,); all NaN for an unknown name."""


class Columns:
    """A history, with columns that follow from it.

    Added are `passes`, also where an old history has none (a sweep was a pass then); `documents_seen`;
    `documents_per_second`, of the last few sweeps by the clock, diagnostics left out; and `bound_per_unit`, the lower
    bound by the object.

    Parameters
    ----------
    history : History
    n_documents : int, optional
        Documents in a pass; without it what is counted in documents is unknown.
    unit : float, optional
        Objects that the bound is divided by.
    """

    def __init__(self, history: History, n_documents: int | None = None, unit: float | None = None) -> None:
        self._history = history
        self._unit = unit or 1.0
        self._n_documents = np.nan if n_documents is None else float(n_documents)

    def __len__(self) -> int:
        return len(self._history)

    def column(self, name: str) -> NDArray[np.float64]:
        """Return one column so far, shape (n,); all NaN for an unknown name."""
        if name == "passes":
            return self._passes()
        if name == "documents_seen":
            return self._passes() * self._n_documents
        if name == "documents_per_second":
            return self._speed()
        if name == "bound_per_unit":
            return self._history.column("lower_bound") / self._unit
        return self._history.column(name)

    def _passes(self) -> NDArray[np.float64]:
        known = "passes" in self._history.columns
        return self._history.column("passes" if known else "sweep")

    def _speed(self) -> NDArray[np.float64]:
        # The lengths may differ: another thread appends.
        parts = [self._history.column(name) for name in ("wall_seconds", "diagnostics_seconds")]
        seen = self.column("documents_seen")
        n = min(len(seen), *(len(part) for part in parts))
        if not n:
            return np.empty(0)
        seen, seconds = seen[:n], parts[0][:n] - parts[1][:n]
        before = np.maximum(np.arange(n) - _LAG, 0)
        documents, time = seen - seen[before], seconds - seconds[before]
        documents[0], time[0] = seen[0], seconds[0]
        known = time > 0
        return np.where(known, documents / np.where(known, time, 1.0), np.nan)
