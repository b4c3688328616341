"""Documents of a program in pieces that fit in memory: texts, corpora, or iterators of either."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any

import numpy as np

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.data.report import take_apart

#: Texts in a piece, unless a number is given …
TEXTS = 2_000
#: … and the most characters of all its texts together.
MOST_LETTERS = 20_000_000

Documents = Iterable[str] | Iterable[Corpus | DiskCorpus] | Corpus | DiskCorpus
Piece = list[str] | Corpus | DiskCorpus

_WANTED = "give a list (or any iterator) of texts, a Corpus, or an iterator of corpora"


def split_into_pieces(documents: Documents, size: int = 0) -> Iterator[Piece]:
    """Yield documents piece by piece: `size` texts at a time, corpora as they are.

    `documents`: documents with a length are all checked before the first piece.
    `size`: texts in a piece; 0 for 2,000.
    Raises ParameterError: something in it is neither a text nor a corpus.
    """
    documents = take_apart(documents)[0]
    if isinstance(documents, Corpus | DiskCorpus):
        return iter([documents])
    if isinstance(documents, str | bytes | Mapping) or hasattr(documents, "columns"):
        hint = "put a single text into a list" if isinstance(documents, str) else _WANTED
        raise ParameterError(f"documents is a {type(documents).__name__}; {hint}.")
    if not isinstance(documents, Iterable):
        raise ParameterError(f"documents is a {type(documents).__name__}; {_WANTED}.")
    if isinstance(documents, Sized):
        for number, one in enumerate(documents, 1):
            _check_document(one, number)
    return _batches(documents, size or TEXTS)


def _batches(documents: Iterable[Any], size: int) -> Iterator[Piece]:
    texts: list[str] = []
    letters = 0
    for number, one in enumerate(documents, 1):
        _check_document(one, number)
        text = isinstance(one, str)
        if texts and (not text or len(texts) == size or letters > MOST_LETTERS):
            yield texts
            texts, letters = [], 0
        if text:
            texts.append(one)
            letters += len(one)
        else:
            yield one
    if texts:
        yield texts


def _check_document(one: Any, number: int) -> None:
    if not isinstance(one, str | Corpus | DiskCorpus):
        value = f" ({one!r})" if one is None or isinstance(one, float) else ""
        counts = "; make a corpus of counts by Corpus.build(counts, vocabulary=…)" if np.ndim(one) else ""
        raise ParameterError(
            f"document {number:,} is a {type(one).__name__}{value}, not a text: {_WANTED}{counts}."
        )


def count_words(texts: list[str], tokeniser: Tokeniser) -> Corpus:
    """Return a corpus of texts, which may have no word in it, unlike a corpus that was loaded."""
    counted = tokeniser.select(texts)
    return Corpus(counted.counts, counted.vocabulary, np.empty(0, dtype=object), "texts", tokeniser=tokeniser)
