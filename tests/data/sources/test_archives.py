"""Zip archives: their list of files is made once, and one of too many files is refused before it is made."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.relation_readers import load_relation
from acvb_core.data.sources import source
from acvb_core.data.table_build import load_table
from tests.loops import for_each

EVERY_WORD = Tokeniser(min_documents=1, max_share=1.0)


def load_texts(content: bytes) -> Any:
    return load_corpus(content, filename="upload.zip", tokeniser=EVERY_WORD)


def pack(n: int, ending: str = ".txt", *, comment: bytes = b"") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as files:
        for i in range(n):
            files.writestr(f"{i}{ending}", f"river bank {i}")
        files.comment = comment
    return out.getvalue()


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[zipfile.ZipFile]:
    """Archives whose list of files was made."""
    made: list[zipfile.ZipFile] = []
    make = zipfile.ZipFile._RealGetContents  # type: ignore[attr-defined]

    def count(archive: zipfile.ZipFile) -> None:
        made.append(archive)
        make(archive)

    monkeypatch.setattr(zipfile.ZipFile, "_RealGetContents", count)
    return made


@for_each("load", [load_relation, load_table])
def test_the_list_of_an_archive_that_is_refused_is_made_once(
    load: Callable[..., Any], parsed: list[zipfile.ZipFile]
) -> None:
    parsed.clear()
    with pytest.raises(DataError, match="zip archive of 3 files"):
        load(pack(3), filename="upload.zip")
    assert len(parsed) == 1


@for_each("load", [load_texts, load_relation, load_table])
@for_each("ending", [".txt", ".npy"])
def test_too_many_files_are_refused_before_they_are_listed(
    load: Callable[..., Any], ending: str, monkeypatch: pytest.MonkeyPatch, parsed: list[zipfile.ZipFile]
) -> None:
    monkeypatch.setattr(source, "MAX_FILES", 4)
    with pytest.raises(DataError, match="more than 4 files"):
        load(pack(5, ending, comment=b"made by hand"))
    assert not parsed


@for_each("piece", [5, 7, 1 << 20])
def test_files_are_counted_whatever_the_end_claims(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_DIRECTORY_PIECE", piece)
    content = bytearray(pack(9))
    end = content.rindex(b"PK\x05\x06")
    content[end + 8 : end + 12] = b"\x01\x00\x01\x00"
    assert source.count_files(io.BytesIO(content)) == 9


def test_files_of_a_long_archive_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    # Its sizes stand a second time, in 8 bytes, and the short ones say that they do not fit.
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 3)
    content = pack(9)
    assert b"PK\x06\x06" in content
    assert source.count_files(io.BytesIO(content)) == 9


def test_what_is_no_archive_lists_no_files() -> None:
    assert source.count_files(io.BytesIO(b"PK\x03\x04 and no end")) == 0


def test_an_archive_of_one_thing_repeated_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acvb_core.data.sources.source.REPEATED_BYTES", 1 << 20)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as files:
        files.writestr("a.txt", b"a " * (1 << 20))
    with pytest.raises(DataError, match="unpacks to 2,097,152, over and over"):
        load_texts(out.getvalue())


@for_each("name", [b"\0.txt", b"\0\0\0\0\0"])
def test_a_file_without_a_name_is_no_document(name: bytes) -> None:
    # zipfile takes a name up to a NUL.
    read = load_texts(pack(2).replace(b"1.txt", name.ljust(5)))
    assert read.data.documents.tolist() == ["0"]
    told = {fact.name: fact.sentence for fact in read.report.facts}
    assert told["other_files"] == "1 other file in the zip archive not read: a file without a name."
    with pytest.raises(DataError, match=r"no .txt file among the 1 file .* without a name"):
        load_texts(pack(1).replace(b"0.txt", name.ljust(5)))
