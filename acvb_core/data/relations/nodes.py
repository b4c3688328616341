"""The objects of a side: which there are, in which order, and what is known of them beforehand."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.names import refuse_repeated
from acvb_core.data.relation import Relation
from acvb_core.data.relations.guess import heads_node_list, inspect
from acvb_core.data.relations.layout import ReadOptions
from acvb_core.data.report import Fact, ReadReport, plural, take_apart, tell_count
from acvb_core.data.sources.byte_source import ByteSource, FileLike, Utf8Stream
from acvb_core.data.sources.formats import column_position
from acvb_core.data.sources.recognisers import refuse_text_format
from acvb_core.data.sources.records import ONE_FIELD, RecordReader

NodeList = Sequence[str] | FileLike
#: Returns the `source`, `line` and `column` of a label code, for an error.
Place = Callable[[int], dict[str, Any]]
_FEW = 3  # names that a message lists
_WHOLE = re.compile(r"-?\d+(\.0)?", re.ASCII)
_NUMBER = re.compile(r"[-+]?[\d.]+([eE][-+]?\d+)?", re.ASCII)
_POWER = re.compile(r"-?\d\.(\d+)[eE]\+(\d{1,3})", re.ASCII)


@dataclass(frozen=True, eq=False)
class Side:
    """The objects of one side: their `labels` (object array of str), and the object of each label code of the file."""

    labels: NDArray[Any]
    final: NDArray[np.int32]

    @property
    def n(self) -> int:
        """Number of objects."""
        return len(self.labels)


def make_side(
    labels: Sequence[str], nodes: Sequence[str] | None, place: Place, size: int | None = None
) -> Side:
    """Return the objects that the labels of a file, by code, stand for.

    They are those of a node list; or `size` objects named "0", "1", …, of which the labels are the 0-based indices; or
    else the labels themselves.
    """
    codes = np.arange(len(labels), dtype=np.int32)
    if nodes is not None:
        index = {node: i for i, node in enumerate(nodes)}
        codes = np.array([index.get(label, -1) for label in labels], dtype=np.int32)
        if (codes < 0).any():
            code = int(np.argmax(codes < 0))
            what = "this label is not in the node list"
            remedy = f"Add it to the node list ({len(nodes):,} labels), or leave the list out."
            raise DataError(what, **place(code), value=labels[code], remedy=remedy)
        labels = nodes
    elif size is not None:
        codes = _read_indices(labels, size, place)
        labels = [str(i) for i in range(size)]
    else:
        _refuse_rounded(labels, place)
        whole = unify_numbers(labels)
        if whole is not labels:
            found = {label: code for code, label in enumerate(dict.fromkeys(whole))}
            labels, codes = list(found), np.array([found[label] for label in whole], dtype=np.int32)
    return Side(np.array(labels, dtype=object), codes)


def unify_numbers(labels: Sequence[str]) -> Sequence[str]:
    """Return ids without a .0, which a column of whole numbers gets where a cell was blank; others as they are.

    >>> unify_numbers(["1.0", "1", "20.0"]), unify_numbers(["1.0", "b"])
    (['1', '1', '20'], ['1.0', 'b'])
    """
    if not any(label.endswith(".0") for label in labels) or not all(map(_WHOLE.fullmatch, labels)):
        return labels
    return [label.partition(".")[0] for label in labels]


def _refuse_rounded(labels: Sequence[str], place: Place) -> None:
    """Raise DataError for an id that was rounded, as others were to the same: 1.23457E+11, or from 2^53 on."""
    found = next((code for code, label in enumerate(labels) if _is_rounded(label)), None)
    if found is not None and all(map(_NUMBER.fullmatch, labels)):
        what = "this id is a rounded number, which others may be written as too"
        remedy = "Give ids as texts or whole numbers: in a spreadsheet as text, in pandas with dtype=str."
        raise DataError(what, **place(found), value=labels[found], remedy=remedy)


def _is_rounded(label: str) -> bool:
    match = _POWER.fullmatch(label) if "+" in label else None  # quick: there may be millions
    return match is not None and (int(match[2]) > len(match[1]) or float(label) >= 2**53)


def _read_indices(labels: Sequence[str], size: int, place: Place) -> NDArray[np.int32]:
    codes = np.empty(len(labels), dtype=np.int32)
    for code, label in enumerate(labels):
        digits = label.removeprefix("-")
        if not (digits.isascii() and digits.isdigit()):
            what = "with a given shape every label is a 0-based index, and this is not a whole number"
            remedy = "Leave the shape out, or give node lists instead."
        elif label.startswith("-"):
            what, remedy = "this index is negative", "Indices start at 0."
        elif len(digits) > 12 or int(digits) >= size:
            what = f"this index is beyond the given shape, whose last is {size - 1:,}"
            remedy = "Give a larger shape, or leave it out when labels are names and not 0-based indices."
        else:
            codes[code] = int(digits)
            continue
        raise DataError(what, **place(code), value=label, remedy=remedy)
    return codes


def side_by_position(n: int, nodes: Sequence[str] | None, side: str, source: str) -> Side:
    """Return `n` objects named by their position, or by a node list of exactly `n` labels."""
    if nodes is not None and len(nodes) != n:
        what = f"there are {n:,} {side}s but the node list has {len(nodes):,} labels"
        raise DataError(what, source=source, remedy=f"Give one label for each {side}, in order.")
    labels = [str(i) for i in range(n)] if nodes is None else nodes
    return Side(np.array(labels, dtype=object), np.arange(n, dtype=np.int32))


def read_node_lists(
    row_nodes: NodeList | None, column_nodes: NodeList | None, options: ReadOptions
) -> tuple[list[str] | None, list[str] | None, list[Fact]]:
    """Return the lists of both sides' objects, one list for both where a network is asked for, and their headings."""
    shape = options.shape
    facts: list[Fact] = []
    rows = _read_node_list(row_nodes, "row_nodes", facts)
    columns = _read_node_list(column_nodes, "column_nodes", facts)
    if options.wants_network or options.same_nodes:
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
            told = f"The {side} node list has {len(nodes):,} labels, the shape says {shape[axis]:,}."
            raise ParameterError(told)
    return rows, columns, facts


def _read_node_list(nodes: NodeList | None, source: str, facts: list[Fact]) -> list[str] | None:
    """Return a node list given as labels, or as a file of one label a line.

    A first line of a file that reads "node", "label" or the like is a heading; a fact says so.
    """
    if nodes is None:
        return None
    if isinstance(nodes, str | os.PathLike | bytes) or hasattr(nodes, "read"):
        with ByteSource(cast(FileLike, nodes)) as opened:
            refuse_text_format(opened)
            source = opened.name
            records = _number_lines(RecordReader(Utf8Stream(opened), source, ONE_FIELD))
            labels = [(line, label) for line, (label,) in records]
        if len(labels) > 1 and heads_node_list(labels[0][1]):
            told = f"The first line of the node list {source} ({labels[0][1]}) was taken as its heading."
            facts.append(Fact("node_list_heading", 1, told))
            del labels[0]
    else:
        labels = list(enumerate(map(str, nodes), start=1))
    if not labels:
        raise DataError("the node list is empty", source=source, remedy="Give at least one label.")
    found = [label for _, label in labels]
    refuse_repeated(found, "object", lambda i: {"source": source, "line": labels[i][0]})
    return found


def _number_lines(reader: RecordReader) -> Iterator[tuple[int, list[str]]]:
    """Yield each record's line and fields."""
    for batch in reader:
        for i, line in enumerate(batch.lines.tolist()):
            yield line, batch.record(i)


class ObjectLabels(dict[str, NDArray[Any]]):
    """Labels of the row objects by what they tell ("club"): object arrays of str, "" where nothing is known."""

    report: ReadReport  # what reading them found


def load_labels(
    source: FileLike,
    relation: Relation,
    *,
    filename: str | None = None,
    name_column: str | int = 0,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: Literal["auto"] | bool = "auto",
) -> ObjectLabels:
    r"""Read known labels of a relation's row objects; `with_attributes` puts them beside it.

    Parameters
    ----------
    source : path, bytes or binary file object
        A delimited text, gzipped or not: in each line an object's name and one label or more.
    relation : Relation, shape (n_rows, n_cols)
    filename : str, optional
        The name the user knows the source by.
    name_column : str or int
        The column with the objects' names, by header name or by 0-based position.
    encoding, delimiter
        As in `load_relation`.
    header : "auto" or bool
        Whether the first line holds names. Guessed: it does unless it begins with the name of an object.

    Returns
    -------
    ObjectLabels
        A dict from each further column's name to labels of shape (n_rows,), in the order of the relation's rows.

    Raises
    ------
    DataError
        No line names an object of the relation, or an object has two different labels.

    Examples
    --------
    >>> relation = Relation.build([[0, 1], [1, 0]], row_labels=["Ann", "Bob"])
    >>> load_labels(b"name,club\nBob,chess\nAnn,go\n", relation)["club"].tolist()
    ['go', 'chess']
    """
    if isinstance(name_column, str) and header == "auto":
        header = True
    objects = dict.fromkeys(take_apart(relation)[0].row_labels)
    with ByteSource(source, filename) as opened:
        named = header is True
        looking = ReadOptions(format="edges", encoding=encoding, delimiter=delimiter, header=named)
        layout = inspect(opened, looking)
        at = column_position(layout, name_column)
        if at is None:
            raise ParameterError(f"name_column is {name_column!r}; give a column's name or position.")
        reader = RecordReader(Utf8Stream(opened, encoding), opened.name, layout.delimiter or ",")
        records = _number_lines(reader)
        line, first = next(records)
        if header == "auto":
            named = first[at] not in objects
        if not named:
            records = chain([(line, first)], records)
        known, unknown = _match_names(records, objects, at, opened)
    labels = ObjectLabels()
    for i, heading in enumerate(first):
        name = heading if named and heading else f"column {i + 1}"
        if i == at:
            continue
        if name in labels:
            remedy = "Give each column of labels a name of its own."
            raise opened.fault("two columns have the same name", remedy, 1, name)
        column = [known[own][1][i] if own in known else "" for own in objects]
        labels[name] = np.array(column, dtype=object)
    held = "names" if named else "data"
    read = f"Read {plural(reader.lines_read, 'line')} of labels; the first holds {held}."
    facts = _label_facts(list(labels), len(known), len(objects), unknown)
    labels.report = ReadReport(opened.name, (Fact("lines", reader.lines_read, read), *facts))
    return labels


def _match_names(
    records: Iterable[tuple[int, list[str]]], objects: Collection[str], at: int, source: ByteSource
) -> tuple[dict[str, tuple[int, list[str]]], dict[str, int]]:
    """Return the line and the fields of each object that a table names, and the line of each other name."""
    known: dict[str, tuple[int, list[str]]] = {}
    unknown: dict[str, int] = {}
    for line, fields in records:
        name = fields[at]
        if name not in objects:
            unknown.setdefault(name, line)
            continue
        first, labels = known.setdefault(name, (line, fields))
        if labels != fields:
            what = f"this object already has other labels on line {first:,}"
            remedy = "Keep one of the two lines."
            raise DataError(what, source=source.name, line=line, column=at + 1, value=name, remedy=remedy)
    if not known and not unknown:
        raise source.fault("the file holds no labels", "Load a file with data in it.")
    if not known:
        own = ", ".join(map(repr, islice(objects, _FEW)))
        raise DataError(
            f"none of the {plural(len(unknown), 'name')} is an object of the relation, whose first are {own}",
            source=source.name,
            line=next(iter(unknown.values())),
            column=at + 1,
            value=", ".join(islice(unknown, _FEW)),
            remedy="Put the objects' names into the first column (or choose it), spelt as in the relation.",
        )
    return known, unknown


def _label_facts(labels: list[str], n: int, n_objects: int, unknown: dict[str, int]) -> Iterator[Fact]:
    """Yield how many objects have labels, how many have none, and whose labels were for no object."""
    of_objects = f"{n:,} of {plural(n_objects, 'object')} {'has' if n == 1 else 'have'} labels"
    yield Fact("labelled", n, f"{of_objects}: {', '.join(labels)}.")
    yield from tell_count("unlabelled", n_objects - n, "{object has|objects have} no label.")
    if unknown:
        few = ", ".join(f"{name} (line {line:,})" for name, line in islice(unknown.items(), _FEW))
        who, more = plural(len(unknown), "name is", "names are"), ", …" if len(unknown) > _FEW else ""
        told = f"{who} not in the relation: {few}{more}; passed over."
        yield Fact("unknown_names", len(unknown), told)
