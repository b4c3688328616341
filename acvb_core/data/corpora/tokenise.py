"""How texts are cut into words, and which words are kept."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from itertools import accumulate, groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError, shorten
from acvb_core.core.parameters import Parameter
from acvb_core.data.corpora.languages import SHORT_ENGLISH, stop_words_of
from acvb_core.data.corpora.rewriting import Rewriting, WordChange
from acvb_core.data.corpora.word_functions import find_word_function
from acvb_core.data.report import Fact, plural

#: Two letters, digits or underscores at least: scikit-learn's usual pattern. Marks on a letter belong to it.
TOKEN_PATTERN = r"(?u)\b\w\w+\b"
#: Instead of a pattern: the texts are lists of words.
NO_PATTERN = ""
#: Time for each piece of text in seconds, and for each letter of it: many times what a usual pattern takes.
SECONDS, SECONDS_A_LETTER = 1.0, 1e-5
#: Letters of a piece.
LETTERS = 1 << 20
#: A word that a function changed (its stem, say) is not looked for further on than so many letters.
_NEAR = 60
# The time does not count the start of the process. The watch works while `re` does: it is no Python code.
_WORK = """
import faulthandler, json, re, sys
job = json.load(sys.stdin)
pattern = re.compile(job["pattern"])
faulthandler.dump_traceback_later(job["seconds"], exit=True)
for text in job["texts"]:
    print(json.dumps([match.span(pattern.groups) for match in pattern.finditer(text)]), flush=True)
"""
#: By how Unicode calls the letters of a script: how many (marks not counted) few words have more of, and the language.
_SCRIPTS = {
    "CJK": (3, "Chinese or Japanese"), "HIRAGANA": (9, "Japanese"), "KATAKANA": (9, "Japanese"),
    "HANGUL": (8, "Korean"), "THAI": (10, "Thai"), "LAO": (10, "Lao"), "KHMER": (6, "Khmer"),
    "MYANMAR": (6, "Burmese"), "": (40, ""),
}  # fmt: skip


#: Takes a text and gives its words, as the tokenisers that scikit-learn's vectorisers take.
WordFunction = Callable[[str], Iterable[str]]


def cut_by_pattern(texts: Iterable[str], pattern: str, first: int = 1) -> Iterator[list[str]]:
    """Give the words of each text; `first` is the number of the first one, for messages."""
    if pattern == TOKEN_PATTERN:
        return map(_usual().findall, texts)
    texts = list(texts)
    spans = find_spans(texts, pattern, first)
    return ([text[start:end] for start, end in found] for text, found in zip(texts, spans, strict=True))


def cut_by_function(texts: Iterable[str], function: WordFunction, first: int = 1) -> Iterator[list[str]]:
    """Give the words that a function of the user's finds in each text; ParameterError if it fails on one."""
    for number, text in enumerate(texts, first):
        where = f"of text {number:,} ({shorten(text)!r}) the tokeniser {name_of(function)}"
        try:
            words: Any = function(text)
            if not isinstance(words, str | bytes | None):
                words = list(words)
        except Exception as problem:
            raise ParameterError(f"{where} fails: {type(problem).__name__}: {problem}.") from problem
        yield _check_words(words, f"{where} gives", "it must give a list of str, the words of the text")


def take_words(documents: Iterable[Any], lowercase: bool, first: int = 1) -> Iterator[list[str]]:
    """Give the words of documents that are lists of words; a ParameterError names the first that is not."""
    for number, given in enumerate(documents, first):
        words = _check_words(given, f"document {number:,} is", "give each document as a list of its words")
        yield [word.lower() for word in words] if lowercase else words


def _check_words(words: Any, what: str, wanted: str) -> list[str]:
    """Return a list of words without the blank ones; ParameterError if it is none."""
    if not isinstance(words, list | tuple):
        raise ParameterError(f"{what} something of the type {type(words).__name__}; {wanted}.")
    odd = [word for word in words if not isinstance(word, str)]
    if odd:
        raise ParameterError(f"{what} a list with a {type(odd[0]).__name__} ({odd[0]!r}); {wanted}.")
    return [word for word in words if word and not word.isspace()]


def name_of(function: WordFunction | str) -> str:
    """Return what a function is called, with its module."""
    if isinstance(function, str):
        return function
    owner = function if hasattr(function, "__qualname__") else type(function)
    home = owner if getattr(owner, "__module__", None) else getattr(owner, "__objclass__", type(owner))
    return f"{home.__module__}.{owner.__qualname__}"


@lru_cache(maxsize=1)
def _usual() -> re.Pattern[str]:
    """Return the usual pattern with marks on letters.

    To `re` the vowel signs of Hindi or Thai and a separate accent are no part of a word; nor is a joiner in Persian.
    """
    # Beyond 0xFFFF `re` would be a hundred times slower.
    marks = [chr(n) for n in range(0x300, 0x10000) if unicodedata.category(chr(n))[0] == "M"]
    some = "".join([*marks, "\u200c", "\u200d"])
    return re.compile(rf"\b\w[{some}]*\w[\w{some}]*")


def find_spans(texts: Sequence[str], pattern: str, first: int = 1) -> Iterator[list[tuple[int, int]]]:
    """Give where the words of each text are; ParameterError names a text on which the pattern takes too long."""
    if pattern == TOKEN_PATTERN:
        yield from ([match.span() for match in _usual().finditer(text)] for text in texts)
        return
    pieces = groupby(zip(texts, accumulate(map(len, texts)), strict=True), lambda one: one[1] // LETTERS)
    for _, numbered in pieces:
        piece = [text for text, _ in numbered]
        seconds = SECONDS + SECONDS_A_LETTER * sum(map(len, piece))
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _WORK],
            input=json.dumps({"pattern": pattern, "seconds": seconds, "texts": piece}).encode("ascii"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            check=False,
        )
        lines = done.stdout.split(b"\n")[:-1]
        if done.returncode or len(lines) < len(piece):
            raise ParameterError(
                f"The word pattern (token_pattern) is {pattern!r}; it takes more than {seconds:.2g} seconds on text "
                f"{first + len(lines):,} ({shorten(piece[len(lines)])!r}). "
                "Repeats inside repeats, such as (a+)+, can take forever: write a+."
            )
        yield from ([(start, end) for start, end in json.loads(line)] for line in lines)
        first += len(piece)


def check_pattern(pattern: str) -> None:
    """Raise ParameterError if a pattern is no regular expression, has two groups, or matches nothing at all."""
    given = f"The word pattern (token_pattern) is {pattern!r}"
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError, OverflowError, RecursionError) as problem:
        raise ParameterError(f"{given}, which is not a regular expression: {problem}.") from None
    if compiled.groups > 1:
        raise ParameterError(f"{given}; it may have one group, write the others as (?:…).")
    if compiled.search(""):
        raise ParameterError(f"{given}, which also matches nothing at all; write + for *.")


def _script(word: str) -> str:
    """Return the script of a word as `_SCRIPTS` knows it; of Japanese the Chinese letters decide."""
    found = [_script_of(letter) for letter in word]
    return "CJK" if "CJK" in found else next(filter(None, found), "")


@lru_cache(maxsize=4096)
def _script_of(letter: str) -> str:
    script = unicodedata.name(letter, "").partition(" ")[0] if letter > "\u0e00" else ""
    return script if script in _SCRIPTS else ""


class DropReason(NamedTuple):
    """Why words are not kept: a label for people, the setting that decides it, and how to keep more."""

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
#: Words of a list that are looked at to see whether the texts were cut into words.
_LOOKED_AT = 2_000
#: Words of a list that a fact keeps, and that its sentence names.
_SHOWN, _NAMED = 5, 3


class WordList(NamedTuple):
    """Words (objects of str), the count of each in all documents, and in how many it occurs; shape (n,) each."""

    words: NDArray[Any]
    counts: NDArray[np.int64]
    documents: NDArray[np.int64]

    @property
    def n_words(self) -> int:
        """Number of different words."""
        return len(self.words)

    @property
    def n_tokens(self) -> int:
        """Sum of the counts."""
        return int(self.counts.sum())

    def top(self, count: int) -> list[tuple[str, int, int]]:
        """Return word, count and document count of the first words."""
        return list(zip(*(part[:count].tolist() for part in self), strict=True))


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
        Documents (0-based) without any word left.
    """

    kept: WordList
    dropped: dict[str, WordList]
    n_documents: int
    empty: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    @cached_property
    def uncut(self) -> str | None:
        """The advice where most words are longer than words of their script are; otherwise None.

        Each script with a tenth of the letters is judged by itself: more than half of its letters are in such words. In
        long lists some thousands of words are looked at; phrases, which contain blanks, are skipped.
        """
        letters: dict[str, int] = defaultdict(int)
        longer: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for listed in (self.kept, *self.dropped.values()):
            step = max(listed.n_words // _LOOKED_AT, 1)
            for word, count, _ in zip(*(part[::step].tolist() for part in listed), strict=True):
                if " " not in word:
                    script = _script(word)
                    length = sum(unicodedata.category(letter)[0] != "M" for letter in word)
                    weight = length * step * count
                    letters[script] += weight
                    if length > _SCRIPTS[script][0]:
                        longer[script].append((weight, word))
        for script, found in longer.items():
            if sum(weight for weight, _ in found) > 0.5 * letters[script] > 0.05 * sum(letters.values()):
                what = f"Most words are longer than words are, such as {shorten(max(found)[1], 30)!r}"
                remedy = "give a tokeniser of your own in Python: load_corpus(…, tokeniser=function)."
                if not script:
                    return f"{what}. Check the column of texts and the token pattern, or {remedy}"
                return (
                    f"{what}: {_SCRIPTS[script][1]} text without blanks between words cannot be cut here. Put blanks "
                    rf"between the words (the token pattern \w+ keeps words of one letter), or {remedy}"
                )
        return None

    def blame(self) -> str | None:
        """Return the reason to look at first when too little is left, None when nothing was dropped.

        The limits come before stop words and numbers, which nearly every text has.
        """
        found = [name for name, words in self.dropped.items() if words.n_words]
        usual = ("stop_word", "number")
        return max(found, key=lambda name: (name not in usual, self.dropped[name].n_tokens), default=None)

    def facts(self) -> list[Fact]:
        """Return the facts about the words that are dropped, and about texts that are not cut into words."""
        facts = [] if self.uncut is None else [Fact("uncut_words", 1, self.uncut)]
        for name, words in self.dropped.items():
            if words.n_words:
                label, setting, _ = DROP_REASONS[name]
                first, tokens = words.words[:_SHOWN].tolist(), plural(words.n_tokens, "token")
                named = ", ".join(shorten(word, 30) for word in first[:_NAMED])
                told = f"Dropped {plural(words.n_words, 'word')} ({tokens}): {label}, such as {named}."
                details = {"tokens": words.n_tokens, "setting": setting, "first": first}
                facts.append(Fact(f"dropped_{name}", words.n_words, told, details))
        return facts

    def explain_nothing_left(self, tokeniser: Tokeniser, source: str) -> DataError:
        """Return the error for texts without any word left: it names the setting that dropped most."""
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
    """Texts, or lists of words, that are cut and counted again only if a tokeniser cuts differently from the last.

    `first` is the number of the first text, for messages.
    """

    def __init__(self, texts: Sequence[Any], first: int = 1) -> None:
        self._texts, self._first = texts, first
        #: Counts of words, and of phrases, with how they were counted.
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
        documents = np.bincount(counts.indices, minlength=len(words))
        found = WordList(words, counts.sum(axis=0, dtype=np.int64), documents)
        kept, preview = apply_limits(found, reasons, len(self._texts), tokeniser)
        counts = counts[:, kept]
        counts.sort_indices()
        empty = np.flatnonzero(np.diff(counts.indptr) == 0)
        return Selection(counts, words[kept], replace(preview, empty=empty))

    def _count(self, tokeniser: Tokeniser, lengths: tuple[int, int], dropped: frozenset[str]) -> Counted:
        """Return how often words, or phrases of so many words that are not dropped, occur in each text; and these."""
        how: Any = tokeniser.lowercase, tokeniser.token_pattern, tokeniser.function, tokeniser.rewriting
        key = *how, lengths, dropped
        if lengths[0] not in self._counted or self._counted[lengths[0]][0] != key:
            cut = map(tokeniser.rewriting.join_words, self._cut(tokeniser))
            texts = ([word for word in words if word not in dropped] for words in cut) if dropped else cut
            self._counted[lengths[0]] = key, _count_words(texts, len(self._texts), lengths)
        return self._counted[lengths[0]][1]

    def _cut(self, tokeniser: Tokeniser) -> Iterator[list[str]]:
        """Give the words of each text."""
        if any(isinstance(text, list | tuple) for text in self._texts):
            return take_words(self._texts, tokeniser.lowercase, self._first)
        if len(self._texts):
            tokeniser.check_cuts_texts()
        texts = (text.lower() for text in self._texts) if tokeniser.lowercase else self._texts
        if tokeniser.word_function is not None:
            return cut_by_function(texts, tokeniser.word_function, self._first)
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

    `reasons` says why a word is dropped, "" if nothing speaks against it yet; it is changed in place. Returns the
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
        return WordList(*(part[chosen] for part in words))

    preview = TokeniserPreview(list_words(""), {name: list_words(name) for name in DROP_REASONS}, n_documents)
    return alphabetical[reasons[alphabetical] == ""], preview


TOKENISER_PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "lowercase", "bool", True, "Write everything in lower case, so that The and the are one word.", "Lower case",
    ),
    Parameter(
        "numbers", "bool", False, "Keep words of digits only, such as years. Usually they are no topic.",
        "Keep numbers",
    ),
    Parameter(
        "ngrams", "int", 1,
        "The longest run of neighbouring words that counts as a word too: 2 adds pairs such as new york.",
        "Longest phrase", low=1, high=3,
    ),
    Parameter(
        "min_documents", "int", 2,
        "A word of one document says nothing about what documents share.",
        "Ignore words in fewer than N documents", low=1, advanced=False,
    ),
    Parameter(
        "max_share", "float", 0.95,
        "Words that nearly all documents have tell none of them apart.",
        "Ignore words in more than this share of documents", low=0.01, high=1.0, advanced=False,
    ),
    Parameter(
        "max_words", "int", 0, "Keep only so many words, the most frequent ones. 0 keeps all.",
        "Keep at most this many words",
        low=0, advanced=False,
    ),
)  # fmt: skip


@lru_cache(maxsize=32)
def _stop_words(languages: tuple[str, ...], extra: tuple[str, ...], pattern: str) -> frozenset[str]:
    """Return the stop words as the texts are cut: "don't" is never met, but its "don" is."""
    listed = [word for language in languages for word in stop_words_of(language)]
    listed += [word.lower() for word in extra]
    if pattern == NO_PATTERN:
        return frozenset(listed)
    return frozenset(part for parts in cut_by_pattern(listed, pattern) for part in parts)


def is_number(word: str) -> bool:
    """Return whether a word has digits and no letter: 1996, 1_000, or with a pattern of your own 3.14."""
    return any(c.isnumeric() for c in word) and not any(c.isalpha() for c in word)


@dataclass(frozen=True)
class Tokeniser:
    r"""Settings of how texts become word counts; the cutting is scikit-learn's `CountVectorizer`.

    The defaults drop words of a single document and words of more than 95 % of them: on texts of any number
    that is what only adds noise, and in a corpus of three documents something is still left.

    Attributes
    ----------
    lowercase : bool
    token_pattern : str
        A regular expression; what it matches (or its one group) is a word. "" if documents are lists of words.
    numbers : bool
        Keep words that have digits and no letter.
    stop_words : tuple of str
        Languages whose stop words are dropped (`STOP_WORD_LANGUAGES`), whatever their case. "english-short" is
        "english" without content words such as fire, interest and system.
    extra_stop_words : tuple of str
        Further words to drop. They are cut like the texts: "don't" drops "don".
    ngrams : int
        Runs of up to so many neighbouring words are words too. Stop words and numbers are taken out before.
    min_documents : int
        Words of fewer documents are dropped.
    max_share : float
        Words of more than this share of the documents are dropped.
    max_words : int or None
        Most words kept, the most frequent ones (alphabetical among equals); None, or 0: all.
    function : callable or str, optional
        Takes a text (in lower case with `lowercase`) and gives its words, in place of the pattern: `jieba.lcut`. It is
        not saved: a str is the name of one that has to be given again before a text can be cut. "jieba", for Chinese,
        and "simplemma:de", for base forms of German, are known if their package is installed.
    phrases : tuple of str
        "new york" makes one word of these two if they follow each other directly, before stop words are dropped.
    same_words : mapping of str to str
        {"colour": "color"} counts the first word, or phrase, as the second.

    Raises
    ------
    ParameterError
        A setting outside its range, an unknown language, or a pattern that is not a regular expression.

    Examples
    --------
    >>> Tokeniser(min_documents=1, max_share=1.0).preview(["The cat sat.", "A cat!"]).kept.words.tolist()
    ['cat', 'sat']
    """

    lowercase: bool = True
    token_pattern: str = TOKEN_PATTERN
    numbers: bool = False
    stop_words: tuple[str, ...] = (SHORT_ENGLISH,)
    extra_stop_words: tuple[str, ...] = ()
    ngrams: int = 1
    min_documents: int = 2
    max_share: float = 0.95
    max_words: int | None = None
    function: WordFunction | str | None = None
    phrases: tuple[str, ...] = ()
    same_words: Any = ()  #: pairs once it is made, so that a tokeniser can be hashed

    def __post_init__(self) -> None:
        if self.max_words is None:
            object.__setattr__(self, "max_words", 0)
        for parameter in TOKENISER_PARAMETERS:
            object.__setattr__(self, parameter.name, parameter.check(getattr(self, parameter.name)))
        object.__setattr__(self, "max_words", self.max_words or None)
        for name in ("stop_words", "extra_stop_words"):
            given = getattr(self, name)
            if isinstance(given, str) or not all(isinstance(word, str) for word in given):
                raise ParameterError(f"{name} is {given!r}; it must be a list of words.")
            object.__setattr__(self, name, tuple(dict.fromkeys(given)))
        for language in self.stop_words:
            stop_words_of(language)
        if not (self.function is None or callable(self.function) or isinstance(self.function, str)):
            raise ParameterError(
                f"function is {self.function!r}; it must take a text and give a list of words."
            )
        if self.token_pattern != NO_PATTERN:
            check_pattern(self.token_pattern)
        rewriting = Rewriting.build(self.phrases, self.same_words, self.lowercase)
        object.__setattr__(self, "phrases", rewriting.phrases)
        object.__setattr__(self, "same_words", rewriting.same_words)

    @cached_property
    def rewriting(self) -> Rewriting:
        """The changes of words, once the texts are cut."""
        return Rewriting(self.phrases, self.same_words)

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Tokeniser:
        """Return the tokeniser with these settings; what is missing has its default."""
        known = sorted(field.name for field in fields(cls))
        for name in settings:
            if name not in known:
                raise ParameterError(f"A tokeniser has no setting {name!r}; it has {', '.join(known)}.")
        return cls(**settings)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON-able values, of a function its name."""
        words = {"stop_words": list(self.stop_words), "extra_stop_words": list(self.extra_stop_words)}
        found: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)} | words
        function, phrases, same = (found.pop(name) for name in ("function", "phrases", "same_words"))
        # Settings of later versions are named only if they are used: without them, data keep their identity.
        found |= {} if function is None else {"function": name_of(function)}
        found |= {"phrases": list(phrases)} if phrases else {}
        return found | ({"same_words": dict(same)} if same else {})

    @property
    def cuts_texts(self) -> bool:
        """Return whether texts can be cut: not lists of words, nor where the function is to be given again."""
        return self.word_function is not None or (self.function is None and self.token_pattern != NO_PATTERN)

    @cached_property
    def word_function(self) -> WordFunction | None:
        """The function that cuts texts; None if there is none, or only the name of one that is not known here."""
        if not isinstance(self.function, str):
            return self.function
        return find_word_function(self.function, lambda text: next(find_spans([text], TOKEN_PATTERN)))

    def check_cuts_texts(self) -> None:
        """Raise ParameterError if texts cannot be cut."""
        if self.cuts_texts:
            return
        if self.function is None:
            raise ParameterError("The documents were lists of words, so give lists of words, not texts.")
        raise ParameterError(
            f"The texts were cut by {self.function}, a function of your own, which is not saved. Give it again, as "
            "load_model(…, tokeniser=function) or DiskCorpus.open(…, tokeniser=function) do, or give lists of words."
        )

    def without_limits(self) -> Tokeniser:
        """Return the tokeniser that cuts alike, but drops no word for how often it occurs in the texts.

        For texts other than those that a vocabulary was made of: that vocabulary says which words matter.
        """
        return replace(self, min_documents=1, max_share=1.0, max_words=None)

    def with_changes(self, changes: Iterable[WordChange]) -> Tokeniser:
        """Return the tokeniser that makes some further changes, one after another."""
        extra, phrases, same = list(self.extra_stop_words), list(self.phrases), dict(self.same_words)
        for kind, words in changes:
            if kind == "leave_out":
                extra += words
            elif kind == "join":
                phrases.append(" ".join(words))
            else:
                same |= {one: words[0] for one, other in same.items() if other in words}
                same |= dict.fromkeys(words[1:], words[0])
                same.pop(words[0], None)
        return replace(self, extra_stop_words=tuple(extra), phrases=tuple(phrases), same_words=same)

    def select(self, texts: Sequence[str] | Sequence[list[str]], *, first: int = 1) -> Selection:
        """Return the words of texts that are kept, and their counts; lists of words are not cut.

        `first` is the number of the first text, for messages. ParameterError if the pattern takes too long or the
        function fails, as in any method that cuts texts.
        """
        return CutTexts(texts, first).select(self)

    def preview(self, texts: Sequence[str] | Sequence[list[str]]) -> TokeniserPreview:
        """Return which words of texts are kept and which are dropped, and why."""
        return self.select(texts).preview

    def drops(self, word: str) -> str | None:
        """Return why a single word is never kept: "stop_word", "number", or None when it may be."""
        if word.lower() in self._left_out:
            return "stop_word"
        return "number" if not self.numbers and is_number(word) else None

    @cached_property
    def _left_out(self) -> frozenset[str]:
        """The stop words as the texts are cut; a phrase among them is dropped as a whole."""
        pattern = NO_PATTERN if self.function else self.token_pattern
        whole = {word for word in self.extra_stop_words if word in self.phrases}
        single = tuple(word for word in self.extra_stop_words if word not in whole)
        return _stop_words(self.stop_words, single, pattern) | {word.lower() for word in whole}

    def spans(self, text: str, vocabulary: Sequence[str] | Mapping[str, int]) -> list[tuple[int, int, int]]:
        """Return where words of a vocabulary occur in a text, as start, end and index of the word, in order.

        The longest phrase that begins at a word is taken, and the next one begins behind it. A mapping of words to
        indices saves making one of a sequence at each call.
        """
        index = vocabulary if isinstance(vocabulary, Mapping) else {w: i for i, w in enumerate(vocabulary)}
        located = self.rewriting.join_spans(self._locate_words(text))
        tokens = [token for token in located if self.drops(token[0]) is None]
        spans = []
        at = 0
        while at < len(tokens):
            for length in range(min(self.ngrams, len(tokens) - at), 0, -1):
                phrase = index.get(" ".join(word for word, _, _ in tokens[at : at + length]))
                if phrase is not None:
                    spans.append((tokens[at][1], tokens[at + length - 1][2], phrase))
                    at += length
                    break
            else:
                at += 1
        return spans

    def _locate_words(self, text: str) -> list[tuple[str, int, int]]:
        """Return every word of a text that occurs there unchanged, with its start and end."""
        self.check_cuts_texts()
        lowered = text.lower() if self.lowercase else text
        function = self.word_function
        if function is not None and hasattr(function, "locate"):
            found = list(function.locate(lowered))
        elif function is not None:
            found, at = [], 0
            for word in next(cut_by_function([lowered], function)):
                if (start := lowered.find(word, at, at + len(word) + _NEAR)) >= 0:
                    at = start + len(word)
                    found.append((word, start, at))
        else:
            spans = next(find_spans([lowered], self.token_pattern))
            found = [(lowered[start:end], start, end) for start, end in spans]
        if len(lowered) == len(text):
            return found
        # A few letters are longer in lower case (İ): places there are not the places in the text.
        origin = [at for at, letter in enumerate(text) for _ in letter.lower()]
        return [(word, origin[start], origin[end - 1] + 1) for word, start, end in found]


def with_function(tokeniser: Tokeniser | None, function: WordFunction | None) -> Tokeniser | None:
    """Return a tokeniser that was read from a file with its function; ParameterError if it was made without one."""
    if function is None:
        return tokeniser
    if tokeniser is None or tokeniser.function is None:
        raise ParameterError("The texts were not cut by a function of your own; leave the tokeniser out.")
    return replace(tokeniser, function=function)


def as_tokeniser(given: Tokeniser | WordFunction | None) -> Tokeniser | None:
    """Return a tokeniser; a function means `Tokeniser(function=…)`, and what is neither is a ParameterError."""
    return given if given is None or isinstance(given, Tokeniser) else Tokeniser(function=given)
