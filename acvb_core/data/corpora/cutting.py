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
from typing import Any

from acvb_core.errors import ParameterError, shorten

#: Two letters, digits or underscores at least: scikit-learn's usual pattern. Marks on a letter belong to it.
TOKEN_PATTERN = r"(?u)\b\w\w+\b"
#: Instead of a pattern: the texts are lists of words.
NO_PATTERN = ""

#: Time for each piece of text in seconds, and for each letter of it: many times what a usual pattern takes.
SECONDS, SECONDS_A_LETTER = 1.0, 1e-5
#: Letters of a piece.
LETTERS = 1 << 20

# The time does not count the start of the process. The watch works while `re` does: it is no Python code.
_WORK = """
import faulthandler, json, re, sys
job = json.load(sys.stdin)
pattern = re.compile(job["pattern"])
faulthandler.dump_traceback_later(job["seconds"], exit=True)
for text in job["texts"]:
    print(json.dumps([match.span(pattern.groups) for match in pattern.finditer(text)]), flush=True)
"""

Span = tuple[int, int]
#: Takes a text and gives its words, as the tokenisers that scikit-learn's vectorisers take.
WordFunction = Callable[[str], Iterable[str]]
_LISTS_OF_WORDS = "give each document as a list of its words"


def words_of(texts: Iterable[str], pattern: str, first: int = 1) -> Iterator[list[str]]:
    """Give the words of each text; parameters and errors as for `find_spans`."""
    if pattern == TOKEN_PATTERN:
        return map(_usual().findall, texts)
    texts = list(texts)
    found = zip(texts, find_spans(texts, pattern, first=first), strict=True)
    return ([text[start:end] for start, end in spans] for text, spans in found)


def spans_of(text: str, pattern: str) -> list[Span]:
    """Return where the words of a text are; errors as for `find_spans`."""
    if pattern == TOKEN_PATTERN:
        return [match.span() for match in _usual().finditer(text)]
    return next(find_spans([text], pattern))


def words_by(function: WordFunction, texts: Iterable[str], first: int = 1) -> Iterator[list[str]]:
    """Give the words that a function of the user's finds in each text; what is blank is no word.

    Parameters
    ----------
    function : callable
        str -> iterable of str.
    texts : iterable of str
    first : int
        Number of the first text, for messages.

    Raises
    ------
    ParameterError
        The function fails, or gives something else; names the text.
    """
    name = name_of(function)
    wanted = "it must give a list of str, the words of the text"
    for number, text in enumerate(texts, first):
        where = f"of text {number:,} ({shorten(text)!r}) the tokeniser {name}"
        try:
            given = function(text)
            words = given if isinstance(given, str | bytes | None) else list(given)
        except Exception as problem:
            raise ParameterError(f"{where} fails: {type(problem).__name__}: {problem}.") from problem
        yield checked_words(words, f"{where} gives", wanted)


def checked_words(words: Any, what: str, wanted: str) -> list[str]:
    """Return words without the blank ones.

    Parameters
    ----------
    words : list of str, or what may not be one
    what, wanted : str
        What has them, and what it should have, for messages.

    Raises
    ------
    ParameterError
        It is no list of str.
    """
    if not isinstance(words, list | tuple):
        raise ParameterError(f"{what} something of the type {type(words).__name__}; {wanted}.")
    odd = [word for word in words if not isinstance(word, str)]
    if odd:
        raise ParameterError(f"{what} a list with a {type(odd[0]).__name__} ({odd[0]!r}); {wanted}.")
    return [word for word in words if word and not word.isspace()]


def word_lists(documents: Iterable[Any], lowercase: bool, first: int = 1) -> Iterator[list[str]]:
    """Give the words of documents that are lists of words; ParameterError names one that is none."""
    for number, words in enumerate(documents, first):
        found = checked_words(words, f"document {number:,} is", _LISTS_OF_WORDS)
        yield [word.lower() for word in found] if lowercase else found


def places_of(words: Sequence[str], text: str) -> list[tuple[str, int, int]]:
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


#: A word that a function changed (its stem, say) is not looked for further on than so many letters.
_NEAR = 60


@lru_cache(maxsize=1)
def _usual() -> re.Pattern[str]:
    """Return the usual pattern with marks on letters.

    To `re` the vowel signs of Hindi or Thai and a separate accent are no part of a word; nor is a joiner in Persian.
    """
    # Beyond 0xFFFF `re` would be a hundred times slower.
    marks = [chr(n) for n in range(0x300, 0x10000) if unicodedata.category(chr(n))[0] == "M"]
    some = "".join([*marks, "\u200c", "\u200d"])
    return re.compile(rf"\b\w[{some}]*\w[\w{some}]*")


def find_spans(texts: Iterable[str], pattern: str, *, first: int = 1) -> Iterator[list[Span]]:
    """Give where the words of each text are.

    Parameters
    ----------
    texts : iterable of str
    pattern : str
        A regular expression with one group at most.
    first : int
        Number of the first text, for messages.

    Raises
    ------
    ParameterError
        The pattern takes too long; names the text.
    """
    for piece in _pieces(texts):
        yield from _spans(piece, pattern, first)
        first += len(piece)


def _pieces(texts: Iterable[str]) -> Iterator[list[str]]:
    piece: list[str] = []
    letters = 0
    for text in texts:
        piece.append(text)
        letters += len(text)
        if letters >= LETTERS:
            yield piece
            piece, letters = [], 0
    if piece:
        yield piece


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
            f"token_pattern is {pattern!r}; it takes more than {seconds:.2g} seconds on text {first + len(lines):,} "
            f"({shorten(texts[len(lines)])!r}). Repeats inside repeats, such as (a+)+, can take forever: write a+."
        )
    return [[(start, end) for start, end in json.loads(line)] for line in lines]


def check_pattern(pattern: str) -> None:
    """Raise ParameterError where a pattern is no regular expression, has two groups, or matches nothing at all."""
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError, OverflowError, RecursionError) as problem:
        raise ParameterError(
            f"token_pattern is {pattern!r}, which is no regular expression: {problem}."
        ) from None
    if compiled.groups > 1:
        raise ParameterError(
            f"token_pattern is {pattern!r}; it may have one group, write the others as (?:…)."
        )
    if compiled.search(""):
        raise ParameterError(
            f"token_pattern is {pattern!r}, which also matches nothing at all; write + for *."
        )
