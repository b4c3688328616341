"""Rotation in place of a product: every case in some of the ways to read it, every way with some of the cases."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle, islice
from typing import TypeVar

Case = TypeVar("Case")
Way = TypeVar("Way")


def rotate(cases: Iterable[Case], ways: Iterable[Way], each: int = 1) -> list[tuple[Case, Way]]:
    """Return each case with the next `each` ways."""
    turns = cycle(list(ways))
    return [(case, way) for case in cases for way in islice(turns, each)]
