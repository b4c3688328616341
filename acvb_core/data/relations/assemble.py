"""From links, observed zeros and missing entries, as a file gave them, to a relation and facts about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.data.relation import Relation
from acvb_core.data.relations.layout import DeclaredDomains
from acvb_core.data.relations.nodes import Side
from acvb_core.data.relations.patterns import Codes, Pairs, as_pattern, intersect, subtract
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.values import LINK, MISSING, ZERO, ValueSummary
from acvb_core.errors import DataError

MAX_UNLISTED = 50_000_000  # pairs held as missing because a file does not list them; 5 bytes each


class ContradictionError(Exception):
    """A pair is a link in one place and an observed 0 in another (final indices)."""

    def __init__(self, row: int, column: int) -> None:
        super().__init__(row, column)
        self.row, self.column = row, column


@dataclass
class Entries:
    """Entries in the order in which a file gave them, as label codes.

    Attributes
    ----------
    links, zeros, missing : Pairs
    small : list of (rows, columns, numbers)
        Numbers above 0 that do not exceed the threshold by themselves (their pairs are in `zeros` too).
    not_one : int
        Links whose number is not 1.
    """

    links: Pairs = field(default_factory=Pairs)
    zeros: Pairs = field(default_factory=Pairs)
    missing: Pairs = field(default_factory=Pairs)
    small: list[tuple[Codes, Codes, NDArray[np.float64]]] = field(default_factory=list)
    not_one: int = 0

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


class Assembled(NamedTuple):
    """A relation as a file gave it, with two sides.

    Attributes
    ----------
    relation : Relation
    facts : list of Fact
        What was merged on the way.
    zeros : csr_array of bool, the relation's shape, or None
        The entries that were given as 0, some of which other lines may have made links; None: all that are
        neither 1 nor missing.
    declared : DeclaredDomains or None
        What the file says of its two sides, if anything.
    """

    relation: Relation
    facts: list[Fact]
    zeros: sparse.csr_array | None
    declared: DeclaredDomains | None = None


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
) -> Assembled:
    """Return the relation and what was merged on the way; raise ContradictionError where entries contradict.

    A pair given more than once:

    * counts (whole numbers, none negative, one above 1) are added up, then compared with the threshold;
    * otherwise every line is judged by itself: lines that agree are merged, a link and a 0 contradict;
    * a known value prevails over a missing one.

    A pair that is not given is an observed 0, or missing when `unlisted_missing`.
    """
    place = rows.final, columns.final, (rows.n, columns.n)
    given, n_missing = entries.links.n + entries.zeros.n + entries.missing.n, entries.missing.n
    links, zeros, missing = (
        pairs.to_csr(*place) for pairs in (entries.links, entries.zeros, entries.missing)
    )
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
    facts = [_unlisted_fact(n_unlisted, unlisted_missing)] if zeros.nnz and n_unlisted else []
    if unlisted_missing and n_unlisted:
        missing = _find_unlisted(links, zeros, n_unlisted, name)
    relation = Relation.build(
        links,
        missing,
        row_labels=rows.labels,
        column_labels=columns.labels,
        name=name,
        row_kind=row_kind,
        column_kind=column_kind,
    )
    facts = [links_fact(relation), *facts, *_value_facts(values, entries)]
    facts += _merge_facts(given - n_given - known.nnz, counts, known.nnz)
    if n_missing or relation.n_unknown:
        facts.append(missing_fact(relation) or Fact("missing", 0, "0 entries are missing."))
    return Assembled(relation, facts, zeros)


def object_facts(relation: Relation, *, same_objects: bool = False) -> list[Fact]:
    """Return what to know about the objects: those without links, names that occur on both sides, self-links.

    Self-links are those of a network, or of two sides that hold the same objects (`same_objects`): elsewhere a
    row object and a column object of one name are two objects.
    """
    ones, facts = relation.ones, []
    linked, reached = np.diff(ones.indptr) > 0, np.zeros(relation.shape[1], dtype=np.bool_)
    reached[ones.indices] = True
    if relation.network is not None:
        n = int((~(linked | reached)).sum())
        return [Fact("isolated", n, f"{plural(n, 'node has', 'nodes have')} no link.")] if n else []
    for side, n in (("row", int((~linked).sum())), ("column", int((~reached).sum()))):
        if n:
            who = plural(n, f"{side} object has", f"{side} objects have")
            facts.append(Fact(f"empty_{side}s", n, f"{who} no link."))
    shared = len(set(relation.row_labels) & set(relation.column_labels))
    if shared:
        occur = plural(shared, "name occurs", "names occur")
        facts.append(Fact("shared_labels", shared, f"{occur} on both sides."))
    own = int(ones.diagonal().sum()) if same_objects else 0
    if own:
        who = plural(own, "object is linked to itself", "objects are linked to themselves")
        facts.append(Fact("self_links", own, f"{who}."))
    return facts


def missing_fact(relation: Relation) -> Fact | None:
    """Return how many entries are missing, None if none is; self-links that do not count are none."""
    n = relation.n_unknown
    one, several = ("entry is", "entries are") if relation.network is None else ("pair is", "pairs are")
    return Fact("missing", n, f"{plural(n, one, several)} missing.") if n else None


def links_fact(relation: Relation) -> Fact:
    """Return the size of a relation: objects and links."""
    (rows, columns), n = relation.shape, relation.n_links
    if relation.network is not None:
        told = f"{plural(rows, 'node')}, {plural(n, 'link')} ({n / max(relation.n_known, 1):.3%} of the known pairs)."
    else:
        objects = f"{rows:,} row objects, {columns:,} column objects"
        told = f"{objects}, {plural(n, 'link')} ({relation.density:.3%} of the known entries)."
    return Fact("links", n, told, {"n_rows": rows, "n_columns": columns})


def _value_facts(values: ValueSummary | None, entries: Entries) -> list[Fact]:
    facts: list[Fact] = []
    if values is None:
        return facts
    threshold, n = values.threshold, entries.not_one
    if n:
        told = f"Values run from {values.lowest:g} to {values.highest:g}; above {threshold:g} is a link: "
        details = {"lowest": values.lowest, "highest": values.highest, "threshold": threshold}
        facts.append(Fact("values", n, f"{told}{plural(n, 'value')} other than 1 became 1.", details))
    n = sum(len(numbers) for *_, numbers in entries.small)
    if n:
        who = plural(n, "value above 0", "values above 0")
        told = f"{who} but not above {threshold:g} {'was' if n == 1 else 'were'} taken as no link."
        facts.append(Fact("thresholded", n, told, {"threshold": threshold}))
    return facts


def _unlisted_fact(n: int, missing: bool) -> Fact:
    who = plural(n, "pair is", "pairs are")
    taken = "as missing" if missing else "as no link (choose unlisted pairs as missing if they are unknown)"
    return Fact("unlisted", n, f"The data give zeros one by one, but {who} not listed: taken {taken}.")


def _merge_facts(merged: int, counts: bool, known: int) -> list[Fact]:
    facts = []
    if merged:
        how = "their counts were added" if counts else "they agree and were merged"
        who = plural(merged, "entry repeats", "entries repeat")
        facts.append(Fact("duplicates", merged, f"{who} a pair that was already given; {how}."))
    if known:
        who = plural(known, "pair is", "pairs are")
        told = f"{who} missing in one place and known in another; the known value was kept."
        facts.append(Fact("known_over_missing", known, told))
    return facts


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
