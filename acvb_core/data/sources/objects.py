"""Data frames of any library, by the Arrow stream and the dataframe protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from acvb_core.data.sources.frames import Frame
from acvb_core.errors import DataError

_PROTOCOLS = ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")


def is_frame(source: Any) -> bool:
    """Whether an object holds named columns: a frame of pandas, polars, pyarrow, duckdb or another library."""
    if isinstance(source, type):
        return False
    if type(source).__module__.startswith("polars") and not hasattr(source, "columns"):
        return False  # a series
    named = hasattr(source, "columns") or hasattr(
        source, "schema"
    )  # a reader of record batches has the latter
    return named and any(hasattr(source, name) for name in _PROTOCOLS)


def open_object(source: Any) -> Frame:
    """Return the columns of a data frame.

    A pandas index becomes the first column where it has a name, is not made of whole numbers, or is the same as the
    names of the columns; otherwise it is only a numbering.

    Raises
    ------
    DataError
        The frame has no rows or columns, or its columns cannot be handed over.
    """
    import pyarrow as pa

    has_index = False
    kind = type(source).__module__.split(".")[0]
    try:
        if kind == "pandas":
            table, has_index = _of_pandas(source)
        elif hasattr(source, "__arrow_c_stream__"):
            table = pa.table(source)
        elif hasattr(source, "__arrow_c_array__"):
            table = pa.Table.from_batches([pa.record_batch(source)])
        else:
            from pyarrow.interchange import from_dataframe

            table = from_dataframe(source)
    except (pa.ArrowException, NotImplementedError, TypeError, ValueError) as problem:
        raise DataError(
            f"the columns of this {kind} object cannot be read ({problem})",
            source="the data frame",
            remedy="Give columns of numbers, texts, dates or true / false.",
        ) from None
    if not table.num_rows or not table.num_columns:
        raise DataError(
            f"the data frame has {table.num_rows:,} rows and {table.num_columns:,} columns",
            source="the data frame",
            remedy="Give at least one row and one column.",
        )

    def batches() -> Iterator[pa.RecordBatch]:
        yield from table.to_batches()

    what = f"a {kind} data frame"
    names = tuple(table.column_names)
    return Frame("frame", what, names, True, batches, n_rows=table.num_rows, has_index=has_index)


def _of_pandas(frame: Any) -> tuple[Any, bool]:
    """Return an Arrow table of a pandas frame, and whether its first column is the index."""
    import pandas as pd
    import pyarrow as pa

    index = frame.index
    numbering = isinstance(index, pd.RangeIndex) or pd.api.types.is_integer_dtype(index.dtype)
    kept = index.nlevels > 1 or index.name is not None or not numbering or index.equals(frame.columns)
    names = [str(name) for name in frame.columns]
    columns = [frame.iloc[:, i] for i in range(frame.shape[1])]
    arrays = [_array_of(column) for column in columns]
    if kept:
        levels = [index.get_level_values(i) for i in range(index.nlevels)]
        arrays = [_array_of(level.to_series()) for level in levels] + arrays
        names = ["" if name is None else str(name) for name in index.names] + names
    return pa.Table.from_arrays(arrays, names=names), kept and index.nlevels == 1


def _array_of(column: Any) -> Any:
    """Return a pandas series as an Arrow array; one of mixed objects, of periods or of intervals as texts."""
    import pandas as pd
    import pyarrow as pa

    try:
        array = pa.Array.from_pandas(column)
        kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
        if not (pa.types.is_struct(kind) or isinstance(kind, pa.BaseExtensionType)):
            return array
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        pass
    missing = pd.isna(column)
    return pa.array([None if blank else str(value) for value, blank in zip(column, missing, strict=True)])
