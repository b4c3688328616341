"""What differs between languages: words that say nothing about a topic, and blanks between words."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from stop_words import AVAILABLE_LANGUAGES, get_stop_words

from acvb_core.data.corpora.cutting import NO_PATTERN, words_of
from acvb_core.errors import ParameterError, shorten

#: Written without blanks: their stop words are found only by a tokeniser of one's own, so they are not offered.
_WITHOUT_BLANKS = ("chinese", "japanese")
#: Languages whose stop words are offered, by their English names.
STOP_WORD_LANGUAGES: tuple[str, ...] = tuple(sorted(set(AVAILABLE_LANGUAGES) - set(_WITHOUT_BLANKS)))

#: Letters (marks not counted) that few words of a script have more of, by how Unicode calls its letters.
_LONGEST = {
    "CJK": 3, "HIRAGANA": 9, "KATAKANA": 9, "HANGUL": 8, "THAI": 10, "LAO": 10, "KHMER": 6, "MYANMAR": 6, "": 40,
}  # fmt: skip
_SCRIPTS = {
    "CJK": "Chinese or Japanese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean",
    "MYANMAR": "Burmese",
}  # fmt: skip


@lru_cache(maxsize=64)
def stop_words_of(language: str) -> frozenset[str]:
    """Return the stop words of one language, in lower case.

    Raises
    ------
    ParameterError
        No list is known for the language.
    """
    if language not in AVAILABLE_LANGUAGES:
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


@lru_cache(maxsize=32)
def stop_set(languages: tuple[str, ...], extra: tuple[str, ...], pattern: str) -> frozenset[str]:
    """Return the stop words as the texts are cut: "don't" is never met, but its "don" is."""
    listed = [word.lower() for language in languages for word in stop_words_of(language)]
    listed += [word.lower() for word in extra]
    if pattern == NO_PATTERN:
        return frozenset(listed)
    return frozenset(part for parts in words_of(listed, pattern) for part in parts)


def is_number(word: str) -> bool:
    """Whether a word has digits and no letter: 1996, 1_000, or with a pattern of your own 3.14."""
    return any(c.isnumeric() for c in word) and not any(c.isalpha() for c in word)


class Uncut(NamedTuple):
    """Why words seem to be whole sentences, and what to do."""

    what: str
    remedy: str

    @property
    def sentence(self) -> str:
        """Both, for people."""
        return f"{self.what[0].upper()}{self.what[1:]}. {self.remedy}"


def find_uncut(words: Iterable[tuple[str, float]]) -> Uncut | None:
    """Return what is wrong where most words are longer than words of their script are, None where they are not.

    Parameters
    ----------
    words : iterable of (str, float)
        Words, and how often each stands in the texts; phrases, which have blanks, are passed over.

    Notes
    -----
    Each script with a tenth of the letters is judged by itself: more than half of its letters stand in such words.
    """
    letters: dict[str, float] = {}
    longer: dict[str, list[tuple[float, str]]] = {}
    for word, count in words:
        if " " in word:
            continue
        script, length = _script(word), sum(unicodedata.category(letter)[0] != "M" for letter in word)
        letters[script] = letters.get(script, 0.0) + length * count
        if length > _LONGEST[script]:
            longer.setdefault(script, []).append((length * count, word))
    for script, found in longer.items():
        of_them = sum(weight for weight, _ in found)
        if of_them > 0.5 * letters[script] and letters[script] > 0.1 * sum(letters.values()):
            return _uncut(script, max(found)[1])
    return None


def _uncut(script: str, example: str) -> Uncut:
    what = f"most words are longer than words are, such as {shorten(example, 30)!r}"
    remedy = "give a tokeniser of your own in Python: load_corpus(…, tokeniser=function)"
    if not script:
        return Uncut(what, f"Check the column of texts and the token pattern, or {remedy}.")
    return Uncut(
        f"{what}: {_SCRIPTS.get(script, script.capitalize())} text without blanks between words cannot be cut here",
        rf"Put blanks between the words (the token pattern \w+ keeps words of one letter), or {remedy}.",
    )


def _script(word: str) -> str:
    """Return the script of a word as `_LONGEST` knows it; of Japanese the Chinese letters decide."""
    found = [_script_of(letter) for letter in word]
    return "CJK" if "CJK" in found else next((script for script in found if script), "")


@lru_cache(maxsize=4096)
def _script_of(letter: str) -> str:
    script = unicodedata.name(letter, "").partition(" ")[0] if letter > "\u0e00" else ""
    return script if script in _LONGEST else ""
