"""What a file looks like: its format, delimiter, header and which column means what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from acvb_core.data.relations.guess import holds_texts
from acvb_core.data.relations.sides import Sides

FileFormat = Literal[
    "edges", "matrix", "matrix-market", "npz", "graphml", "gexf", "gml", "pajek", "node-link"
]
FORMATS: tuple[FileFormat, ...] = get_args(FileFormat)
#: What columns of any origin hold; the others are formats of their own files.
COLUMN_FORMATS: tuple[FileFormat, ...] = ("edges", "matrix")
#: What these hold is a graph: nodes, and edges between them. A graph of networkx is taken for node-link data.
GRAPH_FORMATS: tuple[FileFormat, ...] = ("graphml", "gexf", "gml", "pajek", "node-link")


@dataclass(frozen=True)
class Layout:
    """How a file is (or would be) read; columns are 0-based positions.

    Attributes
    ----------
    format : one of FORMATS
    filename : str
    gzipped : bool
    container : str
        What holds the columns: "text", or that of a `Frame` ("parquet", "excel", …).
    encoding, delimiter : str or None
        None for the sparse formats and those of graphs.
    header : bool
        The first line holds names.
    column_names : tuple of str
        The header's fields, or "column 1", "column 2", … (at most PREVIEW_FIELDS of them).
    rows : tuple of tuples of str
        The first lines of data, at most PREVIEW_ROWS, each cut to PREVIEW_FIELDS fields.
    n_fields : int
        Fields in each line (0 for the sparse formats and those of graphs).
    row_column : int or None
        Edge list: the column of the row labels. Matrix: the same, None when rows are not labelled.
    column_column, value_column : int or None
        Edge list only: the columns of the column labels and of the value (None: every line is a link).
    value_kind : str
        "0/1", "yes/no", "counts", "numbers", "missing", "text", or "none" without values.
    sides : Sides or None
        Whether both sides are the same objects, and why; known once the whole file was read.
    """

    format: FileFormat
    filename: str
    gzipped: bool = False
    encoding: str | None = None
    delimiter: str | None = None
    header: bool = False
    column_names: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    n_fields: int = 0
    row_column: int | None = None
    column_column: int | None = None
    value_column: int | None = None
    value_kind: str = "none"
    sides: Sides | None = None
    container: str = "text"

    @property
    def text_column(self) -> int | None:
        """The first column of an edge list that holds long texts rather than names; None where there is none."""
        columns = zip(*self.rows, strict=True) if self.format == "edges" else ()
        return next((at for at, values in enumerate(columns) if holds_texts(values)), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the layout as JSON-able values."""
        found = dict(self.__dict__)
        found["column_names"] = list(self.column_names)
        found["rows"] = [list(row) for row in self.rows]
        found["sides"] = None if self.sides is None else self.sides.to_dict()
        return found


PREVIEW_ROWS = 20
PREVIEW_FIELDS = 30
