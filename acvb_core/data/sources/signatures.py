"""What a binary file is, by its first bytes, by the names inside a zip archive, and by its own name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import NamedTuple

from acvb_core.errors import DataError

_SAVE_AS_CSV = "Save it as CSV (UTF-8) and load that."
_UNPACK = "Unpack it and load the file in it; gzip is unpacked by itself."
_EXPORT = "Export the data as CSV (UTF-8) and load that."
_NO_DATA = "Load a file of data, for instance a CSV."

GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"
NPY = b"\x93NUMPY"
_EMPTY_ZIP = b"PK\x05\x06"


class Signature(NamedTuple):
    """The bytes that files of one kind have at a place."""

    magic: bytes
    kind: str
    remedy: str
    at: int = 0
    #: Text may begin with these bytes too (PAR1 is also a gene): the file is binary only if its head is.
    wordy: bool = False


_SIGNATURES = (
    Signature(_EMPTY_ZIP, "an empty zip archive", _NO_DATA),
    Signature(b"PK\x07\x08", "a zip archive in several parts", _UNPACK),
    Signature(b"1AY&SY", "a bzip2 file", _UNPACK, 4),
    Signature(b"\xfd7zXZ\x00", "an xz file", _UNPACK),
    Signature(b"\x28\xb5\x2f\xfd", "a Zstandard file", _UNPACK),
    Signature(b"\x04\x22\x4d\x18", "an LZ4 file", _UNPACK),
    Signature(b"7z\xbc\xaf", "a 7-Zip archive", _UNPACK),
    Signature(b"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    Signature(b"ustar", "a tar archive", _UNPACK, 257, wordy=True),
    Signature(b"\xd0\xcf\x11\xe0", "an old Excel workbook (xls) or Word document", _SAVE_AS_CSV),
    Signature(b"PAR1", "a Parquet file", _SAVE_AS_CSV, wordy=True),
    Signature(b"ARROW1", "an Arrow file", _SAVE_AS_CSV, wordy=True),
    Signature(b"FEA1", "a Feather file", _SAVE_AS_CSV, wordy=True),
    Signature(b"ORC", "an ORC file", _SAVE_AS_CSV, wordy=True),
    Signature(b"Obj\x01", "an Avro file", _SAVE_AS_CSV),
    Signature(b"\x89HDF", "an HDF5 file", _SAVE_AS_CSV),
    Signature(b"CDF\x01", "a NetCDF file", _SAVE_AS_CSV),
    Signature(b"CDF\x02", "a NetCDF file", _SAVE_AS_CSV),
    Signature(b"MATLAB ", "a MATLAB file (mat)", _EXPORT, wordy=True),
    Signature(b"RDX2\n", "an R workspace (RData)", _EXPORT, wordy=True),
    Signature(b"RDX3\n", "an R workspace (RData)", _EXPORT, wordy=True),
    Signature(b"X\n\x00\x00\x00", "an R object (rds)", _EXPORT),
    Signature(b"$FL2", "an SPSS file (sav)", _EXPORT, wordy=True),
    Signature(b"$FL3", "an SPSS file (zsav)", _EXPORT, wordy=True),
    Signature(b"<stata_dta>", "a Stata file (dta)", _EXPORT, wordy=True),
    Signature(b"SQLite format 3\x00", "an SQLite database", _EXPORT),
    *(Signature(bytes([0x80, n]), "a Python pickle", _SAVE_AS_CSV) for n in range(2, 6)),
    Signature(
        b"%PDF", "a PDF document", "Copy its tables or its text into a CSV or text file and load that."
    ),
    Signature(b"\x89PNG", "a PNG image", _NO_DATA),
    Signature(b"\xff\xd8\xff", "a JPEG image", _NO_DATA),
    Signature(b"GIF87a", "a GIF image", _NO_DATA, wordy=True),
    Signature(b"GIF89a", "a GIF image", _NO_DATA, wordy=True),
    Signature(b"II*\x00", "a TIFF image", _NO_DATA),
    Signature(b"MM\x00*", "a TIFF image", _NO_DATA),
    Signature(b"RIFF", "a picture, sound or film (RIFF)", _NO_DATA, wordy=True),
    Signature(b"ftyp", "a film or picture (MP4, HEIC)", _NO_DATA, 4, wordy=True),
    Signature(b"ID3", "a sound file (MP3)", _NO_DATA, wordy=True),
    Signature(b"\x7fELF", "a program", _NO_DATA),
    Signature(b"MZ", "a program for Windows", _NO_DATA, wordy=True),
    Signature(b"\x00asm", "a program (WebAssembly)", _NO_DATA),
    Signature(b"\xca\xfe\xba\xbe", "a program (Java or macOS)", _NO_DATA),
)
# Text has none of these bytes.
_CONTROL = bytes({*range(32)} - {*b"\t\n\f\r\x1b"})

# A name inside a zip archive begins so; the first kind that fits counts.
_PACKED = (
    ("xl/", "an Excel workbook (xlsx)", _SAVE_AS_CSV),
    ("word/", "a Word document (docx)", "Save it as plain text (UTF-8) and load that."),
    ("ppt/", "a PowerPoint presentation (pptx)", _NO_DATA),
    ("content.xml", "an OpenDocument file", _SAVE_AS_CSV),
    ("META-INF/container.xml", "an e-book (EPUB)", "Save it as plain text (UTF-8) and load that."),
)
_NAMED = {
    ".zip": (ZIP, "a zip archive"),
    ".npz": (ZIP, "a NumPy archive"),
    ".npy": (NPY, "a NumPy array"),
    ".xlsx": (ZIP, "an Excel workbook"),
    ".ods": (ZIP, "an OpenDocument file"),
    ".docx": (ZIP, "a Word document"),
    ".parquet": (b"PAR1", "a Parquet file"),
    ".pdf": (b"%PDF", "a PDF document"),
    ".png": (b"\x89PNG", "a PNG image"),
}


def is_binary(head: bytes) -> bool:
    """Whether the first bytes of a file are not those of text."""
    return len(head.translate(None, delete=_CONTROL)) < len(head)


def holds_columns(head: bytes) -> bool:
    """Whether a file is of a binary kind whose columns are read (`columnar`); zip archives apart."""
    starts = (b"PAR1", b"ARROW1", b"FEA1", b"SQLite format 3\x00", b"\xd0\xcf\x11\xe0")
    return head.startswith(starts) and is_binary(head)


def is_workbook(names: Sequence[str]) -> bool:
    """Whether a zip archive of these names is a workbook (or another OpenDocument file, which its reader refuses)."""
    return any(name.startswith("xl/") for name in names) or "content.xml" in names


def refuse_binary(head: bytes, name: str) -> None:
    """Refuse a file that its first bytes show to be binary and none of the formats that are read.

    Parameters
    ----------
    head : bytes
        The first 512 bytes or so, unpacked.
    name : str
        What the user calls the file.

    Raises
    ------
    DataError
        The content is of a known binary kind, or the name promises another kind of file than the content is.
    """
    binary = is_binary(head)
    for magic, kind, remedy, at, wordy in _SIGNATURES:
        if head.startswith(magic, at) and (binary or not wordy):
            raise DataError(f"this is {kind}", source=name, remedy=remedy)
    magic, kind = _NAMED.get(PurePath(name.lower().removesuffix(".gz")).suffix, (b"", ""))
    if not head.startswith((magic, ZIP, NPY)):
        raise DataError(
            f"the name says that this is {kind}, but the content is not",
            source=name,
            value=head[:20].decode("utf-8", errors="replace"),
            remedy="Give the file the right ending (.csv or .txt for text), or save or download it again.",
        )


def refuse_archive(names: Sequence[str], name: str) -> None:
    """Refuse a zip archive that is a document of some program, or cannot be read.

    Parameters
    ----------
    names : sequence of str
        Names inside the archive; none where it is damaged.
    name : str
        What the user calls the archive.

    Raises
    ------
    DataError
        The archive is one of these.
    """
    if not names:
        raise DataError(
            "this is a damaged zip archive", source=name, remedy="Save, copy or download it again."
        )
    for start, kind, remedy in _PACKED:
        if any(entry.startswith(start) for entry in names):
            raise DataError(f"this is {kind}", source=name, remedy=remedy)
