"""Known labels of the objects of a relation, from a table with one object a line."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.relation import Relation
from acvb_core.data.relations.guess import inspect
from acvb_core.data.relations.layout import Layout
from acvb_core.data.report import Fact, ReadReport, plural
from acvb_core.data.sources.byte_source import ByteSource, FileLike, Utf8Stream
from acvb_core.data.sources.formats import column_position
from acvb_core.data.sources.records import RecordReader
from acvb_core.errors import DataError, ParameterError

_FEW = 3  # names that a message lists


class ObjectLabels(dict[str, NDArray[Any]]):
    """Labels of the row objects by what they tell ("club"): object arrays of str, "" where nothing is known.

    Attributes
    ----------
    report : ReadReport
        What reading them found.
    """

    report: ReadReport


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
    with ByteSource(source, filename) as opened:
        layout = _layout(opened, encoding, delimiter, header)
        at = _name_position(layout, name_column)
        position = {name: i for i, name in enumerate(relation.row_labels)}
        if header == "auto":
            first = layout.column_names if layout.header else layout.rows[0]
            layout = _layout(opened, encoding, delimiter, first[at] not in position)
            at = _name_position(layout, name_column)
        reader = RecordReader(
            Utf8Stream(opened, encoding), opened.name, layout.delimiter or ",", header=layout.header
        )
        columns = [i for i in range(layout.n_fields) if i != at]
        table = _Table(opened.name, position, at, columns)
        for batch in reader:
            for i in range(batch.n_records):
                table.add(batch.record(i), int(batch.lines[i]))
        table.check()
        names = reader.header or [f"column {i + 1}" for i in range(layout.n_fields)]
        found = ObjectLabels()
        for i, values in zip(columns, table.columns(), strict=True):
            name = names[i] or f"column {i + 1}"
            if name in found:
                raise DataError(
                    "two columns have the same name",
                    source=opened.name,
                    line=1,
                    value=name,
                    remedy="Give each column of labels a name of its own.",
                )
            found[name] = values
        held = "names" if layout.header else "data"
        read = f"Read {plural(reader.lines_read, 'line')} of labels; the first holds {held}."
        facts = (Fact("lines", reader.lines_read, read), *table.facts(list(found)))
        found.report = ReadReport(opened.name, facts)
        return found


class _Table:
    """Labels as lines bring them."""

    def __init__(self, source: str, position: dict[str, int], at: int, columns: list[int]) -> None:
        self._source = source
        self._position = position
        self._at = at
        self._columns = columns
        self._labels: dict[int, tuple[list[str], int]] = {}  # by object: labels and line
        self._unknown: dict[str, int] = {}  # names that are no object's: line

    def add(self, fields: list[str], line: int) -> None:
        name = fields[self._at]
        row = self._position.get(name)
        if row is None:
            self._unknown.setdefault(name, line)
            return
        labels = [fields[i] for i in self._columns]
        known, first = self._labels.setdefault(row, (labels, line))
        if known != labels:
            raise DataError(
                f"this object already has other labels on line {first:,}",
                source=self._source,
                line=line,
                column=self._at + 1,
                value=name,
                remedy="Keep one of the two lines.",
            )

    def check(self) -> None:
        """Refuse a table that tells of none of the objects."""
        if self._labels:
            return
        few = list(self._unknown)[:_FEW]
        if not few:
            raise DataError(
                "the file holds no labels", source=self._source, remedy="Load a file with data in it."
            )
        own = ", ".join(repr(name) for name in list(self._position)[:_FEW])
        raise DataError(
            f"none of the {plural(len(self._unknown), 'name')} is an object of the relation, whose first are {own}",
            source=self._source,
            line=self._unknown[few[0]],
            column=self._at + 1,
            value=", ".join(few),
            remedy="Put the objects' names into the first column (or choose it), spelt as in the relation.",
        )

    def columns(self) -> list[NDArray[Any]]:
        """Return the labels of every object, column by column."""
        found = [np.full(len(self._position), "", dtype=object) for _ in self._columns]
        for row, (labels, _) in self._labels.items():
            for values, label in zip(found, labels, strict=True):
                values[row] = label
        return found

    def facts(self, names: list[str]) -> list[Fact]:
        """Return how many objects have labels, how many have none, and whose labels were for no object."""
        n, n_objects = len(self._labels), len(self._position)
        told = f"{n:,} of {plural(n_objects, 'object')} {'has' if n == 1 else 'have'} labels: {', '.join(names)}."
        facts = [Fact("labelled", n, told)]
        if n < n_objects:
            rest = n_objects - n
            facts.append(Fact("unlabelled", rest, f"{plural(rest, 'object has', 'objects have')} no label."))
        if self._unknown:
            few = ", ".join(f"{name} (line {line:,})" for name, line in list(self._unknown.items())[:_FEW])
            more = ", …" if len(self._unknown) > _FEW else ""
            who = plural(len(self._unknown), "name is", "names are")
            told = f"{who} not in the relation: {few}{more}; passed over."
            facts.append(Fact("unknown_names", len(self._unknown), told))
        return facts


def _layout(
    source: ByteSource, encoding: str | None, delimiter: str | None, header: Literal["auto"] | bool
) -> Layout:
    """Return the table's layout: it is one of pairs as an edge list is, of a name and what is known of it."""
    return inspect(
        source,
        format="edges",
        encoding=encoding,
        delimiter=delimiter,
        header=False if header == "auto" else header,
    )


def _name_position(layout: Layout, choice: str | int) -> int:
    found = column_position(layout, choice)
    if found is None:
        raise ParameterError(f"name_column is {choice!r}; give a column's name or position.")
    return found
