"""Relations from objects in memory: graphs of networkx, arrays and sparse matrices, pairs of labels."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Number
from typing import Any, Literal

import numpy as np
from scipy import sparse

from acvb_core.data.names import text_of
from acvb_core.data.relations.assemble import Assembled
from acvb_core.data.relations.graph import relation_of_graph
from acvb_core.data.relations.graph_files import graph_of_networkx
from acvb_core.data.relations.layout import Layout
from acvb_core.data.relations.link_values import check_links
from acvb_core.data.relations.options import ReadOptions
from acvb_core.data.relations.sparse_files import relation_of_matrix
from acvb_core.data.sources.formats import PREVIEW_ROWS
from acvb_core.data.sources.frames import BATCH_ROWS, Frame, FrameSource
from acvb_core.data.sources.objects import is_frame, to_sparse
from acvb_core.data.sources.values import value_kind
from acvb_core.errors import DataError, ParameterError

ObjectKind = Literal["graph", "matrix", "pairs"]


def object_kind(given: Any) -> ObjectKind | None:
    """Return what an object in memory is read as; None for a file or a data frame, which come as columns.

    Raises
    ------
    ParameterError
        Lists of numbers may be pairs, or rows of a matrix.
    """
    if isinstance(given, str | os.PathLike | bytes | bytearray | memoryview) or hasattr(given, "read"):
        return None
    if _is_graph(given):
        return "graph"
    if sparse.issparse(given):
        return "matrix"
    if is_frame(given):
        return None
    if hasattr(given, "__array__"):
        array = np.asarray(given)
        texts = array.dtype.kind in "US" or any(isinstance(value, str) for value in array.flat[:4])
        return "pairs" if array.ndim == 2 and array.shape[1] in (2, 3) and texts else "matrix"
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
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


def object_name(given: Any) -> str:
    """Return what a graph is called, if anything."""
    return str(getattr(given, "name", "") or "relation") if _is_graph(given) else "relation"


def _is_graph(given: Any) -> bool:
    """Whether this is a graph of networkx, which need not be imported to say so."""
    classes = {one.__module__.partition(".")[0] for one in type(given).__mro__}
    return "networkx" in classes and hasattr(given, "is_directed")


def read_graph_object(given: Any, options: ReadOptions) -> Assembled:
    """Return a graph of networkx as a relation; every edge is a link unless its weight says otherwise.

    Raises
    ------
    DataError
        It has no nodes, or two of the same name; it has not the given shape.
    """
    graph = graph_of_networkx(given, "networkx graph", options.name)
    return relation_of_graph(graph, options, options.name)


def read_array(given: Any, options: ReadOptions) -> Assembled:
    """Return an array or a sparse matrix as a relation: 1 is a link, 0 is none, NaN or masked is missing.

    Raises
    ------
    DataError
        It is broken or of another shape than was given, or holds another value and there is no threshold for it.
    """
    name = options.name
    matrix = to_sparse(given, name)
    if min(matrix.shape) < 1:
        raise DataError(
            f"the matrix is {matrix.shape[0]:,} x {matrix.shape[1]:,}",
            source=name,
            remedy="Give at least one row object and one column object.",
        )
    entries = sparse.coo_array(matrix)
    check_links(entries, options.threshold, name)
    found = relation_of_matrix(
        entries, name, options, "sparse matrix" if sparse.issparse(given) else "matrix"
    )
    # Of an array every cell is given: what is no link and not missing is known to be 0.
    return found if sparse.issparse(given) else found._replace(zeros=None)


def open_pairs(given: Iterable[Any], name: str) -> tuple[FrameSource, Layout]:
    """Return pairs, or triples with a value, as the columns of a list of links.

    Parameters
    ----------
    given : iterable of (label, label) or (label, label, value)
        A label is a text, a number or any object that `str` tells from others; None and NaN are missing values.
    name : str
        What the user calls them.

    Raises
    ------
    DataError
        There are none, or one of them is no pair, or has a value where others have none.
    """
    import pyarrow as pa

    batches, width = [], 0
    for first, rows in _chunks(given):
        width = width or (len(rows[0]) if _is_pair(rows[0]) else 2)
        for at, row in enumerate(rows):
            if not _is_pair(row) or len(row) != width:
                raise _no_pair(row, first + at, width, name)
        columns = [[text_of(value) for value in column] for column in zip(*rows, strict=True)]
        if width == 3:
            columns[2] = [_value_text(row[2]) for row in rows]
        names = [f"column {i + 1}" for i in range(width)]
        batches.append(
            pa.RecordBatch.from_arrays([pa.array(column, pa.string()) for column in columns], names)
        )
    if not batches:
        raise DataError("there are no pairs", source=name, remedy="Give at least one pair (label, label).")
    frame = Frame("pairs", "a list of pairs", tuple(names), False, lambda: iter(batches))
    source = FrameSource(frame, name)
    preview = tuple(map(tuple, source.first_rows(PREVIEW_ROWS)))
    layout = Layout(
        "edges",
        name,
        column_names=frame.names,
        rows=preview,
        n_fields=width,
        row_column=0,
        column_column=1,
        value_column=2 if width == 3 else None,
        value_kind=value_kind(row[2] for row in preview) if width == 3 else "none",
        container=frame.container,
    )
    return source, layout


def _chunks(given: Iterable[Any]) -> Iterator[tuple[int, list[Any]]]:
    """Yield the items of an iterable in lists, each with the number of its first, counted from 1."""
    held: list[Any] = []
    first = 1
    for item in given:
        held.append(item)
        if len(held) == BATCH_ROWS:
            yield first, held
            first, held = first + len(held), []
    if held:
        yield first, held


def _is_pair(row: Any) -> bool:
    return isinstance(row, tuple | list | np.ndarray) and len(row) in (2, 3)


def _no_pair(row: Any, number: int, width: int, name: str) -> DataError:
    if isinstance(row, str):
        remedy = "Give pairs (label, label). A list of texts is a corpus: read it with load_corpus."
    else:
        remedy = "Give pairs (label, label), or triples (label, label, value), all of one length."
    parts = "pair" if width == 2 else "triple"
    return DataError(
        f"this is no {parts}", source=name, line=number, unit="row", value=repr(row), remedy=remedy
    )


def _value_text(value: Any) -> str:
    """Return the value of a link as its reader takes it, a number with all its digits."""
    number = isinstance(value, float | np.floating) and not np.isnan(value)
    return repr(float(value)) if number else text_of(value)
