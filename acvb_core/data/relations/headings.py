"""What the names of two columns say: that they are those of a network, and that its links have a direction."""

from __future__ import annotations

import re
from typing import NamedTuple

# What heads the two columns of a network whose links have a direction, without "id" and marks between words.
_DIRECTED_WORDS = (
    ("source", "target"),
    ("src", "dst"),
    ("src", "dest"),
    ("source", "destination"),
    ("source", "sink"),
    ("origin", "destination"),
    ("from", "to"),
    ("fromnode", "tonode"),
    ("sender", "receiver"),
    ("sender", "recipient"),
    ("follower", "followee"),
    ("follower", "followed"),
    ("citing", "cited"),
    ("caller", "callee"),
    ("tail", "head"),
    ("head", "tail"),
    ("truster", "trustee"),
    ("trustor", "trustee"),
    ("giver", "receiver"),
    ("parent", "child"),
)
_UNDIRECTED_WORDS = (("i", "j"), ("u", "v"), ("ego", "alter"))


class Heading(NamedTuple):
    """What the names of the two columns say.

    Attributes
    ----------
    network : bool
        They are such as the columns of a network have.
    directed : bool
        They give the links a direction.
    """

    network: bool
    directed: bool


def heading(row: str, column: str) -> Heading:
    """Return what the names of the two columns of an edge list say.

    >>> heading("Source", "Target"), heading("node_1", "node_2"), heading("userID", "friendID")
    (Heading(network=True, directed=True), Heading(network=True, directed=False), Heading(network=True, directed=False))
    >>> heading("user", "item")
    Heading(network=False, directed=False)
    """
    words = _bare(row), _bare(column)
    if words in _DIRECTED_WORDS or _directed_prefixes(*words):
        return Heading(True, True)
    if words in _UNDIRECTED_WORDS or words[1].startswith("friend") or _numbered(*words):
        return Heading(True, False)
    return Heading(False, False)


def _bare(name: str) -> str:
    """Return a heading in lower case, without marks and what only says that it is a name."""
    word = re.sub(r"[\W_]+", "", name.lower())
    return re.sub(r"(id|name|label)$", "", word) or word


def _directed_prefixes(row: str, column: str) -> bool:
    """Whether the headings are the same word after "from" and "to", or after "source" and "target"."""
    return any(
        row.startswith(first) and column.startswith(second) and row[len(first) :] == column[len(second) :]
        for first, second in (("from", "to"), ("source", "target"), ("src", "dst"))
    )


def _numbered(row: str, column: str) -> bool:
    """Whether the headings are one word with two numbers or letters behind it: node1 and node2."""
    ends = {("1", "2"), ("0", "1"), ("a", "b"), ("i", "j"), ("x", "y")}
    return row[:-1] == column[:-1] and len(row) > 1 and (row[-1:], column[-1:]) in ends
