"""The pairs in cells of documents and words, several of which are updated at a time.

Documents and words are cut into P parts each, of about as many pairs. A pass has P phases; in phase s the P cells of
document part i and word part (i + s) mod P share neither documents nor words: threads update the counts n_dk and n_wk
of the run itself. The totals n_k alone are those of the phase's start with the cell's own changes, which are added up
after the phase in the order of the cells: the bits depend on P, not on the threads. With P = 1 nothing is cut, and the
documents are updated in order.

Pairs, and their responsibilities, stand cell after cell. A document is then in several places, which takes a tenth more
time where its parts are long; left in place, they would take a third more: the processor reads ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import NamedTuple
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from acvb_core.core.parallel import run_together
from acvb_core.core.protocols import Poll, no_poll
from acvb_core.core.rows import Values
from acvb_core.data.disk import Shard
from acvb_core.models.lda.kernels import Floats
from acvb_core.models.lda.state import Tokens, chunk_end

#: A run is cut into cells by itself where a sweep updates at least so many topics of pairs, which takes some 20 ms …
FROM = 20_000_000
#: … into so many a side.
USUAL = 4

#: (begin, end, pairs, totals of the cell) -> sums that a kernel gives for documents `begin` to `end`, if any.
Visit = Callable[[int, int, Shard, Sequence[Floats]], tuple[float, float] | None]


def choose_cells(n_pairs: int, values: Values) -> int:
    """Return into how many parts documents and words are cut, by the settings or by the size."""
    return int(values["cells"] or (USUAL if n_pairs * values["k"] >= FROM else 1))


def cut_documents(tokens: Tokens, n_parts: int) -> tuple[int, ...]:
    """Return where parts of consecutive documents begin that have about as many pairs, and the end."""
    limits = np.searchsorted(tokens.pointers, _shares(tokens, n_parts))
    return (0, *map(int, limits), tokens.n_documents)


def _shares(tokens: Tokens, n_parts: int) -> Floats:
    """Return numbers of pairs where parts end, but for the last."""
    return len(tokens.words) * np.arange(1, n_parts) / n_parts


class Piece(NamedTuple):
    """Some documents of a cell: pairs of document d are pairs.pointers[d] … pairs.pointers[d + 1] - 1."""

    begin: int
    end: int
    pairs: Shard


@dataclass(frozen=True, eq=False)
class Cells:
    """Pairs by cell."""

    tokens: Tokens  #: the pairs in the order of the documents
    pairs: Shard  #: pointers of shape (D P + 1,): of each document, for each cell in turn
    bounds: tuple[int, ...]  #: P + 1 of them; where the parts of the documents begin

    @classmethod
    def of(cls, tokens: Tokens, n_parts: int) -> Cells:
        """Return what `cut` gives; a run and its model share it."""
        known = _CELLS.setdefault(tokens, WeakValueDictionary())
        cells = known.get(n_parts)
        if cells is None:
            cells = known[n_parts] = cls.cut(tokens, n_parts)
        return cells

    @classmethod
    def cut(cls, tokens: Tokens, n_parts: int = 1) -> Cells:
        """Return parts of consecutive documents and of consecutive words."""
        if n_parts == 1:
            return cls(tokens, tokens.documents, (0, tokens.n_documents))
        bounds, shares = cut_documents(tokens, n_parts), _shares(tokens, n_parts)
        up_to = np.cumsum(np.bincount(tokens.words, minlength=tokens.n_words))
        part = np.searchsorted(shares, up_to, side="left")[tokens.words]
        documents = np.repeat(np.arange(tokens.n_documents), np.diff(tokens.pointers))
        cell = np.searchsorted(bounds[1:-1], documents, side="right") * n_parts + part
        order = np.argsort(cell.astype(np.int16), kind="stable")
        sizes = np.bincount(documents * n_parts + part, minlength=tokens.n_documents * n_parts)
        by_cell = [sizes.reshape(-1, n_parts)[begin:end].T.reshape(-1) for begin, end in pairwise(bounds)]
        pointers = np.concatenate([[0], *by_cell]).cumsum()
        return cls(tokens, Shard(pointers, tokens.words[order], tokens.counts[order]), bounds)

    @property
    def n_parts(self) -> int:
        """P."""
        return len(self.bounds) - 1

    def cell(self, i: int, part: int) -> Shard:
        """Return the pairs of a part of the documents with a part of the words; pointers[d] is that of document d."""
        begin, end = self.bounds[i : i + 2]
        ahead = (self.n_parts - 1) * begin + part * (end - begin)
        return self.pairs._replace(pointers=self.pairs.pointers[ahead:])

    def pieces(self, n_topics: int, ns_each: float = 1.0) -> list[Piece]:
        """Return all pairs in pieces of some 50 ms."""
        found = []
        for i, (begin, end) in enumerate(pairwise(self.bounds)):
            for cell in (self.cell(i, part) for part in range(self.n_parts)):
                at = begin
                while at < end:
                    found.append(Piece(at, chunk_end(cell.pointers, at, end, n_topics, ns_each), cell))
                    at = found[-1].end
        return found

    def run(
        self,
        under_way: CellPass,
        visit: Visit,
        n_topics: int,
        pair_ns: float = 1.0,
        poll: Poll = no_poll,
    ) -> None:
        """Do what is left of a pass; `pair_ns`: nanoseconds that the kernel takes for a topic of a pair."""

        def advance(cell: _Cell) -> bool:
            if cell.at < cell.end:
                pairs = self.cell(cell.i, cell.part)
                end = chunk_end(pairs.pointers, cell.at, cell.end, n_topics, pair_ns)
                one, other = visit(cell.at, end, pairs, cell.totals) or (0.0, 0.0)
                cell.sums = cell.sums[0] + one, cell.sums[1] + other
                cell.at = end
            return cell.at < cell.end

        while under_way.begin_phase(self.bounds):
            run_together([partial(advance, cell) for cell in under_way.cells], poll)
            under_way.end_phase()

    def length_terms(self, concentration: float) -> float:
        """Return what a kernel's log likelihood lacks because it takes the parts of documents for documents.

        Sum over parts of n log(n - 1 + alpha_.) - n log(n_d - 1 + alpha_.), n tokens of n_d.
        """
        if self.n_parts == 1:
            return 0.0
        known = self._terms.get(concentration)
        if known is None:
            parts, whole = self._lengths
            terms = parts * (np.log(parts - 1.0 + concentration) - np.log(whole - 1.0 + concentration))
            known = float(terms.sum())
            self._terms.clear()
            self._terms[concentration] = known
        return known

    @cached_property
    def _terms(self) -> dict[float, float]:
        """The last length terms, by concentration: few sweeps change it, and threads wait for the logarithms."""
        return {}

    @cached_property
    def _lengths(self) -> tuple[Floats, Floats]:
        """Tokens of each part of a document that has any, and those of the document."""
        up_to = np.concatenate([[0.0], np.cumsum(self.pairs.counts, dtype=np.float64)])
        parts = np.diff(up_to[self.pairs.pointers])
        documents = np.concatenate(
            [np.tile(np.arange(begin, end), self.n_parts) for begin, end in pairwise(self.bounds)]
        )
        whole = np.bincount(documents, weights=parts)[documents]
        return parts[parts > 0], whole[parts > 0]


_CELLS: WeakKeyDictionary[Tokens, WeakValueDictionary[int, Cells]] = WeakKeyDictionary()


@dataclass
class _Cell:
    """How far a cell is."""

    i: int  #: part of the documents
    part: int  #: of the words
    begin: int
    at: int  #: document that comes next
    end: int
    totals: list[Floats]
    sums: tuple[float, float] = (0.0, 0.0)


class CellPass:
    """How far a pass is: one that was cut short is gone on with, and gives the same bits.

    `totals`: brought up to date, in place, after each phase.
    `sums`: what the kernel's calls gave, added up.
    """

    def __init__(self, totals: Sequence[Floats] = ()) -> None:
        self.totals, self.sums = totals, (0.0, 0.0)
        self.cells: list[_Cell] = []
        self._phase = 0

    @property
    def has_begun(self) -> bool:
        """True once a kernel was called."""
        return self._phase > 0 or any(cell.at > cell.begin for cell in self.cells)

    def begin_phase(self, bounds: tuple[int, ...]) -> bool:
        """Begin the next phase, or go on with the one that was cut short; return False where all are done."""
        n = len(bounds) - 1
        if not self.cells and self._phase < n:
            self.cells = [
                _Cell(i, (i + self._phase) % n, begin, begin, end, [one.copy() for one in self.totals])
                for i, (begin, end) in enumerate(pairwise(bounds))
            ]
        return self._phase < n

    def end_phase(self) -> None:
        """Add up what the cells gave, in their order."""
        for number, before in enumerate(self.totals):
            after, *others = (cell.totals[number] for cell in self.cells)
            before[:] = sum((other - before for other in others), after)
        for cell in self.cells:
            self.sums = self.sums[0] + cell.sums[0], self.sums[1] + cell.sums[1]
        self.cells = []
        self._phase += 1
