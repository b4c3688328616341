"""The first records of a delimited text, and the delimiter that makes the best table of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from acvb_core.data.report import plural
from acvb_core.data.sources import csv_kernel as kernel
from acvb_core.data.sources.byte_source import ByteSource, Utf8Stream
from acvb_core.data.sources.records import Workspace, delimiter_code, field_error, new_state
from acvb_core.data.sources.refusals import refuse_text_format
from acvb_core.data.sources.values import read_value
from acvb_core.errors import DataError

HEAD_BYTES = 1 << 17
MAX_HEAD_BYTES = 1 << 26
#: Records that guesses are made from.
GUESS_RECORDS = 50
# A comma also stands inside text and numbers, so the others are believed first.
_CANDIDATES = ("\t", ";", "|", ",")


class Head(NamedTuple):
    """The first records of a delimited text.

    Attributes
    ----------
    records : list of lists of str
    usual : int
        Fields that most records have.
    share : float
        Share of the records that have so many.
    delimiter : str
    trimmed : int
        Fields that lost blanks around them.
    encoding : str
    """

    records: list[list[str]]
    usual: int
    share: float
    delimiter: str
    trimmed: int = 0
    encoding: str = ""

    @property
    def even(self) -> list[list[str]]:
        """The records that have as many fields as most."""
        return [record for record in self.records if len(record) == self.usual]


def read_head(source: ByteSource, encoding: str | None, delimiter: str | None) -> Head:
    """Return the first records of a source that is a delimited text with several columns.

    Parameters
    ----------
    source : ByteSource
    encoding, delimiter : str or None
        None: recognised.

    Raises
    ------
    DataError
        The source is no plain text (JSON, HTML, …), or its head is no table, or one of one column.
    """
    refuse_text_format(source)
    stream = Utf8Stream(source, encoding)
    block, whole = _first_bytes(stream)
    head = best_head(lambda candidate: _cut(block, whole, candidate, source.name), delimiter)
    if head.usual < 2 and delimiter is None:
        head = _cut_at_blanks(block, whole, source.name) or head
    if head.usual < 2:
        raise DataError(
            "every line has one field only",
            source=source.name,
            line=1,
            value=head.records[0][0],
            remedy="Give several columns, or say which delimiter separates them.",
        )
    if len(head.records[0]) != head.usual:
        raise DataError(
            f"the first line has {plural(len(head.records[0]), 'field')}, most lines have {head.usual:,}",
            source=source.name,
            line=1,
            remedy="Remove title lines above the data, and give every line the same number of fields.",
        )
    return head._replace(encoding=stream.encoding)


def best_head(cut: Callable[[str], Head], delimiter: str | None) -> Head:
    """Return the head cut at the given delimiter, or at that which makes the best table.

    Raises
    ------
    DataError
        The fault of the last delimiter, where none can be cut at.
    """
    if delimiter is not None:
        return cut(delimiter)
    best: tuple[tuple[float, bool], Head] | None = None
    problem: DataError | None = None
    for candidate in _CANDIDATES:
        try:
            found = cut(candidate)
        except DataError as error:
            problem = error
            continue
        rank = (found.share if found.usual > 1 else 0.0, found.trimmed == 0)
        if best is None or rank > best[0]:
            best = rank, found
    if best is None:
        assert problem is not None
        raise problem
    return best[1]


def one_line_fault(
    fields: list[str], name: str, otherwise: str = "say that the first line is data"
) -> DataError:
    """Return the error for a file of one line that may hold names of columns or data."""
    return DataError(
        "the file has one line, and no rows below it; it may be a line of column names",
        source=name,
        line=1,
        value=", ".join(fields),
        remedy=f"Load a file with data below the names, or {otherwise}.",
    )


def _first_bytes(stream: Utf8Stream) -> tuple[bytes, bool]:
    """Return the first bytes, with two line ends if the file has so many, and whether they are all."""
    head = b""
    while len(head) < HEAD_BYTES or (head.count(b"\n") < 2 and len(head) < MAX_HEAD_BYTES):
        chunk = stream.read(HEAD_BYTES)
        if not chunk:
            return head, True
        head += chunk
    return head, False


def _cut_at_blanks(head: bytes, whole: bool, name: str) -> Head | None:
    """Return the head cut at spaces if it is columns of numbers; text with spaces is one field."""
    found = _cut(head, whole, " ", name)
    body = found.even[1:]
    numeric = all(not np.isnan(read_value(field).number) for record in body for field in record)
    return found if found.usual > 1 and found.share > 0.9 and body and numeric else None


def _cut(head: bytes, whole: bool, delimiter: str, name: str) -> Head:
    block = np.frombuffer(head, dtype=np.uint8)
    room = Workspace()
    room.fit(len(block))
    state = new_state(kernel.ANY_NUMBER)
    n_records, n_fields, _, outcome, line, field, position = kernel.tokenise(
        block,
        whole,
        delimiter_code(delimiter),
        state,
        room.text,
        room.starts,
        room.ends,
        room.first,
        room.lines,
    )
    if outcome != kernel.FINE and n_records < 2:
        raise field_error(outcome, line, field, int(block[min(position, len(block) - 1)]), name)
    if n_records == 0:
        if whole:
            raise DataError(
                "the file holds no data, only blank or comment lines",
                source=name,
                remedy="Load a file with data in it.",
            )
        raise DataError(
            f"the first line does not end within {len(head):,} bytes",
            source=name,
            line=1,
            remedy="Check that this is a table of text with line ends.",
        )
    bounds = [*room.first[:n_records].tolist(), n_fields]
    counts = np.diff(bounds)
    several = counts[counts > 1]
    usual = int(np.bincount(several).argmax()) if len(several) else 1
    records = [
        [room.text[room.starts[f] : room.ends[f]].tobytes().decode("utf-8") for f in range(a, b)]
        for a, b in zip(bounds[:GUESS_RECORDS], bounds[1 : GUESS_RECORDS + 1], strict=False)
    ]
    share = float((counts == usual).mean())
    return Head(records, usual, share, delimiter, int(state[kernel.TRIMMED]))
