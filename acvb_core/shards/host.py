"""Workers that hold shards, what they are asked to do with them, and those that are threads of this process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import AcvbError
from acvb_core.core.files import ONE_READER
from acvb_core.core.parallel import use_threads


class Shard(Protocol):
    """A piece of the data, with a state of its own. What it can be asked for are its methods, called by name."""

    def save(self) -> Mapping[str, NDArray[Any]]:
        """Return the state as arrays; what follows from the data is left out."""

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what `save` gave."""


#: Makes a shard from the data; sent to another process, it is pickled.
Factory = Callable[[], Shard]


class WorkerLostError(AcvbError):
    """A worker is gone, and with it the states of its shards."""


class Worker(Protocol):
    """Something that holds shards (a `Host`) and answers one request after the other."""

    def answer(self, method: str, arguments: tuple[Any, ...]) -> tuple[Exception | None, Any]:
        """Return what a method of the worker's `Host` raises, or what it gives.

        Raises WorkerLostError: the worker is gone.
        """


#: Starts a worker without shards; where one is given, in its place, for it is gone.
StartWorker = Callable[[Worker | None], Worker]


class Host:
    """The shards of one worker, by their numbers. In this process it is the worker itself."""

    def __init__(self) -> None:
        self._shards: dict[int, Shard] = {}

    def answer(self, method: str, arguments: tuple[Any, ...]) -> tuple[Exception | None, Any]:
        """Return what a method raises, or what it gives."""
        try:
            return None, getattr(self, method)(*arguments)
        except Exception as fault:
            return fault, None

    def build(self, factories: Mapping[int, Factory], folder: str = "", name: str = "") -> None:
        """Make shards from their data; where a name is given, with the states that `save` wrote under it."""
        for number, factory in factories.items():
            shard = self._shards[number] = factory()
            if not name:
                continue
            try:
                with ONE_READER, np.load(state_file(folder, name, number), allow_pickle=False) as arrays:
                    shard.restore(arrays)
            except (OSError, ValueError, KeyError, BadZipFile) as problem:
                raise AcvbError(f"The saved state of shard {number} cannot be read: {problem}") from problem

    def call(self, step: str, arguments: tuple[Any, ...]) -> tuple[dict[int, Any], float]:
        """Return what a method of each of the shards gives, by their numbers, and the processor seconds it took."""
        begun = time.thread_time()
        with use_threads(1):  # the other cores are other shards'
            results = {number: getattr(shard, step)(*arguments) for number, shard in self._shards.items()}
        return results, time.thread_time() - begun

    def save(self, folder: str, name: str) -> None:
        """Write the states of shards to files of a folder, each whole or not at all."""
        for number, shard in self._shards.items():
            path = state_file(folder, name, number)
            half = path.with_suffix(".part")
            try:
                with half.open("wb") as file:
                    np.savez(file, allow_pickle=False, **shard.save())
                    file.flush()
                    os.fsync(file.fileno())
                half.replace(path)
            except OSError:  # the disk is full, say
                half.unlink(missing_ok=True)
                raise


def state_file(folder: str, name: str, number: int) -> Path:
    """Return the file of a shard's state."""
    return Path(folder) / f"{name}-shard-{number:05d}.npz"


def start_here(lost: Worker | None = None) -> Host:
    """Start a worker of this process: whoever asks it waits on a thread of their own, and nothing is copied."""
    return Host()
