"""Binary files are named for what they are, whatever they are called; text is never taken for one."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.estimate import estimate
from acvb_core.data.corpora.readers import inspect_corpus
from acvb_core.data.relation import Relation
from acvb_core.data.relation_readers import inspect_source, load_labels
from acvb_core.data.table_build import inspect_table
from tests.loops import for_each

REST = bytes(range(256))
DOORS = [inspect_source, inspect_corpus, inspect_table]

KNOWN = {
    b"PK\x05\x06" + bytes(18): "an empty zip archive",
    b"BZh91AY&SY" + REST: "a bzip2 file",
    b"\xfd7zXZ\x00" + REST: "an xz file",
    b"\x28\xb5\x2f\xfd" + REST: "a Zstandard file",
    b"Rar!\x1a\x07\x01\x00" + REST: "a RAR archive",
    b"a.txt".ljust(257, b"\0") + b"ustar\x0000" + REST: "a tar archive",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + REST: "an old Excel workbook (xls) or Word document",
    b"PAR1\x15\x00" + REST: "a Parquet file",
    b"ARROW1\x00\x00" + REST: "an Arrow file",
    b"\x89HDF\r\n\x1a\n" + REST: "an HDF5 file",
    b"MATLAB 5.0 MAT-file, Platform: GLNXA64" + REST: "a MATLAB file (mat)",
    b"RDX3\nX\n\x00\x00\x00\x03" + REST: "an R workspace (RData)",
    b"X\n\x00\x00\x00\x03" + REST: "an R object (rds)",
    b"SQLite format 3\x00" + REST: "an SQLite database",
    b"\x80\x02}q\x00." + REST: "a Python pickle",
    b"\x80\x05\x95" + REST: "a Python pickle",
    b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n": "a PDF document",
    b"\x89PNG\r\n\x1a\n" + REST: "a PNG image",
    b"\xff\xd8\xff\xe0" + REST: "a JPEG image",
    b"GIF89a" + REST: "a GIF image",
    b"\x7fELF" + REST: "a program",
}


@for_each("content", list(KNOWN))
@for_each("name", ["upload.csv", "upload.txt", "upload"])
def test_a_binary_file_is_named_whatever_it_is_called(content: bytes, name: str) -> None:
    for door in DOORS:
        with pytest.raises(DataError, match=r"this is") as caught:
            door(content, name)
        assert caught.value.what.startswith(f"this is {KNOWN[content]}")
        assert (caught.value.source, bool(caught.value.remedy)) == (name, True)


def packed(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return out.getvalue()


@for_each(
    "names, what",
    [
        (["[Content_Types].xml", "xl/workbook.xml"], "an Excel workbook (xlsx)"),
        (["[Content_Types].xml", "word/document.xml"], "a Word document (docx)"),
        (["[Content_Types].xml", "ppt/presentation.xml"], "a PowerPoint presentation (pptx)"),
        (["mimetype", "content.xml"], "an OpenDocument file"),
        (["mimetype", "META-INF/container.xml"], "an e-book (EPUB)"),
    ],
)
def test_documents_of_programs_are_named(names: list[str], what: str) -> None:
    for door in DOORS:
        with pytest.raises(DataError) as caught:
            door(packed(*names), "upload.csv")
        assert caught.value.what.startswith(f"this is {what}")


@for_each("ending", [".zip", ".npz", ".npy", ".xlsx", ".parquet", ".npz.gz"])
def test_text_under_the_name_of_a_binary_file_is_refused(ending: str) -> None:
    for door in DOORS:
        with pytest.raises(DataError, match="the name says that this is ") as caught:
            door(b"row,col\na,x\nb,y\n", f"upload{ending}")
        assert ".csv" in caught.value.remedy


@for_each("start", ["PAR1", "ARROW1", "BZh", "MZ", "RIFF", "ID3", "ORC", "MATLAB ", "GIF87a", "X"])
def test_text_that_begins_like_a_binary_file_is_text(start: str) -> None:
    content = f"gene,sample\n{start},x\nb,y\nc,x\n".split("\n", 1)[1].encode()
    assert inspect_source(content, "upload.csv").format == "edges"


def test_arrays_are_named_where_they_are_not_read() -> None:
    out = io.BytesIO()
    np.savez(out, x=np.eye(3))
    with pytest.raises(DataError, match=r"this is a NumPy archive \(npz\)"):
        inspect_corpus(out.getvalue(), "upload.txt")
    with pytest.raises(DataError, match=r"this is a NumPy archive \(npz\)"):
        estimate(out.getvalue())
    with pytest.raises(DataError, match=r"this is a NumPy archive \(npz\)"):
        load_labels(out.getvalue(), Relation.build(np.eye(3)), filename="upload.csv")
    out = io.BytesIO()
    np.save(out, np.eye(3))
    for door in (inspect_source, inspect_corpus):
        with pytest.raises(DataError, match=r"this is a NumPy array \(npy\)"):
            door(out.getvalue(), "upload.csv")
