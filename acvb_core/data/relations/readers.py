"""Load a relation from what people have: edge lists, dense matrices, MatrixMarket, SciPy and graph files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from acvb_core.data.relation import Relation
from acvb_core.data.relations.assemble import object_facts
from acvb_core.data.relations.dense_matrix import read_matrix
from acvb_core.data.relations.edge_list import EdgeListReader
from acvb_core.data.relations.graph import relation_of_graph
from acvb_core.data.relations.graph_files import read_graph
from acvb_core.data.relations.layout import FORMATS, FileFormat, Layout
from acvb_core.data.relations.nodes import NodeList, read_node_list
from acvb_core.data.relations.options import ReadOptions
from acvb_core.data.relations.settle import settled
from acvb_core.data.relations.sides import DOMAINS, Domains
from acvb_core.data.relations.sniff import inspect
from acvb_core.data.relations.sparse_files import read_matrix_market, read_npz
from acvb_core.data.report import Fact, ReadReport
from acvb_core.data.sources.byte_source import ByteSource, FileLike
from acvb_core.data.sources.columns import column_list, column_position, refuse_texts
from acvb_core.data.sources.frames import FrameChoices, FrameSource, open_source
from acvb_core.data.sources.matrix_checks import MAX_SIDE
from acvb_core.data.sources.records import BLOCK_BYTES
from acvb_core.data.sources.values import value_kind
from acvb_core.errors import DataError, ParameterError

ColumnChoice = str | int | Literal[False] | None


@dataclass(frozen=True, eq=False)
class LoadedRelation:
    """A relation, what reading it found, and how the file was understood."""

    relation: Relation
    report: ReadReport
    layout: Layout


def inspect_source(
    source: FileLike,
    filename: str | None = None,
    *,
    format: FileFormat | Literal["auto"] = "auto",
    encoding: str | None = None,
    delimiter: str | None = None,
    header: Literal["auto"] | bool = "auto",
    sheet: str | int | None = None,
    table: str | None = None,
    query: str | None = None,
) -> Layout:
    """Look at the head of a file and propose how to read it.

    Parameters
    ----------
    source : path, bytes, binary file object or data frame
        Delimited text, MatrixMarket, .npz, GraphML, GML, Pajek, Parquet, Arrow, Feather, Excel, ODS, JSON Lines,
        SQLite; a frame of pandas, polars, pyarrow, duckdb or another library with the Arrow stream protocol.
    filename : str, optional
        The name the user knows it by.
    format, encoding, delimiter, header, sheet, table, query
        As in `load_relation`: what is given is not guessed.

    Raises
    ------
    DataError
        Nothing that is read: empty, binary, a foreign format, one column only.
    """
    choices = FrameChoices(sheet, table, query)
    with open_source(source, filename, accepts=("npz",), choices=choices) as opened:
        return _inspect(opened, format, encoding, delimiter, header)


def load_relation(
    source: FileLike,
    *,
    filename: str | None = None,
    format: FileFormat | Literal["auto"] = "auto",
    name: str | None = None,
    row_column: ColumnChoice = None,
    column_column: ColumnChoice = None,
    value_column: ColumnChoice = None,
    threshold: float | None = None,
    shape: tuple[int, int] | None = None,
    row_nodes: NodeList | None = None,
    column_nodes: NodeList | None = None,
    same_nodes: bool = False,
    unlisted: Literal["zero", "missing"] = "zero",
    domains: Domains = "auto",
    directed: bool | None = None,
    self_links: bool | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: Literal["auto"] | bool = "auto",
    sheet: str | int | None = None,
    table: str | None = None,
    query: str | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> LoadedRelation:
    r"""Read a relation from a file or a data frame; gzip is recognised by itself.

    Pairs that an edge list does not show, and entries that a sparse file does not store, are observed zeros. A
    pair given more than once: counts are added up; other values must agree (a link and an observed 0 are an
    error that names both lines); a known value prevails over a missing one. The report tells each of these.

    Parameters
    ----------
    source : path, bytes, binary file object or data frame
        Delimited text, MatrixMarket, .npz, GraphML, GML, Pajek, Parquet, Arrow, Feather, Excel, ODS, JSON Lines,
        SQLite; a frame of pandas, polars, pyarrow, duckdb or another library with the Arrow stream protocol.
    filename : str, optional
        The name the user knows the source by.
    format : "auto", "edges", "matrix", "matrix-market", "npz", "graphml", "gml" or "pajek"
    name : str, optional
        Name of the relation (default: the file's name without extensions).
    row_column, column_column, value_column : str or int, optional
        Edge lists: which columns hold the row label, the column label and the value, by header name or by
        0-based position. None: guessed; it is an error where a column holds long texts and neither side is chosen.
        `value_column=False`: no values, every line is a link. Of a graph file
        `value_column` is the name of the edges' weight ("weight" or "value" when there is one). For a matrix,
        `row_column=False` says that rows have no labels, 0 that the first column holds them.
    threshold : float, optional
        A number above it is a link; default 0, never negative.
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
        Networks: whether a link from i to j is another one than a link from j to i. None: guessed. Of an undirected
        network a pair is linked if the file links it either way.
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
        Of a workbook: the sheet, by name or by 0-based position (default: the first with data).
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
    if unlisted not in ("zero", "missing"):
        raise ParameterError(f"unlisted is 'zero' or 'missing', not {unlisted!r}.")
    _check_shape(shape)
    _check_domains(domains, directed, self_links)
    choices = FrameChoices(sheet, table, query)
    with open_source(source, filename, accepts=("npz",), choices=choices) as opened:
        layout = _inspect(opened, format, encoding, delimiter, header)
        if format == "auto" and row_column is None and column_column is None:
            refuse_texts(layout)
        network = domains == "one" or same_nodes or not (directed is None and self_links is None)
        rows, columns, list_facts = _node_lists(row_nodes, column_nodes, network, shape)
        options = ReadOptions(
            name=name or opened.stem,
            threshold=threshold,
            shape=shape,
            row_nodes=rows,
            column_nodes=columns,
            same_nodes=same_nodes,
            unlisted_missing=unlisted == "missing",
            domains=domains,
            directed=directed,
            self_links=self_links,
            encoding=encoding,
            block_bytes=block_bytes,
        )
        if (same_nodes or unlisted == "missing") and layout.format != "edges":
            raise ParameterError(
                f"same_nodes and unlisted are for edge lists; {opened.name} is read as {layout.format}."
            )
        if layout.format == "edges":
            layout = _chosen_columns(layout, row_column, column_column, value_column, threshold)
            found = EdgeListReader(opened, layout, options).read()
        elif layout.format == "matrix":
            if row_column is not None:
                layout = replace(layout, row_column=column_position(layout, row_column))
            found = read_matrix(opened, layout, options)
        else:
            assert isinstance(opened, ByteSource)  # a frame is a list of links or a matrix
            if layout.format == "matrix-market":
                found = read_matrix_market(opened, options)
            elif layout.format == "npz":
                found = read_npz(opened, options)
            else:
                graph = read_graph(opened, layout.format, encoding)
                options = replace(options, weight=_weight(value_column))
                found = relation_of_graph(graph, options, opened.name)
        relation, facts, sides = settled(found, layout, options, opened)
        report = ReadReport(
            opened.name, (*list_facts, *facts, *object_facts(relation, same_objects=same_nodes))
        )
        return LoadedRelation(relation, report, replace(layout, sides=sides))


def _inspect(
    source: ByteSource | FrameSource,
    format: FileFormat | Literal["auto"],
    encoding: str | None,
    delimiter: str | None,
    header: Literal["auto"] | bool,
) -> Layout:
    if format != "auto" and format not in FORMATS:
        raise ParameterError(f"There is no format {format!r}; choose auto, {', '.join(FORMATS)}.")
    return inspect(
        source,
        format=None if format == "auto" else format,
        encoding=encoding,
        delimiter=delimiter,
        header=None if header == "auto" else header,
    )


def _chosen_columns(
    layout: Layout, row: ColumnChoice, column: ColumnChoice, value: ColumnChoice, threshold: float | None
) -> Layout:
    """Return the layout with the user's columns; guesses give way to them."""
    given = {
        column_position(layout, choice) for choice in (row, column, value) if choice not in (None, False)
    }
    free = [i for i in range(layout.n_fields) if i not in given]
    row_at = (
        column_position(layout, row) if row not in (None, False) else _kept(layout.row_column, given, free)
    )
    free = [i for i in free if i != row_at]
    if column in (None, False):
        column_at = _kept(layout.column_column, given | {row_at}, free)
    else:
        column_at = column_position(layout, column)
    if value is False:
        value_at = None
    elif value is not None:
        value_at = column_position(layout, value)
    else:
        value_at = None if layout.value_column in given | {row_at, column_at} else layout.value_column
    chosen = [i for i in (row_at, column_at, value_at) if i is not None]
    if row_at is None or column_at is None or len(set(chosen)) < len(chosen):
        raise DataError(
            "row labels, column labels and values need a column each",
            source=layout.filename,
            remedy=f"Choose different columns among {column_list(layout)}.",
        )
    if threshold is not None and value_at is None:
        raise ParameterError("A threshold needs a column of values; choose one with value_column.")
    kind = layout.value_kind
    if value_at != layout.value_column:
        kind = "none"
        if value_at is not None and value_at < len(layout.column_names):
            kind = value_kind(row[value_at] for row in layout.rows)
    return replace(layout, row_column=row_at, column_column=column_at, value_column=value_at, value_kind=kind)


def _weight(choice: ColumnChoice) -> str | Literal[False] | None:
    if isinstance(choice, int) and choice is not False:
        raise ParameterError("Values of edges have names and no positions: give value_column as a name.")
    return choice


def _kept(guessed: int | None, taken: set[int | None], free: Sequence[int]) -> int | None:
    return guessed if guessed not in taken else (free[0] if free else None)


def _node_lists(
    row_nodes: NodeList | None, column_nodes: NodeList | None, network: bool, shape: tuple[int, int] | None
) -> tuple[list[str] | None, list[str] | None, list[Fact]]:
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


def _check_domains(domains: Domains, directed: bool | None, self_links: bool | None) -> None:
    if domains not in DOMAINS:
        raise ParameterError(f"domains is one of {', '.join(DOMAINS)}, not {domains!r}.")
    if domains == "two" and not (directed is None and self_links is None):
        raise ParameterError(
            "directed and self_links are for networks: leave them out, or give domains='one'."
        )


def _check_shape(shape: tuple[int, int] | None) -> None:
    if shape is not None and not (
        len(shape) == 2 and all(isinstance(n, int) and 0 < n <= MAX_SIDE for n in shape)
    ):
        raise ParameterError(f"The shape must be two whole numbers from 1 to {MAX_SIDE:,}, not {shape!r}.")
