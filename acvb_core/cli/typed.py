"""Values of the texts that are typed for flags."""

from __future__ import annotations

import argparse
import re


def parse_words(text: str) -> list[str]:
    """Return the words between commas; none for `none`."""
    return [] if text == "none" else [word.strip() for word in text.split(",") if word.strip()]


def parse_shape(text: str) -> tuple[int, int]:
    """Return the two sides of 1892x1892."""
    sides = re.fullmatch(r"(\d+)[x×,](\d+)", text.strip().lower())
    if not sides:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write it as 1892x1892")
    return int(sides[1]), int(sides[2])


def parse_number(text: str) -> float:
    """Return the number that was typed."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def parse_column(text: str) -> str | int | bool:
    """Return a column's name or position, or False for `none`."""
    if text.isascii() and text.isdigit():
        return int(text)
    return False if text == "none" else text


def parse_columns(text: str) -> list[str | int]:
    """Return the columns between commas, each by name or by position."""
    return [int(one) if one.isascii() and one.isdigit() else one for one in parse_words(text)]
