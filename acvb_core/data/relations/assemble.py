"""From links, observed zeros and missing entries, as a file gave them, to a relation and facts about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.data.relation import Relation
from acvb_core.data.relations.layout import Sides
from acvb_core.data.relations.nodes import Side
from acvb_core.data.relations.patterns import Codes, Pairs, as_pattern, intersect, subtract
from acvb_core.data.report import Fact, plural, tell_count
from acvb_core.data.sources.values import LINK, MISSING, ZERO, ValueSummary

MAX_UNLISTED = 50_000_000  # pairs held as missing because a file does not list them; 5 bytes each


class ContradictionError(Exception):
    """A pair is a link in one place and an observed 0 in another (final indices)."""

    def __init__(self, row: int, column: int) -> None:
        super().__init__(row, column)
        self.row, self.column = row, column


@dataclass
class Entries:
    """Entries in the order in which a file gave them, as label codes."""

    links: Pairs = field(default_factory=Pairs)
    zeros: Pairs = field(default_factory=Pairs)
    missing: Pairs = field(default_factory=Pairs)
    # Rows, columns and numbers above 0 that do not exceed the threshold by themselves (their pairs are zeros too).
    small: list[tuple[Codes, Codes, NDArray[np.float64]]] = field(default_factory=list)
    not_one: int = 0  # links whose number is not 1

    def add(self, rows: Codes, columns: Codes, verdicts: Any, numbers: Any, keep_zeros: bool = True) -> None:
        """Append entries: int32 codes, uint8 verdicts and float64 numbers, all of shape (n,).

        Zeros matter only where a pair can be given twice; a dense matrix need not keep them.
        """
        for verdict, pairs in ((LINK, self.links), (ZERO, self.zeros), (MISSING, self.missing)):
            chosen = verdicts == verdict
            if (keep_zeros or verdict != ZERO) and chosen.any():
                pairs.add(rows[chosen], columns[chosen])
        small = (verdicts == ZERO) & (numbers > 0)
        if small.any():
            self.small.append((rows[small], columns[small], numbers[small]))
        self.not_one += int(((verdicts == LINK) & ~np.isnan(numbers) & (numbers != 1)).sum())

    def sum_small(
        self, threshold: float, row_map: Codes, column_map: Codes, shape: tuple[int, int]
    ) -> sparse.csr_array:
        """Return the pairs whose small numbers add up to more than the threshold."""
        rows, columns, numbers = (np.concatenate(part) for part in zip(*self.small, strict=True))
        total = sparse.csr_array((numbers, (row_map[rows], column_map[columns])), shape=shape)
        total.sum_duplicates()
        total.data = total.data > threshold
        return as_pattern(total)


class AssembledRelation(NamedTuple):
    """A relation as a file gave it, with two sides."""

    relation: Relation
    facts: list[Fact]  # what was merged on the way
    # Entries given as 0, of which other lines may have made links; None: all that are neither 1 nor missing.
    zeros: sparse.csr_array | None
    declared: Sides | None = None  # what the file says of its two sides; the reason ends a sentence


def assemble(
    entries: Entries,
    rows: Side,
    columns: Side,
    values: ValueSummary | None,
    *,
    name: str,
    row_kind: str = "row",
    column_kind: str = "column",
    unlisted_missing: bool = False,
) -> AssembledRelation:
    """Return the relation and what was merged on the way; raise ContradictionError where entries contradict.

    A pair given more than once:

    * counts (whole numbers, none negative, one above 1) are added up, then compared with the threshold;
    * otherwise every line is judged by itself: lines that agree are merged, a link and a 0 contradict;
    * a known value prevails over a missing one.

    A pair that is not given is an observed 0, or missing when `unlisted_missing`.
    """
    place = rows.final, columns.final, (rows.n, columns.n)
    kinds, n_missing = (entries.links, entries.zeros, entries.missing), entries.missing.n
    given = sum(pairs.n for pairs in kinds)
    links, zeros, missing = (pairs.to_csr(*place) for pairs in kinds)
    counts = values is not None and values.counts
    if values is not None and counts and entries.small:
        # Counts of one pair that are each below the threshold may exceed it together.
        links = as_pattern(links + entries.sum_small(values.threshold, *place))
    clash = intersect(links, zeros)
    if clash.nnz and not counts:
        raise ContradictionError(*(int(indices[0]) for indices in clash.nonzero()))
    known = intersect(missing, links) + intersect(missing, zeros)
    missing = subtract(missing, known)
    n_given = links.nnz + zeros.nnz - clash.nnz + missing.nnz
    n_unlisted = rows.n * columns.n - n_given
    taken = "as no link (choose unlisted pairs as missing if they are unknown)"
    if unlisted_missing and n_unlisted:
        taken, missing = "as missing", _find_unlisted(links, zeros, n_unlisted, name)
    relation = Relation.build(
        links,
        missing,
        row_labels=rows.labels,
        column_labels=columns.labels,
        name=name,
        row_kind=row_kind,
        column_kind=column_kind,
    )
    told = f"The data give zeros one by one, but {{pair is|pairs are}} not listed: taken {taken}."
    facts = [links_fact(relation), *tell_count("unlisted", n_unlisted if zeros.nnz else 0, told)]
    if values is not None:
        facts += _value_facts(values, entries)
    how = "their counts were added" if counts else "they agree and were merged"
    told = f"{{entry repeats|entries repeat}} a pair that was already given; {how}."
    facts += tell_count("duplicates", given - n_given - known.nnz, told)
    told = "{pair is|pairs are} missing in one place and known in another; the known value was kept."
    facts += tell_count("known_over_missing", known.nnz, told)
    if n_missing or relation.n_unknown:
        facts += missing_facts(relation) or [Fact("missing", 0, "0 entries are missing.")]
    return AssembledRelation(relation, facts, zeros)


def object_facts(relation: Relation, *, same_objects: bool = False) -> list[Fact]:
    """Return what to know about the objects: those without links, names that occur on both sides, self-links.

    Self-links are those of a network, or of two sides that hold the same objects (`same_objects`): elsewhere a
    row object and a column object of one name are two objects.
    """
    ones = relation.ones
    unlinked, unreached = np.diff(ones.indptr) == 0, np.ones(relation.shape[1], dtype=np.bool_)
    unreached[ones.indices] = False
    if relation.network is not None:
        isolated = int((unlinked & unreached).sum())
        return tell_count("isolated", isolated, "{node has|nodes have} no link.")
    rows, columns = int(unlinked.sum()), int(unreached.sum())
    shared = len(set(relation.row_labels) & set(relation.column_labels))
    own = int(ones.diagonal().sum()) if same_objects else 0
    return [
        *tell_count("empty_rows", rows, "{row object has|row objects have} no link."),
        *tell_count("empty_columns", columns, "{column object has|column objects have} no link."),
        *tell_count("shared_labels", shared, "{name occurs|names occur} on both sides."),
        *tell_count("self_links", own, "{object is linked to itself|objects are linked to themselves}."),
    ]


def missing_facts(relation: Relation) -> list[Fact]:
    """Return how many entries are missing, if any is; self-links that do not count are none."""
    things = "{entry is|entries are}" if relation.network is None else "{pair is|pairs are}"
    return tell_count("missing", relation.n_unknown, f"{things} missing.")


def links_fact(relation: Relation) -> Fact:
    """Return the size of a relation: objects and links."""
    (rows, columns), n = relation.shape, relation.n_links
    if relation.network is not None:
        told = f"{plural(rows, 'node')}, {plural(n, 'link')} ({n / max(relation.n_known, 1):.3%} of the known pairs)."
    else:
        objects = f"{rows:,} row objects, {columns:,} column objects"
        told = f"{objects}, {plural(n, 'link')} ({relation.density:.3%} of the known entries)."
    return Fact("links", n, told, {"n_rows": rows, "n_columns": columns})


def _value_facts(values: ValueSummary, entries: Entries) -> list[Fact]:
    """Return the range of values that are not all 0 and 1, and how many were too small for a link."""
    low, high, threshold = values.lowest, values.highest, values.threshold
    told = f"Values run from {low:g} to {high:g}; above {threshold:g} is a link: "
    told += "{value|values} other than 1 became 1."
    facts = tell_count("values", entries.not_one, told, lowest=low, highest=high, threshold=threshold)
    n = sum(len(numbers) for *_, numbers in entries.small)
    told = f"{{value|values}} above 0 but not above {threshold:g} {'was' if n == 1 else 'were'} taken as no link."
    return facts + tell_count("thresholded", n, told, threshold=threshold)


def _find_unlisted(links: sparse.csr_array, zeros: sparse.csr_array, n: int, name: str) -> sparse.csr_array:
    """Return the pattern of all pairs that are neither a link nor an observed 0."""
    if n > MAX_UNLISTED:
        what = f"{n:,} pairs are not listed, too many to hold as missing"
        remedy = "Take unlisted pairs as no link, or load fewer objects."
        raise DataError(what, source=name, remedy=remedy)
    unknown = ~(links + zeros).toarray()
    pointers = np.concatenate([[0], np.cumsum(unknown.sum(axis=1))]).astype(np.int32)
    indices = np.broadcast_to(np.arange(links.shape[1], dtype=np.int32), links.shape)[unknown]
    return sparse.csr_array((np.ones(len(indices), dtype=np.bool_), indices, pointers), shape=links.shape)
