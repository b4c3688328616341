"""The objects of one side: from the labels a file shows, a node list or a declared size, to final indices."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.relations.guess import heads_node_list
from acvb_core.data.relations.layout import ReadOptions
from acvb_core.data.report import Fact
from acvb_core.data.sources.byte_source import ByteSource, FileLike, Utf8Stream
from acvb_core.data.sources.recognisers import refuse_text_format
from acvb_core.data.sources.records import ONE_FIELD, RecordReader
from acvb_core.errors import DataError, ParameterError

NodeList = Sequence[str] | FileLike
Place = Callable[[int], dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Side:
    """The objects of one side.

    Attributes
    ----------
    labels : ndarray of str (object), shape (n,)
    final : int32 array
        The object of each label code of the file.
    """

    labels: NDArray[Any]
    final: NDArray[np.int32]

    @property
    def n(self) -> int:
        """Number of objects."""
        return len(self.labels)


def side_as_found(labels: Sequence[str]) -> Side:
    """Return one object for each label, in the order given."""
    return Side(np.array(labels, dtype=object), np.arange(len(labels), dtype=np.int32))


def side_from_list(labels: Sequence[str], nodes: Sequence[str], place: Place) -> Side:
    """Return the objects of a node list, in its order.

    Parameters
    ----------
    labels : sequence of str
        What the file shows, by code.
    place : callable
        The `source`, `line` and `column` of a label code, for an error.

    Raises
    ------
    DataError
        The file shows a label that the list does not hold.
    """
    index = {node: i for i, node in enumerate(nodes)}
    final = np.array([index.get(label, -1) for label in labels], dtype=np.int32)
    if (final < 0).any():
        code = int(np.argmax(final < 0))
        raise DataError(
            "this label is not in the node list",
            **place(code),
            value=labels[code],
            remedy=f"Add it to the node list ({len(nodes):,} labels), or leave the list out.",
        )
    return Side(np.array(list(nodes), dtype=object), final)


def side_from_size(labels: Sequence[str], size: int, place: Place) -> Side:
    """Return `size` objects named "0", "1", …; the labels are their 0-based indices.

    Raises
    ------
    DataError
        A label is no whole number, is negative, or is not below `size`.
    """
    final = np.empty(len(labels), dtype=np.int32)
    for code, label in enumerate(labels):
        digits = label.removeprefix("-")
        if not (digits.isascii() and digits.isdigit()):
            raise DataError(
                "with a given shape every label is a 0-based index, and this is no whole number",
                **place(code),
                value=label,
                remedy="Leave the shape out, or give node lists instead.",
            )
        if label.startswith("-"):
            raise DataError(
                "this index is negative", **place(code), value=label, remedy="Indices start at 0."
            )
        if len(digits) > 12 or int(digits) >= size:
            raise DataError(
                f"this index is beyond the given shape, whose last is {size - 1:,}",
                **place(code),
                value=label,
                remedy="Give a larger shape, or leave it out when labels are names and not 0-based indices.",
            )
        final[code] = int(digits)
    return Side(np.array([str(i) for i in range(size)], dtype=object), final)


def side_by_position(n: int, nodes: Sequence[str] | None, side: str, source: str) -> Side:
    """Return `n` objects named by their position, or by a node list of exactly `n` labels."""
    if nodes is None:
        return side_as_found([str(i) for i in range(n)])
    if len(nodes) != n:
        raise DataError(
            f"there are {n:,} {side}s but the node list has {len(nodes):,} labels",
            source=source,
            remedy=f"Give one label for each {side}, in order.",
        )
    return side_as_found(nodes)


def read_node_list(nodes: NodeList | None, what: str) -> tuple[list[str] | None, list[Fact]]:
    """Return a node list given as labels, or as a path to (or the bytes of) a file of one label a line.

    A first line of a file that reads "node", "label" or the like is a heading; the fact returned says so.

    Raises
    ------
    DataError
        A label is blank or stands twice, or the list is empty; names the line.
    """
    facts: list[Fact] = []
    if nodes is None:
        return None, facts
    if isinstance(nodes, str | os.PathLike | bytes) or hasattr(nodes, "read"):
        labels, lines, source = _read_file(cast(FileLike, nodes))
        if len(labels) > 1 and heads_node_list(labels[0]):
            told = f"The first line of the node list {source} ({labels[0]}) was taken as its heading."
            facts.append(Fact("node_list_heading", 1, told))
            labels, lines = labels[1:], lines[1:]
    else:
        labels, source = [str(node) for node in nodes], what
        lines = list(range(1, len(labels) + 1))
    if not labels:
        raise DataError("the node list is empty", source=source, remedy="Give at least one label.")
    seen: dict[str, int] = {}
    for label, line in zip(labels, lines, strict=True):
        if not label:
            raise DataError("a label is blank", source=source, line=line, remedy="Give every object a name.")
        if label in seen:
            raise DataError(
                f"this label already stands on line {seen[label]:,}",
                source=source,
                line=line,
                value=label,
                remedy="Give every object a name of its own.",
            )
        seen[label] = line
    return labels, facts


def _read_file(nodes: FileLike) -> tuple[list[str], list[int], str]:
    with ByteSource(nodes) as source:
        refuse_text_format(source)
        reader = RecordReader(Utf8Stream(source), source.name, ONE_FIELD)
        labels: list[str] = []
        lines: list[int] = []
        for batch in reader:
            labels.extend(batch.field(record, 0) for record in range(batch.n_records))
            lines.extend(batch.lines.tolist())
    return labels, lines, source.name


def read_node_lists(
    row_nodes: NodeList | None, column_nodes: NodeList | None, options: ReadOptions
) -> tuple[list[str] | None, list[str] | None, list[Fact]]:
    """Return the lists of both sides' objects, one list for both where a network is asked for.

    Raises
    ------
    DataError
        As `read_node_list`.
    ParameterError
        The lists, or the shape, are not those of a network that is asked for, or do not go together.
    """
    shape = options.shape
    network = options.wants_network or options.same_nodes
    rows, row_facts = read_node_list(row_nodes, "row_nodes")
    columns, column_facts = read_node_list(column_nodes, "column_nodes")
    if network:
        if rows is not None and columns is not None and rows != columns:
            raise ParameterError(
                "For a network give one node list, or the same one twice; the lists of row objects and of column "
                f"objects that were given ({len(rows):,} and {len(columns):,} labels) differ."
            )
        if shape is not None and shape[0] != shape[1]:
            raise ParameterError(
                f"For a network the shape must be square, not {shape[0]:,} x {shape[1]:,}. Correct it, or take the "
                "sides as two kinds of objects (domains='two')."
            )
        rows = columns = rows if rows is not None else columns
    for nodes, axis, side in ((rows, 0, "row"), (columns, 1, "column")):
        if shape is not None and nodes is not None and len(nodes) != shape[axis]:
            raise ParameterError(
                f"The {side} node list has {len(nodes):,} labels, the shape says {shape[axis]:,}."
            )
    return rows, columns, row_facts + column_facts
