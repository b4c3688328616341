"""The languages of texts: their stop words, and how the language of a text is recognised by them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from stop_words import AVAILABLE_LANGUAGES, get_stop_words

from acvb_core.core.errors import ParameterError

#: The default list of stop words: those of "english" without the words that say what a text is about.
SHORT_ENGLISH = "english-short"
_CONTENT_WORDS = {
    "amount", "bill", "bottom", "cry", "detail", "empty", "fill", "fire", "front", "interest", "mill", "serious",
    "side", "sincere", "system", "thick", "thin",
}  # fmt: skip
#: Languages whose stop words are offered, by their English names. Chinese and Japanese are written without blanks:
#: only a tokeniser of one's own finds their stop words.
STOP_WORD_LANGUAGES: tuple[str, ...] = tuple(
    sorted({*AVAILABLE_LANGUAGES, SHORT_ENGLISH} - {"chinese", "japanese"})
)


#: Languages that are recognised by their stop words.
_DETECTED = tuple(name for name in STOP_WORD_LANGUAGES if name != SHORT_ENGLISH)
#: Letters that are looked at; how many different stop words there must be, and their least share of the words.
_LOOKED_AT, _DIFFERENT, _LEAST = 200_000, 6, 0.15


@lru_cache(maxsize=64)
def stop_words_of(language: str) -> frozenset[str]:
    """Return the stop words of one language, in lower case; ParameterError if no list is known."""
    if language == SHORT_ENGLISH:
        return stop_words_of("english") - _CONTENT_WORDS
    if language not in AVAILABLE_LANGUAGES:
        known = ", ".join(STOP_WORD_LANGUAGES)
        raise ParameterError(f"There are no stop words for the language {language!r}; choose among {known}.")
    words = frozenset(word.lower() for word in get_stop_words(language))
    if language != "english":
        return words
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # takes a second to import

    # The library's English list is meant for search engines: with computer, microsoft, problem and state it
    # drops what topics are made of. scikit-learn's is shorter, but knows no contractions (don't, she'll). It holds
    # content words too: the corpora that were cut with it keep it, and new ones have SHORT_ENGLISH.
    return frozenset(ENGLISH_STOP_WORDS) | {word for word in words if "'" in word}


class Language(NamedTuple):
    """The language that texts are likely to be in."""

    name: str  #: as `STOP_WORD_LANGUAGES` has it, but "english" for both lists; also "chinese" and "japanese"
    share: float  #: of their words that are stop words of the language; of Chinese and Japanese, of letters

    @property
    def stop_words(self) -> str:
        """The list of stop words to begin with; empty if the texts are written without blanks."""
        if self.name == "english":
            return SHORT_ENGLISH
        return self.name if self.name in STOP_WORD_LANGUAGES else ""


def detect_language(texts: Iterable[str]) -> Language | None:
    """Return the language whose stop words are most frequent in some texts; None if none is frequent.

    The first 200,000 letters are looked at. Chinese and Japanese are recognised by their letters.
    """
    sample, size = [], 0
    for text in texts:
        sample.append(text[: _LOOKED_AT - size])
        size += len(sample[-1])
        if size >= _LOOKED_AT:
            break
    joined = " ".join(sample).lower()
    letters = sum(map(str.isalpha, joined))
    kana = len(re.findall(r"[\u3040-\u30ff]", joined))
    han = len(re.findall(r"[\u4e00-\u9fff]", joined))
    if letters and kana + han > 0.3 * letters:
        return Language("japanese" if kana > 0.1 * (kana + han) else "chinese", (kana + han) / letters)
    words = Counter(re.findall(r"\w[\w\u0300-\u036f\u0900-\u097f\u0a80-\u0aff]*", joined))
    total = sum(words.values())
    found = {name: [words[word] for word in stop_words_of(name) if word in words] for name in _DETECTED}
    name = max(found, key=lambda one: sum(found[one]))
    share = sum(found[name]) / max(total, 1)
    # A few words of a text without stop words may be stop words elsewhere: sea in Spanish, dog in Danish.
    return Language(name, share) if len(found[name]) >= _DIFFERENT and share >= _LEAST else None
