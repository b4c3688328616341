"""Open what people hand in as bytes that can be read more than once: a path, a stream of bytes or of text, gzip."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO, cast

from acvb_core.errors import DataError, ParameterError

FileLike = str | os.PathLike[str] | bytes | BinaryIO | TextIO

#: Bytes of a stream that are held in memory; where there are more, all go to a temporary file.
SPOOL = 16 << 20
_PIECE = 1 << 20
STANDARD_INPUT = "-"
# pathlib makes one slash of two.
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)


class Opened(NamedTuple):
    """A source that was opened: its bytes, the name it has, whether it is ours to close, and whether it was text."""

    handle: BinaryIO
    name: str | None = None
    owned: bool = False
    was_text: bool = False


def open_bytes(source: FileLike) -> Opened:
    """Open a path, bytes or a file object; a stream that cannot seek is kept beside, in a file if it is long.

    Raises
    ------
    DataError
        The path is an address, a directory or none; the stream is closed, or does not decode.
    ParameterError
        It is nothing of the kind.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return Opened(io.BytesIO(source))
    if isinstance(source, str | os.PathLike):
        if os.fspath(source) != STANDARD_INPUT:
            return _open_path(source)
        if sys.stdin is None:
            raise DataError(
                "there is no standard input", source=STANDARD_INPUT, remedy="Give the path of a file."
            )
        return Opened(spool(getattr(sys.stdin, "buffer", sys.stdin), "stdin"), "stdin", owned=True)
    if not hasattr(source, "read"):
        raise ParameterError(
            "A source is a path, bytes or an open file (where tables are read also an array or a DataFrame), not a "
            f"{type(source).__name__}."
        )
    name = getattr(source, "name", None)
    name = Path(name).name if isinstance(name, str) else None
    if getattr(source, "closed", False):
        raise DataError("this file is closed", source=name, remedy="Open it again, or give its path.")
    if not _can_seek(source):
        return Opened(spool(source, name or "the stream"), name, owned=True)
    source.seek(0)
    if isinstance(source.read(0), str):
        return Opened(spool(source, name or "the text"), name, owned=True, was_text=True)
    return Opened(cast(BinaryIO, source), name)


def spool(stream: Any, name: str) -> BinaryIO:
    """Return all that is left of a stream as a file that can seek; text becomes UTF-8.

    Raises
    ------
    DataError
        The stream does not decode, or there is no room for it.
    """
    kept = tempfile.SpooledTemporaryFile(SPOOL)  # noqa: SIM115  the caller closes it
    try:
        while piece := stream.read(_PIECE):
            # Half a letter fails where it is read, with its line.
            kept.write(piece.encode("utf-8", "surrogatepass") if isinstance(piece, str) else piece)
    except UnicodeDecodeError as problem:
        kept.close()
        raise DataError(
            f"it was opened as text, and is not {problem.encoding} text",
            source=name,
            remedy="Open it with its own encoding or as bytes (mode 'rb'), or give its path.",
        ) from None
    except OSError as problem:
        kept.close()
        raise DataError(
            f"the stream cannot be read to its end and kept ({problem.strerror or problem})",
            source=name,
            remedy=f"Save it as a file where there is room for it, and give its path ({tempfile.gettempdir()} is full, "
            "or the stream broke off).",
        ) from None
    return cast(BinaryIO, kept)


def _can_seek(stream: Any) -> bool:
    return bool(getattr(stream, "seekable", bool)())


def _open_path(source: str | os.PathLike[str]) -> Opened:
    given = os.fspath(source)
    if _ADDRESS.match(given):
        raise DataError(
            "nothing is fetched from an address", source=given, remedy="Download the file and give its path."
        )
    path = Path(os.path.expanduser(given))
    try:
        handle: BinaryIO = path.open("rb")
    except IsADirectoryError:
        raise DataError("this is a directory", source=given, remedy="Give one file.") from None
    except (OSError, ValueError) as problem:  # ValueError: a NUL
        remedy = "Check the path and the right to read it."
        if "\n" in given:
            remedy = "A str is taken as a path: give text as io.StringIO(text)."
        why = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise DataError(f"the file cannot be opened ({why})", source=given, remedy=remedy) from None
    if _can_seek(handle):
        return Opened(handle, path.name, owned=True)
    with handle:
        return Opened(spool(handle, path.name), path.name, owned=True)


class Unzipped:
    """A gzip stream whose faults are reported in the user's terms."""

    def __init__(self, raw: BinaryIO, name: str) -> None:
        self._stream = gzip.GzipFile(fileobj=raw, mode="rb")
        self._name = name
        self._fault: DataError | None = None

    def read(self, size: int = -1) -> bytes:
        """Return what comes before a fault first, and raise the fault when there is nothing else to give."""
        pieces = []
        left = size if size >= 0 else sys.maxsize
        while left and self._fault is None:
            try:
                piece = self._stream.read1(min(left, _PIECE))
            except EOFError:
                self._fault = self._damage("the gzip file ends before its end mark: it is truncated")
                break
            except (gzip.BadGzipFile, zlib.error) as problem:
                self._fault = self._damage(f"the gzip file is damaged ({problem})")
                break
            if not piece:
                break
            pieces.append(piece)
            left -= len(piece)
        if self._fault is not None and (not pieces or size < 0):
            raise self._fault
        return b"".join(pieces)

    def _damage(self, what: str) -> DataError:
        return DataError(what, source=self._name, remedy="Copy or download it again.")
