"""A short mark of a set of objects, by which a move that was refused is known again."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray


def members_mark(what: str, members: NDArray[np.bool_]) -> int:
    """Return 64 bits that tell sets of objects, and what was tried with them, from each other."""
    digest = hashlib.blake2b(np.packbits(members).tobytes(), digest_size=8, person=what.encode()[:16])
    return int.from_bytes(digest.digest(), "little")
