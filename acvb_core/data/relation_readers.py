"""Load a relation from what people have: lists of links, matrices, graphs; in files, frames or other objects."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import fields, replace
from itertools import islice
from numbers import Number
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.graph import graph_of_object, read_graph, relation_of_graph
from acvb_core.data.matrix import read_array, read_matrix, read_matrix_market, read_npz
from acvb_core.data.names import name_ends, refuse_repeated
from acvb_core.data.network import resolve_domains, with_attributes
from acvb_core.data.relation import Relation
from acvb_core.data.relation_build import (
    Entries,
    object_facts,
    open_list,
    open_pairs,
    read_edge_list,
)
from acvb_core.data.relation_schema import (
    COLUMN_FORMATS,
    GRAPH_FORMATS,
    LIST_NAMES,
    ReadOptions,
    inspect,
    refuse_texts,
    with_choices,
)
from acvb_core.data.report import Fact, LoadedData, ReadReport, list_first, plural, take_apart, tell_count
from acvb_core.data.schema import Schema
from acvb_core.data.sources.arrays import graph_library
from acvb_core.data.sources.containers import open_records, open_source
from acvb_core.data.sources.formats import refuse_text_format
from acvb_core.data.sources.frames import FrameSource, column_types, is_frame
from acvb_core.data.sources.parse import ONE_FIELD, RecordReader
from acvb_core.data.sources.source import ByteSource, FileLike, Utf8Stream
from acvb_core.data.sources.values import RecordBatch

NodeList = Sequence[str] | FileLike
_FEW = 3  # names that a message lists


def read_node_lists(
    row_nodes: NodeList | None, column_nodes: NodeList | None, options: ReadOptions
) -> tuple[list[str] | None, list[str] | None, list[Fact]]:
    """Return the lists of both sides' objects, one list for both if a network is asked for, and their headings."""
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
        if len(labels) > 1 and labels[0][1].strip().lower() in LIST_NAMES:
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


def _number_lines(reader: Iterable[RecordBatch]) -> Iterator[tuple[int, list[str]]]:
    """Yield each record's line and fields."""
    for batch in reader:
        yield from zip(batch.lines.tolist(), batch.records(), strict=True)


class ObjectLabels(dict[str, NDArray[Any]]):
    """Labels of the objects of a side by what they tell ("club"): object arrays of str, "" if nothing is known."""

    report: ReadReport  # what reading them found


def load_labels(
    source: FileLike,
    relation: Relation,
    *,
    domain: str = "rows",
    filename: str | None = None,
    name_column: str | int = 0,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: Literal["auto"] | bool = "auto",
) -> ObjectLabels:
    r"""Read known labels of a relation's objects; `with_attributes` adds them to it.

    Parameters
    ----------
    source : path, bytes or binary file object
        A delimited text, gzipped or not: in each line an object's name and one label or more.
    relation : Relation, shape (n_rows, n_cols)
    domain : "rows" or "cols"
        Whose labels these are.
    name_column : str or int
        The column with the objects' names, by header name or by 0-based position.
    filename, encoding, delimiter
        As in `load_relation`.
    header : "auto" or bool
        Whether the first line holds names. Guessed: it does unless it begins with the name of an object.

    Returns
    -------
    ObjectLabels
        A dict from each further column's name to labels of shape (n,), in the order of the relation's objects.

    Raises
    ------
    DataError
        No line names an object of the domain, or an object has two different labels.

    Examples
    --------
    >>> relation = Relation.build([[0, 1], [1, 0]], row_labels=["Ann", "Bob"])
    >>> load_labels(b"name,club\nBob,chess\nAnn,go\n", relation)["club"].tolist()
    ['go', 'chess']
    """
    relation = take_apart(relation)[0]
    sides = {"rows": relation.row_labels, "cols": relation.column_labels}
    if domain not in sides:
        raise ParameterError(f"there is no domain {domain!r}; there are rows and cols.")
    objects = dict.fromkeys(sides[domain])
    named = header is True or (isinstance(name_column, str) and header == "auto")
    looking = ReadOptions(format="edges", encoding=encoding, delimiter=delimiter, header=named)
    with ByteSource(source, filename) as opened:
        schema = inspect(opened, looking)
        at = schema.position(name_column)
        if at is None:
            raise ParameterError(f"name_column is {name_column!r}; give a column's name or position.")
        named = named or (header == "auto" and schema.rows[0][at] not in objects)
        reader = open_list(opened, replace(schema, header=named), looking)
        known, unknown = _match_names(_number_lines(reader), objects, at, opened)
        if not known:
            raise _unknown_fault(unknown, relation, domain, at, opened)
    labels = ObjectLabels()
    for i, heading in enumerate(reader.header or [""] * schema.n_fields):
        if i == at:
            continue
        name = heading or f"column {i + 1}"
        if name in labels:
            remedy = "Give each column of labels a name of its own."
            raise opened.fault("two columns have the same name", remedy, 1, name)
        labels[name] = np.array([known[own][1][i] if own in known else "" for own in objects], dtype=object)
    held = "names" if named else "data"
    read = f"Read {plural(reader.lines_read, 'line')} of labels; the first holds {held}."
    facts = _label_facts(list(labels), len(known), len(objects), unknown)
    labels.report = ReadReport(opened.name, (Fact("lines", reader.lines_read, read), *facts))
    return labels


def _match_names(
    records: Iterable[tuple[int, list[str]]], objects: Collection[str], at: int, source: ByteSource
) -> tuple[dict[str, tuple[int, list[str]]], dict[str, int]]:
    """Return the line and the cells of each object that a table names, and the line of each other name."""
    known: dict[str, tuple[int, list[str]]] = {}
    unknown: dict[str, int] = {}
    for line, cells in records:
        name = cells[at]
        if name not in objects:
            unknown.setdefault(name, line)
            continue
        first, labels = known.setdefault(name, (line, cells))
        if labels != cells:
            what = f"this object already has other labels on line {first:,}"
            remedy = "Keep one of the two lines."
            raise DataError(what, source=source.name, line=line, column=at + 1, value=name, remedy=remedy)
    if not known and not unknown:
        raise source.fault("the file holds no labels", "Load a file with data in it.")
    return known, unknown


def _unknown_fault(
    unknown: Mapping[str, int], relation: Relation, domain: str, at: int, source: ByteSource
) -> DataError:
    """Return the error for a table that names no object of its domain."""
    objects, others = relation.row_labels, relation.column_labels
    called = "an object" if relation.network is not None else "a row object"
    if domain == "cols" and relation.network is None:
        objects, others, called = others, objects, "a column object"
    own = ", ".join(map(repr, objects[:_FEW]))
    remedy = "Put the objects' names into the first column (or choose it), spelt as in the relation."
    if not unknown.keys().isdisjoint(others):
        remedy = "They are objects of the other side: give the table as labels of that side."
    return DataError(
        f"none of the {plural(len(unknown), 'name')} is {called} of the relation, whose first are {own}",
        source=source.name,
        line=next(iter(unknown.values())),
        column=at + 1,
        value=", ".join(islice(unknown, _FEW)),
        remedy=remedy,
    )


def _label_facts(labels: list[str], n: int, n_objects: int, unknown: dict[str, int]) -> Iterator[Fact]:
    """Yield how many objects have labels, how many have none, and whose labels were for no object."""
    of_objects = f"{n:,} of {plural(n_objects, 'object')} {'has' if n == 1 else 'have'} labels"
    yield Fact("labelled", n, f"{of_objects}: {', '.join(labels)}.")
    yield from tell_count("unlabelled", n_objects - n, "{object has|objects have} no label.")
    if unknown:
        few = list_first([f"{name} (line {line:,})" for name, line in unknown.items()], _FEW)
        told = f"{plural(len(unknown), 'name is', 'names are')} not in the relation: {few}; skipped."
        yield Fact("unknown_names", len(unknown), told)


#: Names of the options of this reader.
OPTIONS = frozenset({field.name for field in fields(ReadOptions)} | {"filename", "row_nodes", "column_nodes"})


def inspect_source(source: FileLike, filename: str | None = None, **looking: Any) -> Schema:
    """Look at the head of a file or a data frame and propose how to read it.

    `looking` holds what is given and not guessed: format, encoding, delimiter, decimal, header, sheet, table or query,
    as `load_relation` takes them. DataError if it is nothing that is read: empty, binary, a foreign format, one
    column.
    """
    options = ReadOptions(**looking)
    with open_source(source, filename, kind="relation", choices=options.part) as opened:
        return inspect(opened, options)


def load_relation(
    data: FileLike | Any,
    /,
    *,
    filename: str | None = None,
    name: str | None = None,
    row_nodes: NodeList | None = None,
    column_nodes: NodeList | None = None,
    **options: Any,
) -> LoadedData[Relation]:
    r"""Read a relation from a file or from an object in memory; gzip is recognised by itself.

    Pairs that an edge list does not show, and entries that a sparse file does not store, are observed zeros. A
    pair given more than once: counts are added up; other values must agree (a link and an observed 0 are an
    error that names both lines); a known value prevails over a missing one. The report tells each of these.

    Parameters
    ----------
    data : path, bytes, binary file object, data frame, graph, array, sparse matrix or pairs
        A file is delimited text, MatrixMarket, .npz, GraphML, GEXF, GML, Pajek, node-link JSON, Parquet, Arrow,
        Feather, Excel, ODS, JSON Lines or SQLite. A data frame is one of pandas, polars, pyarrow, duckdb or another
        library with the Arrow stream protocol; a graph is one of networkx, igraph or graph-tool. A list, or any
        iterable, holds pairs of labels, or triples of two labels and a value. Numbers of an array are 1 for a link, 0
        for none and NaN (or masked) if the link is unknown; others need a threshold.
    filename, name : str, optional
        Names that the user knows the source and the relation by (default: the file's name).
    format : "auto", or the name of a format of relations
    row_column, column_column, value_column : str or int, optional
        Edge lists: which columns hold the row label, the column label and the value, by header name or by
        0-based position. None: guessed; it is an error if a column holds long texts and neither side is chosen.
        `value_column=False`: no values, every line is a link. Of a graph file
        `value_column` is the name of the edges' weight ("weight" or "value" when there is one). For a matrix,
        `row_column=False` says that rows have no labels, 0 that the first column holds them.
    source, target, value : str or int, optional
        Other names of row_column, column_column and value_column.
    threshold : float or str, optional
        A number above it is a link; never negative. "90%": the 90 % quantile of the positive values that the source
        holds. Default: 0 for a text file. Arrays, frames and files of typed columns need one if a value is neither
        0 nor 1.
    shape : (n_rows, n_columns), optional
        Edge lists: labels are 0-based indices below it. Other formats: what the file must have.
    row_nodes, column_nodes : sequence of str, path or bytes of a one-column file, optional
        All objects of a side, in order, with those that have no link; names for files without labels.
    same_nodes : bool
        Edge lists: both sides are the same objects (a network); every label is on both.
    unlisted : "zero" or "missing"
        Edge lists: what a pair is that the file does not list.
    domains : "auto", "one" or "two"
        Whether both sides are the same objects (a network: every name of either side is a node) or two kinds of
        objects. "auto": as the file says or looks, two if `shape` is not square or the two lists of objects
        differ; the report and `schema.sides` tell which, and why.
    directed : bool, optional
        Networks: whether i to j and j to i are different links. None: guessed; it is an error if links of both kinds
        are mixed, or if columns such as "from" and "to" hold sorted pairs, as lists of undirected links do. Of an
        undirected network a pair is linked if the file links it either way.
    self_links : bool, optional
        Networks: whether links of an object to itself count. None: they do if there is one. Where they do not,
        those in the file are left out, and the report says how many.
    encoding : str, optional
        Default: UTF-8, or UTF-16 / UTF-32 when a byte order mark says so.
    delimiter, header : optional
        One character (guessed among tab ; | , and, for columns of numbers, space), and whether the first line holds
        names.
    decimal : "." or ",", optional
        The decimal sign of values; the other sign may then be between thousands. Guessed unless a number may be two.
    sheet, table, query : optional
        Of a workbook the sheet, by name or by 0-based position (default: the visible one with most rows). Of a database
        the name of the table, or a SELECT that only reads (default: its only table).

    Raises
    ------
    DataError
        The file cannot be read as asked; the message names file, line, column, value and a remedy.
    ParameterError
        An argument makes no sense for any file.

    Examples
    --------
    >>> loaded = load_relation(b"person,event\nAnn,Fair\nBob,Fair\n", name="outings")
    >>> loaded.data.shape
    (2, 1)
    """
    asked = ReadOptions(**options)
    rows, columns, list_facts = read_node_lists(row_nodes, column_nodes, asked)
    asked = replace(asked, row_nodes=rows, column_nodes=columns, name=name or "")
    if (kind := _object_kind(data)) is None:
        schema, (relation, entries) = _read_source(data, filename, asked)
    else:
        for option in ("format", "encoding", "delimiter", "header", "sheet", "table", "query"):
            if options.get(option) not in (None, "auto"):
                raise ParameterError(f"{option} is for files; leave it out for an object in memory.")
        schema, (relation, entries) = _read_object(data, kind, replace(asked, name=name or filename or ""))
    relation, facts, sides = resolve_domains(relation, entries, schema, asked)
    objects = [relation.row_labels, relation.column_labels][: 1 if relation.network else 2]
    labels, given = name_ends(objects, entries.end_labels)
    for domain, known in zip(("rows", "cols"), labels, strict=False):
        own = relation.attributes_of(domain)
        new = {name: values for name, values in known.items() if name not in own}
        relation = with_attributes(relation, new, domain)
    facts = [
        *list_facts,
        *_tell_labels(facts, schema, given, _name_sides(relation, entries)),
        *object_facts(relation, same_objects=asked.same_nodes),
    ]
    facts.sort(key=lambda fact: fact.name != "values")  # first of all, what is given up
    return LoadedData(relation, ReadReport(schema.filename, tuple(facts)), replace(schema, sides=sides))


def read_lines(
    data: FileLike | Any, filename: str | None, options: Mapping[str, Any]
) -> tuple[Schema, list[list[str]]]:
    """Return how a list of links is read, and all fields of each of its lines as they are.

    `options`: those of `load_relation`; the ones that say nothing of lines are passed over.
    Raises DataError: it cannot be read, or is not a list of links.
    """
    known = {field.name for field in fields(ReadOptions)} - {"row_nodes", "column_nodes"}
    asked = ReadOptions(**{name: options[name] for name in known & options.keys()})
    with open_source(data, filename, kind="relation", choices=asked.part) as opened:
        schema = with_choices(inspect(opened, asked), asked)
        if schema.format != "edges":
            what = f"this is read as {schema.format}, which has no line for each link"
            raise DataError(what, source=schema.filename, remedy="Give a list of links.")
        reader = open_records(opened, schema, encoding=asked.encoding, block_bytes=asked.block_bytes)
        return schema, [list(line) for _, line in _number_lines(reader)]


def _name_sides(relation: Relation, entries: Entries) -> dict[str, str]:
    """Return whose labels each further column of a list gave, in words, if there are two sides."""
    if relation.network is not None:
        return {}
    of: dict[str, list[str]] = {}
    for one in entries.end_labels:
        of.setdefault(one.column, []).append((relation.row_kind, relation.column_kind)[one.axis])
    return {column: f" of {' and of '.join(kinds)}" for column, kinds in of.items()}


def _tell_labels(
    facts: Sequence[Fact], schema: Schema, given: Mapping[str, str], whose: Mapping[str, str]
) -> list[Fact]:
    """Return the facts with the columns of a list that became labels of objects, which are then not left out."""
    if not given:
        return list(facts)
    of: dict[str, list[str]] = {}
    for column, name in given.items():
        of.setdefault(name, []).append(column)
    parts = [
        name + whose.get(name, "") if columns == [name] else f"{name} (from {' and '.join(columns)})"
        for name, columns in of.items()
    ]
    told = f"{plural(len(given), 'column')} kept as known labels of objects: {list_first(parts)}. Runs never see them."
    used = schema.used_columns or set()
    left = [
        name for at, name in enumerate(schema.column_names) if at not in used and name.strip() not in given
    ]
    kept = [fact for fact in facts if fact.name != "unused_columns"]
    if left:
        kept.append(
            Fact("unused_columns", len(left), f"{plural(len(left), 'column')} not used: {list_first(left)}.")
        )
    return [*kept, Fact("end_labels", len(given), told)]


def _check_list(schema: Schema, options: ReadOptions) -> None:
    """Refuse what is said of a list of links if there is none."""
    if schema.format != "edges" and (options.same_nodes or options.unlisted == "missing"):
        raise ParameterError(
            f"same_nodes and unlisted are for edge lists; {schema.filename} is read as {schema.format}."
        )


def _read_source(
    data: FileLike | Any, filename: str | None, options: ReadOptions
) -> tuple[Schema, tuple[Relation, Entries]]:
    """Read a file or a data frame."""
    with open_source(data, filename, kind="relation", choices=options.part) as opened:
        schema = inspect(opened, options)
        chosen = (*options.columns[:2], options.row_nodes, options.column_nodes)
        if options.format == "auto" and all(choice is None for choice in chosen):
            refuse_texts(schema)
        _check_list(schema, options)
        schema = with_choices(schema, options)
        options = replace(options, name=options.name or opened.stem)
        if schema.format in COLUMN_FORMATS:
            read = read_edge_list if schema.format == "edges" else read_matrix
            relation, entries = read(opened, schema, options)
            if isinstance(opened, FrameSource):
                relation = replace(relation, numbered=_find_numbered(opened, schema, options, data))
            return schema, (relation, entries)
        assert isinstance(opened, ByteSource)  # a frame is a list of links or a matrix
        if schema.format in GRAPH_FORMATS:
            return schema, relation_of_graph(read_graph(opened, schema.format, options), options, opened.name)
        read_stored = read_npz if schema.format == "npz" else read_matrix_market
        return schema, read_stored(opened, options)


def _find_numbered(source: FrameSource, schema: Schema, options: ReadOptions, data: Any) -> tuple[bool, bool]:
    """Return whether typed columns give the ids of rows, and of columns, as whole numbers."""
    from pyarrow import types

    whole = [types.is_integer(kind) for kind in column_types(source)]
    rows, columns = (at is not None and whole[at] for at in (schema.row_column, schema.column_column))
    if schema.format == "matrix":
        columns = getattr(getattr(getattr(data, "columns", None), "dtype", None), "kind", "") in ("i", "u")
    return rows and options.row_nodes is None, columns and options.column_nodes is None


def _read_object(
    given: Any, kind: Literal["graph", "matrix", "pairs"], options: ReadOptions
) -> tuple[Schema, tuple[Relation, Entries]]:
    """Read an object in memory."""
    called = getattr(given, "name", "") if kind == "graph" else ""
    name = options.name or str(called or "relation")
    options = replace(options, name=name)
    if kind == "pairs":
        source, schema = open_pairs(given, name)
        with source:
            schema = with_choices(schema, options)
            relation, entries = read_edge_list(source, schema, options)
        listed = options.row_nodes is None and options.column_nodes is None and isinstance(given, Sequence)
        ids = zip(*(row[:2] for row in given), strict=True) if listed else ()
        rows, columns = map(_are_whole, ids) if ids else (False, False)
        return schema, (replace(relation, numbered=(rows, columns)), entries)
    schema = Schema("relation", "node-link" if kind == "graph" else "matrix", name, container="object")
    _check_list(schema, options)
    if kind == "graph":
        library = graph_library(given) or ""
        relation, entries = relation_of_graph(graph_of_object(given, library, name), options, name)
        whole = library == "networkx" and _are_whole(given)
        whole = whole and {*relation.row_labels, *relation.column_labels} <= set(map(str, given))
        return schema, (replace(relation, numbered=(whole, whole)), entries)
    if options.columns != (None, None, None):
        raise ParameterError("source, target and value are for lists of links; leave them out for a matrix.")
    return schema, read_array(given, options)


def _are_whole(ids: Iterable[Any]) -> bool:
    return all(isinstance(one, int | np.integer) and not isinstance(one, bool) for one in ids)


def _object_kind(given: Any) -> Literal["graph", "matrix", "pairs"] | None:
    """Return what an object in memory is read as; None for a file or a data frame, which come as columns."""
    if isinstance(given, str | os.PathLike | bytes | bytearray | memoryview) or hasattr(given, "read"):
        return None
    if graph_library(given) is not None:
        return "graph"
    if sparse.issparse(given):
        return "matrix"
    if is_frame(given):
        return None
    if hasattr(given, "__array__"):
        array = np.asarray(given)
        texts = array.dtype.kind in "US" or any(isinstance(value, str) for value in array.flat[:4])
        return "pairs" if array.ndim == 2 and array.shape[1] in (2, 3) and texts else "matrix"
    # The links of a networkx graph (`graph.edges`) are a set that can be asked for values, too.
    if (isinstance(given, Mapping) and not isinstance(given, Set)) or not isinstance(given, Iterable):
        return None
    if isinstance(given, Sequence) and given and all(isinstance(row, list) for row in given):
        numbers = all(isinstance(value, Number) or value is None for value in given[0])
        if numbers and len(given[0]) in (2, 3):
            raise ParameterError(
                f"Lists of {len(given[0])} numbers may be pairs, or rows of a matrix. Give pairs as tuples, a "
                "matrix as numpy.array(…)."
            )
        return "matrix" if numbers else "pairs"
    return "pairs"
