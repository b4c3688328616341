"""What people hand in as bytes that can be read more than once: unpacked when gzipped, and decoded to UTF-8."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO, cast

from acvb_core.data.sources import formats
from acvb_core.data.sources.recognisers import GZIP, NPY, ZIP
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


#: Bytes that any source may unpack to where it is needed as a whole; a large one may take 8 times its own size.
ROOM = 800_000_000


class ByteSource:
    """A source that can be read from its start more than once.

    Parameters
    ----------
    source : path, bytes or file object
        "-" is the standard input. What cannot seek is kept in memory or, where it is long, in a temporary file. What a
        text stream gives is taken as it is.
    filename : str, optional
        The name the user knows the source by; taken from the path or the file object when it has one.
    kind : "relation", "corpus", "table" or None
        The data that are read; formats that hold others are refused. None: a list or a table of text.
    columns : bool
        Files of columns that are no text are taken too (Parquet, workbooks, …).
    patient : bool
        For a reader that leaves out what is broken: bytes that the encoding does not allow, and the place where a
        damaged gzip file ends, are read as NUL characters, which no text holds.

    Attributes
    ----------
    format : Format or None
        None for text whose first records have to be looked at.
    path : Path or None
        Where the file lies, if it was given so.
    cut_short : DataError or None
        Why a patient source ends before its end.
    was_text : bool
        It was handed in as text, which has no encoding any more.

    Raises
    ------
    DataError
        As `open_bytes`; or the file is empty, or its first bytes are of a foreign format.
    """

    def __init__(
        self,
        source: FileLike,
        filename: str | None = None,
        *,
        kind: formats.Kind | None = None,
        columns: bool = False,
        patient: bool = False,
    ) -> None:
        self.patient = patient
        self.cut_short: DataError | None = None
        self._handle, name, self._owned, self.was_text = open_bytes(source)
        path = getattr(self._handle, "name", None)
        self.path = Path(path) if self._owned and isinstance(path, str) else None
        filename = filename or name
        self.name = filename or "the data"
        try:
            self.head = self._rewound().read(512)
            self.gzipped = self.head.startswith(GZIP)
            if self.gzipped:
                self.head = self.open().read(512)
            if not self.head:
                raise DataError("the file is empty", source=self.name, remedy="Load a file with data in it.")
            self.format = formats.recognise(self, kind, columns=columns)
        except DataError:
            self.close()
            raise

    def __enter__(self) -> ByteSource:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file if it was opened here (a file object stays the caller's)."""
        if self._owned:
            self._handle.close()

    @property
    def stem(self) -> str:
        """The name without its last extensions (.gz, .csv, …)."""
        name = self.name[:-3] if self.name.lower().endswith(".gz") else self.name
        return Path(name).stem or self.name

    @property
    def is_array(self) -> bool:
        """Whether the (unpacked) content is a NumPy array."""
        return self.head.startswith(NPY)

    @property
    def is_zip(self) -> bool:
        """Whether the (unpacked) content is a zip archive: an .npz, or something to refuse."""
        return self.head.startswith(ZIP)

    def open(self) -> BinaryIO:
        """Return the content from its start, unpacked when it is gzipped; earlier streams are void."""
        raw = self._rewound()
        return cast(BinaryIO, Unzipped(raw, self.name)) if self.gzipped else raw

    def seekable(self) -> BinaryIO:
        """Return the content as a stream that can seek (a gzipped one is unpacked into memory).

        Raises
        ------
        DataError
            It unpacks to more bytes than there is room for.
        """
        if not self.gzipped:
            return self._rewound()
        content = self.open().read(self.room + 1)
        self.check_room(len(content))
        return io.BytesIO(content)

    @property
    def room(self) -> int:
        """The most bytes that the content may unpack to in memory: a small file can claim any size."""
        return max(ROOM, 8 * self.size())

    def check_room(self, n_bytes: int) -> None:
        """Raise DataError where the content unpacks, or claims to unpack, to more bytes than there is room for."""
        if n_bytes > self.room:
            raise DataError(
                f"the file has {self.size():,} bytes and unpacks to more than {self.room:,}",
                source=self.name,
                remedy="Check how it was made; save a part of it, or save it without compression.",
            )

    def size(self) -> int:
        """Return the bytes of the source as it is (packed when it is gzipped)."""
        at = self._handle.tell()
        end = self._handle.seek(0, io.SEEK_END)
        self._handle.seek(at)
        return end

    def position(self) -> int:
        """Return how many bytes of the source as it is were read since it was opened."""
        return self._handle.tell()

    def zip_names(self) -> list[str]:
        """Return the names inside a zip archive, [] when its table of contents cannot be read."""
        try:
            with zipfile.ZipFile(self.seekable()) as archive:
                return archive.namelist()
        except DataError:
            raise
        except Exception:  # a damaged archive makes zipfile raise all sorts
            return []

    def _rewound(self) -> BinaryIO:
        self._handle.seek(0)
        return self._handle


def _as_nul(problem: UnicodeError) -> tuple[str, int]:
    assert isinstance(problem, UnicodeDecodeError)
    return "\0", problem.end


_AS_NUL = "acvb_core.as_nul"
codecs.register_error(_AS_NUL, _as_nul)


class Utf8Stream:
    """The content as checked UTF-8 bytes, whatever its encoding.

    Parameters
    ----------
    source : ByteSource
    encoding : str, optional
        None: UTF-8 with or without a byte order mark, or UTF-16/32 when the mark says so.

    A patient source's faults come as NUL characters.
    """

    def __init__(self, source: ByteSource, encoding: str | None = None) -> None:
        self._name = source.name
        self._source = source
        self._stream = source.open()
        if source.was_text and encoding is not None:
            raise ParameterError(
                f"{source.name} was handed in as text, which is decoded: leave encoding out."
            )
        self.encoding = encoding or _marked_encoding(source.head)
        try:
            if not codecs.lookup(self.encoding)._is_text_encoding:
                raise LookupError
            errors = _AS_NUL if source.patient else "strict"
            self._decoder = codecs.getincrementaldecoder(self.encoding)(errors)
        except LookupError:
            raise ParameterError(
                f"There is no text encoding called {self.encoding!r}. Try utf-8, latin-1, cp1252 or utf-16."
            ) from None
        self._is_utf8 = codecs.lookup(self.encoding).name in ("utf-8", "utf-8-sig")
        self._line = 1
        self._bytes = 0
        self._ended = False

    def read(self, size: int) -> bytes:
        """Return at most about `size` bytes of UTF-8; b"" at the end.

        Raises
        ------
        DataError
            Bytes that the encoding does not allow, with their line.
        """
        while True:
            first = self._bytes == 0
            chunk = self._chunk(max(size, 4))  # a byte order mark comes in one piece
            try:
                text = self._decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as problem:
                raise self._undecodable(problem, len(chunk)) from None
            self._bytes += len(chunk)
            if self._is_utf8 and not self._source.patient:
                # The bytes pass through unchanged: decoding them only proved that they are UTF-8.
                found = chunk.removeprefix(codecs.BOM_UTF8) if first else chunk
            else:
                found = (text.removeprefix("\ufeff") if first else text).encode("utf-8")
            self._line += _line_ends(found)
            if found or not chunk:
                return found

    def _chunk(self, size: int) -> bytes:
        if self._ended:
            return b""
        try:
            return self._stream.read(size)
        except DataError as fault:
            if not self._source.patient:
                raise
            # The last line may be half a line: with a NUL in it, it is left out like other broken ones.
            self._source.cut_short = fault
            self._ended = True
            return b"\0" * 4

    def _undecodable(self, problem: UnicodeDecodeError, chunk_size: int) -> DataError:
        # The decoder sees the chunk behind the bytes it had kept back, or without the mark it has stripped.
        start = self._bytes + chunk_size - len(problem.object) + problem.start
        before = problem.object[: problem.start].decode(self.encoding, errors="ignore")
        return DataError(
            f"byte {start + 1:,} is not {'UTF-8' if self._is_utf8 else self.encoding} text",
            source=self._name,
            line=self._line + _line_ends(before.encode("utf-8")),
            value=problem.object[problem.start : problem.start + 8].hex(" "),
            remedy="Choose the file's encoding (often cp1252, latin-1 or utf-16), or save it as UTF-8.",
        )


def _line_ends(text: bytes) -> int:
    return text.count(b"\n") or text.count(b"\r")


def _marked_encoding(head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8-sig"
