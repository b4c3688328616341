"""The shards that one worker holds, and what it is asked to do with them; the same for threads, processes and Dask."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.array_files import ONE_READER
from acvb_core.core.errors import AcvbError
from acvb_core.core.parallel import use_threads


class Shard(Protocol):
    """A piece of the data, with a state of its own. What it can be asked for are its methods, called by name."""

    def save(self) -> Mapping[str, NDArray[Any]]:
        """Return the state as arrays; what follows from the data is left out."""
        ...

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `save` gave."""
        ...


#: Makes a shard from the data; sent to another process, it is pickled.
Factory = Callable[[], Shard]


class Host:
    """The shards of one worker, by their numbers."""

    def __init__(self) -> None:
        self._shards: dict[int, Shard] = {}

    def answer(self, method: str, arguments: tuple[Any, ...]) -> tuple[Exception | None, Any]:
        """Return what a method of the host raises, or what it gives: for those who call it from elsewhere."""
        try:
            return None, getattr(self, method)(*arguments)
        except Exception as fault:
            return fault, None

    def build(self, factories: Mapping[int, Factory]) -> None:
        """Make shards from their data."""
        for number, factory in factories.items():
            self._shards[number] = factory()

    def call(
        self, numbers: tuple[int, ...], step: str, arguments: tuple[Any, ...]
    ) -> tuple[list[Any], float]:
        """Return what a method of each of the shards gives, one after the other, and the processor seconds it took."""
        begun = time.thread_time()
        with use_threads(1):  # the other cores are other shards'
            results = [getattr(self._shards[number], step)(*arguments) for number in numbers]
        return results, time.thread_time() - begun

    def save(self, numbers: tuple[int, ...], folder: str, name: str) -> int:
        """Write the states of shards to files of a folder, each whole or not at all; return their bytes."""
        written = 0
        for number in numbers:
            path = state_file(folder, name, number)
            half = path.with_suffix(".part")
            try:
                with half.open("wb") as file:
                    np.savez(file, allow_pickle=False, **self._shards[number].save())
                    file.flush()
                    os.fsync(file.fileno())
                written += half.stat().st_size
                half.replace(path)
            except OSError:  # the disk is full, say
                half.unlink(missing_ok=True)
                raise
        return written

    def restore(self, factories: Mapping[int, Factory], folder: str, name: str) -> None:
        """Make shards from their data and go on from the states that `save` wrote; without a name, from the data."""
        self.build(factories)
        for number in factories if name else ():
            try:
                with ONE_READER, np.load(state_file(folder, name, number), allow_pickle=False) as arrays:
                    self._shards[number].restore(arrays)
            except (OSError, ValueError, KeyError, BadZipFile) as problem:
                raise AcvbError(f"The saved state of shard {number} cannot be read: {problem}") from problem


def state_file(folder: str, name: str, number: int) -> Path:
    """Return the file of a shard's state."""
    return Path(folder) / f"{name}-shard-{number:05d}.npz"
