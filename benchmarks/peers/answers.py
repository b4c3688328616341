"""The answer of every method: predictions of what was held out, with the processor time they took."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class Answer(NamedTuple):
    """One prediction of all that was held out. A method may give several, after more passes or for other sizes."""

    #: Probability of each held-out word or link, shape (n,); of cells density and mean, shape (n, 2).
    predicted: NDArray[np.floating]
    #: Processor time of the fit up to here, without imports, compilation and prediction.
    cpu_seconds: float
    step: str  #: what was done, in words: "40 passes", "6 x 7 clusters"
    clusters: ArrayLike | None = (
        None  #: number of each row object's cluster, shape (n,); None without clusters
    )


class PeerAbsentError(Exception):
    """The peer is not installed here."""


class Clock:
    """Processor time of this process, all threads, spent inside `with clock:`."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> Clock:
        self._begun = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds += time.process_time() - self._begun


def mean_of_later_half(samples: list[Floats]) -> Floats:
    """Return the mean of what the later half of a chain's samples predict; the first half is burn-in.

    `samples`: predictions, shape (n,) each, in the order they were drawn, at least one.
    """
    return np.mean(samples[len(samples) // 2 :], axis=0)
