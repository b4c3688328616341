"""Runs on their way between the app and the workers: plain values and arrays, as the store has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from acvb_core.core.protocols import Array
from acvb_core.engine.history import History
from acvb_core.engine.prepared import PreparedRun, rebuild_run
from acvb_core.engine.snapshot import SweepRecord, Verdict
from acvb_core.engine.state import RunState
from acvb_core.store.datasets import find_kind, kind_of
from acvb_core.store.results import decode_start, encode_start
from acvb_core.store.states import decode_state, encode_state


class Message(NamedTuple):
    """A value of the program's own objects (`encode_state`)."""

    tree: Any
    arrays: dict[str, Array]


def pack(value: Any, *, copy: bool = False) -> Message:
    """Return a value as a message; with `copy`, one that stays as it is when the arrays of the value change."""
    tree, arrays = encode_state(value)
    return Message(tree, {name: array.copy() for name, array in arrays.items()} if copy else arrays)


def unpack(message: Message) -> Any:
    """Return the value of a message."""
    return decode_state(message.tree, {name: _own(array) for name, array in message.arrays.items()})


def _own(array: Array) -> Array:
    """Return an array as compiled functions expect it: what was received may be read-only, or lie between words."""
    return array if array.flags.writeable and array.flags.aligned else array.copy(order="K")


class RunDelta(NamedTuple):
    """A part of a run, or of a race, that its watcher does not have yet."""

    seed: int  #: of the leader
    snapshot: SweepRecord  #: of the leader; its verdict is plain text
    #: Seed and snapshot of the run that did the last sweep, where it is not the leader; None where none did.
    last_seed: int | None
    last: SweepRecord | None
    race_report: Any
    first: int  #: number of rows before these
    columns: tuple[str, ...]
    rows: Array


def pack_update(
    update: RunState, known: tuple[int, int] | None = None, *, state: bool = False, copy: bool = False
) -> Message:
    """Return an update as a message; `copy` as for `pack`.

    `known`: seed and number of rows of the leader's history that the receiver has.
    `state`: with what the run goes on from.
    """
    seed = update.prepared.spec.seed
    # The last row may have been written again.
    first = max(known[1] - 1, 0) if known is not None and known[0] == seed else 0
    columns, rows = update.history.read_rows(first)
    run, last = update.last_sweep or (None, None)
    if last is update.snapshot:
        last = None
    delta = RunDelta(
        seed=seed,
        snapshot=_plain(update.last, state),
        last_seed=None if run is None else run.spec.seed,
        last=None if last is None else _plain(last, False),
        race_report=update.race_report,
        first=first,
        columns=columns,
        rows=rows,
    )
    return pack(delta, copy=copy)


def _plain(snapshot: SweepRecord, state: bool) -> SweepRecord:
    verdict: Any = None if snapshot.verdict is None else str(snapshot.verdict)
    kept: dict[str, Any] = {} if state else {"state": None, "memory": None}
    return replace(snapshot, verdict=verdict, **kept)


class Reader:
    """The updates of one run from messages: its history grows, and runs of a race keep their problems."""

    def __init__(self, begun: RunState) -> None:
        self._prepared, self._max_sweeps, self._history = begun.prepared, begun.max_sweeps, History()
        self._seed = begun.prepared.spec.seed
        self._prepared_runs = {self._seed: begun.prepared} if begun.prepared.spec.restarts == 1 else {}

    @property
    def known(self) -> tuple[int, int]:
        """The seed and the number of rows of the leader's history that are here."""
        return self._seed, len(self._history)

    def read(self, message: Message, *, is_due: bool = False) -> RunState:
        """Return the update of a message."""
        delta: RunDelta = unpack(message)
        if delta.seed != self._seed:
            self._seed, self._history = delta.seed, History()
        self._history.put_rows(delta.first, delta.columns, delta.rows)
        leader, snapshot = self._find_problem(delta.seed), _with_verdict(delta.snapshot)
        last_sweep = None
        if delta.last_seed is not None:
            last = snapshot if delta.last is None else _with_verdict(delta.last)
            last_sweep = (self._find_problem(delta.last_seed), last)
        return RunState(
            prepared=leader,
            history=self._history,
            max_sweeps=self._max_sweeps,
            snapshot=snapshot,
            race_report=delta.race_report,
            last_sweep=last_sweep,
            is_due=is_due,
        )

    def _find_problem(self, seed: int) -> PreparedRun:
        if seed not in self._prepared_runs:
            self._prepared_runs[seed] = self._prepared.with_seed(seed)
        return self._prepared_runs[seed]


def _with_verdict(snapshot: SweepRecord) -> SweepRecord:
    return replace(snapshot, verdict=None if snapshot.verdict is None else Verdict(snapshot.verdict))


class Order(NamedTuple):
    """An order to compute a run: its settings, what it begins from, and where it goes on."""

    settings: Mapping[str, Any]
    start: dict[str, Array]
    check_memory: bool
    max_sweeps: int
    resume: Message | None


def pack_order(prepared: PreparedRun, resume: Message | None, max_sweeps: int) -> Order:
    """Return the order to compute a run, without its data; `resume` is an update of it with its state."""
    return Order(
        settings=prepared.spec.to_dict(),
        start=encode_start(prepared),
        check_memory=prepared.check_memory,
        max_sweeps=max_sweeps,
        resume=resume,
    )


def unpack_order(order: Order, data: Any) -> RunState:
    """Return the run of an order on its data: one that begins, or what it goes on from."""
    start = decode_start(Path(), {name: _own(array) for name, array in order.start.items()})
    prepared = replace(rebuild_run(data, order.settings, start), check_memory=order.check_memory)
    begun = replace(RunState.begin(prepared), max_sweeps=order.max_sweeps)
    return begun if order.resume is None else Reader(begun).read(order.resume)


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
                arrays = {
                    name: _own(value) if isinstance(value, np.ndarray) else value
                    for name, value in self._arrays.items()
                }
                self._data, self._arrays = find_kind(self.kind).decode(arrays), None
            return self._data

    def __reduce__(self) -> tuple[Any, ...]:
        """Say how another worker gets it from this one."""
        with self._lock:
            arrays = self._arrays
            return SentData, (
                self.kind,
                find_kind(self.kind).encode(self._data) if arrays is None else arrays,
            )
