"""Lines that cannot be read: refused with an offer, or left out and counted; and how far a reading is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.errors import DataError

_OFFER = 'or go on without such lines (broken="skip")'
_OFFER_START = 'or go on with what came before (broken="skip")'
_SHOWN = 5
#: Share of the work that is reading; the rest is sorting and writing.
_READING = 0.9
_SECONDS = 0.25


class Broken:
    """What happens to a broken line: its fault is raised, or the line is left out.

    Parameters
    ----------
    skip : bool
    what : str
        What is left out, for people ("line", "file").

    Attributes
    ----------
    count : int
        Broken lines so far.
    """

    def __init__(self, skip: bool, what: str = "line") -> None:
        self.skip = skip
        self.what = what
        self.count = 0
        self._first: list[DataError] = []

    def __call__(self, fault: DataError) -> None:
        """Raise the fault, or remember it."""
        if not self.skip:
            raise offered(fault)
        self.count += 1
        if len(self._first) < _SHOWN:
            self._first.append(fault)

    @contextmanager
    def offering(self) -> Iterator[None]:
        """Let faults through with the offer to go on without such lines."""
        try:
            yield
        except DataError as fault:
            raise fault if self.skip else offered(fault) from None

    def facts(self, source: ByteSource) -> list[Fact]:
        """Return the facts about what was left out."""
        facts = []
        if source.cut_short is not None:
            told = f"The file ends too early ({source.cut_short.what}): what came before was read."
            facts.append(Fact("cut_short", 1, told))
        if self.count:
            lines = [fault.line for fault in self._first if fault.line is not None]
            where = f" ({', '.join(f'line {line:,}' for line in lines)}"
            where = f"{where}{', …' if self.count > len(lines) else ''})" if lines else ""
            first = self._first[0]
            found = f", found {first.value!r}" if first.value is not None else ""
            told = f"{plural(self.count, f'broken {self.what}')} left out{where}; the first: {first.what}{found}."
            facts.append(Fact("broken_lines", self.count, told, {"lines": lines}))
        return facts


def offered(fault: DataError) -> DataError:
    """Return the fault with the offer to go on without such lines as a further remedy."""
    offer = _OFFER_START if fault.line is None else _OFFER
    if "broken=" in fault.remedy:
        return fault
    return DataError(
        fault.what,
        source=fault.source,
        line=fault.line,
        column=fault.column,
        value=fault.value,
        remedy=f"{fault.remedy.rstrip('.')}, {offer}.",
    )


class Progress:
    """Tell how far a reading is, a few times a second at most.

    Parameters
    ----------
    tell : callable, or None
        Takes the share that is done, from 0 to 1; what it raises ends the reading.
    source : ByteSource
        Not opened yet.
    """

    def __init__(self, tell: Callable[[float], None] | None, source: ByteSource) -> None:
        self._tell = tell
        self._source = source
        self._size = max(source.size(), 1)
        self._next = 0.0

    def reading(self) -> None:
        """Tell the share of the bytes that is read, the writing still to come."""
        self._say(_READING * min(self._source.position() / self._size, 1.0))

    def writing(self, share: float) -> None:
        """Tell the share of the entries that is written."""
        self._say(_READING + (1.0 - _READING) * share)

    def _say(self, share: float) -> None:
        if self._tell is None or (time.monotonic() < self._next and share < 1.0):
            return
        self._next = time.monotonic() + _SECONDS
        self._tell(share)
