"""One file that is being read: what happens to its faults, and how far the reading is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from acvb_core.data.corpora.layout import CorpusLayout
from acvb_core.data.corpora.text_files import CorpusSource, TextFolder
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.frames import FrameSource
from acvb_core.errors import DataError

_OFFER = 'or go on without such lines (broken="skip")'
_OFFER_START = 'or go on with what came before (broken="skip")'
_SHOWN = 5
#: Share of the work that is reading; the rest is sorting and writing.
_READING = 0.9
_SECONDS = 0.25


class FaultPolicy:
    """What happens to a line that cannot be read: its fault is raised, or the line is left out and counted.

    Parameters
    ----------
    skip : bool
        Leave such lines out.
    offers : bool
        A fault that is raised says how to go on without such lines.
    what : str
        What is left out, for people ("line", "file").

    Attributes
    ----------
    count : int
        Lines left out so far.
    """

    def __init__(self, skip: bool = False, *, offers: bool = False, what: str = "line") -> None:
        self.skip = skip
        self.what = what
        self.count = 0
        self._offers = offers and not skip
        self._first: list[DataError] = []

    def __call__(self, fault: DataError) -> None:
        """Raise the fault, or remember it."""
        if not self.skip:
            raise self.raised(fault)
        self.count += 1
        if len(self._first) < _SHOWN:
            self._first.append(fault)

    def raised(self, fault: DataError) -> DataError:
        """Return the fault as it is to be raised."""
        return offer_skipping(fault) if self._offers else fault

    @contextmanager
    def offering(self) -> Iterator[None]:
        """Let faults through with the offer to go on without such lines."""
        try:
            yield
        except DataError as fault:
            raise self.raised(fault) from None

    def facts(self, source: CorpusSource) -> list[Fact]:
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


def offer_skipping(fault: DataError) -> DataError:
    """Return the fault with the offer to go on without such lines as a further remedy."""
    if "broken=" in fault.remedy:
        return fault
    offer = _OFFER_START if fault.line is None else _OFFER
    return changed_fault(fault, remedy=f"{fault.remedy.rstrip('.')}, {offer}.")


def changed_fault(fault: DataError, **changes: Any) -> DataError:
    """Return a fault with another remedy, line, …"""
    known = {name: getattr(fault, name) for name in ("remedy", "source", "line", "column", "value")}
    return DataError(fault.what, **(known | changes))


class Progress:
    """Tell how far a reading is, a few times a second at most.

    Parameters
    ----------
    tell : callable, or None
        Takes the share that is done, from 0 to 1; what it raises ends the reading.
    source : CorpusSource
    """

    def __init__(self, tell: Callable[[float], None] | None, source: CorpusSource) -> None:
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


@dataclass(frozen=True, eq=False)
class Reading:
    """One file that is being read.

    Attributes
    ----------
    source : CorpusSource
    layout : CorpusLayout
    encoding : str or None
    faults : FaultPolicy
    progress : Progress
    whole : bool
        What is read is to be held in memory: more than fits is refused.
    """

    source: CorpusSource
    layout: CorpusLayout
    encoding: str | None
    faults: FaultPolicy
    progress: Progress
    whole: bool = False

    @classmethod
    def in_memory(cls, source: CorpusSource, layout: CorpusLayout, encoding: str | None) -> Reading:
        """Return the reading of a file into memory: a fault ends it."""
        return cls(source, layout, encoding, FaultPolicy(), Progress(None, source), whole=True)

    @property
    def file(self) -> ByteSource:
        """The source of a format that is no columns."""
        assert isinstance(self.source, ByteSource)
        return self.source

    @property
    def records(self) -> ByteSource | FrameSource:
        """The source of a format with columns."""
        assert not isinstance(self.source, TextFolder)
        return self.source

    @property
    def name(self) -> str:
        """What the user calls the file."""
        return self.source.name

    def __post_init__(self) -> None:
        self.source.cut_short = None  # the look at the head may have met the end already
