"""Progress on the terminal, and what Ctrl-C does."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO
from weakref import WeakKeyDictionary

from acvb_core.core.protocols import Poll
from acvb_core.engine.compilation import COMPILING
from acvb_core.engine.history import MOTION, SweepRecord
from acvb_core.engine.prepared import SLOW_SWEEP, PreparedRun
from acvb_core.engine.run import StopRun

#: Windows has no SIGHUP.
_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def stop_on_signal() -> Iterator[Poll]:
    """Give a poll that raises `StopRun` once the program was asked to end inside the block.

    Ctrl-C, SIGTERM and SIGHUP (a closed terminal) ask for the end; asking twice ends it at once. Signals that the
    program was started to ignore stay ignored (nohup).
    """
    end = threading.Event()
    silence = terminal_silencer()

    def ask(number: int, frame: Any) -> None:
        silence()
        if end.is_set():
            raise KeyboardInterrupt
        end.set()

    def poll() -> None:
        if end.is_set():
            raise StopRun

    if threading.current_thread() is not threading.main_thread():
        yield poll  # signals reach the main thread only
        return
    before = {number: signal.getsignal(number) for number in _ENDING}
    replaced = {
        number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)
    }
    for number in replaced:
        signal.signal(number, ask)
    try:
        yield poll
    finally:
        for number, handler in replaced.items():
            signal.signal(number, handler)


def terminal_silencer() -> Callable[[], None]:
    """Return what keeps writing to a terminal from failing once the terminal is gone: it is written to nowhere."""
    terminals = [number for number in (1, 2) if os.isatty(number)]

    def silence() -> None:
        for number in terminals:
            if not os.isatty(number):
                with suppress(OSError):
                    nowhere = os.open(os.devnull, os.O_WRONLY)
                    os.dup2(nowhere, number)
                    os.close(nowhere)

    return silence


_BAR = 20
#: Seconds without a sweep after which a line says so.
_SILENCE = 10.0
_START = "the start of the run"


class ProgressLine:
    """Watcher of a number of runs, some `over` before, that shows how far they are; `quiet` writes nothing."""

    def __init__(self, stream: TextIO, runs: int = 1, *, quiet: bool = False, over: int = 0) -> None:
        self._stream, self._runs, self._quiet = stream, runs, quiet
        self._terminal = stream.isatty()
        self._pause = 0.1 if self._terminal else 10.0  # seconds between two lines
        self._run: PreparedRun | None = None
        self._number = over
        self._numbers: WeakKeyDictionary[PreparedRun, int] = WeakKeyDictionary()
        self._next = 0.0
        #: The run that is under way, where it is, and since when.
        self._waiting: tuple[PreparedRun, str, float] | None = None
        self._told = 0.0

    def __call__(self, prepared: PreparedRun, snapshot: SweepRecord) -> None:
        """Show a snapshot, if it is time to."""
        if self._quiet:
            return
        self._wait(prepared, None if snapshot.verdict else f"sweep {snapshot.sweep + 1:,}")
        if prepared is not self._run:
            self._run = prepared
            if prepared not in self._numbers:  # runs may run side by side
                self._number += 1
                self._numbers[prepared] = self._number
            self._next = time.monotonic() + (0.0 if self._terminal else self._pause)
        if snapshot.verdict is None and time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._pause
        _write_line(self._stream, self._text(prepared, snapshot), last=snapshot.verdict is not None)

    def starting(self, prepared: PreparedRun) -> None:
        """Say where a sweep will take long."""
        if self._quiet:
            return
        if prepared.sweep_seconds >= SLOW_SWEEP:
            fewer = " or ".join(dict.fromkeys(prepared.model_row.domains.values()))
            took = _rough_duration(prepared.sweep_seconds)
            text = f"{prepared.label}  a sweep may take about {took}; fewer {fewer} take less"
            _write_line(self._stream, text, last=True)
        self._wait(prepared, _START)

    @contextmanager
    def keep_telling(self) -> Iterator[None]:
        """Say every few seconds, for as long as the block lasts, how long a run has taken without a sweep."""
        over = threading.Event()

        def tell() -> None:
            while not over.wait(1.0):
                self.tell_silence()

        # Not by the poll: a start may compute for minutes in a library that knows of none.
        teller = threading.Thread(target=tell, daemon=True)
        teller.start()
        try:
            yield
        finally:
            over.set()
            teller.join()

    def tell_silence(self) -> None:
        """Say how long the run has taken, where nothing was said for some seconds."""
        now, waiting = time.monotonic(), self._waiting
        if waiting is None or now < self._told + _SILENCE:
            return
        prepared, what, since = waiting
        self._told = now
        _write_line(self._stream, f"{prepared.label}  {what}, {now - since:,.0f} s so far", last=False)

    def _wait(self, prepared: PreparedRun, what: str | None) -> None:
        self._told = time.monotonic()
        self._waiting = None if what is None else (prepared, what, self._told)

    def compiling(self, prepared: PreparedRun, is_compiling: bool) -> None:
        """Say why nothing moves yet."""
        if self._quiet:
            return
        if is_compiling:
            _write_line(self._stream, f"{prepared.label}  {COMPILING}", last=False)
        self._wait(prepared, COMPILING if is_compiling else _START)

    def _text(self, prepared: PreparedRun, snapshot: SweepRecord) -> str:
        cap = prepared.max_sweeps
        parts = [f"{self._numbers.get(prepared, self._number)}/{self._runs}"] if self._runs > 1 else []
        parts.append(prepared.label)
        if self._terminal:
            done = min(_BAR * snapshot.sweep // cap, _BAR)
            parts.append(f"[{'#' * done}{'.' * (_BAR - done)}]")
        parts.append(_how_far(prepared, snapshot))
        if snapshot.verdict:
            parts.append(str(snapshot.verdict))
        if snapshot.has_settled is not None:
            parts.append(MOTION[snapshot.has_settled])
        for name, value in (
            ("bound", snapshot.lower_bound),
            ("pseudo-LOO", snapshot.pseudo_loo),
            ("change", snapshot.mean_change if snapshot.mean_change is not None else snapshot.change),
        ):
            if value is not None:
                parts.append(f"{name} {value:,.1f}" if abs(value) >= 100 else f"{name} {value:.3g}")
        domains = list(prepared.model_row.domains.values())
        what = domains[0] if len(domains) == 1 else "clusters"
        parts.append(f"{what} " + " x ".join(str(k) for k in snapshot.effective_k.values()))
        return "  ".join(parts)


class ReadingProgress:
    """Shows how far the reading (or `doing`) of something is: takes the share that is done; `quiet` writes nothing."""

    def __init__(self, stream: TextIO, what: str, *, doing: str = "reading", quiet: bool = False) -> None:
        self._stream, self._what, self._doing, self._quiet = stream, what, doing, quiet
        self._pause = 0.1 if stream.isatty() else 10.0
        self._next = time.monotonic() + self._pause

    def __call__(self, share: float) -> None:
        """Show the share, if it is time to."""
        over = share >= 1.0
        if self._quiet or (time.monotonic() < self._next and not (over and self._stream.isatty())):
            return
        self._next = time.monotonic() + self._pause
        _write_line(self._stream, f"{self._doing} {self._what}  {share:.0%}", last=over)


def _write_line(stream: TextIO, text: str, *, last: bool) -> None:
    """Write a line; on a terminal over the one before, unless that was the last."""
    if stream.isatty():
        text = text[: shutil.get_terminal_size((110, 24)).columns - 1]
        end = "\n" if last else ""
        stream.write(f"\r{text}\x1b[K{end}")
    else:
        stream.write(f"{text}\n")
    stream.flush()


def _rough_duration(seconds: float) -> str:
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 1.5 * length:
            return f"{float(f'{seconds / length:.1g}'):,.0f} {unit}"
    return f"{float(f'{seconds:.1g}'):.0f} s"


def _how_far(prepared: PreparedRun, snapshot: SweepRecord) -> str:
    """Return how far a run is: in sweeps, or in epochs and documents a second where it streams."""
    if not prepared.row.streams:
        return f"sweep {snapshot.sweep:,}/{prepared.max_sweeps:,}"
    text = f"epoch {snapshot.passes:.2f}/{prepared.spec.values['epochs']:g}"
    seconds = snapshot.wall_seconds - snapshot.diagnostics_seconds
    if seconds > 0 and snapshot.passes:
        text += f"  {snapshot.passes * prepared.train.n_documents / seconds:,.0f} documents/s"
    return text
