"""Texts cut into words and counted once, then filtered as often as the settings change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from acvb_core.data.corpora.cutting import word_lists, words_by, words_of
from acvb_core.data.corpora.languages import Uncut, find_uncut
from acvb_core.data.corpora.tokeniser import Tokeniser

#: Why a word is not kept, in the order in which it is asked, with words for people.
DROP_REASONS: dict[str, str] = {
    "stop_word": "stop words",
    "number": "numbers",
    "too_rare": "in too few documents",
    "too_common": "in too many documents",
    "beyond_cap": "beyond the largest number of words",
}

#: The setting to change where a reason dropped too much.
REASON_SETTING: dict[str, str] = {
    "stop_word": "stop_words",
    "number": "numbers",
    "too_rare": "min_documents",
    "too_common": "max_share",
    "beyond_cap": "max_words",
}


#: What decides how texts are cut.
_how = attrgetter("lowercase", "token_pattern", "function")
#: Words of a list that tell whether the texts were cut into words.
_LOOKED_AT = 2_000


@dataclass(frozen=True, eq=False)
class WordList:
    """Some words with their counts, most frequent first, equals in alphabetical order.

    Attributes
    ----------
    words : ndarray of str (object), shape (n,)
    counts : int64 array, shape (n,)
        How often each word stands in all documents.
    documents : int64 array, shape (n,)
        In how many documents it stands.
    """

    words: NDArray[Any]
    counts: NDArray[np.int64]
    documents: NDArray[np.int64]

    @property
    def n_words(self) -> int:
        """Number of different words."""
        return len(self.words)

    @property
    def n_tokens(self) -> int:
        """How often all of them stand in all documents."""
        return int(self.counts.sum())

    def top(self, count: int) -> list[tuple[str, int, int]]:
        """Return word, count and document count of the most frequent words."""
        head = self.words[:count], self.counts[:count].tolist(), self.documents[:count].tolist()
        return list(zip(*head, strict=True))


@dataclass(frozen=True, eq=False)
class TokeniserPreview:
    """What a tokeniser keeps of some texts, and what it drops.

    Attributes
    ----------
    kept : WordList
    dropped : dict of WordList
        By reason, the keys of `DROP_REASONS`; a reason that dropped nothing has an empty list.
    n_documents : int
    empty : int array
        Documents (0-based) that no word is left of.
    """

    kept: WordList
    dropped: dict[str, WordList]
    n_documents: int
    empty: NDArray[np.intp]

    @property
    def kept_tokens(self) -> int:
        """Number of tokens that are kept."""
        return self.kept.n_tokens

    @property
    def dropped_tokens(self) -> int:
        """Number of tokens that are dropped, for whatever reason."""
        return sum(words.n_tokens for words in self.dropped.values())

    @cached_property
    def uncut(self) -> Uncut | None:
        """Why words seem to be whole sentences; None where they do not. Of many words some thousands are looked at."""
        looked_at: list[tuple[str, float]] = []
        for listed in (self.kept, *self.dropped.values()):
            at = np.unique(np.linspace(0, max(listed.n_words - 1, 0), _LOOKED_AT, dtype=np.intp))[
                : listed.n_words
            ]
            counts = listed.counts[at] * (listed.n_words / max(len(at), 1))
            looked_at += zip(listed.words[at].tolist(), counts.tolist(), strict=True)
        return find_uncut(looked_at)

    def blame(self) -> str | None:
        """Return the reason to look at first when too little is left, None when nothing was dropped.

        What the limits drop comes before stop words and numbers, which nearly every text has.
        """
        for reasons in (("too_rare", "too_common", "beyond_cap"), ("stop_word", "number")):
            worst = max(reasons, key=lambda reason: self.dropped[reason].n_tokens)
            if self.dropped[worst].n_words:
                return worst
        return None


@dataclass(frozen=True, eq=False)
class Selection:
    """The words that are kept, and what was not.

    Attributes
    ----------
    counts : csr_array, shape (n_documents, n_words)
    vocabulary : ndarray of str (object), shape (n_words,)
        In alphabetical order.
    preview : TokeniserPreview
    """

    counts: sparse.csr_array
    vocabulary: NDArray[Any]
    preview: TokeniserPreview


class CutTexts:
    """Counts of every word of some texts, before any is dropped.

    Parameters
    ----------
    texts : sequence of str, or of lists of str
        Lists of words are not cut.
    tokeniser : Tokeniser
        Only `lowercase`, `token_pattern` and `function` matter here.
    first : int
        Number of the first text, for messages.

    Raises
    ------
    ParameterError
        The pattern takes too long, or the function fails.
    """

    def __init__(self, texts: Sequence[Any], tokeniser: Tokeniser, first: int = 1) -> None:
        self._texts = texts
        self._first = first
        self._lists = any(isinstance(text, list | tuple) for text in texts)
        if not self._lists and len(texts):
            tokeniser.check_cuts_texts()
        self._how = _how(tokeniser)
        self._single = _counted(self._words(), len(texts))
        self._phrases: tuple[Any, _Counted] | None = None

    @property
    def n_documents(self) -> int:
        """Number of texts."""
        return len(self._texts)

    def serves(self, tokeniser: Tokeniser) -> bool:
        """Whether the texts were cut as this tokeniser would cut them."""
        return self._how == _how(tokeniser)

    def select(self, tokeniser: Tokeniser) -> Selection:
        """Return the words that a tokeniser keeps.

        Raises
        ------
        ValueError
            It cuts otherwise: ask `serves` first.
        """
        if not self.serves(tokeniser):
            raise ValueError("these texts were cut with another case, pattern or function")
        verdicts = [tokeniser.drops(word) for word in self._single.words]
        reasons = np.array([verdict or "" for verdict in verdicts], dtype=object)
        found = self._single
        if tokeniser.ngrams > 1:
            phrases = self._counted_phrases(tokeniser, frozenset(found.words[reasons != ""].tolist()))
            reasons = np.concatenate([reasons, np.full(len(phrases.words), "", dtype=object)])
            found = _Counted(
                sparse.csr_array(sparse.hstack([found.counts, phrases.counts], format="csr")),
                np.concatenate([found.words, phrases.words]),
            )
        return _selected(found, reasons, tokeniser)

    def _counted_phrases(self, tokeniser: Tokeniser, dropped: frozenset[str]) -> _Counted:
        key = tokeniser.ngrams, dropped
        if self._phrases is None or self._phrases[0] != key:
            left = ([word for word in words if word not in dropped] for words in self._words())
            self._phrases = key, _counted(left, len(self._texts), 2, tokeniser.ngrams)
        return self._phrases[1]

    def _words(self) -> Iterator[list[str]]:
        """Give the words of each text."""
        lowercase, pattern, function = self._how
        if self._lists:
            return word_lists(self._texts, lowercase, self._first)
        texts = (text.lower() for text in self._texts) if lowercase else self._texts
        if callable(function):
            return words_by(function, texts, self._first)
        return words_of(texts, pattern, self._first)


@dataclass(frozen=True, eq=False)
class _Counted:
    counts: sparse.csr_array
    words: NDArray[Any]


def _counted(words: Iterator[list[str]], n_texts: int, shortest: int = 1, longest: int = 1) -> _Counted:
    """Count the words of each text, or phrases of `shortest` to `longest` words."""
    vectorizer = CountVectorizer(
        lowercase=False,
        preprocessor=list,
        tokenizer=list,
        token_pattern=None,
        ngram_range=(shortest, longest),
        dtype=np.int32,
    )
    try:
        counts = sparse.csr_array(vectorizer.fit_transform(words))
    except ValueError as problem:
        if "empty vocabulary" not in str(problem):
            raise
        counts = sparse.csr_array((n_texts, 0), dtype=np.int32)
        return _Counted(counts, np.empty(0, dtype=object))
    words_found = np.empty(counts.shape[1], dtype=object)
    words_found[:] = sorted(vectorizer.vocabulary_, key=vectorizer.vocabulary_.__getitem__)
    return _Counted(counts, words_found)


def _selected(found: _Counted, reasons: NDArray[Any], tokeniser: Tokeniser) -> Selection:
    n_documents, n_words = found.counts.shape
    totals = np.asarray(found.counts.sum(axis=0, dtype=np.int64)).ravel()
    documents = np.bincount(found.counts.indices, minlength=n_words).astype(np.int64)
    kept, preview = keep(WordList(found.words, totals, documents), reasons, n_documents, tokeniser)
    counts = sparse.csr_array(found.counts[:, kept])
    counts.sort_indices()
    empty = np.flatnonzero(np.diff(counts.indptr) == 0)
    return Selection(counts, found.words[kept], replace(preview, empty=empty))


def keep(
    found: WordList, reasons: NDArray[Any], n_documents: int, tokeniser: Tokeniser
) -> tuple[NDArray[np.intp], TokeniserPreview]:
    """Apply the limits of a tokeniser to counted words.

    Parameters
    ----------
    found : WordList
        In any order.
    reasons : ndarray of str (object), shape (n,)
        Why a word is dropped, "" where nothing speaks against it yet; changed in place.
    n_documents : int
    tokeniser : Tokeniser

    Returns
    -------
    kept : int array
        Places of the words that are kept, in alphabetical order of the words.
    preview : TokeniserPreview
        Without the empty documents.
    """
    words, totals, documents = found.words, found.counts, found.documents
    reasons[(reasons == "") & (documents < tokeniser.min_documents)] = "too_rare"
    reasons[(reasons == "") & (documents > tokeniser.max_share * n_documents)] = "too_common"
    order = np.lexsort((np.argsort(np.argsort(words, kind="stable")), -totals))
    if tokeniser.max_words is not None:
        candidates = order[reasons[order] == ""]
        reasons[candidates[tokeniser.max_words :]] = "beyond_cap"

    def listed(reason: str) -> WordList:
        chosen = order[reasons[order] == reason]
        return WordList(words[chosen], totals[chosen], documents[chosen])

    kept = np.flatnonzero(reasons == "")
    kept = kept[np.argsort(words[kept], kind="stable")]
    none = np.empty(0, dtype=np.intp)
    return kept, TokeniserPreview(listed(""), {r: listed(r) for r in DROP_REASONS}, n_documents, none)
