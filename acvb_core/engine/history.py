"""The diagnostics of all sweeps of a run, readable while it is being written, and arrays that lie in the store."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Array

if TYPE_CHECKING:
    import pandas as pd

    from acvb_core.engine.snapshot import SweepRecord

_ROWS = "history"

#: The arrays that were read last, of all runs: a page asks for the same ones several times.
_recent: deque[Array] = deque(maxlen=16)


class StoredArrays(Mapping[str, Array]):
    """Arrays by name, each in memory only while it is used.

    `known`: those that were just read, and may be asked for at once.
    `read`: returns the array of a name; it may raise what reading a file raises.
    """

    def __init__(
        self, names: Sequence[str], read: Callable[[str], Array], known: Mapping[str, Array] | None = None
    ) -> None:
        self._names, self._read = tuple(names), read
        self._held: dict[str, Array] = {}
        self._used = WeakValueDictionary(known or {})
        _recent.extend((known or {}).values())

    def __getitem__(self, name: str) -> Array:
        if name not in self._names:
            raise KeyError(name)
        array = self._held.get(name)
        if array is None:
            array = self._used.get(name)
        if array is None:
            array = self._used[name] = self._read(name)
            _recent.append(array)
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what makes a plain dictionary of the arrays: who gets it does not have the store."""
        return dict, (dict(self),)

    def hold(self) -> None:
        """Hold all arrays from now on: their file is to be replaced."""
        self._held = {name: self[name] for name in self._names}


class History:
    """A growing table with one row a sweep.

    One thread appends; others read without a lock: a row is complete before the length that shows it is
    published, written rows do not change, and growing makes a new buffer.
    """

    def __init__(self) -> None:
        self._published: tuple[tuple[str, ...], NDArray[np.float64] | StoredArrays, int] = (
            (),
            np.empty((0, 0)),
            0,
        )
        self._last: dict[str, float] = {}  #: of rows that are not held: the last number in each column

    def append(self, snapshot: SweepRecord) -> None:
        """Add a row; a snapshot of the sweep that stands last takes its place."""
        row = snapshot.row()
        columns, buffer, length = self._read()
        if not length:
            columns, buffer = tuple(row), np.empty((256, len(row)))
        if not row.keys() <= set(columns):
            # What is evaluated now and then begins to be known: earlier rows do not have it.
            added = [name for name in row if name not in columns]
            columns = (*columns, *added)
            buffer = np.hstack([buffer, np.full((len(buffer), len(added)), np.nan)])
        same_sweep = length > 0 and buffer[length - 1, 0] == row["sweep"]
        if same_sweep:
            buffer, length = buffer.copy(), length - 1
        elif length == len(buffer):
            buffer = np.concatenate([buffer, np.empty_like(buffer)])
        buffer[length] = [row.get(name, np.nan) for name in columns]
        self._published = (columns, buffer, length + 1)

    def read_rows(self, first: int) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        """Return the columns, and a copy of the rows from `first` on, shape (n, columns)."""
        columns, buffer, length = self._read()
        return columns, buffer[first:length].copy()

    def put_rows(self, first: int, columns: tuple[str, ...], rows: NDArray[np.float64]) -> None:
        """Put rows from `first` on, in place of those that are there; `columns` begins with those there are."""
        before, buffer, _ = self._read()
        values = np.full((first + len(rows), len(columns)), np.nan)
        values[:first, : len(before)] = buffer[:first]
        values[first:] = rows
        self._published = (columns, values, len(values))

    def _read(self) -> tuple[tuple[str, ...], NDArray[np.float64], int]:
        columns, rows, length = self._published
        return columns, rows[_ROWS] if isinstance(rows, StoredArrays) else rows, length

    def release(self, read: Callable[[str], NDArray[np.float64]]) -> None:
        """Let go of the rows; `read` gives those of "history" back whenever they are asked for."""
        columns, rows, length = self._published
        if not isinstance(rows, StoredArrays):
            self._last = {name: self.last_value(name) for name in columns}
        self._published = (columns, StoredArrays((_ROWS,), read), length)

    def hold(self) -> None:
        """Hold the rows again, to add others."""
        self._published, self._last = self._read(), {}

    def __len__(self) -> int:
        return self._published[2]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, "sweep" first; empty before the first row."""
        return self._published[0]

    def column(self, name: str) -> NDArray[np.float64]:
        """Return one column so far, shape (n,); all NaN for an unknown name."""
        if name not in self.columns:
            return np.full(len(self), np.nan)
        columns, buffer, length = self._read()
        return buffer[:length, columns.index(name)]

    def last_value(self, name: str) -> float:
        """Return the last finite number in a column; NaN without any. Rows that are not held are not read for it."""
        if name in self._last or name not in self.columns:
            return self._last.get(name, np.nan)
        values = self.column(name)
        finite = values[np.isfinite(values)]
        return float(finite[-1]) if len(finite) else np.nan

    def frame(self) -> pd.DataFrame:
        """Return a copy as a frame; sweep, samples, burn_in and effective_k_* as whole numbers."""
        import pandas as pd

        columns, buffer, length = self._read()
        frame = pd.DataFrame(buffer[:length].copy(), columns=list(columns))
        for name in frame.columns:
            if name in ("sweep", "samples", "burn_in") or name.startswith("effective_k_"):
                frame[name] = frame[name].astype("int64")
        return frame

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> History:
        """Return the history that `frame` gave."""
        history = cls()
        values = np.ascontiguousarray(frame.to_numpy(dtype=np.float64))
        history._published = (tuple(frame.columns), values, len(frame))
        return history
