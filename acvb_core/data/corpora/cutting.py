r"""How a text is cut into words: by the usual pattern, by a pattern or by a function of the user's.

With a pattern such as (?:a+)+\b\d each further letter doubles the time, and `re` lets no other thread work meanwhile.
So a pattern of the user's works in a process of its own, which ends itself when its time is up.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, groupby
from typing import Any

from acvb_core.core.errors import ParameterError, shorten

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

#: Letters (marks not counted) that few words of a script have more of, by how Unicode calls its letters.
_LONGEST = {
    "CJK": 3, "HIRAGANA": 9, "KATAKANA": 9, "HANGUL": 8, "THAI": 10, "LAO": 10, "KHMER": 6, "MYANMAR": 6, "": 40,
}  # fmt: skip
_SCRIPTS = {
    "CJK": "Chinese or Japanese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean",
    "MYANMAR": "Burmese",
}  # fmt: skip

Span = tuple[int, int]
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
    """Give the words that a function of the user's finds in each text; ParameterError where it fails on one."""
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
    """Return a list of words without the blank ones; ParameterError where it is none."""
    if not isinstance(words, list | tuple):
        raise ParameterError(f"{what} something of the type {type(words).__name__}; {wanted}.")
    odd = [word for word in words if not isinstance(word, str)]
    if odd:
        raise ParameterError(f"{what} a list with a {type(odd[0]).__name__} ({odd[0]!r}); {wanted}.")
    return [word for word in words if word and not word.isspace()]


def locate_words(words: Sequence[str], text: str) -> list[tuple[str, int, int]]:
    """Return the words of a function that stand in the text as they are, with their start and end there."""
    found, at = [], 0
    for word in words:
        start = text.find(word, at, at + len(word) + _NEAR)
        if start >= 0:
            at = start + len(word)
            found.append((word, start, at))
    return found


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


def find_spans(texts: Sequence[str], pattern: str, first: int = 1) -> Iterator[list[Span]]:
    """Give where the words of each text are; ParameterError names a text on which the pattern takes too long."""
    if pattern == TOKEN_PATTERN:
        yield from ([match.span() for match in _usual().finditer(text)] for text in texts)
        return
    pieces = groupby(zip(texts, accumulate(map(len, texts)), strict=True), lambda one: one[1] // LETTERS)
    for _, piece in pieces:
        spans = _spans([text for text, _ in piece], pattern, first)
        yield from spans
        first += len(spans)


def _spans(texts: list[str], pattern: str, first: int) -> list[list[Span]]:
    seconds = SECONDS + SECONDS_A_LETTER * sum(map(len, texts))
    job = json.dumps({"pattern": pattern, "seconds": seconds, "texts": texts}).encode("ascii")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _WORK],
        input=job,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        check=False,
    )
    lines = done.stdout.split(b"\n")[:-1]
    if done.returncode or len(lines) < len(texts):
        raise ParameterError(
            f"The word pattern (token_pattern) is {pattern!r}; it takes more than {seconds:.2g} seconds on text "
            f"{first + len(lines):,} ({shorten(texts[len(lines)])!r}). "
            "Repeats inside repeats, such as (a+)+, can take forever: write a+."
        )
    return [[(start, end) for start, end in json.loads(line)] for line in lines]


def check_pattern(pattern: str) -> None:
    """Raise ParameterError where a pattern is no regular expression, has two groups, or matches nothing at all."""
    given = f"The word pattern (token_pattern) is {pattern!r}"
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError, OverflowError, RecursionError) as problem:
        raise ParameterError(f"{given}, which is not a regular expression: {problem}.") from None
    if compiled.groups > 1:
        raise ParameterError(f"{given}; it may have one group, write the others as (?:…).")
    if compiled.search(""):
        raise ParameterError(f"{given}, which also matches nothing at all; write + for *.")


def explain_uncut(words: Iterable[tuple[str, float]]) -> str | None:
    """Return what to do where most words are longer than words of their script are, None where they are not.

    With each word comes how often it stands in the texts; phrases, which have blanks, are passed over. Each script
    with a tenth of the letters is judged by itself: more than half of its letters stand in such words.
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
            return _explain_uncut(script, max(found)[1])
    return None


def _explain_uncut(script: str, example: str) -> str:
    what = f"Most words are longer than words are, such as {shorten(example, 30)!r}"
    remedy = "give a tokeniser of your own in Python: load_corpus(…, tokeniser=function)."
    if not script:
        return f"{what}. Check the column of texts and the token pattern, or {remedy}"
    return (
        f"{what}: {_SCRIPTS.get(script, script.capitalize())} text without blanks between words cannot be cut here. "
        rf"Put blanks between the words (the token pattern \w+ keeps words of one letter), or {remedy}"
    )


def _script(word: str) -> str:
    """Return the script of a word as `_LONGEST` knows it; of Japanese the Chinese letters decide."""
    found = [_script_of(letter) for letter in word]
    return "CJK" if "CJK" in found else next((script for script in found if script), "")


@lru_cache(maxsize=4096)
def _script_of(letter: str) -> str:
    script = unicodedata.name(letter, "").partition(" ")[0] if letter > "\u0e00" else ""
    return script if script in _LONGEST else ""
