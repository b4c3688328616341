"""Functions of other packages that cut texts, by names that are kept: base forms by simplemma, Chinese by jieba.

Neither package is required. A tokeniser that names a function can cut texts if its package is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec

from acvb_core.core.errors import ParameterError

_LEMMAS, _JIEBA = "simplemma", "jieba"
#: Codes of the languages that simplemma has base forms of, by the names of their stop words.
_CODES = {
    "arabic": "ar", "bulgarian": "bg", "catalan": "ca", "czech": "cs", "danish": "da", "dutch": "nl",
    "english": "en", "finnish": "fi", "french": "fr", "german": "de", "greek": "el", "hebrew": "he", "hindi": "hi",
    "hungarian": "hu", "indonesian": "id", "italian": "it", "malaysian": "ms", "norwegian": "nb", "persian": "fa",
    "polish": "pl", "portuguese": "pt", "romanian": "ro", "russian": "ru", "slovak": "sk", "spanish": "es",
    "swedish": "sv", "turkish": "tr", "ukrainian": "uk",
}  # fmt: skip


@dataclass(frozen=True)
class BaseForms:
    """The words of a text in their base forms: children as child."""

    language: str  #: a code of simplemma
    find_words: Callable[[str], Iterable[tuple[int, int]]]  #: gives where the words of a text begin and end

    def __call__(self, text: str) -> list[str]:
        """Return the base forms of a text's words."""
        return [word for word, _, _ in self.locate(text)]

    def locate(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Give each base form, and where its word begins and ends in the text."""
        for start, end in self.find_words(text):
            yield _base_form(text[start:end], self.language), start, end


@lru_cache(maxsize=1 << 16)
def _base_form(word: str, language: str) -> str:
    found: str = import_module(_LEMMAS).lemmatize(word, lang=language)
    return found.lower() if word.islower() else found


def list_word_functions(language: str) -> dict[str, str]:
    """Return the functions for texts in a language whose packages are installed, with what they do, by their names."""
    found = {}
    if language in _CODES and find_spec(_LEMMAS) is not None:
        found[f"{_LEMMAS}:{_CODES[language]}"] = "Base forms: child for children (simplemma)"
    if language == "chinese" and find_spec(_JIEBA) is not None:
        found[_JIEBA] = "Words cut by jieba"
    return found


def find_word_function(
    name: str, find_words: Callable[[str], Iterable[tuple[int, int]]]
) -> Callable[[str], Iterable[str]] | None:
    """Return a function by its name; None for another name, or if its package is not installed.

    `find_words`: gives where the words of a text begin and end, for base forms.
    Raises ParameterError: simplemma does not have the language.
    """
    package, _, language = name.partition(":")
    if package not in (_LEMMAS, _JIEBA) or find_spec(package) is None:
        return None
    if package == _JIEBA:
        cut: Callable[[str], Iterable[str]] = import_module(_JIEBA).lcut
        return cut
    if language not in _CODES.values():
        raise ParameterError(
            f"function is {name!r}; known are {', '.join(sorted(_CODES.values()))} after simplemma:."
        )
    return BaseForms(language, find_words)
