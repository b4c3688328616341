"""A graph as a file gives it: nodes with what is known of them, and edges with theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from acvb_core.data.report import Fact
from acvb_core.data.sources.byte_source import ByteSource, Utf8Stream
from acvb_core.errors import DataError

#: Bytes of a graph file (unpacked): in memory a graph takes about ten times as much.
MAX_GRAPH_BYTES = 200_000_000


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph as a file gives it.

    Attributes
    ----------
    kind : str
        What people call the format.
    ids : sequence of str
        Unique; what the file calls its nodes by itself.
    nodes : sequence of mappings, one for each node
        What is known of it.
    edges : sequence of (int, int)
        Positions of two nodes. Edges of an undirected graph stand there once.
    values : sequence of mappings, one for each edge
        What is known of it.
    directed : bool or None
        None where the file does not say.
    first_side : int or None
        The file says that it has two modes: nodes before this position are of the first.
    facts : list of Fact
        What reading the file found.
    """

    kind: str
    ids: Sequence[str]
    nodes: Sequence[Mapping[str, Any]]
    edges: Sequence[tuple[int, int]]
    values: Sequence[Mapping[str, Any]]
    directed: bool | None
    first_side: int | None = None
    facts: list[Fact] = field(default_factory=list)


def whole_bytes(source: ByteSource) -> bytes:
    """Return the unpacked content of a graph file.

    Raises
    ------
    DataError
        It is larger than a graph file may be.
    """
    content = source.open().read(MAX_GRAPH_BYTES + 1)
    _check_size(len(content), source)
    return content


def whole_lines(source: ByteSource, encoding: str | None) -> list[str]:
    """Return the lines of a graph file, without their ends.

    Raises
    ------
    DataError
        It is larger than a graph file may be, or bytes are not of the encoding.
    """
    stream = Utf8Stream(source, encoding)
    pieces, size = [], 0
    while piece := stream.read(1 << 20):
        pieces.append(piece)
        size += len(piece)
        _check_size(size, source)
    text = b"".join(pieces).decode("utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _check_size(size: int, source: ByteSource) -> None:
    if size > MAX_GRAPH_BYTES:
        raise DataError(
            f"the graph file is larger than {MAX_GRAPH_BYTES / 1e6:,.0f} MB",
            source=source.name,
            remedy="Save the links as an edge list (CSV): those are read piece by piece.",
        )
