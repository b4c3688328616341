"""Words that say nothing about a topic, by language."""

from __future__ import annotations

from functools import lru_cache

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from stop_words import AVAILABLE_LANGUAGES, get_stop_words

from acvb_core.errors import ParameterError

#: Languages whose stop words are known, by their English names.
STOP_WORD_LANGUAGES: tuple[str, ...] = tuple(sorted(AVAILABLE_LANGUAGES))


@lru_cache(maxsize=64)
def stop_words_of(language: str) -> frozenset[str]:
    """Return the stop words of one language, in lower case.

    Raises
    ------
    ParameterError
        No list is known for the language.
    """
    if language not in STOP_WORD_LANGUAGES:
        raise ParameterError(
            f"There are no stop words for the language {language!r}; choose among "
            f"{', '.join(STOP_WORD_LANGUAGES)}."
        )
    words = {word.lower() for word in get_stop_words(language)}
    if language == "english":
        # The library's English list is meant for search engines: with computer, microsoft, problem and state it
        # drops what topics are made of. scikit-learn's is shorter, but knows no contractions (don't, she'll).
        return frozenset(ENGLISH_STOP_WORDS) | {word for word in words if "'" in word}
    return frozenset(words)
