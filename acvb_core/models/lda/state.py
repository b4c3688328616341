"""The corpus as the kernels read it, the counts, blocks of documents and words, the base of the methods."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.clusters import Order
from acvb_core.core.parallel import cut_rows, map_together, run_together
from acvb_core.core.protocols import Array, Poll, Posterior, UnaveragedMethod, no_poll
from acvb_core.core.spec import Values
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import Shard
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.kernels import GAP, Counts, Floats, Singles, chunk_pairs

TOPICS = "topics"
#: Convergence is not judged before this sweep …
BEGINNING = 20
#: … nor, until this sweep, while the change grows.
RISING_UNTIL = 100
#: Numbers that a thread copies at a time: a tenth of a millisecond.
_COPIED = 1 << 18


@dataclass(frozen=True, eq=False)
class Tokens:
    """A corpus as the kernels read it."""

    pointers: NDArray[np.int64]  #: shape (D + 1,); pairs of document d are pointers[d] … pointers[d + 1] - 1
    words: NDArray[np.int32]  #: shape (n_pairs,)
    counts: Singles  #: shape (n_pairs,)
    n_words: int

    @classmethod
    def of(cls, corpus: Corpus) -> Tokens:
        """Return the pairs of a corpus; runs on the same corpus share them."""
        if corpus not in _TOKENS:
            matrix = corpus.counts
            _TOKENS[corpus] = cls(
                matrix.indptr.astype(np.int64),
                matrix.indices.astype(np.int32, copy=False),
                matrix.data.astype(np.float32),
                corpus.n_words,
            )
        return _TOKENS[corpus]

    @cached_property
    def documents(self) -> Shard:
        """The pairs as the kernels read them."""
        return Shard(self.pointers, self.words, self.counts)

    def take(self, begin: int, end: int) -> Shard:
        """Return the pairs of documents `begin` to `end`, pointers from 0."""
        return take_documents(self.documents, begin, end)

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self.pointers) - 1

    @cached_property
    def n_tokens(self) -> float:
        """Number of tokens."""
        return float(self.counts.sum(dtype=np.float64))

    def chunks(self, n_topics: int, ns_each: float = 1.0) -> list[tuple[int, int]]:
        """Return all documents in pieces of about 50 ms."""
        begin, chunks = 0, []
        while begin < self.n_documents:
            chunks.append((begin, chunk_end(self.pointers, begin, self.n_documents, n_topics, ns_each)))
            begin = chunks[-1][1]
        return chunks


def take_documents(shard: Shard, begin: int, end: int) -> Shard:
    """Return documents `begin` to `end` of a shard, pointers from 0."""
    pointers = shard.pointers[begin : end + 1]
    pairs = slice(int(pointers[0]), int(pointers[-1]))
    return Shard(pointers - pointers[0], shard.words[pairs], shard.counts[pairs])


def chunk_end(pointers: NDArray[np.int64], begin: int, end: int, n_topics: int, ns_each: float = 1.0) -> int:
    """Return the end of a kernel call that begins with this document: about 50 ms later, at most `end`."""
    pair = pointers[begin] + chunk_pairs(n_topics, ns_each)
    at = begin + int(np.searchsorted(pointers[begin : end + 1], pair, side="right")) - 1
    return min(max(at, begin + 1), end)


_TOKENS: WeakKeyDictionary[Corpus, Tokens] = WeakKeyDictionary()


def zero_counts(tokens: Tokens, n_topics: int) -> Counts:
    """Return counts of zero in single precision."""
    by_document = padded_zeros((tokens.n_documents, n_topics), np.float32)
    return Counts(by_document, padded_zeros((tokens.n_words, n_topics), np.float32), np.zeros(n_topics))


def copy_counts(counts: Counts) -> Counts:
    """Return a copy that may be written to."""
    return Counts(padded_copy(counts.by_document), padded_copy(counts.by_word), counts.totals.copy())


def padded_zeros(shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
    """Return zeros with unused memory on both sides, so that no other array is near (see `kernels.py`)."""
    return np.zeros(math.prod(shape) + 2 * GAP, dtype)[GAP:-GAP].reshape(shape)


def padded_room(shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
    """Return an uninitialised array like `padded_zeros`; one thread alone would write the zeros of a large array."""
    return np.empty(math.prod(shape) + 2 * GAP, dtype)[GAP:-GAP].reshape(shape)


def padded_copy(array: Array) -> Array:
    """Return a padded copy, made by the threads of the run."""
    copy = padded_room(array.shape, array.dtype)

    def copy_some(rows: slice) -> None:
        copy[rows] = array[rows]

    map_together(copy_some, cut_rows(array, _COPIED))
    return copy


def build_posterior(
    by_word: Array, hyper: Concentrations, by_document: Array | None = None, entropy: Array | None = None
) -> Posterior:
    """Return counts as a posterior.

    `by_document`: None if the method does not hold the counts of the documents.
    `entropy`: shape (D,) or (1,); entropy of the responsibilities of the tokens (nats), if it is known at no cost.
    """
    arrays, axes = {}, dict[str, tuple[str | None, ...]]()
    if by_document is not None:
        arrays["documents"], axes["documents"] = by_document, (None, TOPICS)
    arrays |= {"words": by_word, "alpha": hyper.alpha}
    axes |= {"words": (None, TOPICS), "alpha": (TOPICS,)}
    if entropy is not None:
        arrays["entropy"], axes["entropy"] = entropy, (None,)
    return Posterior(
        arrays,
        axes,
        averaged=tuple(name for name in ("documents", "words") if name in arrays),
        derived=("entropy",) if entropy is not None else (),
        hyper={"alpha_total": float(hyper.alpha.sum()), "beta": hyper.beta},
        normalised=False,
    )


def is_beginning(age: int, change: float, before: float) -> bool:
    """Return whether a run may still be near its even start, where it seems to have converged.

    The topics start almost equal. With many topics, the measures stay constant for some sweeps (to a few millionths
    with 320 topics) while the differences grow.

    `age`: sweeps done.
    `change`, `before`: L1 change of the responsibilities in the last sweep, and in the sweep before it.
    """
    return age < BEGINNING or (age < RISING_UNTIL and change > before)


def drop_topics(
    state: Any, totals: Floats, shrink: float, keep: Callable[[Any, Order], Any]
) -> tuple[Any, dict[str, Order] | None]:
    """Drop the topics that have hardly any tokens; return the state, and which topics are left if any was dropped.

    `state`: with `hyper`.
    `totals`: tokens of each topic.
    `shrink`: least share of the tokens; if no topic has it, all are kept.
    `keep`: returns a state with some of its topics, given new hyper-parameters.
    """
    totals = np.maximum(totals, 0.0)  # rounding may leave an empty topic less than zero
    left = np.flatnonzero(totals >= shrink * totals.sum()).astype(np.int64)
    if len(left) in (0, len(totals)):
        return state, None
    hyper = replace(state.hyper, alpha=state.hyper.alpha[left])
    return keep(replace(state, hyper=hyper), left), {TOPICS: left}


@dataclass(frozen=True, eq=False)
class LdaMethod(UnaveragedMethod):
    """A method bound to a corpus."""

    tokens: Tokens
    n_topics: int
    start: Concentrations  #: initial hyper-parameters


@dataclass(frozen=True, eq=False)
class VariationalMethod(LdaMethod):
    """A variational method."""

    learn: bool = True  #: learn the hyper-parameters
    shrink: float = 1e-5  #: a topic with less than this share of the tokens is dropped


#: By default a corpus is cut if a sweep updates this many topics of pairs, which takes about 20 ms …
FROM = 20_000_000
#: … into this many parts of documents and of words.
USUAL = 4
#: (begin, end, pairs, totals of the block) -> sums of a kernel for documents `begin` to `end`, if any.
Visit = Callable[[int, int, Shard, Sequence[Floats]], tuple[float, float] | None]


def choose_cells(n_pairs: int, values: Values) -> int:
    """Return the number of parts of documents and of words, from the settings or the size of the data."""
    return int(values["cells"] or (USUAL if n_pairs * values["k"] >= FROM else 1))


def cut_documents(tokens: Tokens, n_parts: int) -> tuple[int, ...]:
    """Return the first document of each part, then the end; parts have about equal numbers of pairs."""
    limits = np.searchsorted(tokens.pointers, _shares(tokens, n_parts))
    return (0, *map(int, limits), tokens.n_documents)


def _shares(tokens: Tokens, n_parts: int) -> Floats:
    """Return the number of pairs before each part but the first."""
    return len(tokens.words) * np.arange(1, n_parts) / n_parts


class Piece(NamedTuple):
    """Some documents of a block: pairs of document d are pairs.pointers[d] … pairs.pointers[d + 1] - 1."""

    begin: int
    end: int
    pairs: Shard


@dataclass(frozen=True, eq=False)
class BlockPartition:
    """Pairs by block: P parts of the documents times P parts of the words.

    Blocks with different documents and different words are updated at the same time.
    """

    tokens: Tokens  #: the pairs in the order of the documents
    pairs: Shard  #: pointers of shape (D P + 1,): of each document, block by block
    bounds: tuple[int, ...]  #: shape (P + 1,); first document of each part, and the end

    @classmethod
    def of(cls, tokens: Tokens, n_parts: int) -> BlockPartition:
        """Return the partition of `cut`; a run and its model share it."""
        known = _CELLS.setdefault(tokens, WeakValueDictionary())
        cells = known.get(n_parts)
        if cells is None:
            cells = known[n_parts] = cls.cut(tokens, n_parts)
        return cells

    @classmethod
    def cut(cls, tokens: Tokens, n_parts: int = 1) -> BlockPartition:
        """Return a partition into parts of consecutive documents and of consecutive words."""
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
        """Number of parts of the documents, and of the words."""
        return len(self.bounds) - 1

    def block(self, i: int, part: int) -> Shard:
        """Return the pairs of part `i` of the documents and a part of the words; pointers[d] is of document d."""
        begin, end = self.bounds[i : i + 2]
        ahead = (self.n_parts - 1) * begin + part * (end - begin)
        return self.pairs._replace(pointers=self.pairs.pointers[ahead:])

    def pieces(self, n_topics: int, ns_each: float = 1.0) -> list[Piece]:
        """Return all pairs in pieces of about 50 ms."""
        found = []
        for i, (begin, end) in enumerate(pairwise(self.bounds)):
            for block in (self.block(i, part) for part in range(self.n_parts)):
                at = begin
                while at < end:
                    found.append(Piece(at, chunk_end(block.pointers, at, end, n_topics, ns_each), block))
                    at = found[-1].end
        return found

    def run(
        self, under_way: CellPass, visit: Visit, n_topics: int, pair_ns: float = 1.0, poll: Poll = no_poll
    ) -> None:
        """Do the rest of a pass; `pair_ns`: nanoseconds of the kernel for one topic of a pair."""

        def advance(cell: _Cell) -> bool:
            if cell.at < cell.end:
                pairs = self.block(cell.i, cell.part)
                end = chunk_end(pairs.pointers, cell.at, cell.end, n_topics, pair_ns)
                one, other = visit(cell.at, end, pairs, cell.totals) or (0.0, 0.0)
                cell.sums = cell.sums[0] + one, cell.sums[1] + other
                cell.at = end
            return cell.at < cell.end

        while under_way.begin_phase(self.bounds):
            run_together([partial(advance, cell) for cell in under_way.cells], poll)
            under_way.end_phase()

    def length_terms(self, concentration: float) -> float:
        """Return the correction of a kernel's log likelihood, which treats each part of a document as a document.

        Sum over parts of n log(n - 1 + alpha_.) - n log(n_d - 1 + alpha_.), with n of the n_d tokens of a document.
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
        """The last length terms, by concentration, which few sweeps change; threads wait for the logarithms."""
        return {}

    @cached_property
    def _lengths(self) -> tuple[Floats, Floats]:
        """Tokens of each part of a document that has some, and tokens of the document."""
        up_to = np.concatenate([[0.0], np.cumsum(self.pairs.counts, dtype=np.float64)])
        parts = np.diff(up_to[self.pairs.pointers])
        documents = np.concatenate(
            [np.tile(np.arange(begin, end), self.n_parts) for begin, end in pairwise(self.bounds)]
        )
        whole = np.bincount(documents, weights=parts)[documents]
        return parts[parts > 0], whole[parts > 0]


_CELLS: WeakKeyDictionary[Tokens, WeakValueDictionary[int, BlockPartition]] = WeakKeyDictionary()


@dataclass
class _Cell:
    """Progress of a block."""

    i: int  #: part of the documents
    part: int  #: part of the words
    begin: int
    at: int  #: next document
    end: int
    totals: list[Floats]
    sums: tuple[float, float] = (0.0, 0.0)


class CellPass:
    """Progress of a pass: an interrupted pass continues and gives the same bits.

    `totals`: updated in place after each phase.
    `sums`: sums of the results of the kernel.
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
        """Begin the next phase, or continue an interrupted one; return False when all are done."""
        n = len(bounds) - 1
        if not self.cells and self._phase < n:
            self.cells = [
                _Cell(i, (i + self._phase) % n, begin, begin, end, [one.copy() for one in self.totals])
                for i, (begin, end) in enumerate(pairwise(bounds))
            ]
        return self._phase < n

    def end_phase(self) -> None:
        """Add up the results of the blocks, in their order."""
        for number, before in enumerate(self.totals):
            after, *others = (cell.totals[number] for cell in self.cells)
            before[:] = sum((other - before for other in others), after)
        for cell in self.cells:
            self.sums = self.sums[0] + cell.sums[0], self.sums[1] + cell.sums[1]
        self.cells = []
        self._phase += 1
