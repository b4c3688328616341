"""Text of the user's for a terminal."""

from __future__ import annotations


def printable(word: str) -> str:
    """Return a word from the user's file with nothing in it that a terminal would obey."""
    return "".join(letter if letter.isprintable() else "�" for letter in word)
