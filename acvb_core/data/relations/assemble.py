"""From links, observed zeros and missing entries, as a file gave them, to a relation and facts about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from acvb_core.data.relation import Relation
from acvb_core.data.relations.nodes import Side
from acvb_core.data.relations.pairs import NumberedPairs, Pairs
from acvb_core.data.relations.sides import Says
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.values import LINK, MISSING, ZERO, ValueSummary
from acvb_core.errors import DataError

MAX_UNLISTED = 50_000_000  # pairs held as missing because a file does not list them; 5 bytes each


class ContradictionError(Exception):
    """A pair is a link in one place and an observed 0 in another (final indices)."""

    def __init__(self, row: int, column: int) -> None:
        super().__init__(row, column)
        self.row = row
        self.column = column


@dataclass
class Entries:
    """Entries in the order in which a file gave them, as label codes.

    Attributes
    ----------
    links, zeros, missing : Pairs
    small : NumberedPairs
        Numbers above 0 that do not exceed the threshold by themselves (their pairs are in `zeros` too).
    not_one : int
        Links whose number is not 1.
    """

    links: Pairs = field(default_factory=Pairs)
    zeros: Pairs = field(default_factory=Pairs)
    missing: Pairs = field(default_factory=Pairs)
    small: NumberedPairs = field(default_factory=NumberedPairs)
    n_small: int = 0
    not_one: int = 0

    def add(self, rows: Any, columns: Any, verdicts: Any, numbers: Any, keep_zeros: bool = True) -> None:
        """Append entries: int32 codes, uint8 verdicts and float64 numbers, all of shape (n,).

        Zeros matter only where a pair can be given twice; a dense matrix need not keep them.
        """
        for verdict, pairs in ((LINK, self.links), (ZERO, self.zeros), (MISSING, self.missing)):
            if verdict == ZERO and not keep_zeros:
                continue
            chosen = verdicts == verdict
            if chosen.all():
                pairs.add(rows, columns)
            elif chosen.any():
                pairs.add(rows[chosen], columns[chosen])
        small = (verdicts == ZERO) & (numbers > 0)
        if small.any():
            self.small.add(rows[small], columns[small], numbers[small])
            self.n_small += int(small.sum())
        self.not_one += int(((verdicts == LINK) & ~np.isnan(numbers) & (numbers != 1)).sum())


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
    says : Says or None
        What the file says of its two sides, if anything.
    """

    relation: Relation
    facts: list[Fact]
    zeros: sparse.csr_array | None
    says: Says | None = None


def assemble(
    entries: Entries,
    rows: Side,
    columns: Side,
    values: ValueSummary | None,
    *,
    name: str,
    row_kind: str,
    column_kind: str,
    unlisted_missing: bool = False,
) -> Assembled:
    """Return the relation and what was merged on the way.

    A pair given more than once:

    * counts (whole numbers, none negative, one above 1) are added up, then compared with the threshold;
    * otherwise every line is judged by itself: lines that agree are merged, a link and a 0 contradict;
    * a known value prevails over a missing one.

    A pair that is not given is an observed 0, or missing when `unlisted_missing`.

    Raises
    ------
    ContradictionError
    DataError
        Too many pairs would be missing.
    """
    shape = rows.n, columns.n
    counts = values is not None and values.counts
    given = entries.links.n + entries.zeros.n + entries.missing.n
    n_links, n_missing = entries.links.n, entries.missing.n
    if counts and values is not None:
        # Sub-threshold counts of one pair may exceed the threshold together; their final indices need no map.
        extra = entries.small.above(values.threshold, rows.final, columns.final, shape)
        links = _united(entries.links.to_csr(rows.final, columns.final, shape), extra, shape)
    else:
        links = entries.links.to_csr(rows.final, columns.final, shape)
    zeros = entries.zeros.to_csr(rows.final, columns.final, shape)
    missing = entries.missing.to_csr(rows.final, columns.final, shape)
    clash = _common(links, zeros)
    if clash.nnz and not counts:
        first = clash.tocoo()
        raise ContradictionError(int(first.row[0]), int(first.col[0]))
    unknown_but_known = _common(missing, links) + _common(missing, zeros)
    if unknown_but_known.nnz:
        missing = _without(missing, unknown_but_known)
    facts = []
    n_unlisted = rows.n * columns.n - (links.nnz + zeros.nnz - clash.nnz + missing.nnz)
    if zeros.nnz and n_unlisted:
        facts.append(_unlisted_fact(n_unlisted, unlisted_missing))
    distinct = links.nnz + zeros.nnz - clash.nnz + missing.nnz
    if unlisted_missing and n_unlisted:
        missing = _not_in(links, zeros, n_unlisted, name)
    relation = Relation.build(
        links,
        missing,
        row_labels=rows.labels,
        column_labels=columns.labels,
        name=name,
        row_kind=row_kind,
        column_kind=column_kind,
    )
    facts.insert(0, links_fact(relation))
    if values is not None:
        facts += _value_facts(values, entries, n_links)
    facts += _merge_facts(given - distinct - unknown_but_known.nnz, counts, unknown_but_known.nnz)
    told = missing_fact(relation)
    if told is not None or n_missing:
        facts.append(told or Fact("missing", 0, "0 entries are missing."))
    return Assembled(relation, facts, zeros)


def object_facts(relation: Relation, *, same_objects: bool = False) -> list[Fact]:
    """Return what to know about the objects: those without links, names that occur on both sides, self-links.

    Self-links are those of a network, or of two sides that hold the same objects (`same_objects`): elsewhere a
    row object and a column object of one name are two objects.
    """
    if relation.network is not None:
        return _isolated_facts(relation)
    facts = []
    ones = relation.ones
    column_links = np.bincount(ones.indices, minlength=relation.shape[1])
    for side, n in (
        ("row", int((np.diff(ones.indptr) == 0).sum())),
        ("column", int((column_links == 0).sum())),
    ):
        if n:
            who = plural(n, f"{side} object has", f"{side} objects have")
            facts.append(Fact(f"empty_{side}s", n, f"{who} no link."))
    shared = len(set(relation.row_labels) & set(relation.column_labels))
    if shared:
        occur = plural(shared, "name occurs", "names occur")
        facts.append(Fact("shared_labels", shared, f"{occur} on both sides."))
    if same_objects:
        facts += _self_link_facts(relation)
    return facts


def _self_link_facts(relation: Relation) -> list[Fact]:
    own = int(relation.ones.diagonal().sum())
    who = plural(own, "object is linked to itself", "objects are linked to themselves")
    return [Fact("self_links", own, f"{who}.")] if own else []


def _isolated_facts(relation: Relation) -> list[Fact]:
    ones = relation.ones
    touched = np.diff(ones.indptr) > 0
    touched[ones.indices] = True
    n = int((~touched).sum())
    return [Fact("isolated", n, f"{plural(n, 'node has', 'nodes have')} no link.")] if n else []


def missing_fact(relation: Relation) -> Fact | None:
    """Return how many entries are missing, None if none is; self-links that do not count are none."""
    n = relation.n_unknown
    one, several = ("entry is", "entries are") if relation.network is None else ("pair is", "pairs are")
    return Fact("missing", n, f"{plural(n, one, several)} missing.") if n else None


def links_fact(relation: Relation) -> Fact:
    """Return the size of a relation: objects and links."""
    rows, columns = relation.shape
    if relation.network is not None:
        known = relation.n_known
        return Fact(
            "links",
            relation.n_links,
            f"{plural(rows, 'node')}, {plural(relation.n_links, 'link')} ({relation.n_links / max(known, 1):.3%} "
            "of the known pairs).",
            {"n_rows": rows, "n_columns": columns},
        )
    return Fact(
        "links",
        relation.n_ones,
        f"{rows:,} row objects, {columns:,} column objects, {plural(relation.n_ones, 'link')} "
        f"({relation.density:.3%} of the known entries).",
        {"n_rows": rows, "n_columns": columns},
    )


def _value_facts(values: ValueSummary, entries: Entries, n_links: int) -> list[Fact]:
    facts = []
    threshold = values.threshold
    if entries.not_one:
        facts.append(
            Fact(
                "values",
                entries.not_one,
                f"Values run from {values.lowest:g} to {values.highest:g}; above {threshold:g} is a link: "
                f"{plural(entries.not_one, 'value', 'values')} other than 1 became 1.",
                {"lowest": values.lowest, "highest": values.highest, "threshold": threshold},
            )
        )
    if entries.n_small:
        facts.append(
            Fact(
                "thresholded",
                entries.n_small,
                f"{plural(entries.n_small, 'value', 'values')} above 0 but not above {threshold:g} "
                f"{'was' if entries.n_small == 1 else 'were'} taken as no link.",
                {"threshold": threshold},
            )
        )
    return facts


def _unlisted_fact(n: int, missing: bool) -> Fact:
    who = plural(n, "pair is", "pairs are")
    taken = "as missing" if missing else "as no link (choose unlisted pairs as missing if they are unknown)"
    return Fact("unlisted", n, f"The data give zeros one by one, but {who} not listed: taken {taken}.")


def _merge_facts(merged: int, counts: bool, known: int) -> list[Fact]:
    facts = []
    if merged:
        how = "their counts were added" if counts else "they agree and were merged"
        facts.append(
            Fact(
                "duplicates",
                merged,
                f"{plural(merged, 'entry repeats', 'entries repeat')} a pair that was already given; {how}.",
            )
        )
    if known:
        facts.append(
            Fact(
                "known_over_missing",
                known,
                f"{plural(known, 'pair is', 'pairs are')} missing in one place and known in another; "
                "the known value was kept.",
            )
        )
    return facts


def _not_in(links: sparse.csr_array, zeros: sparse.csr_array, n: int, name: str) -> sparse.csr_array:
    """Return the pattern of all pairs that are neither a link nor an observed 0."""
    if n > MAX_UNLISTED:
        raise DataError(
            f"{n:,} pairs are not listed, too many to hold as missing",
            source=name,
            remedy="Take unlisted pairs as no link, or load fewer objects.",
        )
    every = np.arange(links.shape[1], dtype=np.int32)
    known = (links + zeros).tocsr()
    known.sort_indices()
    pieces = [
        np.delete(every, known.indices[start:end])
        for start, end in zip(known.indptr[:-1], known.indptr[1:], strict=True)
    ]
    starts = np.concatenate([[0], np.cumsum([len(piece) for piece in pieces])]).astype(np.int32)
    return sparse.csr_array(
        (np.ones(starts[-1], dtype=np.bool_), np.concatenate(pieces), starts), shape=links.shape
    )


def _common(a: sparse.csr_array, b: sparse.csr_array) -> sparse.csr_array:
    return a.multiply(b).tocsr() if a.nnz and b.nnz else sparse.csr_array(a.shape, dtype=np.bool_)


def _without(a: sparse.csr_array, b: sparse.csr_array) -> sparse.csr_array:
    rest = a.astype(np.int8) - b.astype(np.int8)
    rest.eliminate_zeros()
    return rest.astype(np.bool_)


def _united(a: sparse.csr_array, extra: Any, shape: tuple[int, int]) -> sparse.csr_array:
    if not len(extra.rows):
        return a
    ones = np.ones(len(extra.rows), dtype=np.bool_)
    return (a + sparse.csr_array((ones, (extra.rows, extra.columns)), shape=shape)).astype(np.bool_)
