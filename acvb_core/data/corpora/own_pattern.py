r"""Words that a pattern of a user's own finds, within a time limit.

With a pattern such as (?:a+)+\b\d each further letter doubles the time, and `re` lets no other thread work meanwhile.
So such a pattern works in a process of its own, which ends itself when its time is up.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator

from acvb_core.errors import ParameterError, shorten

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
