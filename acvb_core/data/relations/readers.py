"""Load a relation from what people have: lists of links, matrices, graphs; in files, frames or other objects."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, fields, replace
from numbers import Number
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from acvb_core.core.errors import ParameterError
from acvb_core.data.relation import Relation
from acvb_core.data.relations.assemble import AssembledRelation, object_facts
from acvb_core.data.relations.edges import open_pairs, read_edge_list
from acvb_core.data.relations.graph import graph_of_object, relation_of_graph
from acvb_core.data.relations.graph_files import read_graph
from acvb_core.data.relations.guess import inspect
from acvb_core.data.relations.layout import Layout, ReadOptions, refuse_texts, with_choices
from acvb_core.data.relations.matrices import read_array, read_matrix, read_matrix_market, read_npz
from acvb_core.data.relations.nodes import NodeList, read_node_lists
from acvb_core.data.relations.sides import resolve_domains
from acvb_core.data.report import LoadedData, ReadReport
from acvb_core.data.sources.byte_source import ByteSource, FileLike
from acvb_core.data.sources.frames import FrameSource
from acvb_core.data.sources.objects import graph_library, is_frame
from acvb_core.data.sources.opening import open_source

#: Names of the options of this reader.
OPTIONS = frozenset({field.name for field in fields(ReadOptions)} | {"filename", "row_nodes", "column_nodes"})


@dataclass(frozen=True, eq=False, repr=False)
class LoadedRelation(LoadedData):
    """A relation, what reading it found, and how the file was understood."""

    relation: Relation
    report: ReadReport
    layout: Layout


def inspect_source(source: FileLike, filename: str | None = None, **looking: Any) -> Layout:
    """Look at the head of a file or a data frame and propose how to read it.

    `looking` holds what is given and not guessed: format, encoding, delimiter, header, sheet, table or query, as
    `load_relation` takes them. DataError where it is nothing that is read: empty, binary, a foreign format, one column.
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
) -> LoadedRelation:
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
        for none and NaN (or masked) where the link is unknown; others need a threshold.
    filename : str, optional
        The name the user knows the source by.
    format : "auto", or the name of a format of relations
    name : str, optional
        Name of the relation (default: the file's name without extensions).
    row_column, column_column, value_column : str or int, optional
        Edge lists: which columns hold the row label, the column label and the value, by header name or by
        0-based position. None: guessed; it is an error where a column holds long texts and neither side is chosen.
        `value_column=False`: no values, every line is a link. Of a graph file
        `value_column` is the name of the edges' weight ("weight" or "value" when there is one). For a matrix,
        `row_column=False` says that rows have no labels, 0 that the first column holds them.
    source, target, value : str or int, optional
        Other names of row_column, column_column and value_column.
    threshold : float, optional
        A number above it is a link; never negative. Default: 0 for a text file. Arrays, frames and files of typed
        columns need one where a value is neither 0 nor 1.
    shape : (n_rows, n_columns), optional
        Edge lists: labels are 0-based indices below it. Other formats: what the file must have.
    row_nodes, column_nodes : sequence of str, path or bytes of a one-column file, optional
        All objects of a side, in order, with those that have no link; names for files without labels.
    same_nodes : bool
        Edge lists: both sides are the same objects (a network); every label stands on both.
    unlisted : "zero" or "missing"
        Edge lists: what a pair is that the file does not list.
    domains : "auto", "one" or "two"
        Whether both sides are the same objects (a network: every name of either side is a node) or two kinds of
        objects. "auto": as the file says or looks, two if `shape` is not square or the two lists of objects
        differ; the report and `layout.sides` tell which, and why.
    directed : bool, optional
        Networks: whether i to j and j to i are different links. None: guessed. Of an undirected network a pair is
        linked if the file links it either way.
    self_links : bool, optional
        Networks: whether links of an object to itself count. None: they do if there is one. Where they do not,
        those in the file are left out, and the report says how many.
    encoding : str, optional
        Default: UTF-8, or UTF-16 / UTF-32 when a byte order mark says so.
    delimiter : str, optional
        One character; guessed among tab ; | , and, for columns of numbers, space.
    header : "auto" or bool
        Whether the first line holds names.
    sheet : str or int, optional
        Of a workbook: the sheet, by name or by 0-based position (default: the visible one with most rows).
    table, query : str, optional
        Of a database: the name of the table, or a SELECT that only reads (default: its only table).
    block_bytes : int
        Bytes read at a time.

    Raises
    ------
    DataError
        The file cannot be read as asked; the message names file, line, column, value and a remedy.
    ParameterError
        An argument makes no sense for any file.

    Examples
    --------
    >>> loaded = load_relation(b"person,event\nAnn,Fair\nBob,Fair\n", name="outings")
    >>> loaded.relation.shape
    (2, 1)
    """
    asked = ReadOptions(**options)
    rows, columns, list_facts = read_node_lists(row_nodes, column_nodes, asked)
    asked = replace(asked, row_nodes=rows, column_nodes=columns)
    kind = _object_kind(data)
    if kind is None:
        source = _read_source(data, filename, replace(asked, name=name or ""))
    else:
        _refuse_file_options(options)
        source = _read_object(data, kind, replace(asked, name=name or filename or ""))
    relation, facts, sides = resolve_domains(source.found, source.layout, asked, source.head)
    facts = [*list_facts, *facts, *object_facts(relation, same_objects=asked.same_nodes)]
    return LoadedRelation(
        relation, ReadReport(source.name, tuple(facts)), replace(source.layout, sides=sides)
    )


class _SourceRead(NamedTuple):
    """A source whose entries were read, before it is known what kinds of objects they are about."""

    name: str
    layout: Layout
    found: AssembledRelation
    head: bytes = b""  #: first bytes of a file


def _refuse_file_options(options: dict[str, Any]) -> None:
    """Refuse what is said of files, where there is an object in memory."""
    for option in ("format", "encoding", "delimiter", "header", "sheet", "table", "query"):
        if options.get(option) not in (None, "auto"):
            raise ParameterError(f"{option} is for files; leave it out for an object in memory.")


def _check_list(layout: Layout, options: ReadOptions) -> None:
    """Refuse what is said of a list of links where there is none."""
    if layout.format != "edges" and (options.same_nodes or options.unlisted == "missing"):
        raise ParameterError(
            f"same_nodes and unlisted are for edge lists; {layout.filename} is read as {layout.format}."
        )


def _read_source(data: FileLike | Any, filename: str | None, options: ReadOptions) -> _SourceRead:
    """Read a file or a data frame."""
    with open_source(data, filename, kind="relation", choices=options.part) as opened:
        layout = inspect(opened, options)
        if options.format == "auto" and options.columns[:2] == (None, None):
            refuse_texts(layout)
        _check_list(layout, options)
        layout = with_choices(layout, options)
        found = _read_file(opened, layout, replace(options, name=options.name or opened.stem))
        return _SourceRead(opened.name, layout, found, opened.head)


def _read_file(source: ByteSource | FrameSource, layout: Layout, options: ReadOptions) -> AssembledRelation:
    if layout.format == "edges":
        return read_edge_list(source, layout, options)
    if layout.format == "matrix":
        return read_matrix(source, layout, options)
    assert isinstance(source, ByteSource)  # a frame is a list of links or a matrix
    if layout.format == "matrix-market":
        return read_matrix_market(source, options)
    if layout.format == "npz":
        return read_npz(source, options)
    return relation_of_graph(read_graph(source, layout.format, options.encoding), options, source.name)


def _read_object(given: Any, kind: Literal["graph", "matrix", "pairs"], options: ReadOptions) -> _SourceRead:
    """Read an object in memory."""
    called = getattr(given, "name", "") if kind == "graph" else ""
    name = options.name or str(called or "relation")
    options = replace(options, name=name)
    if kind == "pairs":
        source, layout = open_pairs(given, name)
        with source:
            layout = with_choices(layout, options)
            return _SourceRead(name, layout, read_edge_list(source, layout, options))
    layout = Layout("node-link" if kind == "graph" else "matrix", name, container="object")
    _check_list(layout, options)
    if kind == "graph":
        graph = graph_of_object(given, graph_library(given) or "", name)
        return _SourceRead(name, layout, relation_of_graph(graph, options, name))
    if options.columns != (None, None, None):
        raise ParameterError("source, target and value are for lists of links; leave them out for a matrix.")
    return _SourceRead(name, layout, read_array(given, options))


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
