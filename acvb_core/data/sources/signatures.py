"""The bytes by which files of formats that are not read are known, so that they are refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from acvb_core.data.sources.byte_source import ByteSource

_SAVE_AS_CSV = "Save it as CSV (UTF-8) and load that."
_SAVE_AS_TEXT = "Save it as plain text (UTF-8) and load that."
_UNPACK = "Unpack it and load the file in it; gzip is unpacked by itself."
_EXPORT = "Export the data as CSV (UTF-8) and load that."
_COPY = "Copy its tables or its text into a CSV or text file and load that."
_NO_DATA = "Load a file of data, for instance a CSV."

OLD_OFFICE = b"\xd0\xcf\x11\xe0"
# Text has none of these bytes.
_CONTROL = bytes({*range(32)} - {*b"\t\n\f\r\x1b"})


class Signature(NamedTuple):
    """The bytes that files of a kind that is not read have at a place."""

    magic: bytes | tuple[bytes, ...]
    kind: str
    remedy: str
    at: int = 0
    #: Text may begin with these bytes too (PAR1 is also a gene): the file is binary only if its head is.
    wordy: bool = False


_SIGNATURES = (
    Signature(b"PK\x05\x06", "an empty zip archive", _NO_DATA),
    Signature(b"PK\x07\x08", "a zip archive in several parts", _UNPACK),
    Signature(b"1AY&SY", "a bzip2 file", _UNPACK, 4),
    Signature(b"\xfd7zXZ\x00", "an xz file", _UNPACK),
    Signature(b"\x28\xb5\x2f\xfd", "a Zstandard file", _UNPACK),
    Signature(b"\x04\x22\x4d\x18", "an LZ4 file", _UNPACK),
    Signature(b"7z\xbc\xaf", "a 7-Zip archive", _UNPACK),
    Signature(b"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    Signature(b"ustar", "a tar archive", _UNPACK, 257, wordy=True),
    Signature(OLD_OFFICE, "an old Excel workbook (xls) or Word document", _SAVE_AS_CSV),
    Signature(b"PAR1", "a Parquet file", _SAVE_AS_CSV, wordy=True),
    Signature(b"ARROW1", "an Arrow file", _SAVE_AS_CSV, wordy=True),
    Signature(b"FEA1", "a Feather file", _SAVE_AS_CSV, wordy=True),
    Signature(b"ORC", "an ORC file", _SAVE_AS_CSV, wordy=True),
    Signature(b"Obj\x01", "an Avro file", _SAVE_AS_CSV),
    Signature(b"\x89HDF", "an HDF5 file", _SAVE_AS_CSV),
    Signature((b"CDF\x01", b"CDF\x02"), "a NetCDF file", _SAVE_AS_CSV),
    Signature(b"MATLAB ", "a MATLAB file (mat)", _EXPORT, wordy=True),
    Signature((b"RDX2\n", b"RDX3\n"), "an R workspace (RData)", _EXPORT, wordy=True),
    Signature(b"X\n\x00\x00\x00", "an R object (rds)", _EXPORT),
    Signature(b"$FL2", "an SPSS file (sav)", _EXPORT, wordy=True),
    Signature(b"$FL3", "an SPSS file (zsav)", _EXPORT, wordy=True),
    Signature(b"<stata_dta>", "a Stata file (dta)", _EXPORT, wordy=True),
    Signature(b"SQLite format 3\x00", "an SQLite database", _EXPORT),
    Signature(tuple(bytes([0x80, n]) for n in range(2, 6)), "a Python pickle", _SAVE_AS_CSV),
    Signature(b"%PDF", "a PDF document", _COPY),
    Signature(b"\x89PNG", "a PNG image", _NO_DATA),
    Signature(b"\xff\xd8\xff", "a JPEG image", _NO_DATA),
    Signature((b"GIF87a", b"GIF89a"), "a GIF image", _NO_DATA, wordy=True),
    Signature((b"II*\x00", b"MM\x00*"), "a TIFF image", _NO_DATA),
    Signature(b"RIFF", "a picture, sound or film (RIFF)", _NO_DATA, wordy=True),
    Signature(b"ftyp", "a film or picture (MP4, HEIC)", _NO_DATA, 4, wordy=True),
    Signature(b"ID3", "a sound file (MP3)", _NO_DATA, wordy=True),
    Signature(b"\x7fELF", "a program", _NO_DATA),
    Signature(b"MZ", "a program for Windows", _NO_DATA, wordy=True),
    Signature(b"\x00asm", "a program (WebAssembly)", _NO_DATA),
    Signature(b"\xca\xfe\xba\xbe", "a program (Java or macOS)", _NO_DATA),
)
# A name inside a zip archive begins so; the first kind that fits counts.
_PACKED = (
    ("xl/", "an Excel workbook (xlsx)", _SAVE_AS_CSV),
    ("word/", "a Word document (docx)", _SAVE_AS_TEXT),
    ("ppt/", "a PowerPoint presentation (pptx)", _NO_DATA),
    ("content.xml", "an OpenDocument file", _SAVE_AS_CSV),
    ("META-INF/container.xml", "an e-book (EPUB)", _SAVE_AS_TEXT),
)
#: What the ending of a name says that a file is, for formats that are not read.
PROMISED_KINDS = {".docx": "a Word document", ".pdf": "a PDF document", ".png": "a PNG image"}


def refuse_binary(source: ByteSource) -> None:
    """Raise DataError for a source that its first bytes, or the names in its archive, show to be of no format here."""
    binary = is_binary(source.head)
    for magic, kind, remedy, at, wordy in _SIGNATURES:
        if source.head.startswith(magic, at) and (binary or not wordy):
            raise source.fault(f"this is {kind}", remedy)
    if not source.is_zip:
        return
    names = source.zip_names()
    if not names:
        raise source.fault("this is a damaged zip archive", "Save, copy or download it again.")
    for start, kind, remedy in _PACKED:
        if any(name.startswith(start) for name in names):
            raise source.fault(f"this is {kind}", remedy)


def is_binary(head: bytes) -> bool:
    """Return whether bytes hold one that no text has."""
    return len(head.translate(None, delete=_CONTROL)) < len(head)
