"""Turn a relation into a network (one set of objects on both sides) and back, and say what that changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from acvb_core.data.relation import Network, Relation
from acvb_core.data.relations.patterns import as_pattern
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.objects import to_sparse
from acvb_core.errors import DataError

#: Pairs held as missing because no data were given for them; 5 bytes each.
MAX_UNGIVEN = 50_000_000
# What heads the column of the objects where it says nothing of what they are.
_NO_KIND = ("", "row", "column", "source", "src", "from", "sender")


class FoundNetwork(NamedTuple):
    """A network and what making it found, left out or merged."""

    relation: Relation
    facts: tuple[Fact, ...]


@dataclass(frozen=True, eq=False)
class Square:
    """The entries of a relation over the union of its two sides' objects.

    Attributes
    ----------
    labels : ndarray of str (object dtype), shape (n,)
        The row objects in their order, then the column objects that are none of them in theirs.
    ones, missing, zeros : csr_array of bool, shape (n, n)
        Disjoint. A pair in none of them was not mentioned: no link, but a word about the other direction counts
        more.
    """

    labels: NDArray[Any]
    ones: sparse.csr_array
    missing: sparse.csr_array
    zeros: sparse.csr_array


def as_network(
    relation: Relation,
    *,
    directed: bool | None = None,
    self_links: bool | None = None,
    zeros: sparse.csr_array | None = None,
    unlisted: Literal["zero", "missing"] = "zero",
    direction: str | None = None,
) -> FoundNetwork:
    """Return a relation as a network: every name of either side is a node.

    A pair of an undirected network is linked if it is linked either way; else it is known not to be if either way
    says so; else it is missing. Links of a node to itself are left out where they do not count.

    Parameters
    ----------
    relation : Relation, shape (n_rows, n_cols)
        Objects of the same name on both sides are one node.
    directed : bool, optional
        Default: undirected if all links go both ways, or none does and nothing says that they have a direction.
    self_links : bool, optional
        Default: they count if there is one.
    zeros : csr_array of bool, shape (n_rows, n_cols), optional
        The entries that were given as 0. Those that are stored nowhere are then mere silence, which a missing
        entry in the other direction overrules. Default: all that is neither 1 nor missing was given as 0.
    unlisted : "zero" or "missing"
        What pairs are that the relation has no entry for, its sides being different: no links, or missing.
    direction : str, optional
        What says that links have a direction (a column called "target"), to end a sentence with. It gives way to
        links that all go both ways.

    Raises
    ------
    DataError
        Too many pairs would be missing.
    """
    square = _square(relation, zeros, unlisted)
    facts = []
    guessed = directed is None
    if directed is None:
        directed, reason = _guess_direction(square, all_given=zeros is None, direction=direction)
        facts.append(Fact("direction", int(directed), reason, {"directed": directed}))
    own = int(square.ones.diagonal().sum())
    if self_links is None:
        self_links = own > 0
    ones, missing = square.ones, square.missing
    if not directed:
        ones, missing, told = _either_way(square, all_given=zeros is None, guessed=guessed)
        facts += told
    if own and self_links:
        who = plural(own, "object is linked to itself", "objects are linked to themselves")
        facts.append(Fact("self_links", own, f"{who}: self-links count."))
    elif own:
        ones = _without(ones, _diagonal(ones))
        who = plural(own, "link of an object to itself was", "links of objects to themselves were")
        facts.append(Fact("self_links_left_out", own, f"{who} left out: self-links do not count."))
    network = Relation.build(
        ones,
        missing,
        row_labels=square.labels,
        name=relation.name,
        row_kind="node" if relation.row_kind.lower() in _NO_KIND else relation.row_kind,
        network=Network(directed, self_links),
        attributes=_extended(relation.attributes, len(square.labels)),
    )
    return FoundNetwork(network, tuple(facts))


def as_two_sided(relation: Relation) -> Relation:
    """Return a network as a relation between two sets of objects that happen to have the same names.

    What is missing stays missing: the diagonal of a network without self-links.
    """
    if relation.network is None:
        return relation
    return replace(relation, network=None)


def with_attributes(relation: Relation, attributes: Mapping[str, ArrayLike]) -> Relation:
    """Return the relation with more known labels of its row objects; one of the same name is replaced.

    Raises
    ------
    DataError
        An attribute does not have one label for each row object.
    """
    return Relation.build(
        relation.ones,
        relation.missing,
        row_labels=relation.row_labels,
        column_labels=relation.column_labels,
        name=relation.name,
        row_kind=relation.row_kind,
        column_kind=relation.column_kind,
        network=relation.network,
        attributes={**relation.attributes, **attributes},
    )


def goes_both_ways(ones: sparse.csr_array) -> tuple[int, int]:
    """Return how many pairs of different objects are linked both ways, and how many one way only.

    Parameters
    ----------
    ones : csr_array of bool, shape (n, n)
    """
    links = _without(ones, _diagonal(ones))
    both = _common(links, as_pattern(links.T)).nnz
    return both // 2, links.nnz - both


def _square(
    relation: Relation, zeros: sparse.csr_array | None, unlisted: Literal["zero", "missing"]
) -> Square:
    n_rows, n_cols = relation.shape
    place = {label: i for i, label in enumerate(relation.row_labels)}
    for label in relation.column_labels:
        place.setdefault(label, len(place))
    columns = np.array([place[label] for label in relation.column_labels], dtype=np.int32)
    n = len(place)

    def spread(pattern: sparse.csr_array) -> sparse.csr_array:
        if n == n_rows == n_cols and (columns == np.arange(n)).all():
            return pattern
        entries = pattern.tocoo()
        return as_pattern(sparse.csr_array((entries.data, (entries.row, columns[entries.col])), shape=(n, n)))

    missing = spread(relation.missing)
    if unlisted == "missing" and n * n > n_rows * n_cols:
        missing = as_pattern(missing + _outside(n, n_rows, columns, relation.name))
    given = (
        sparse.csr_array((n, n), dtype=np.bool_)
        if zeros is None
        else spread(as_pattern(to_sparse(zeros, relation.name)))
    )
    ones = spread(relation.ones)
    labels = np.array(list(place), dtype=object)
    return Square(labels, ones, missing, _without(given, ones))


def _outside(n: int, n_rows: int, columns: NDArray[np.int32], name: str) -> sparse.csr_array:
    """Return the pairs of nodes that are no pair of a row object and a column object."""
    n_outside = n * n - n_rows * len(columns)
    if n_outside > MAX_UNGIVEN:
        raise DataError(
            f"the relation says nothing about {n_outside:,} pairs of its {n:,} objects, too many to hold as missing",
            source=name,
            remedy="Take unlisted pairs as no link, or load fewer objects.",
        )
    every = np.arange(n, dtype=np.int32)
    others = np.setdiff1d(every, columns)
    indices = np.concatenate([np.tile(others, n_rows), np.tile(every, n - n_rows)])
    lengths = np.concatenate([np.full(n_rows, len(others)), np.full(n - n_rows, n)])
    pointers = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return sparse.csr_array((np.ones(len(indices), dtype=np.bool_), indices, pointers), shape=(n, n))


def _guess_direction(square: Square, *, all_given: bool, direction: str | None) -> tuple[bool, str]:
    """Return whether the links have a direction, and why it is taken so."""
    both, one_way = goes_both_ways(square.ones)
    backward = as_pattern(square.ones.T)
    # A cell of a matrix that is missing contradicts nothing; that a list is silent may well mean a direction.
    unknown = _common(backward, square.missing).nnz if all_given and direction is None else 0
    if both and one_way <= unknown:
        return False, "The network is undirected: every link goes both ways."
    if both:
        return True, (
            f"The network is directed: {both:,} of {plural(both + one_way, 'linked pair')} "
            f"{'goes' if both == 1 else 'go'} both ways."
        )
    if direction is not None:
        return True, f"The network is directed: {direction}."
    # A triangle of a matrix says every pair once; zeros on both sides of the diagonal speak of each direction.
    if all_given:
        triangle = sparse.triu(square.ones, 1).nnz == 0 or sparse.tril(square.ones, -1).nnz == 0
        if not triangle:
            return (
                True,
                "The network is directed: no linked pair goes both ways, on either side of the diagonal.",
            )
        return False, "The network is undirected: all links are on one side of the diagonal."
    denied = _common(backward, square.zeros).nnz
    if denied:
        return True, (
            f"The network is directed: {plural(denied, 'linked pair is', 'linked pairs are')} "
            "given as no link the other way."
        )
    return False, "The network is undirected: no linked pair is listed both ways, and no direction is named."


def _either_way(
    square: Square, *, all_given: bool, guessed: bool
) -> tuple[sparse.csr_array, sparse.csr_array, list[Fact]]:
    """Return the ones and the missing entries of the undirected network, and what that merged."""
    backward, turned = as_pattern(square.ones.T), as_pattern(square.missing.T)
    ones, missing = as_pattern(square.ones + backward), as_pattern(square.missing + turned)
    if all_given:
        left = _common(square.missing, turned)  # what is neither 1 nor missing was given as 0, and known
    else:
        left = _without(missing, as_pattern(square.zeros + square.zeros.T))
    left = _without(left, ones)
    facts = []
    both, one_way = goes_both_ways(square.ones)
    if one_way and (both or not guessed):  # else the guess has said that every pair is listed once
        told = (
            f"{one_way:,} of {plural(both + one_way, 'linked pair')} {'is' if one_way == 1 else 'are'} linked one "
            "way only: either way counts."
        )
        facts.append(Fact("one_way", one_way, told, {"both_ways": both}))
    denied = _common(backward, square.zeros).nnz
    if denied:
        who = plural(denied, "pair is a link", "pairs are links")
        facts.append(
            Fact("denied_one_way", denied, f"{who} one way and given as no link the other way: linked.")
        )
    known = _without(missing, left).nnz // 2
    if known:
        told = f"{plural(known, 'pair is', 'pairs are')} missing one way and known the other way: what is known counts."
        facts.append(Fact("known_one_way", known, told))
    return ones, left, facts


def _extended(attributes: Mapping[str, Any], n: int) -> dict[str, NDArray[Any]]:
    """Return the attributes of the row objects with nothing known of the others."""
    found = {}
    for name, values in attributes.items():
        labels = np.full(n, "", dtype=object)
        labels[: len(values)] = values
        found[name] = labels
    return found


def _diagonal(pattern: sparse.csr_array) -> sparse.csr_array:
    own = np.flatnonzero(pattern.diagonal())
    return sparse.csr_array((np.ones(len(own), dtype=np.bool_), (own, own)), shape=pattern.shape)


def _common(a: sparse.csr_array, b: sparse.csr_array) -> sparse.csr_array:
    return as_pattern(a.multiply(b)) if a.nnz and b.nnz else sparse.csr_array(a.shape, dtype=np.bool_)


def _without(a: sparse.csr_array, b: sparse.csr_array) -> sparse.csr_array:
    """Return the entries of `a` that are not in `b`."""
    shared = _common(a, b)
    if not shared.nnz:
        return a
    rest = a.astype(np.int8) - shared.astype(np.int8)
    rest.eliminate_zeros()
    return as_pattern(rest)


def shared_names(rows: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Return the names that stand on both sides, in the order of the rows."""
    other = set(columns)
    return [name for name in rows if name in other]
