"""The responsibilities of a shard, in single precision or in half the memory, read and written piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.clusters import renormalise
from acvb_core.core.protocols import Array
from acvb_core.data.disk import Shard
from acvb_core.models.lda.kernels import OPTIONS, Singles
from acvb_core.models.lda.state import Tokens, chunk_end, padded_copy, padded_zeros

#: Pairs of a piece of short rows: with some hundred topics they fit into a processor's own cache.
_PAIRS = 1 << 11
#: A short number has the last 5 bits of the exponent and the first 11 of the fraction: 2^-31 to 1, to 1 part in 4,096.
_SHIFT, _LOWEST, _HALF = np.int32(12), np.int32((127 - 31) << 23), np.int32(1 << 11)


class Piece(NamedTuple):
    """Neighbouring documents, and the responsibilities of their pairs."""

    begin: int  #: first document
    end: int  #: the one behind the last
    documents: Shard
    q: Singles  #: shape (n_pairs, K)
    pairs: slice  #: their places among all pairs

    @property
    def n(self) -> int:
        """Number of documents."""
        return self.end - self.begin


class StoredRows:
    """Responsibilities of all pairs of a shard.

    `short`: keep each number in 16 bits; a kernel then works on a copy in single precision.
    """

    def __init__(self, tokens: Tokens, n_topics: int, short: bool = False) -> None:
        self.tokens, self.short = tokens, short
        shape = (len(tokens.words), n_topics)
        self.rows: Array = np.zeros(shape, np.uint16) if short else padded_zeros(shape, np.float32)

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return int(self.rows.shape[1])

    def pieces(self, begin: int = 0, end: int | None = None) -> Iterator[Piece]:
        """Yield documents with what is kept of them; what a kernel writes to a piece is kept by `put`.

        A piece of short rows is written over by the next one.
        """
        tokens = self.tokens
        end = tokens.n_documents if end is None else end
        room = padded_zeros((0, self.n_topics), np.float32)
        while begin < end:
            until = min(self._piece_end(begin), end)
            pairs = slice(int(tokens.pointers[begin]), int(tokens.pointers[until]))
            q = self.rows[pairs]
            if self.short:
                if len(q) > len(room):
                    room = padded_zeros((max(len(q), _PAIRS), self.n_topics), np.float32)
                q = room[: len(q)]
                lengthen(self.rows[pairs], q)
            yield Piece(begin, until, tokens.take(begin, until), q, pairs)
            begin = until

    def put(self, piece: Piece) -> None:
        """Keep what was written to a piece; without short numbers it is there already."""
        if self.short:
            shorten(piece.q, self.rows[piece.pairs])

    def keep_topics(self, left: NDArray[np.int64]) -> None:
        """Leave the other topics out; rows sum to one again."""
        if not self.short:
            self.rows = padded_copy(renormalise(self.rows[:, left]))
            return
        rows = np.zeros((len(self.rows), len(left)), np.uint16)
        for piece in self.pieces():
            shorten(np.ascontiguousarray(renormalise(piece.q[:, left])), rows[piece.pairs])
        self.rows = rows

    def _piece_end(self, begin: int) -> int:
        if not self.short:
            return chunk_end(self.tokens.pointers, begin, self.tokens.n_documents, self.n_topics)
        pair = self.tokens.pointers[begin] + _PAIRS
        return max(int(np.searchsorted(self.tokens.pointers, pair, side="right")) - 1, begin + 1)


@nb.njit(**OPTIONS)
def shorten(rows: Singles, short: Any) -> None:
    """Write numbers from 0 to 1 in 16 bits each, rounded; those below 2^-31 become 2^-31."""
    bits = rows.view(np.int32)
    for e in range(bits.shape[0]):
        for k in range(bits.shape[1]):
            x = (bits[e, k] + (_HALF - _LOWEST)) >> _SHIFT
            short[e, k] = np.uint16(x if x > np.int32(0) else np.int32(0))


@nb.njit(**OPTIONS)
def lengthen(short: Any, rows: Singles) -> None:
    """Write what `shorten` gave in single precision."""
    bits = rows.view(np.int32)
    for e in range(bits.shape[0]):
        for k in range(bits.shape[1]):
            bits[e, k] = (np.int32(short[e, k]) << _SHIFT) + _LOWEST
