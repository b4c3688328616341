"""The bytes of a source, unpacked when gzipped and decoded to UTF-8."""

from __future__ import annotations

import codecs
import io
import zipfile
from pathlib import Path
from typing import BinaryIO, cast

from acvb_core.data.sources import formats
from acvb_core.data.sources.opening import FileLike as FileLike
from acvb_core.data.sources.opening import Unzipped, open_bytes
from acvb_core.data.sources.refusals import GZIP, NPY, ZIP
from acvb_core.errors import DataError, ParameterError

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
