"""Texts cut into words and counted once, then filtered as often as the settings change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.cutting import cut_by_function, cut_by_pattern, explain_uncut, take_words
from acvb_core.data.report import Fact, plural

if TYPE_CHECKING:
    from acvb_core.data.corpora.tokeniser import Tokeniser


class DropReason(NamedTuple):
    """Why words are not kept: what people call it, the setting that decides it, and how to keep more."""

    label: str
    setting: str
    remedy: str


#: By the name of the reason, in the order in which they are asked.
DROP_REASONS: dict[str, DropReason] = {
    "stop_word": DropReason("stop words", "stop_words", "Leave out a language or some extra stop words."),
    "number": DropReason("numbers", "numbers", "Keep numbers, or choose another column of texts."),
    "too_rare": DropReason(
        "in too few documents", "min_documents", "Keep words that are in fewer documents (min_documents=1)."
    ),
    "too_common": DropReason(
        "in too many documents", "max_share", "Keep words that are in more documents (max_share=1)."
    ),
    "beyond_cap": DropReason(
        "beyond the largest number of words", "max_words", "Keep more words (max_words)."
    ),
}

#: Counts, texts by words, and the words.
Counted = tuple[sparse.csr_array, NDArray[Any]]
#: Words of a list that tell whether the texts were cut into words.
_LOOKED_AT = 2_000
#: Words of a list that a fact names.
_SHOWN = 5


@dataclass(frozen=True, eq=False)
class WordList:
    """Words (objects of str), how often each stands in all documents, and in how many of them; shape (n,) each."""

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
        """Return word, count and document count of the first words."""
        head = self.words[:count], self.counts[:count].tolist(), self.documents[:count].tolist()
        return list(zip(*head, strict=True))


@dataclass(frozen=True, eq=False)
class TokeniserPreview:
    """Words of some texts that a tokeniser keeps, and those it drops.

    Attributes
    ----------
    kept : WordList
        Most frequent first, equals in alphabetical order.
    dropped : dict of WordList
        By reason, the keys of `DROP_REASONS`; a reason that dropped nothing has an empty list.
    n_documents : int
    empty : int array
        Documents (0-based) that no word is left of.
    """

    kept: WordList
    dropped: dict[str, WordList]
    n_documents: int
    empty: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    @cached_property
    def uncut(self) -> str | None:
        """Why words seem to be whole sentences, and what to do. Of many words some thousands are looked at."""
        looked_at: list[tuple[str, float]] = []
        for listed in (self.kept, *self.dropped.values()):
            step = max(listed.n_words // _LOOKED_AT, 1)
            counts = (step * listed.counts[::step]).tolist()
            looked_at += zip(listed.words[::step].tolist(), counts, strict=True)
        return explain_uncut(looked_at)

    def blame(self) -> str | None:
        """Return the reason to look at first when too little is left, None when nothing was dropped.

        What the limits drop comes before stop words and numbers, which nearly every text has.
        """
        for reasons in (("too_rare", "too_common", "beyond_cap"), ("stop_word", "number")):
            worst = max(reasons, key=lambda reason: self.dropped[reason].n_tokens)
            if self.dropped[worst].n_words:
                return worst
        return None

    def facts(self) -> list[Fact]:
        """Return the facts about the words that are dropped, and about those that are no words."""
        facts = [] if self.uncut is None else [Fact("uncut_words", 1, self.uncut)]
        for name, words in self.dropped.items():
            if words.n_words:
                reason = DROP_REASONS[name]
                tokens = plural(words.n_tokens, "token")
                told = f"Dropped {plural(words.n_words, 'word')} ({tokens}): {reason.label}."
                first = words.words[:_SHOWN].tolist()
                details = {"tokens": words.n_tokens, "setting": reason.setting, "first": first}
                facts.append(Fact(f"dropped_{name}", words.n_words, told, details))
        return facts

    def explain_nothing_left(self, tokeniser: Tokeniser, source: str) -> DataError:
        """Return the error for texts that the tokeniser leaves no word of: which setting dropped most."""
        where = f"the {plural(self.n_documents, 'text')}"
        worst = self.blame()
        if worst is None:
            what, value = f"there is no word in {where}", tokeniser.token_pattern
            remedy = "Check the column of texts and the token pattern."
            return DataError(what, source=source, value=value, remedy=remedy)
        sizes = {name: words.n_words for name, words in self.dropped.items() if words.n_words}
        counts = [f"{plural(n, 'word')} by {DROP_REASONS[name].setting}" for name, n in sizes.items()]
        _, setting, remedy = DROP_REASONS[worst]
        what = f"no word of {where} is left: dropped were {', '.join(counts)}"
        value = f"{setting}={getattr(tokeniser, setting)}"
        return DataError(what, source=source, value=value, remedy=self.uncut or remedy)


class Selection(NamedTuple):
    """The words that are kept, in alphabetical order, their counts (documents by words), and what was dropped."""

    counts: sparse.csr_array
    vocabulary: NDArray[Any]
    preview: TokeniserPreview


class CutTexts:
    """Texts, or lists of words, that are cut and counted again only where a tokeniser cuts otherwise than the last.

    `first` is the number of the first text, for messages.
    """

    def __init__(self, texts: Sequence[Any], first: int = 1) -> None:
        self._texts, self._first = texts, first
        #: Of words, and of phrases, with how they were counted.
        self._counted: dict[int, tuple[Any, Counted]] = {}
        self._last: tuple[Tokeniser, Selection] | None = None

    def select(self, tokeniser: Tokeniser) -> Selection:
        """Return the words that a tokeniser keeps."""
        if self._last is None or self._last[0] != tokeniser:
            self._last = tokeniser, self._select(tokeniser)
        return self._last[1]

    def _select(self, tokeniser: Tokeniser) -> Selection:
        counts, words = self._count(tokeniser, (1, 1), frozenset())
        reasons = np.array([tokeniser.drops(word) or "" for word in words], dtype=object)
        if tokeniser.ngrams > 1:
            dropped = frozenset(words[reasons != ""])
            of_phrases, phrases = self._count(tokeniser, (2, tokeniser.ngrams), dropped)
            counts = sparse.hstack([counts, of_phrases], format="csr")
            words = np.concatenate([words, phrases])
            reasons = np.concatenate([reasons, np.full(len(phrases), "", dtype=object)])
        totals = np.asarray(counts.sum(axis=0, dtype=np.int64)).ravel()
        documents = np.bincount(counts.indices, minlength=len(words)).astype(np.int64)
        everything = WordList(words, totals, documents)
        kept, preview = apply_limits(everything, reasons, len(self._texts), tokeniser)
        counts = counts[:, kept]
        counts.sort_indices()
        empty = np.flatnonzero(np.diff(counts.indptr) == 0)
        return Selection(counts, words[kept], replace(preview, empty=empty))

    def _count(self, tokeniser: Tokeniser, lengths: tuple[int, int], dropped: frozenset[str]) -> Counted:
        """Return how often words, or phrases of so many words that are not dropped, stand in each text; and these."""
        key = tokeniser.lowercase, tokeniser.token_pattern, tokeniser.function, lengths, dropped
        if lengths[0] not in self._counted or self._counted[lengths[0]][0] != key:
            texts = self._cut(tokeniser)
            if dropped:
                texts = ([word for word in words if word not in dropped] for words in texts)
            self._counted[lengths[0]] = key, _count_words(texts, len(self._texts), lengths)
        return self._counted[lengths[0]][1]

    def _cut(self, tokeniser: Tokeniser) -> Iterator[list[str]]:
        """Give the words of each text."""
        if any(isinstance(text, list | tuple) for text in self._texts):
            return take_words(self._texts, tokeniser.lowercase, self._first)
        if len(self._texts):
            tokeniser.check_cuts_texts()
        texts = (text.lower() for text in self._texts) if tokeniser.lowercase else self._texts
        if callable(tokeniser.function):
            return cut_by_function(texts, tokeniser.function, self._first)
        return cut_by_pattern(texts, tokeniser.token_pattern, self._first)


def _count_words(texts: Iterator[list[str]], n_texts: int, lengths: tuple[int, int]) -> Counted:
    from sklearn.feature_extraction.text import CountVectorizer  # takes a second to import

    how = {"lowercase": False, "tokenizer": list, "token_pattern": None, "ngram_range": lengths}
    vectorizer = CountVectorizer(**how, dtype=np.int32)
    try:
        counts = sparse.csr_array(vectorizer.fit_transform(texts))
    except ValueError as problem:
        if "empty vocabulary" not in str(problem):
            raise
        return sparse.csr_array((n_texts, 0), dtype=np.int32), np.empty(0, dtype=object)
    return counts, vectorizer.get_feature_names_out()


def apply_limits(
    words: WordList, reasons: NDArray[Any], n_documents: int, tokeniser: Tokeniser
) -> tuple[NDArray[np.intp], TokeniserPreview]:
    """Apply the limits of a tokeniser to counted words, in any order.

    `reasons` says why a word is dropped, "" where nothing speaks against it yet; it is changed in place. Returns the
    places of the words that are kept, in alphabetical order of the words, and a preview without the empty documents.
    """
    reasons[(reasons == "") & (words.documents < tokeniser.min_documents)] = "too_rare"
    reasons[(reasons == "") & (words.documents > tokeniser.max_share * n_documents)] = "too_common"
    alphabetical = np.argsort(words.words, kind="stable")
    by_count = alphabetical[np.argsort(-words.counts[alphabetical], kind="stable")]
    if tokeniser.max_words is not None:
        reasons[by_count[reasons[by_count] == ""][tokeniser.max_words :]] = "beyond_cap"

    def list_words(reason: str) -> WordList:
        chosen = by_count[reasons[by_count] == reason]
        return WordList(words.words[chosen], words.counts[chosen], words.documents[chosen])

    preview = TokeniserPreview(list_words(""), {name: list_words(name) for name in DROP_REASONS}, n_documents)
    return alphabetical[reasons[alphabetical] == ""], preview
