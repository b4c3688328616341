"""The languages of texts: their stop words."""

from __future__ import annotations

from functools import lru_cache

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
