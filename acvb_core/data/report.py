"""Reports of what a reader found and did: a list of structured facts, each with its sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Fact:
    """One thing a reader found or did."""

    name: str  # a stable key ("links", "duplicates", …) for programs
    count: int  # how many lines, pairs or objects it concerns
    sentence: str  # the same for people, with a full stop
    details: Mapping[str, Any] = field(default_factory=dict)  # JSON-able, such as the threshold that was used


@dataclass(frozen=True)
class ReadReport:
    """Everything a reader found, merged or set aside, in the order it should be told."""

    source: str
    facts: tuple[Fact, ...]

    def lines(self) -> list[str]:
        """Return one plain sentence for each fact."""
        return [fact.sentence for fact in self.facts]

    def count(self, name: str) -> int:
        """Return the count of the fact called `name`, 0 when there is no such fact."""
        return sum(fact.count for fact in self.facts if fact.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-able values."""
        return {"source": self.source, "facts": [asdict(fact) for fact in self.facts]}


def plural(count: int, one: str, many: str | None = None) -> str:
    """Return "1 line" or "2,000 lines"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def tell_count(name: str, n: int, sentence: str, **details: Any) -> list[Fact]:
    """Return a fact about `n` things, none if there are none; "{thing is|things are}" becomes their number.

    The sentence holds no text of a user, which may have braces.

    >>> tell_count("blank_lines", 2, "{blank line}: passed over.")[0].sentence
    '2 blank lines: passed over.'
    """
    told = re.sub(r"\{(.*?)(?:\|(.*?))?\}", lambda words: plural(n, words[1], words[2]), sentence)
    return [Fact(name, n, told, details)] if n else []
