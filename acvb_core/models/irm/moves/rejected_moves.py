"""Moves that were tried in vain, known again by the objects they were about."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Members = NDArray[np.bool_]
#: Two sets of objects are about the same when the objects in both are this share of those in either: clusters that lose
#: and win a few objects from sweep to sweep are not worth another attempt.
_ALIKE = 0.95


class RejectedMoves:
    """Sets of objects, each with what was tried with it; adding one makes a new list."""

    def __init__(self, tried: tuple[tuple[str, Members], ...] = ()) -> None:
        self._tried = tried

    def __len__(self) -> int:
        return len(self._tried)

    def contains(self, what: str, members: Members) -> bool:
        """Return whether the same was tried with about the same objects."""
        return any(what == kind and _is_alike(members, known) for kind, known in self._tried)

    def add(self, what: str, members: Members) -> RejectedMoves:
        """Return the list with one more; what it is about the same as is left out."""
        others = tuple(one for one in self._tried if one[0] != what or not _is_alike(members, one[1]))
        return RejectedMoves((*others, (what, members)))


def _is_alike(one: Members, other: Members) -> bool:
    either = int(np.count_nonzero(one | other))
    return int(np.count_nonzero(one & other)) >= _ALIKE * either
