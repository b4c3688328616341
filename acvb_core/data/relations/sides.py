"""Whether the two sides of a relation are the same objects: the guess, and the reason for it in words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from acvb_core.data.relation import Relation
from acvb_core.data.relations.headings import Heading
from acvb_core.data.relations.link_values import as_pattern
from acvb_core.data.relations.networks import goes_both_ways, shared_names
from acvb_core.data.report import plural

Domains = Literal["auto", "one", "two"]
DOMAINS: tuple[Domains, ...] = ("auto", "one", "two")

# Fewer links that go both ways can be chance.
_MIN_PAIRS = 3


class Says(NamedTuple):
    """What a file says of itself.

    Attributes
    ----------
    domains : "one" or "two"
    directed : bool or None
        Of a network; None where it does not say.
    reason : str
        Ends a sentence on the two sides.
    """

    domains: Literal["one", "two"]
    directed: bool | None
    reason: str


@dataclass(frozen=True)
class Sides:
    """What the two sides of a relation are, and why they are taken so.

    Attributes
    ----------
    domains : "one" or "two"
        The same objects on both sides, or two kinds of objects.
    reason : str
        A sentence.
    directed, self_links : bool or None
        Of a network: what its links are. None where there are two kinds of objects.
    """

    domains: Literal["one", "two"]
    reason: str
    directed: bool | None = None
    self_links: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the sides as JSON-able values."""
        return dict(self.__dict__)


def guess_sides(relation: Relation, head: Heading, *, by_position: bool, is_table: bool) -> Sides:
    """Return whether both sides are the same objects.

    Parameters
    ----------
    relation : Relation
        As the file shows it, with two sides.
    head : Heading
    by_position : bool
        The names are positions in a file without names: that they are on both sides says nothing.
    is_table : bool
        The file is a matrix: that it has the same names on both sides says more than that a list has.
    """
    rows, columns = relation.row_labels.tolist(), relation.column_labels.tolist()
    shared = shared_names(rows, columns)
    fewer = min(len(rows), len(columns))
    union = len(rows) + len(columns) - len(shared)
    occur = f"{len(shared):,} of {plural(union, 'name')} {'occurs' if len(shared) == 1 else 'occur'} on both"
    same = "The two sides are the same objects:"
    if by_position:
        if len(rows) == len(columns) and _symmetric(relation):
            return Sides("one", f"{same} the matrix is square, and every link goes both ways.")
        return Sides("two", "The two sides are taken as two kinds of objects: the file names none.")
    if not shared:
        return Sides("two", "The two sides are two kinds of objects: no name occurs on both.")
    # A name or two in a hundred can be chance.
    if head.network and 100 * len(shared) >= fewer:
        return Sides("one", f"{same} the columns are named as those of a network, and {occur}.")
    words = sum(not _is_number(name) for name in shared)
    if words >= 2 and 2 * words >= fewer:
        return Sides("one", f"{same} {occur}.")
    if is_table and len(shared) == len(rows) == len(columns) > 1:
        return Sides("one", f"{same} the matrix has the same names at the top and at the left.")
    if _symmetric(relation):
        return Sides("one", f"{same} every link goes both ways, and {occur}.")
    why = "numbers, and nothing else says" if not words and not head.network else "too few to say"
    return Sides(
        "two", f"The two sides are taken as two kinds of objects: {occur}, {why} that they are the same."
    )


def _symmetric(relation: Relation) -> bool:
    """Whether every link between different objects goes both ways."""
    if relation.row_labels.tolist() == relation.column_labels.tolist():
        ones = relation.ones
    else:
        place = {label: i for i, label in enumerate(relation.row_labels)}
        twin = np.array([place.get(label, -1) for label in relation.column_labels], dtype=np.int32)
        entries = relation.ones.tocoo()
        columns = twin[entries.col]
        if (columns < 0).any():
            return False  # a link to an object that has none itself
        shape = (len(place), len(place))
        ones = as_pattern(sparse.csr_array((entries.data, (entries.row, columns)), shape=shape))
    both, one_way = goes_both_ways(ones)
    return both >= _MIN_PAIRS and one_way == 0


def _is_number(name: str) -> bool:
    return re.fullmatch(r"[+-]?\d+(\.\d*)?", name) is not None
