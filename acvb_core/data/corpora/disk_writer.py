"""Write a stream of documents to disk, one piece of it in memory at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.data.corpora.disk_shards import SHARD_PAIRS, ShardWriter
from acvb_core.data.corpora.tokeniser import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk_corpus import DiskCorpus
from acvb_core.errors import DataError, ParameterError

#: Documents one after another: where each begins, their words and counts.
Piece = tuple[ArrayLike, ArrayLike, ArrayLike]


def write_disk_corpus(
    documents: Iterable[Corpus | Piece],
    folder: str | Path,
    *,
    vocabulary: Sequence[str] | NDArray[Any] | None = None,
    name: str | None = None,
    tokeniser: Tokeniser | None = None,
    shard_pairs: int = SHARD_PAIRS,
) -> DiskCorpus:
    """Write pieces of a stream of documents to disk; one piece at a time is in memory.

    Parameters
    ----------
    documents : iterable of Corpus, or of (pointers, words, counts)
        Words of corpora are matched by name, those of arrays are numbers within the vocabulary. Names and texts are
        kept where the pieces are corpora (texts: where all have them); documents of the same name get a number
        appended.
    folder : path
        Must not exist, or be empty.
    vocabulary : sequence of str, optional
        Needed for arrays. Corpora: default, the words in order of appearance.
    name : str, optional
        Default: that of the first corpus.
    tokeniser : Tokeniser, optional
        Default: that of the first corpus.
    shard_pairs : int

    Raises
    ------
    DataError
        A piece is no valid counts, holds a word that the vocabulary does not, or there is no token.
    ParameterError
        There is something at `folder`, arrays come without a vocabulary, or corpora and arrays are mixed.
    """
    index = None if vocabulary is None else {str(word): i for i, word in enumerate(vocabulary)}
    found: dict[str, int] = {} if index is None else index
    corpora: bool | None = None
    with ShardWriter(folder, name=name or "corpus", shard_pairs=shard_pairs) as writer:
        for piece in documents:
            if corpora not in (None, isinstance(piece, Corpus)):
                raise ParameterError(
                    "Give corpora or arrays (pointers, words, counts), not both in one stream."
                )
            if isinstance(piece, Corpus):
                if corpora is None:
                    writer.name = name or piece.name
                    tokeniser = tokeniser or piece.tokeniser
                _add_corpus(writer, piece, found, index is None)
            else:
                if index is None:
                    raise ParameterError("Arrays of word numbers need a vocabulary; give vocabulary=[…].")
                writer.add(*piece)
            corpora = isinstance(piece, Corpus)
        if corpora:
            writer.names.make_unique()
        return writer.finish(list(found), tokeniser=tokeniser)


def _add_corpus(writer: ShardWriter, piece: Corpus, index: dict[str, int], grows: bool) -> None:
    if (piece.texts is None) is (writer.has_texts) and writer.n_documents:
        raise ParameterError(
            "Some of the corpora have texts and some have none; leave the texts out, or give all."
        )
    if grows:
        for word in piece.vocabulary:
            index.setdefault(word, len(index))
    place = np.array([index.get(word, -1) for word in piece.vocabulary], dtype=np.int64)
    words = place[piece.counts.indices]
    if (words < 0).any():
        unknown = str(piece.vocabulary[piece.counts.indices[int(np.argmax(words < 0))]])
        raise DataError(
            "this word is not in the vocabulary",
            source=piece.name,
            value=unknown,
            remedy="Add it, or leave that out.",
        )
    writer.add(piece.counts.indptr, words, piece.counts.data)
    writer.names.extend(piece.documents)
    if piece.texts is not None:
        writer.texts.extend(piece.texts)
