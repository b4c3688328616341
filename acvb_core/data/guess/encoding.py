"""Guess the encoding of a text that is not UTF-8: try the usual ones, and judge the words that each gives."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from acvb_core.data.sources.recognisers import marked_encoding

#: Tried in this order: of two that give equally good words, the first is proposed.
ENCODINGS = (
    "cp1252", "cp1250", "cp1251", "koi8-r", "shift_jis", "euc_jp", "gb18030", "utf-16-le", "utf-16-be", "latin-1",
    "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "big5", "euc_kr",
)  # fmt: skip
#: Words that are judged, and words that are shown.
_JUDGED, _SHOWN = 2_000, 8
_LONGEST_SHOWN = 30
_FOREIGN_WORD = re.compile(r"[^\s,;|\"]*[^\x00-\x7f][^\s,;|\"]*")
#: Letters and signs of the languages written in cp1252 and in cp1250; the others of their letters are rare.
_BOTH = "äöüßéëáíóúýçôâî’‘“”–—…°€«»·"
_CENTRAL = frozenset(_BOTH + "ąćęłńśźżčďěňřšťůžőűľĺŕăşţđ")
_WESTERN = frozenset(_BOTH + "èêàïûùñåæøœãõòìÿðþ¿¡")
#: Scripts that a word is written in alone.
_ALPHABETS = ("CYRILLIC", "GREEK", "HEBREW", "ARABIC")


class EncodingGuess(NamedTuple):
    """An encoding in which a text can be read, and words beyond ASCII as they then read."""

    encoding: str
    words: tuple[str, ...]


def guess_encodings(content: bytes) -> list[EncodingGuess]:
    """Return the encodings that a text may be in, the most likely first; [] where it is UTF-8 or says what it is.

    Parameters
    ----------
    content : bytes
        The beginning of the text; its last letter may be cut.

    Examples
    --------
    >>> guess_encodings("Zoé;Fête".encode("cp1252"))[0]
    EncodingGuess(encoding='cp1252', words=('Zoé', 'Fête'))
    """
    if marked_encoding(content) != "utf-8-sig" or (
        b"\0" not in content and _decode(content, "utf-8") is not None
    ):
        return []
    guesses = []
    for encoding in ENCODINGS:
        text = _decode(content, encoding)
        if text is None or "\0" in text:
            continue
        words = list(dict.fromkeys(match[0] for match in _FOREIGN_WORD.finditer(text)))[:_JUDGED]
        shown = [word for word in words if len(word) <= _LONGEST_SHOWN][:_SHOWN]
        guesses.append((_score(words, encoding), EncodingGuess(encoding, tuple(shown))))
    guesses.sort(key=lambda guess: -guess[0])
    return [guess for _, guess in guesses]


def _decode(content: bytes, encoding: str) -> str | None:
    """Return the text, None where the encoding does not allow its bytes."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(content, final=False)
    except UnicodeDecodeError:
        return None


def _score(words: Iterable[str], encoding: str) -> float:
    """Return how many of the words look like words of a language, from 0 to 1."""
    scores = [_score_word(word, encoding) for word in words]
    return sum(scores) / len(scores) if scores else 1.0


def _score_word(word: str, encoding: str) -> float:
    foreign = [letter for letter in word if letter > "\x7f"]
    letters = [letter for letter in word if letter.isalpha()]
    scripts = {_script(letter) for letter in letters}
    if scripts & {"KANA", "CJK"}:
        return _score_east_asian(foreign, encoding)
    if len(scripts) > 1:
        return 0.1
    if scripts & set(_ALPHABETS):
        # The wrong one of two encodings gives small letters first, and capitals behind.
        capitals = sum(letter.isupper() for letter in letters[1:])
        return 0.9 if not capitals or (word.isupper() and len(letters) > 1) else 0.2
    common = _CENTRAL if encoding == "cp1250" else _WESTERN
    usual = sum(letter.lower() in common for letter in foreign) / len(foreign)
    plain = sum(letter <= "\x7f" for letter in letters)
    # Most letters of a word in Latin script are plain ones.
    return usual * (1.0 if 2 * plain >= len(letters) or len(foreign) == 1 else 0.3)


def _score_east_asian(foreign: list[str], encoding: str) -> float:
    if any("\uff61" <= letter <= "\uff9f" for letter in foreign):  # half-width: what other bytes turn into
        return 0.1
    return 0.95 * sum(_is_common(letter, encoding) for letter in foreign) / len(foreign)


def _is_common(letter: str, encoding: str) -> bool:
    """Return whether a letter is among the common ones of its language: those that its encoding lists first."""
    table = "gb2312" if encoding == "gb18030" else "euc_jp"
    try:
        code = letter.encode(table)
    except UnicodeEncodeError:
        return False
    return len(code) == 2 and code[0] <= (0xD7 if table == "gb2312" else 0xCF)


def _script(letter: str) -> str:
    name = unicodedata.name(letter, "")
    if name.startswith(("LATIN", "MICRO SIGN", "FEMININE ORDINAL", "MASCULINE ORDINAL", "MODIFIER LETTER")):
        return "LATIN"
    if name.startswith(("HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA")):
        return "KANA"
    first = name.partition(" ")[0]
    return first if first in ("CJK", *_ALPHABETS) else "OTHER"
