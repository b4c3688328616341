"""Values of the texts that are typed for flags."""

from __future__ import annotations

import argparse
import re


def parse_words(text: str) -> list[str]:
    """Return the words between commas; none for `none`."""
    return [] if text == "none" else [word.strip() for word in text.split(",") if word.strip()]


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


def parse_count(text: str) -> int:
    """Return the whole number of at least 1."""
    if not re.fullmatch(r"\d{1,9}", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def parse_port(text: str) -> int:
    """Return the number of a port."""
    if not re.fullmatch(r"\d{1,5}", text) or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 65535")
    return int(text)


def parse_names(text: str) -> list[str]:
    """Return the names between commas, each once."""
    names = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names:
        raise argparse.ArgumentTypeError("name at least one")
    return names


def parse_seeds(text: str) -> list[int]:
    """Return the seeds: those between commas, or as many as the number says, from 0."""
    if not re.fullmatch(r"\d+(,\d+)*,?", text) or text == "0":
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of seeds nor a list like 0,5,7")
    if "," in text:
        return list(dict.fromkeys(int(part) for part in text.split(",") if part))
    return list(range(int(text)))
