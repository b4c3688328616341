"""Sources as bytes that can be read more than once: opened, unpacked, decoded to UTF-8, and as lines."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import os
import re
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.core.files import scratch_prefix
from acvb_core.data.names import is_text
from acvb_core.data.schema import Kind
from acvb_core.data.sources.formats import find_text_format, marked_encoding, recognise_format

#: Bytes of a stream that are held in memory; if there are more, all go to a temporary file.
SPOOL = 16 << 20
STANDARD_INPUT = "-"
_PIECE = 1 << 20
# pathlib makes one slash of two.
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)


def open_bytes(source: FileLike) -> tuple[BinaryIO, str | None, bool]:
    """Return a path, bytes or a file object as a stream that can seek, its name, and whether it was text.

    A stream that cannot seek is copied, to a file if it is long.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return io.BytesIO(source), None, False
    if isinstance(source, str | os.PathLike):
        if os.fspath(source) != STANDARD_INPUT:
            return _open_path(os.fspath(source))
        if sys.stdin is None:
            raise DataError(
                "there is no standard input", source=STANDARD_INPUT, remedy="Give the path of a file."
            )
        return _spool(getattr(sys.stdin, "buffer", sys.stdin), "stdin"), "stdin", False
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
        return _spool(source, name or "the stream"), name, False
    source.seek(0)
    if isinstance(source.read(0), str):
        return _spool(source, name or "the text"), name, True
    return cast(BinaryIO, source), name, False


def _open_path(given: str) -> tuple[BinaryIO, str, bool]:
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
        return handle, path.name, False
    with handle:
        return _spool(handle, path.name), path.name, False


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


#: Files in an archive at most: the list of so many takes about 500 MB.
MAX_FILES = 1_000_000
_ENTRY, _END_BYTES, _DIRECTORY_PIECE = b"PK\x01\x02", 76, 1 << 24


def count_files(stream: BinaryIO) -> int:
    """Return how many files an archive lists, or a little more than `MAX_FILES`; 0 if its end is not found.

    The number that the end claims may be false, so the entries are counted.
    """
    end: Any = zipfile._EndRecData(stream)  # type: ignore[attr-defined]
    if end is None:
        return 0
    # The end of a long archive lies between its list of files and the place found.
    stop = end[zipfile._ECD_LOCATION]  # type: ignore[attr-defined]
    left = min(end[zipfile._ECD_SIZE] + _END_BYTES, stop)  # type: ignore[attr-defined]
    stream.seek(stop - left)
    n_files, kept = 0, b""
    while left > 0 and n_files <= MAX_FILES and (piece := stream.read(min(left, _DIRECTORY_PIECE))):
        left -= len(piece)
        n_files += (kept + piece).count(_ENTRY)
        kept = (kept + piece)[-len(_ENTRY) + 1 :]  # an entry may begin here and continue in the next piece
    return n_files


FileLike = str | os.PathLike[str] | bytes | BinaryIO | TextIO
#: Bytes that any source may unpack to if it is needed as a whole; a large one may take 8 times its own size.
ROOM = 800_000_000
#: A source that unpacks to so many bytes, and to so many times its own size, repeats one thing.
REPEATED_BYTES, REPEATED_RATIO = 1 << 29, 300


class _GzipStream(gzip.GzipFile):
    """An unpacked gzip stream whose faults are DataErrors."""

    _fault: str | None = None

    def __init__(self, raw: BinaryIO, name: str) -> None:
        super().__init__(fileobj=raw, mode="rb")
        self._raw, self._called = raw, name

    def read(self, size: int | None = -1) -> bytes:
        """Return what comes before a fault first, and raise the fault when there is nothing else to give."""
        pieces, whole = [], size is None or size < 0
        left = sys.maxsize if size is None or size < 0 else size
        try:
            while left and self._fault is None and (piece := self.read1(min(left, _PIECE))):
                pieces.append(piece)
                left -= len(piece)
                packed, unpacked = self._raw.tell(), self.tell()
                if is_repeated(packed, unpacked):
                    raise DataError(
                        f"the first {packed:,} bytes of the gzip file unpack to {unpacked:,}, over and over the same",
                        source=self._called,
                        remedy="Check how it was made. To read it all the same, unpack it and load what is in it.",
                    )
        except EOFError:
            self._fault = "the gzip file ends before its end mark: it is truncated"
        except (gzip.BadGzipFile, zlib.error) as problem:
            self._fault = f"the gzip file is damaged ({problem})"
        if self._fault is not None and (not pieces or whole):
            raise DataError(self._fault, source=self._called, remedy="Copy or download it again.")
        return b"".join(pieces)


def is_repeated(packed: int, unpacked: int) -> bool:
    """Return whether packed bytes expand to so many more that they can only repeat something."""
    return unpacked > max(REPEATED_BYTES, REPEATED_RATIO * packed)


class ByteSource:
    """A path ("-" is the standard input), bytes or a file object that can be read from its start more than once.

    It is opened for a `kind` of data (None: a list or a table of text), and formats of other kinds are refused;
    `columns` allows files of columns that are no text too. `patient` is for a reader that leaves out what is broken:
    bytes that the encoding does not allow, and the place where a damaged gzip file ends, are read as NUL characters,
    which no text holds.

    Attributes
    ----------
    name : str
        Name for the user: `filename`, or the name of the path or of the file object; `stem` is it without its
        last extensions (.gz, .csv, …).
    head : bytes
        The first 512 bytes, unpacked; `is_array` and `is_zip` tell whether they are of a NumPy array or a zip archive.
    format : Format or None
        None for text whose first records have to be looked at.
    text_format : str or None
        What the text begins like (`find_text_format`).
    path : Path or None
        Where the file lies, if it was given so.
    cut_short : DataError or None
        Why a patient source ends before its end.
    was_text : bool
        It was handed in as text, which has no encoding any more.
    """

    def __init__(
        self,
        source: FileLike,
        filename: str | None = None,
        *,
        kind: Kind | None = None,
        columns: bool = False,
        patient: bool = False,
    ) -> None:
        self.patient = patient
        self.cut_short: DataError | None = None
        self._archive: zipfile.ZipFile | None = None
        self._handle, name, self.was_text = open_bytes(source)
        self._owned = self._handle is not source
        path = getattr(self._handle, "name", None)
        self.path = Path(path) if self._owned and isinstance(path, str) else None
        self.name = filename or name or "the data"
        without_gz = self.name[:-3] if self.name.lower().endswith(".gz") else self.name
        self.stem = Path(without_gz).stem or self.name
        try:
            self.head = self._rewound().read(512)
            self.gzipped = self.head.startswith(b"\x1f\x8b")
            if self.gzipped:
                self.head = self.open().read(512)
            if not self.head:
                raise self.fault("the file is empty", "Load a file with data in it.")
            self.is_array = self.head.startswith(b"\x93NUMPY")
            self.is_zip = self.head.startswith(b"PK\x03\x04")
            self.text_format = find_text_format(self)
            self.format = recognise_format(self, kind, columns=columns)
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

    def fault(self, what: str, remedy: str, line: int | None = None, value: str | None = None) -> DataError:
        """Return the error for a fault in this source."""
        return DataError(what, source=self.name, line=line, value=value, remedy=remedy)

    def open(self) -> BinaryIO:
        """Return the content from its start, unpacked when it is gzipped; earlier streams are void."""
        raw = self._rewound()
        return cast(BinaryIO, _GzipStream(raw, self.name)) if self.gzipped else raw

    def seekable(self) -> BinaryIO:
        """Return the content as a stream that can seek: a gzipped one is unpacked into memory if there is room."""
        if not self.gzipped:
            return self._rewound()
        content = self.open().read(self._room() + 1)
        self.check_room(len(content))
        return io.BytesIO(content)

    def check_room(self, n_bytes: int) -> None:
        """Raise DataError if the content unpacks, or claims to unpack, to more bytes than there is room for."""
        if n_bytes > self._room():
            raise self.fault(
                f"the file has {self.size():,} bytes and unpacks to more than {self._room():,}",
                "Check how it was made; save a part of it, or save it without compression.",
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

    def archive(self) -> zipfile.ZipFile:
        """Return the zip archive, whose list of files is made once; a damaged one makes zipfile raise all sorts.

        It is not to be closed, and lasts as long as the source. One of too many files is a DataError.
        """
        if self._archive is None:
            stream = self.seekable()
            if count_files(stream) > MAX_FILES:
                raise self.fault(
                    f"the zip archive lists more than {MAX_FILES:,} files",
                    "Load a part of them, or put the texts into one file, a line each.",
                )
            self._archive = zipfile.ZipFile(stream)
        return self._archive

    def zip_names(self) -> list[str]:
        """Return the names inside a zip archive, [] when its list of files cannot be read."""
        try:
            return self.archive().namelist()
        except DataError:
            raise
        except Exception:
            return []

    def _room(self) -> int:
        return max(ROOM, 8 * self.size())  # a small file can claim any size

    def _rewound(self) -> BinaryIO:
        self._handle.seek(0)
        return self._handle


def _replace_by_nul(problem: UnicodeError) -> tuple[str, int]:
    assert isinstance(problem, UnicodeDecodeError)
    return "\0", problem.end


_AS_NUL = "acvb_core.as_nul"
codecs.register_error(_AS_NUL, _replace_by_nul)


class Utf8Stream(io.RawIOBase):
    """The content as checked UTF-8 bytes, whatever its encoding; a patient source's faults come as NUL characters.

    Without an `encoding` it is UTF-8, or what a byte order mark says. What is to be held in memory as a `whole` may not
    be larger than fits.
    """

    def __init__(self, source: ByteSource, encoding: str | None = None, *, whole: bool = False) -> None:
        self._source, self._whole = source, whole
        self._rest = memoryview(b"")
        self._stream = source.open()
        if source.was_text and encoding is not None:
            raise ParameterError(
                f"{source.name} was handed in as text, which is decoded: leave encoding out."
            )
        self.encoding = encoding or marked_encoding(source.head)
        try:
            codec = codecs.lookup(self.encoding)
            if not codec._is_text_encoding:
                raise LookupError
            self._is_utf8 = codec.name in ("utf-8", "utf-8-sig")
            # A mark is taken off below: Python's decoder for it keeps back half a mark and never says so.
            decoder = codecs.getincrementaldecoder("utf-8" if self._is_utf8 else self.encoding)
            self._decoder = decoder(_AS_NUL if source.patient else "strict")
        except LookupError:
            raise ParameterError(
                f"There is no text encoding called {self.encoding!r}. Try utf-8, latin-1, cp1252 or utf-16."
            ) from None
        self._line = 1
        self._bytes = self._given = 0
        self._ended = self._has_letters = False  # the last: letters beyond ASCII came by

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Do what `read` does for the layers of Python that give lines; a NUL byte is a DataError."""
        if not self._rest:
            chunk = self.read(_BLOCK)
            if b"\0" in chunk and not self._source.patient:
                remedy = "This is not plain text: save it as text, or choose utf-16 if it is that."
                line = self._line - _line_ends(chunk) + _line_ends(chunk[: chunk.index(b"\0")])
                raise self._source.fault("there is a NUL byte", remedy, line)
            self._rest = memoryview(chunk)
        piece, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(piece)] = piece
        return len(piece)

    def read(self, size: int = -1, /) -> bytes:
        """Return at most about `size` bytes of UTF-8; b"" at the end.

        Bytes that the encoding does not allow are a DataError, with their line.
        """
        while True:
            first = self._bytes == 0
            chunk = self._chunk(max(size, 4))  # a byte order mark comes in one piece
            try:
                text = self._decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as problem:
                raise self._undecodable(problem, len(chunk)) from None
            except UnicodeError as problem:  # UTF-16 or UTF-32 without a byte order mark
                what = f"this is not {self.encoding} text ({problem})"
                remedy = "Choose the file's encoding (utf-16-le or utf-16-be without such a mark), or save it as UTF-8."
                raise self._source.fault(what, remedy, self._line) from None
            self._bytes += len(chunk)
            self._has_letters = self._has_letters or not chunk.isascii()
            if self._is_utf8 and not self._source.patient:
                # The bytes pass through unchanged: decoding them only proved that they are UTF-8.
                content = chunk.removeprefix(codecs.BOM_UTF8) if first else chunk
            else:
                content = (text.removeprefix("\ufeff") if first else text).encode("utf-8")
            self._line += _line_ends(content)
            self._given += len(content)
            if self._whole:
                refuse_too_large(self._given, self._source.name)
            if content or not chunk:
                return content

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
        what = f"byte {start + 1:,} is not {'UTF-8' if self._is_utf8 else self.encoding} text"
        remedy = "Choose the file's encoding (often cp1252, latin-1 or utf-16), or save it as UTF-8."
        if self._is_utf8 and (self._has_letters or not before.isascii()):
            what += ", unlike the letters on the lines before: the file mixes encodings"
            remedy = "Save every part of the file in one encoding (UTF-8) before you join the parts."
        line = self._line + _line_ends(before.encode("utf-8"))
        return self._source.fault(what, remedy, line, problem.object[problem.start :][:8].hex(" "))


def _line_ends(text: bytes) -> int:
    return text.count(b"\n") or text.count(b"\r")


#: Text held in memory at most, unpacked: a few kilobytes of gzip or zip can claim more than any machine has.
MAX_TEXT_BYTES = 2 << 30
#: Characters of one text at most; a longer one is nearly always a quote that is never closed.
MAX_TEXT = 1 << 25
_BLOCK = 1 << 18


def refuse_too_large(size: int, name: str) -> None:
    """Raise DataError for a source that unpacks to more bytes than are held in memory."""
    if size > MAX_TEXT_BYTES:
        raise DataError(
            f"there are more than {MAX_TEXT_BYTES / 2**30:.3g} GB of text in it, unpacked",
            source=name,
            remedy="Load a part of it, or count the words elsewhere and load the counts.",
        )


def open_lines(
    source: ByteSource, encoding: str | None = None, *, whole: bool = True
) -> tuple[io.TextIOWrapper, str]:
    """Return the lines with their ends (LF, CR LF or CR), and the name of the encoding.

    `whole`: the text is to be held in memory, so that more than fits is refused. While reading, DataError tells bytes
    that the encoding does not allow and NUL bytes (both but for a patient source).
    """
    stream = Utf8Stream(source, encoding, whole=whole)
    raw = io.BufferedReader(stream, _BLOCK)
    return io.TextIOWrapper(raw, encoding="utf-8", newline=""), stream.encoding


def parse_json(text: str, source: ByteSource, remedy: str, line: int | None = None) -> Any:
    """Return what a JSON text holds, a file or one `line` of it; broken JSON and half a letter are a DataError."""
    what, shown = ("this file", None) if line is None else ("this line", text.rstrip("\r\n"))
    at = line
    try:
        value = json.loads(text)
    except json.JSONDecodeError as problem:
        why, at = f"{problem.msg} at character {problem.colno:,}", line or problem.lineno
    except RecursionError:
        why = "it is nested too deeply"
    except ValueError:  # of Python's, against numbers that take long to read
        why = "a number has too many digits"
    else:
        if "\\u" in text and not is_text(json.dumps(value, ensure_ascii=False)):
            remedy = "Write the letter whole, or leave it out."
            half = "half of a letter (an escape such as \\ud83d without the other half)"
            raise source.fault(f"{what} holds {half}", remedy, line, shown)
        return value
    told = f"{what} is {'not well-formed' if line is None else 'no'} JSON ({why})"
    raise source.fault(told, remedy, at, shown)
