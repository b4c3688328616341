"""Arrays of a run that lie in the store: read when they are asked for, and not held."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

from acvb_core.core.protocols import Array

#: The arrays that were read last, of all runs: a page asks for the same ones several times.
_recent: deque[Array] = deque(maxlen=16)


class StoredArrays(Mapping[str, Array]):
    """Arrays by name, each in memory only while it is used.

    `read`: returns the array of a name; it may raise what reading a file raises.
    """

    def __init__(self, names: Sequence[str], read: Callable[[str], Array]) -> None:
        self._names, self._read = tuple(names), read
        self._held: dict[str, Array] = {}
        self._used: WeakValueDictionary[str, Array] = WeakValueDictionary()

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
