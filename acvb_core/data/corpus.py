"""The validated corpus: how often each document uses each word of a vocabulary."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.data.names import check_metadata, mend_text, text_array, unique_names
from acvb_core.data.report import plural
from acvb_core.data.sources.arrays import to_sparse

if TYPE_CHECKING:
    from acvb_core.data.corpora.tokenise import Tokeniser

MAX_COUNT = 2**31 - 1


class WordCounts:
    """The sizes and the identity of a corpus in memory or on disk."""

    name: str
    vocabulary: NDArray[Any]
    n_documents: Any
    n_tokens: Any
    fingerprint: Any
    tokeniser: Tokeniser | None

    @property
    def n_words(self) -> int:
        """Number of words in the vocabulary."""
        return len(self.vocabulary)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of documents and of words in the vocabulary."""
        return self.n_documents, self.n_words

    @property
    def size_text(self) -> str:
        """Size in words: documents, vocabulary, tokens."""
        sizes = {"document": self.n_documents, "word": self.n_words, "token": self.n_tokens}
        return " · ".join(plural(size, unit) for unit, size in sizes.items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}: {self.size_text})"

    def identity(self) -> dict[str, Any]:
        """Return name, size, fingerprint and tokeniser as plain values: what distinguishes these data from others."""
        return {
            "name": self.name,
            "documents": self.n_documents,
            "words": self.n_words,
            "tokens": self.n_tokens,
            "fingerprint": self.fingerprint,
            "tokeniser": None if self.tokeniser is None else self.tokeniser.to_dict(),
        }

    def further_words(self, words: ArrayLike) -> NDArray[Any]:
        """Return words to be added to the vocabulary; DataError if one is in it already, or given twice."""
        new = text_array(np.atleast_1d(np.asarray(words, dtype=object)))
        repeated = (word for word, times in Counter([*self.vocabulary, *new]).items() if times > 1)
        if (word := next(repeated, None)) is not None:
            what = "a word to be added to the vocabulary is there already"
            raise _fault(what, self.name, "Add words that it does not have, each once.", word)
        return new


@dataclass(frozen=True, eq=False, repr=False)
class Corpus(WordCounts):
    """Word counts of documents (a bag of words), with the texts if they are known.

    Attributes
    ----------
    counts : csr_array of int32, shape (n_documents, n_words)
        Sorted indices, no duplicates, every stored count at least 1. A document may be empty.
    vocabulary : ndarray of str (object dtype), shape (n_words,)
        Unique words.
    documents : ndarray of str (object dtype), shape (n_documents,)
        Unique names.
    name : str
        The user's name of the corpus.
    texts : tuple of str, or None
        The text of each document as it was read.
    labels : ndarray of str (object dtype), shape (n_documents,), or None
        A known group of each document; never used by the inference.
    tokeniser : Tokeniser or None
        How the texts were cut into words.
    metadata : mapping of str to ndarray, shape (n_documents,)
        Further columns of the documents: int64, float64 (NaN: missing), datetime64 (NaT) or objects of str; never
        used by the inference.
    label_name : str
        The name of the column of the labels; "" if it has none.
    """

    counts: sparse.csr_array
    vocabulary: NDArray[Any]
    documents: NDArray[Any]
    name: str = "corpus"
    texts: tuple[str, ...] | None = None
    labels: NDArray[Any] | None = None
    tokeniser: Tokeniser | None = None
    metadata: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    label_name: str = ""

    @classmethod
    def build(
        cls,
        counts: Any,
        *,
        vocabulary: ArrayLike | None = None,
        documents: ArrayLike | None = None,
        name: str = "corpus",
        texts: Sequence[str] | None = None,
        labels: ArrayLike | None = None,
        tokeniser: Tokeniser | None = None,
        metadata: Mapping[str, Any] | None = None,
        label_name: str = "",
    ) -> Corpus:
        """Validate and normalise a corpus.

        Parameters
        ----------
        counts : sparse or dense array, shape (n_documents, n_words)
            Whole numbers, at least 0; entries stored more than once are added up.
        vocabulary, documents : sequences of str, optional
            Default: the numbers of the words from 0, "0", "1", …, and of the documents from 1.
        metadata : mapping of str to sequence, optional
            One value for each document: numbers, dates, or what is kept as strings.

        Raises
        ------
        DataError
            A count is negative, missing or not whole, a sparse matrix is broken, a name is repeated, lengths disagree,
            or there is no token.
        """
        matrix = check_counts(counts, name)
        n_documents, n_words = (int(n) for n in matrix.shape)
        if not matrix.nnz:
            raise no_words_fault(name, f" ({n_documents:,} documents, {n_words:,} words in the vocabulary)")
        groups = None if labels is None else np.atleast_1d(np.asarray(labels))
        for what, given in (("texts", texts), ("labels", groups)):
            if given is not None and len(given) != n_documents:
                wrong = f"{len(given):,} {what} were given for {n_documents:,} documents"
                raise _fault(wrong, name, f"Give {what} for every document, or none.")
        return cls(
            matrix,
            unique_names(vocabulary, n_words, "word", name),
            unique_names(documents, n_documents, "document", name, first=1),
            mend_text(name),
            None if texts is None else tuple(map(mend_text, texts)),
            None if groups is None else text_array(groups),
            tokeniser,
            check_metadata(metadata, n_documents, name),
            mend_text(label_name),
        )

    @property
    def n_documents(self) -> int:
        """Number of documents, empty ones included."""
        return int(self.counts.shape[0])

    @property
    def n_pairs(self) -> int:
        """Number of different (document, word) pairs."""
        return int(self.counts.nnz)

    @cached_property
    def n_tokens(self) -> int:
        """Number of words in all documents, repetitions included."""
        return int(self.counts.data.sum(dtype=np.int64))

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens of each document, shape (n_documents,)."""
        return np.asarray(self.counts.sum(axis=1, dtype=np.int64)).ravel()

    @cached_property
    def frequencies(self) -> NDArray[np.int64]:
        """How often each word occurs in all documents, shape (n_words,)."""
        return np.asarray(self.counts.sum(axis=0, dtype=np.int64)).ravel()

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the shape and the counts: equal data, equal fingerprint."""
        digest = hashlib.sha256(b"corpus" + repr(self.shape).encode())
        digest.update(self.counts.indptr.astype("<i8").tobytes())
        digest.update(self.counts.indices.astype("<i4", copy=False).tobytes())
        digest.update(self.counts.data.astype("<i4", copy=False).tobytes())
        return digest.hexdigest()

    def recut(self, tokeniser: Tokeniser) -> Corpus:
        """Return the corpus that another tokeniser makes of the same texts.

        Names, labels and further columns stay; documents without a word left do, too.
        Raises DataError: the texts are not known, or no word is left.
        """
        if self.texts is None:
            remedy = "Read the file of texts again with the other tokeniser."
            raise _fault("the texts are not kept, only their words", self.name, remedy)
        counts, vocabulary, preview = tokeniser.select(self.texts)
        if not len(vocabulary):
            raise preview.explain_nothing_left(tokeniser, self.name)
        changed = replace(self, counts=check_counts(counts, self.name), tokeniser=tokeniser)
        return replace(changed, vocabulary=unique_names(vocabulary, len(vocabulary), "word", self.name))

    def with_counts(self, counts: NDArray[np.integer]) -> Corpus:
        """Return the same documents with other counts of the stored pairs, shape (n_pairs,); those of 0 are dropped."""
        matrix = self.counts.copy()
        matrix.data = counts.astype(np.int32)
        matrix.eliminate_zeros()
        return replace(self, counts=matrix)

    def take_documents(self, numbers: NDArray[np.integer]) -> Corpus:
        """Return some documents (0-based, in this order) as a corpus over the same vocabulary."""
        return replace(
            self,
            counts=self.counts[numbers],
            documents=self.documents[numbers],
            texts=None if self.texts is None else tuple(self.texts[d] for d in numbers),
            labels=None if self.labels is None else self.labels[numbers],
            metadata={name: column[numbers] for name, column in self.metadata.items()},
        )

    def with_words(self, words: ArrayLike) -> Corpus:
        """Return the same documents over a vocabulary with further words at its end, which occur in none of them.

        DataError if a word is there already, or given twice.
        """
        new = self.further_words(words)
        if not len(new):
            return self
        old = self.counts
        shape = (self.n_documents, self.n_words + len(new))
        counts = sparse.csr_array((old.data, old.indices, old.indptr), shape=shape)
        return replace(self, counts=counts, vocabulary=np.concatenate([self.vocabulary, new]))


def no_words_fault(name: str, sizes: str = "") -> DataError:
    """Return the error for a corpus without a word."""
    return _fault(f"the corpus has no words{sizes}", name, "Give at least one document with a word.")


def check_counts(given: Any, name: str) -> sparse.csr_array:
    """Return counts as a canonical matrix of int32."""
    matrix = sparse.csr_array(to_sparse(given, name))
    values = matrix.data
    wrong = ~((values >= 0) & (values <= MAX_COUNT))  # NaN too
    if values.dtype.kind == "f":
        wrong |= values != np.floor(values)
    if wrong.any():
        at = int(wrong.argmax())
        row = int(np.searchsorted(matrix.indptr, at, side="right"))
        what = f"the word count of row {row:,}, column {int(matrix.indices[at]) + 1:,} is {_describe(values[at])}"
        remedy = "Give counts: 0, 1, 2, …; tf-idf weights, NaN and masked entries are not supported."
        raise _fault(what, name, remedy, values[at])
    matrix = matrix.astype(np.int64)  # a copy, so what follows may work in place
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    most = int(matrix.data.max(initial=0))
    if most > MAX_COUNT:
        raise _fault(f"a word count is larger than {MAX_COUNT:,}", name, "Check the counts.", most)
    index = np.int32 if max(*matrix.shape, matrix.nnz) < 2**31 else np.int64
    indices, indptr = (array.astype(index, copy=False) for array in (matrix.indices, matrix.indptr))
    return sparse.csr_array((matrix.data.astype(np.int32), indices, indptr), shape=matrix.shape)


def _describe(count: Any) -> str:
    if np.isnan(count):
        return "missing"
    if count < 0:
        return "negative"
    return f"larger than {MAX_COUNT:,}" if count > MAX_COUNT else "not a whole number"


def _fault(what: str, name: str, remedy: str, value: Any = None) -> DataError:
    return DataError(what, source=name, value=None if value is None else str(value), remedy=remedy)
