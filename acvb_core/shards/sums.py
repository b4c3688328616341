"""Sums of what shards give, added in one order whoever was first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def tree_sum(parts: Sequence[Any]) -> Any:
    """Return the sum of parts, added in pairs of neighbours, then the pairs' sums in pairs, and so on.

    Parts are numbers, arrays, or tuples of these, which are added part by part; None is nothing. The order of the
    additions depends on the number of parts alone. Arrays of the parts may be written over.
    """
    level = list(parts)
    while len(level) > 1:
        pairs = [_add(*level[at : at + 2]) for at in range(0, len(level) - 1, 2)]
        level = pairs + level[len(level) - len(level) % 2 :]
    return level[0]


def _add(one: Any, other: Any) -> Any:
    if isinstance(one, tuple):
        sums = [_add(*pair) for pair in zip(one, other, strict=True)]
        return type(one)(*sums) if hasattr(one, "_fields") else tuple(sums)
    if one is None:
        return None
    if hasattr(one, "shape") and one.shape and one.flags.writeable:
        one += other
        return one
    return one + other
