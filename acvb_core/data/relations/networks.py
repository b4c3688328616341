"""Turn a relation into a network (one set of objects on both sides) and back, and say what that changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.data.relation import Network, Relation
from acvb_core.data.relations.patterns import as_pattern
from acvb_core.data.report import Fact, ReadReport, plural, take_apart, tell_count
from acvb_core.data.sources.objects import to_sparse

#: Pairs held as missing because no data were given for them; 5 bytes each.
MAX_UNGIVEN = 50_000_000
# What heads the column of the objects where it says nothing of what they are.
_NO_KIND = ("", "row", "column", "source", "src", "from", "sender")
# What is said of a pair in one direction; a larger number overrules a smaller one.
_SILENT, _MISSING, _ZERO, _LINK = range(4)


Pattern: TypeAlias = sparse.csr_array


class FoundNetwork(NamedTuple):
    """A network and what making it found, left out or merged."""

    relation: Relation
    facts: tuple[Fact, ...]

    @property
    def report(self) -> ReadReport:
        """The facts as the report of a reader."""
        return ReadReport(self.relation.name, self.facts)


def as_network(
    relation: Relation,
    *,
    directed: bool | None = None,
    self_links: bool | None = None,
    zeros: Pattern | None = None,
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
    relation = take_apart(relation)[0]
    labels, ones, missing, given = spread_over_all(relation, zeros, unlisted)
    facts: list[Fact] = []
    if not directed:
        directed, ones, missing, facts = _compare_ways(ones, missing, given, directed, direction)
    own = int(ones.diagonal().sum())
    if self_links is None:
        self_links = own > 0
    if self_links:
        told = "{object is linked to itself|objects are linked to themselves}: self-links count."
        facts += tell_count("self_links", own, told)
    elif own:
        ones = as_pattern(sparse.triu(ones, 1) + sparse.tril(ones, -1))
        who = "{link of an object to itself was|links of objects to themselves were}"
        facts += tell_count("self_links_left_out", own, f"{who} left out: self-links do not count.")
    nothing = np.full(len(labels) - relation.shape[0], "", dtype=object)  # is known of the other objects
    network = Relation.build(
        ones,
        missing,
        row_labels=labels,
        name=relation.name,
        row_kind="node" if relation.row_kind.lower() in _NO_KIND else relation.row_kind,
        network=Network(directed, self_links),
        attributes={name: np.append(known, nothing) for name, known in relation.attributes.items()},
    )
    return FoundNetwork(network, tuple(facts))


def as_two_sided(relation: Relation) -> Relation:
    """Return a network as a relation between two sets of objects that happen to have the same names.

    What is missing stays missing: the diagonal of a network without self-links.
    """
    relation = take_apart(relation)[0]
    return relation if relation.network is None else replace(relation, network=None)


def with_attributes(relation: Relation, attributes: Mapping[str, ArrayLike]) -> Relation:
    """Return the relation with more known labels of its row objects; one of the same name is replaced.

    Raises
    ------
    DataError
        An attribute does not have one label for each row object.
    """
    relation = take_apart(relation)[0]
    parts = {part.name: getattr(relation, part.name) for part in fields(relation)}
    return Relation.build(**parts | {"attributes": {**relation.attributes, **attributes}})


def goes_both_ways(ones: Pattern) -> tuple[int, int]:
    """Return how many pairs of different objects are linked both ways, and how many one way only."""
    own = int(ones.diagonal().sum())
    both = ones.multiply(ones.T).nnz - own if ones.nnz else 0
    return both // 2, ones.nnz - own - both


def _compare_ways(
    ones: Pattern, missing: Pattern, zeros: Pattern | None, directed: bool | None, direction: str | None
) -> tuple[bool, Pattern, Pattern, list[Fact]]:
    """Return whether links have a direction, the links and the missing entries then, and why; guessed for None.

    What is said of a pair one way and the other way decides; without `zeros`, silence says 0 as well.
    """
    said = (ones.astype(np.uint8) * _LINK).maximum(missing.astype(np.uint8) * _MISSING)
    if zeros is not None:
        said = said.maximum(zeros.astype(np.uint8) * _ZERO)
    # Of the pair (i, j): what is said of i to j, plus 4 times what is said of j to i.
    codes = said + (4 * said).T

    def count(one_way: int, *other_way: int) -> int:
        """Return of how many pairs the one thing is said one way, and one of the others the other way."""
        return sum(int(np.count_nonzero(codes.data == one_way + 4 * other)) for other in other_way)

    def choose(which: NDArray[np.bool_]) -> Pattern:
        return as_pattern(Pattern((which, codes.indices, codes.indptr), shape=codes.shape))

    both = (count(_LINK, _LINK) - int(ones.diagonal().sum())) // 2
    denied = count(_LINK, _ZERO)
    one_way = denied + count(_LINK, _SILENT, _MISSING)
    linked = plural(both + one_way, "linked pair")
    facts = []
    guessed = directed is None
    if directed is None:
        # A cell of a matrix that is missing contradicts nothing; that a list is silent may well mean a direction.
        unknown = count(_LINK, _MISSING) if zeros is None and direction is None else 0
        directed, why = True, "no linked pair goes both ways, on either side of the diagonal"
        if both and one_way <= unknown:
            directed, why = False, "every link goes both ways"
        elif both:
            why = f"{both:,} of {linked} {'goes' if both == 1 else 'go'} both ways"
        elif direction is not None:
            why = direction
        elif denied:
            who = plural(denied, "linked pair is", "linked pairs are")
            why = f"{who} given as no link the other way"
        elif zeros is not None:
            directed, why = False, "no linked pair is listed both ways, and no direction is named"
        # A triangle of a matrix says every pair once; zeros on both sides of the diagonal speak of each direction.
        elif np.count_nonzero(sparse.triu(codes, 1).data & 3 == _LINK) in (0, one_way):
            directed, why = False, "all links are on one side of the diagonal"
        told = f"The network is {'directed' if directed else 'undirected'}: {why}."
        facts.append(Fact("direction", int(directed), told, {"directed": directed}))
    if directed:
        return True, ones, missing, facts
    if one_way and (both or not guessed):  # else the guess has said that every pair is listed once
        told = f"{one_way:,} of {linked} {'is' if one_way == 1 else 'are'} linked one way only: either way counts."
        facts.append(Fact("one_way", one_way, told, {"both_ways": both}))
    told = "{pair is a link|pairs are links} one way and given as no link the other way: linked."
    facts += tell_count("denied_one_way", denied, told)
    known = count(_MISSING, _ZERO, _LINK) + (count(_MISSING, _SILENT) if zeros is None else 0)
    told = "{pair is|pairs are} missing one way and known the other way: what is known counts."
    facts += tell_count("known_one_way", known, told)
    left = codes.data == _MISSING + 4 * _MISSING
    if zeros is not None:
        left |= (codes.data == _MISSING) | (codes.data == 4 * _MISSING)
    return False, choose((codes.data & 3 == _LINK) | (codes.data >> 2 == _LINK)), choose(left), facts


def spread_over_all(
    relation: Relation, zeros: Pattern | None = None, unlisted: Literal["zero", "missing"] = "zero"
) -> tuple[NDArray[Any], Pattern, Pattern, Pattern | None]:
    """Return all objects, the rows first, and over them the links, the missing entries and the given zeros."""
    n_rows, n_cols = relation.shape
    place = {label: i for i, label in enumerate(relation.row_labels)}
    found = [place.setdefault(label, len(place)) for label in relation.column_labels]
    columns, n = np.array(found, dtype=np.int32), len(place)

    def spread(pattern: Pattern) -> Pattern:
        if n == n_rows == n_cols and (columns == np.arange(n)).all():
            return pattern
        ends = np.append(pattern.indptr, np.full(n - n_rows, pattern.nnz, dtype=pattern.indptr.dtype))
        return as_pattern(Pattern((pattern.data, columns[pattern.indices], ends), shape=(n, n)))

    missing = spread(relation.missing)
    if unlisted == "missing" and n * n > n_rows * n_cols:
        missing = as_pattern(missing + _outside(n, n_rows, columns, relation.name))
    given = None if zeros is None else spread(as_pattern(to_sparse(zeros, relation.name)))
    return np.array(list(place), dtype=object), spread(relation.ones), missing, given


def _outside(n: int, n_rows: int, columns: NDArray[np.int32], name: str) -> Pattern:
    """Return the pairs of nodes that are no pair of a row object and a column object."""
    n_outside = n * n - n_rows * len(columns)
    if n_outside > MAX_UNGIVEN:
        pairs = f"{n_outside:,} pairs of its {n:,} objects"
        what = f"the relation says nothing about {pairs}, too many to hold as missing"
        remedy = "Take unlisted pairs as no link, or load fewer objects."
        raise DataError(what, source=name, remedy=remedy)
    others = np.setdiff1d(np.arange(n, dtype=np.int32), columns)
    pointers = np.arange(n_rows + 1, dtype=np.int32) * len(others)
    of_rows = np.ones(n_rows * len(others), dtype=np.bool_), np.tile(others, n_rows), pointers
    of_others = Pattern(np.ones((n - n_rows, n), dtype=np.bool_))
    return sparse.vstack([Pattern(of_rows, shape=(n_rows, n)), of_others], format="csr")
