"""Whatever a source is given as, opened as bytes that can seek: a path, bytes, a file object, the standard input."""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.core.scratch import scratch_prefix

if TYPE_CHECKING:
    from acvb_core.data.sources.byte_source import FileLike

#: Bytes of a stream that are held in memory; where there are more, all go to a temporary file.
SPOOL = 16 << 20
STANDARD_INPUT = "-"
_PIECE = 1 << 20
# pathlib makes one slash of two.
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)


class OpenStream(NamedTuple):
    """An open file, its name, whether it was opened here, and whether it was text."""

    handle: BinaryIO
    name: str | None = None
    owned: bool = False
    was_text: bool = False


def open_bytes(source: FileLike) -> OpenStream:
    """Open a path, bytes or a file object; a stream that cannot seek is kept beside, in a file if it is long."""
    if isinstance(source, bytes | bytearray | memoryview):
        return OpenStream(io.BytesIO(source))
    if isinstance(source, str | os.PathLike):
        if os.fspath(source) != STANDARD_INPUT:
            return _open_path(os.fspath(source))
        if sys.stdin is None:
            raise DataError(
                "there is no standard input", source=STANDARD_INPUT, remedy="Give the path of a file."
            )
        return OpenStream(_spool(getattr(sys.stdin, "buffer", sys.stdin), "stdin"), "stdin", owned=True)
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
        return OpenStream(_spool(source, name or "the stream"), name, owned=True)
    source.seek(0)
    if isinstance(source.read(0), str):
        return OpenStream(_spool(source, name or "the text"), name, owned=True, was_text=True)
    return OpenStream(cast(BinaryIO, source), name)


def _open_path(given: str) -> OpenStream:
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
        return OpenStream(handle, path.name, owned=True)
    with handle:
        return OpenStream(_spool(handle, path.name), path.name, owned=True)


def _can_seek(stream: Any) -> bool:
    return bool(getattr(stream, "seekable", bool)())


def _spool(stream: Any, name: str) -> BinaryIO:
    """Return all that is left of a stream as a file that can seek; text becomes UTF-8."""
    kept = tempfile.SpooledTemporaryFile(SPOOL, prefix=scratch_prefix())  # noqa: SIM115  the caller closes it
    try:
        while piece := stream.read(_PIECE):
            # Half a letter fails where it is read, with its line.
            kept.write(piece.encode("utf-8", "surrogatepass") if isinstance(piece, str) else piece)
        return cast(BinaryIO, kept)
    except UnicodeDecodeError as problem:
        what = f"it was opened as text, and is not {problem.encoding} text"
        remedy = "Open it with its own encoding or as bytes (mode 'rb'), or give its path."
    except OSError as problem:
        what = f"the stream cannot be read to its end and kept ({problem.strerror or problem})"
        remedy = (
            "Save it as a file where there is room for it, and give its path "
            f"({tempfile.gettempdir()} is full, or the stream broke off)."
        )
    kept.close()
    raise DataError(what, source=name, remedy=remedy)
