"""Runs and data on their way between the app and the workers.

Dask pickles all that it sends. Runs are pickled here before, so that arrays arrive as they were: those that Dask reads
may be read-only, or lie between words.
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np

from acvb_core.core.protocols import Array
from acvb_core.engine.history import History, SweepRecord
from acvb_core.engine.prepared import PreparedRun, rebuild_run
from acvb_core.engine.run import RunState
from acvb_core.store.datasets import find_kind, kind_of


def pack_order(state: RunState) -> bytes:
    """Return the order to compute a run, which begins or continues from its snapshot, without its data."""
    prepared, rows = state.prepared, state.history.read_rows(0)
    fields = {**vars(state), "prepared": None, "history": None, "last_sweep": None}
    return pickle.dumps((prepared.spec.to_dict(), prepared.start, prepared.check_memory, fields, rows), 5)


def read_order(order: bytes, data: Any) -> RunState:
    """Return the run of an order on its data."""
    settings, start, check_memory, fields, rows = pickle.loads(order)  # noqa: S301 - the app can run any program here
    history = History()
    history.put_rows(0, *rows)
    prepared = replace(rebuild_run(data, settings, start), check_memory=check_memory)
    return RunState(**fields | {"prepared": prepared, "history": history})


def pack_update(state: RunState, known: tuple[int, int] | None, *, keep: bool = False) -> bytes:
    """Return an update of a run as bytes, which stay as they are when the run continues.

    `known`: seed and number of rows of the leader's history that the receiver has.
    `keep`: with what the run continues from.
    """

    def strip(record: SweepRecord) -> SweepRecord:
        return record if keep and record is state.snapshot else replace(record, state=None, memory=None)

    seed = state.prepared.spec.seed
    # The last row may have been written again.
    first = max(known[1] - 1, 0) if known is not None and known[0] == seed else 0
    fields = {**vars(state), "prepared": seed, "snapshot": strip(state.last)}
    fields["history"] = (first, *state.history.read_rows(first))
    if state.last_sweep is not None:
        run, record = state.last_sweep
        fields["last_sweep"] = (run.spec.seed, strip(record))
    return pickle.dumps(fields, 5)


class Reader:
    """Reads the updates of one run: its history grows, and the runs of a race stay the same objects."""

    def __init__(self, asked: PreparedRun) -> None:
        self._asked, self._history, self._seed = asked, History(), asked.spec.seed
        self._runs = {self._seed: asked} if asked.spec.restarts == 1 else {}

    @property
    def known(self) -> tuple[int, int]:
        """The seed and the number of rows of the leader's history that are here."""
        return self._seed, len(self._history)

    def read(self, update: bytes) -> RunState:
        """Return the run of an update."""
        fields: dict[str, Any] = pickle.loads(update)  # noqa: S301 - workers can run any program here
        if fields["prepared"] != self._seed:
            self._seed, self._history = fields["prepared"], History()
        self._history.put_rows(*fields["history"])
        fields |= {"prepared": self._find_run(self._seed), "history": self._history}
        if fields["last_sweep"] is not None:
            seed, record = fields["last_sweep"]
            fields["last_sweep"] = (self._find_run(seed), record)
        return RunState(**fields)

    def _find_run(self, seed: int) -> PreparedRun:
        if seed not in self._runs:
            self._runs[seed] = self._asked.with_seed(seed)
        return self._runs[seed]


class SentData:
    """A data set on its way to the workers. It is read once in a process; the runs there share it.

    `kind`: name of its `DataKind`.
    """

    def __init__(self, kind: str, arrays: dict[str, Any]) -> None:
        self.kind = kind
        self._arrays: dict[str, Any] | None = arrays
        self._data: Any = None
        self._lock = Lock()

    @classmethod
    def pack(cls, data: Any) -> SentData:
        """Return a data set ready to be sent."""
        kind = kind_of(data)
        return cls(kind.name, kind.encode(data))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that are to be sent."""
        return sum(getattr(value, "nbytes", 0) for value in (self._arrays or {}).values())

    def read(self) -> Any:
        """Return the data set.

        Raises AcvbError: it lies on a disk that this machine does not have.
        """
        with self._lock:
            if self._arrays is not None:
                arrays = {name: _own(value) for name, value in self._arrays.items()}
                self._data, self._arrays = find_kind(self.kind).decode(arrays), None
            return self._data

    def __reduce__(self) -> tuple[Any, ...]:
        """Say how another worker gets it from this one."""
        with self._lock:
            arrays = find_kind(self.kind).encode(self._data) if self._arrays is None else self._arrays
            return SentData, (self.kind, arrays)


def _own(value: Array | Any) -> Any:
    """Return an array as compiled functions expect it: Dask's may be read-only, or lie between words."""
    if not isinstance(value, np.ndarray) or (value.flags.writeable and value.flags.aligned):
        return value
    return value.copy(order="K")
