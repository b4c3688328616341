"""Lines of long texts for a reader that goes on behind broken ones."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterator

from acvb_core.data.sources.text_lines import MAX_TEXT
from acvb_core.errors import DataError

#: Characters of a record of which some may have to be read again, when broken lines are left out.
_PATIENT_RECORD = 1 << 22
_TOO_LONG = "\0 too long\n"


class Remembered:
    """Lines, with those of the record that is being read remembered, so that it can be read again from its second.

    Attributes
    ----------
    log : list of str
        The lines since the last `forget`.
    count : int
        Lines given so far.
    """

    def __init__(self, lines: Iterator[str], bounded: bool, name: str) -> None:
        self._lines = lines
        self._again: deque[str] = deque()
        self._bounded = bounded
        self._name = name
        self._size = 0
        self.log: list[str] = []
        self.count = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._bounded and self._size > _PATIENT_RECORD:
            raise DataError(
                f"a quote that opens in this record is not closed within {_PATIENT_RECORD:,} characters",
                source=self._name,
                remedy="Close the quote, or double a literal one.",
            )
        line = self._again.popleft() if self._again else next(self._lines)
        self.log.append(line)
        self.count += 1
        self._size += len(line)
        return line

    @property
    def start(self) -> int:
        """The 1-based number of the record's first line."""
        return self.count - len(self.log) + self._blank() + 1

    def first_with(self, mark: str) -> tuple[int, str] | None:
        """Return the number of the record's first line that holds `mark`, and the line."""
        before = self.count - len(self.log)
        return next(((before + at, line) for at, line in enumerate(self.log, start=1) if mark in line), None)

    def forget(self) -> None:
        """The record is done."""
        self.log.clear()
        self._size = 0

    def go_back(self) -> None:
        """Let the lines behind the record's first come again."""
        again = self.log[self._blank() + 1 :]
        self._again.extendleft(reversed(again))
        self.count -= len(again)
        self.forget()

    def _blank(self) -> int:
        blank = 0
        while blank < len(self.log) - 1 and not self.log[blank].strip("\r\n"):
            blank += 1
        return blank


def bounded(lines: io.TextIOWrapper) -> Iterator[str]:
    """Give lines, `_TOO_LONG` for one that would fill the memory."""
    while line := lines.readline(MAX_TEXT):
        if len(line) < MAX_TEXT or line.endswith(("\n", "\r")):
            yield line
            continue
        while line and not line.endswith(("\n", "\r")):
            line = lines.readline(MAX_TEXT)
        yield _TOO_LONG


def unfit_line(name: str, number: int, line: str) -> DataError:
    """Return the error for a line with a NUL, which stands for all that no text holds."""
    if line == _TOO_LONG:
        return DataError(
            f"this line is longer than {MAX_TEXT:,} characters",
            source=name,
            line=number,
            remedy="Check the line ends; give one document on each line.",
        )
    return DataError(
        "there is a NUL byte, or one that the encoding does not allow",
        source=name,
        line=number,
        remedy="This is not plain text: save it as text, or choose another encoding.",
    )
