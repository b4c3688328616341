"""The place where shards are held: this process by default, the workers of a Dask cluster where asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acvb_core.core.errors import ParameterError
from acvb_core.shards.host import StartWorker, start_here

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True)
class Place:
    """Workers, and how the states of their shards are saved."""

    workers: int = 0  #: 0: one for each processor, as far as there are shards
    start_worker: StartWorker = start_here
    #: Sweeps between two savings of the states, from which those of a lost worker continue; 0 never saves: once a step
    #: has changed the shards, the loss of a worker ends the run.
    save_every: int = 0
    #: Folder of the saved states, which all machines must see; None: a temporary one. If it is full or cannot be
    #: reached, a warning says so, and the steps since the last saving are remembered.
    folder: str | Path | None = None
    is_here: bool = True  #: the shards are held in the memory of this machine

    def count_workers(self) -> int:
        """Return how many workers there are where there are shards enough."""
        return self.workers or os.cpu_count() or 1


#: Of each thread: the runs that it begins.
_place = ContextVar[Place | None]("place", default=None)


def current_place() -> Place:
    """Return where the shards of the next run are held."""
    return _place.get() or Place()


def count_shards(algorithm: Any) -> int:
    """Return over how many shards a method, or the method that an average is taken of, is spread; 0 where it is not."""
    return int(getattr(getattr(algorithm, "inner", algorithm), "n_shards", 0))


@contextmanager
def use_place(place: Place) -> Iterator[None]:
    """Have the shards of runs that begin inside, on this thread, held there."""
    before = _place.get()
    _place.set(place)
    try:
        yield
    finally:
        _place.set(before)


@contextmanager
def shard_workers(
    workers: int = 0,
    *,
    client: Client | None = None,
    save_every: int = 10,
    folder: str | Path | None = None,
) -> Iterator[None]:
    """Have the shards of runs that begin inside held by other workers.

    The result of a run depends on its number of shards alone, never on the workers. Threads are not lost, and save
    nothing.

    `workers`: how many; 0 for one a processor, or for all that the client has.
    `client`: of a Dask cluster, whose workers take the place of threads. One that is lost is replaced.
    `save_every`, `folder`: as for `Place`; by default a temporary folder of this machine.
    Raises ParameterError: a number is negative.
    """
    if min(workers, save_every) < 0:
        raise ParameterError("workers and save_every must be at least 0.")
    if client is not None:
        from acvb_core.shards.dask import ActorStarter

        start = ActorStarter(client)
        workers = workers or len(start.workers.ask_scheduler())
        place = Place(workers, start, save_every, folder, is_here=False)
    else:
        place = Place(workers)
    with use_place(place):
        yield
