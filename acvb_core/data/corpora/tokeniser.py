"""How a text is cut into words, and which words are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from stop_words import AVAILABLE_LANGUAGES, get_stop_words

from acvb_core.core.errors import ParameterError
from acvb_core.core.parameters import Parameter
from acvb_core.data.corpora.cutting import (
    NO_PATTERN,
    TOKEN_PATTERN,
    WordFunction,
    check_pattern,
    cut_by_function,
    cut_by_pattern,
    find_spans,
    locate_words,
    name_of,
)
from acvb_core.data.corpora.text_cut import CutTexts, Selection, TokeniserPreview

#: Languages whose stop words are offered, by their English names. Chinese and Japanese are written without blanks:
#: only a tokeniser of one's own finds their stop words.
STOP_WORD_LANGUAGES: tuple[str, ...] = tuple(sorted(set(AVAILABLE_LANGUAGES) - {"chinese", "japanese"}))

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


@lru_cache(maxsize=64)
def stop_words_of(language: str) -> frozenset[str]:
    """Return the stop words of one language, in lower case; ParameterError where no list is known."""
    if language not in AVAILABLE_LANGUAGES:
        known = ", ".join(STOP_WORD_LANGUAGES)
        raise ParameterError(f"There are no stop words for the language {language!r}; choose among {known}.")
    words = frozenset(word.lower() for word in get_stop_words(language))
    if language != "english":
        return words
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # takes a second to import

    # The library's English list is meant for search engines: with computer, microsoft, problem and state it
    # drops what topics are made of. scikit-learn's is shorter, but knows no contractions (don't, she'll).
    return frozenset(ENGLISH_STOP_WORDS) | {word for word in words if "'" in word}


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
        A regular expression; what it matches (or its one group) is a word. "" where documents are lists of words.
    numbers : bool
        Keep words that have digits and no letter.
    stop_words : tuple of str
        Languages whose stop words are dropped (`STOP_WORD_LANGUAGES`), whatever their case.
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
        not saved: a str is the name of one that has to be given again before a text can be cut.

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
    stop_words: tuple[str, ...] = ("english",)
    extra_stop_words: tuple[str, ...] = ()
    ngrams: int = 1
    min_documents: int = 2
    max_share: float = 0.95
    max_words: int | None = None
    function: WordFunction | str | None = None

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
        found: dict[str, Any] = vars(self) | words
        function = found.pop("function")
        return found if function is None else found | {"function": name_of(function)}

    @property
    def cuts_texts(self) -> bool:
        """Return whether texts can be cut: not lists of words, nor where the function is to be given again."""
        return callable(self.function) or (self.function is None and self.token_pattern != NO_PATTERN)

    def check_cuts_texts(self) -> None:
        """Raise ParameterError where texts cannot be cut."""
        if self.cuts_texts:
            return
        if self.function is None:
            raise ParameterError("The documents were lists of words, so give lists of words, not texts.")
        raise ParameterError(
            f"The texts were cut by {self.function}, a function of your own, which is not saved. Give it again, as "
            "load_model(…, tokeniser=function) or DiskCorpus.open(…, tokeniser=function) do, or give lists of words."
        )

    def without_limits(self) -> Tokeniser:
        """Return the tokeniser that cuts alike, but drops no word for how often it stands in the texts.

        For texts beside those that a vocabulary was made of: that vocabulary says which words matter.
        """
        return replace(self, min_documents=1, max_share=1.0, max_words=None)

    def select(self, texts: Sequence[str] | Sequence[list[str]], *, first: int = 1) -> Selection:
        """Return the words of texts that are kept, and their counts; lists of words are not cut.

        `first` is the number of the first text, for messages. ParameterError where the pattern takes too long or the
        function fails, as in any method that cuts texts.
        """
        return CutTexts(texts, first).select(self)

    def preview(self, texts: Sequence[str] | Sequence[list[str]]) -> TokeniserPreview:
        """Return which words of texts are kept and which are dropped, and why."""
        return self.select(texts).preview

    def drops(self, word: str) -> str | None:
        """Return why a single word is never kept: "stop_word", "number", or None when it may be."""
        pattern = NO_PATTERN if self.function else self.token_pattern
        if word.lower() in _stop_words(self.stop_words, self.extra_stop_words, pattern):
            return "stop_word"
        return "number" if not self.numbers and is_number(word) else None

    def spans(self, text: str, vocabulary: Sequence[str] | Mapping[str, int]) -> list[tuple[int, int, int]]:
        """Return where words of a vocabulary stand in a text, as start, end and index of the word, in order.

        The longest phrase that begins at a word is taken, and the next one begins behind it. A mapping of words to
        indices saves making one of a sequence at each call.
        """
        index = vocabulary if isinstance(vocabulary, Mapping) else {w: i for i, w in enumerate(vocabulary)}
        tokens = [token for token in self._locate_words(text) if self.drops(token[0]) is None]
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
        """Return every word of a text with its start and end there."""
        self.check_cuts_texts()
        lowered = text.lower() if self.lowercase else text
        if callable(self.function):
            found = locate_words(next(cut_by_function([lowered], self.function)), lowered)
        else:
            spans = next(find_spans([lowered], self.token_pattern))
            found = [(lowered[start:end], start, end) for start, end in spans]
        if len(lowered) == len(text):
            return found
        # A few letters are longer in lower case (İ): places there are not the places in the text.
        origin = [at for at, letter in enumerate(text) for _ in letter.lower()]
        return [(word, origin[start], origin[end - 1] + 1) for word, start, end in found]


def with_function(tokeniser: Tokeniser | None, function: WordFunction | None) -> Tokeniser | None:
    """Return a tokeniser that was read from a file with its function; ParameterError where it was made without one."""
    if function is None:
        return tokeniser
    if tokeniser is None or tokeniser.function is None:
        raise ParameterError("The texts were not cut by a function of your own; leave the tokeniser out.")
    return replace(tokeniser, function=function)


def as_tokeniser(given: Tokeniser | WordFunction | None) -> Tokeniser | None:
    """Return a tokeniser; a function stands for `Tokeniser(function=…)`, and what is neither is a ParameterError."""
    return given if given is None or isinstance(given, Tokeniser) else Tokeniser(function=given)
