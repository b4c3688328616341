"""Set entries, cells, words or documents aside to score predictions on; each is as likely as any other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import ParameterError
from acvb_core.core.parameters import check_share
from acvb_core.data.corpus import Corpus
from acvb_core.data.relation import Relation, add_directions, as_pattern, canonical
from acvb_core.data.report import plural
from acvb_core.data.table import Table, same_valued

if TYPE_CHECKING:
    from acvb_core.data.disk import DiskCorpus


MAX_ENTRIES = 5_000_000  # the standard error of a mean score is far below any difference of interest by then


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Entries of a relation or cells of a table set aside, sorted by row, then column; each array has shape (n,)."""

    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    values: NDArray[Any]  # of a relation bool: there is a link; of a table float64, in the user's units
    weights: NDArray[np.float64] | None = None  # of a relation whose links have weights: 0.0 for no link

    @property
    def n(self) -> int:
        """Number of entries."""
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Split:
    """Data to fit, without what was set aside, and what was set aside to score on."""

    train: Any  # a Relation or Table (the entries set aside are missing) or a Corpus (with fewer tokens)
    heldout: Any  # a HeldOut or HeldOutWords; each has its size as `n`
    note: str | None  # what to tell the user when less than asked was set aside


def check_split(share: float, seed: int) -> None:
    """Refuse a share outside [0, 1) and a negative seed with a ParameterError."""
    check_share(share)
    if seed < 0:
        raise ParameterError(f"Seeds must be at least 0, not {seed}.")


def hold_out(relation: Relation, share: float, seed: int, *, max_entries: int = MAX_ENTRIES) -> Split:
    """Set a share of the observed entries aside, zeros as well as ones, drawn uniformly without replacement.

    Time and memory grow with the ones, the missing entries and the entries drawn, not with the cells. A pair of an
    undirected network is held out once, as the entry above the diagonal, and is missing from both sides of it.

    `share` is of the observed entries, 0 <= share < 1; the number is rounded and at most `max_entries`. The same seed
    gives the same entries. A ParameterError refuses a share outside that, and a negative seed or number.
    """
    undirected = relation.network is not None and not relation.network.directed
    links, missing = relation.links, relation.missing
    if undirected:
        links, missing = canonical(sparse.triu(links)), as_pattern(sparse.triu(missing))
    starts = _row_starts(relation.shape, upper=undirected)
    n_observed = int(starts[-1]) - int(missing.nnz)
    number, note = _number_to_hold_out(n_observed, share, seed, max_entries, ("an entry", "entries"))
    ranks = _draw_distinct(n_observed, number, np.random.default_rng(seed))
    rows, columns = _find_cells(missing, starts, ranks)
    # Each entry taken carries its number from 1, so that those that are links are found by number.
    taken = sparse.csr_array((np.arange(1, number + 1), (rows, columns)), shape=relation.shape)
    ones, pattern = as_pattern(links), as_pattern(taken)
    linked = taken.multiply(ones).data - 1
    values, weights = np.zeros(number, dtype=np.bool_), None
    values[linked] = True
    if relation.weights is not None:
        weights = np.zeros(number)
        weights[linked] = links.multiply(pattern).data
    links, missing = canonical(links.multiply(ones > pattern)), as_pattern(missing + pattern)
    if undirected:
        links, missing = add_directions(links), as_pattern(missing + missing.T)
    left = None if relation.weights is None else links.data
    train = replace(relation, ones=as_pattern(links), missing=missing, weights=left)
    return Split(train, HeldOut(rows, columns, values, weights), note)


def hold_out_cells(table: Table, share: float, seed: int, *, max_entries: int = MAX_ENTRIES) -> Split:
    """Set a share of the known cells of a table aside; parameters and errors are those of `hold_out`.

    A column that is left without two different values gets as few of its cells back, drawn uniformly, as it takes
    to have two. Where nothing is set aside, `train` is the table itself.
    """
    number, note = _number_to_hold_out(table.n_observed, share, seed, max_entries, ("a cell", "cells"))
    held = np.zeros(table.shape, dtype=np.bool_)
    train = table
    if number:
        rng = np.random.default_rng(seed)
        chosen = rng.choice(table.n_observed, number, replace=False, shuffle=False)
        held.flat[np.flatnonzero(table.observed)[chosen]] = True
        values = np.where(held, np.nan, table.values)
        returned = _give_back(table, values, held, rng)
        if returned:
            were = f"{plural(returned, 'cell was', 'cells were')} given back"
            note = " ".join(filter(None, (note, f"{were}, so that every column keeps two different values.")))
        train = table.with_values(values)
    rows, columns = np.nonzero(held)
    heldout = HeldOut(rows.astype(np.int32), columns.astype(np.int32), table.values[held])
    return Split(train, heldout, note)


def _number_to_hold_out(
    n: int, share: float, seed: int, most: int, what: tuple[str, str]
) -> tuple[int, str | None]:
    """Return how many of `n` entries are held out, and a note if fewer than asked."""
    check_split(share, seed)
    if most < 0:
        raise ParameterError(f"max_entries must be at least 0, not {most}.")
    one, many = what
    wanted = round(share * n)
    if wanted > most:
        return most, f"Held out {most:,} {many}, the most that are used, in place of {wanted:,}."
    if share and not wanted:
        return 0, f"The share is less than half {one}: nothing is held out."
    return wanted, None


def _row_starts(shape: tuple[int, int], *, upper: bool) -> NDArray[np.int64]:
    """Return where each row begins, (n_rows + 1,), cells counted row by row; `upper`: not below the diagonal."""
    n_rows, n_cols = shape
    lengths = n_cols - np.arange(n_rows, dtype=np.int64) if upper else np.full(n_rows, n_cols, dtype=np.int64)
    return np.concatenate([[0], np.cumsum(lengths)])


def _draw_distinct(population: int, number: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return `number` distinct integers below `population`, sorted, every set of them equally likely."""
    if 2 * number > population:
        # Draw the smaller rest instead. The table has fewer than 2 * number places.
        chosen = np.ones(population, dtype=np.bool_)
        chosen[_draw_distinct(population, population - number, rng)] = False
        return np.flatnonzero(chosen)
    # The first `number` distinct values of a uniform stream are a uniform subset.
    drawn = np.empty(0, dtype=np.int64)
    while lacking := number - len(drawn):
        more = np.concatenate([drawn, rng.integers(population, size=lacking + lacking // 8 + 16)])
        _, first = np.unique(more, return_index=True)
        drawn = more[np.sort(first)[:number]]
    return np.sort(drawn)


def _find_cells(
    missing: sparse.csr_array, starts: NDArray[np.int64], ranks: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return row and column of the observed entries with these ranks (row by row, missing ones skipped)."""
    n_cols = missing.shape[1]
    # Where a row is cut off on the left (the lower triangle), its last cell still is the last column's.
    shift = starts[1:] - n_cols
    holes = np.repeat(shift, np.diff(missing.indptr)) + missing.indices
    # Hole j has j holes before it, so it precedes the observed entry of rank holes[j] - j.
    cells = ranks + np.searchsorted(holes - np.arange(len(holes)), ranks, side="right")
    rows = np.searchsorted(starts, cells, side="right") - 1
    return rows.astype(np.int32), (cells - shift[rows]).astype(np.int32)


def _give_back(table: Table, train: NDArray[np.float64], held: NDArray[Any], rng: np.random.Generator) -> int:
    """Give columns cells back until each has two different values; return how many."""
    returned = 0
    for column in np.flatnonzero(same_valued(train)):
        while same_valued(train[:, [column]])[0]:
            left = train[~np.isnan(train[:, column]), column]
            given = table.values[:, column]
            useful = held[:, column] & (given != left[0] if len(left) else True)
            row = rng.choice(np.flatnonzero(useful))
            train[row, column] = given[row]
            held[row, column] = False
            returned += 1
    return returned


#: Share of the words of a document set aside that is seen (SN15 §9).
OBSERVED = 0.8
#: More documents than these cost time at every score and hardly change it.
MOST_DOCUMENTS = 10_000


@dataclass(frozen=True, eq=False)
class HeldOutWords:
    """Tokens set aside: unique pairs of document and word, sorted by document, then word."""

    documents: NDArray[np.int32]  #: `documents`, `words`, `counts`: shape (n_pairs,)
    words: NDArray[np.int32]
    counts: NDArray[np.int32]  #: tokens of the pair that were set aside, at least 1
    seen: Corpus | None = None  #: the other words of whole documents set aside, the documents numbered alike

    @cached_property
    def n(self) -> int:
        """Number of tokens."""
        return int(self.counts.sum(dtype=np.int64))


def hold_out_tokens(corpus: Corpus, share: float, seed: int) -> Split:
    """Set a share (0 <= share < 1) of each document's tokens aside, drawn uniformly without replacement.

    A document of n tokens gives share * n, rounded up or down at random so that the share is right on average, but
    never its last token. Time and memory grow with the pairs, not with the tokens.

    `train` is a Corpus of the same documents and vocabulary (the corpus itself where nothing is set aside), `heldout`
    the HeldOutWords. The note counts the documents that were too short to give a token.
    """
    check_split(share, seed)
    rng = np.random.default_rng(seed)
    counts, lengths = corpus.counts, corpus.lengths
    wanted = np.floor(share * lengths + rng.random(len(lengths))).astype(np.int64)
    wanted = np.clip(wanted, 0, np.maximum(lengths - 1, 0))
    taken = _draw(counts, lengths, wanted, rng) if wanted.any() else np.zeros(corpus.n_pairs, dtype=np.int64)
    held = np.flatnonzero(taken)
    documents = np.repeat(np.arange(len(lengths), dtype=np.int32), np.diff(counts.indptr))[held]
    heldout = HeldOutWords(documents, counts.indices[held].astype(np.int32), taken[held].astype(np.int32))
    too_short = int(np.count_nonzero((wanted == 0) & (lengths > 0)))
    note = None
    if share and not len(held):
        note = "The documents are too short for this share: nothing is held out."
    elif share and too_short:
        were = "was" if too_short == 1 else "were"
        note = f"{plural(too_short, 'document')} {were} too short to have a word held out."
    return Split(corpus.with_counts(counts.data - taken) if len(held) else corpus, heldout, note)


def hold_out_documents(data: Corpus | DiskCorpus, share: float, seed: int) -> Split:
    """Set a share (0 <= share < 1) of the documents aside: one at least unless it is 0, and 10,000 at most.

    Four fifths of the words of each are seen. Words that stand in no other document are left out of them: nothing
    could be known of these.

    `train` has the other documents and the same vocabulary; the last document is never set aside. `heldout` is a
    HeldOutWords.
    """
    check_split(share, seed)
    n = data.n_documents
    wanted = 0 if share == 0 else max(1, round(share * n))
    number = min(wanted, MOST_DOCUMENTS, n - 1)
    if not number:
        none = np.empty(0, dtype=np.int32)
        nothing = HeldOutWords(none, none, none)
        return Split(data, nothing, "There is one document only: nothing is held out." if wanted else None)
    chosen = np.sort(np.random.default_rng(seed).choice(n, size=number, replace=False, shuffle=False))
    aside, train = _separate(data, chosen)
    counts = aside.counts
    known = train.frequencies[counts.indices] > 0
    unknown = int(counts.data[~known].sum(dtype=np.int64))
    split = hold_out_tokens(aside.with_counts(counts.data * known), 1.0 - OBSERVED, seed)
    notes = []
    if number < wanted:
        notes.append(f"{plural(number, 'document')} are held out in place of {wanted:,}: enough for a score.")
    if unknown:
        are, them = ("is", "it") if unknown == 1 else ("are", "them")
        words = plural(unknown, "word")
        notes.append(f"{words} of the documents held out {are} left out: no other document has {them}.")
    if not split.heldout.n:
        notes.append("The documents held out are too short to have a word predicted.")
    return Split(train, replace(split.heldout, seen=split.train), " ".join(notes) or None)


def _separate(data: Corpus | DiskCorpus, chosen: NDArray[np.int64]) -> tuple[Corpus, Corpus | DiskCorpus]:
    """Return some of the documents, and the data without them."""
    if isinstance(data, Corpus):
        rest = np.delete(np.arange(data.n_documents), chosen)
        return data.take_documents(chosen), data.take_documents(rest)
    inside = np.setdiff1d(np.arange(data.n_documents + len(data.left_out)), data.left_out)
    return data.documents(inside[chosen]), data.without(inside[chosen])


def _draw(
    counts: sparse.csr_array, lengths: NDArray[np.int64], wanted: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return how many tokens of each pair are drawn, `wanted` of each document, all sets of tokens as likely.

    Tokens drawn one by one with equal probability are, given how many they are, a uniform set. So each pair draws
    from a binomial, and then tokens are added or put back, uniformly too, until the number is right. Only about
    sqrt(wanted) are, however large the counts.
    """
    probability = np.repeat(wanted / np.maximum(lengths, 1), np.diff(counts.indptr))
    taken = rng.binomial(counts.data, probability).astype(np.int64, copy=False)
    before = np.concatenate([[0], np.cumsum(taken)])
    excess = np.diff(before[counts.indptr]) - wanted
    _adjust(counts.indptr, counts.data, taken, excess, rng.random(int(np.abs(excess).sum())))
    return taken


@njit(nogil=True, cache=True)
def _adjust(indptr: Any, counts: Any, taken: Any, excess: Any, uniforms: Any) -> None:
    """Put `excess[d]` of the tokens taken from document d back, or take -excess[d] more, uniformly."""
    used = 0
    for d in range(excess.shape[0]):
        number = abs(excess[d])
        if number == 0:
            continue
        back = excess[d] > 0
        pool = 0  # the tokens that may change sides
        for i in range(indptr[d], indptr[d + 1]):
            pool += taken[i] if back else counts[i] - taken[i]
        # R. W. Floyd's choice of `number` distinct ranks below `pool`.
        chosen = {-1}
        for rank in range(pool - number, pool):
            candidate = min(int(uniforms[used] * (rank + 1)), rank)
            used += 1
            chosen.add(rank if candidate in chosen else candidate)
        ranks = np.array(sorted(chosen))
        at = 1  # past the -1, which gave the set its type
        end = 0
        for i in range(indptr[d], indptr[d + 1]):
            end += taken[i] if back else counts[i] - taken[i]
            while at < ranks.shape[0] and ranks[at] < end:
                taken[i] += -1 if back else 1
                at += 1
