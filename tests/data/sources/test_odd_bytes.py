"""Bytes that random inputs found: each made a reader fail in words of its own, or the process end."""

from __future__ import annotations

import base64
import io
import re
import sqlite3
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.infer import guess_kind
from acvb_core.data.relation_readers import load_relation
from acvb_core.data.table_build import load_table
from tests.loops import for_each

MARKET = b"%%MatrixMarket matrix coordinate pattern general\n"
READERS = [load_relation, load_corpus, load_table]


def columns(write: Callable[[pa.Table, io.BytesIO], object], **fields: pa.DataType) -> bytes:
    out = io.BytesIO()
    write(pa.table({name: pa.array([], kind) for name, kind in fields.items()}), out)
    return out.getvalue()


def arrow(table: pa.Table, out: io.BytesIO) -> None:
    with pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)


def plain_parquet(table: pa.Table, out: io.BytesIO) -> None:
    pyarrow.parquet.write_table(
        table, out, use_dictionary=False, compression="none", write_statistics=False, store_schema=False
    )


def packed_parquet(table: pa.Table, out: io.BytesIO) -> None:
    packed = table.set_column(0, "person", table.column(0).dictionary_encode())
    pyarrow.parquet.write_table(packed, out, compression="none", write_statistics=False)


@for_each("load", READERS)
def test_utf_16_without_a_byte_order_mark_is_refused(load: Any) -> None:
    with pytest.raises(DataError, match="line 1: this is not utf-16 text") as caught:
        load(b"ab,cd\nef,gh\n", encoding="utf-16")
    assert "utf-16-le" in caught.value.remedy


@for_each("load", READERS)
@for_each("content", [b"\xef", b"\xef\xbb"])
def test_half_a_byte_order_mark_is_no_text(load: Any, content: bytes) -> None:
    with pytest.raises(DataError, match="byte 1 is not UTF-8 text"):
        load(content)


@for_each("end", [b"   ", b"\xff\xff", b" x", b""])
def test_a_matrix_market_file_may_end_without_a_line_end(end: bytes) -> None:
    """SciPy's reader leaves its memory where a line end is missing, and the process ended."""
    relation = load_relation(MARKET + b"3 3 2\n1 2\n2 1" + end).data
    assert np.argwhere(relation.ones.toarray()).tolist() == [[0, 1], [1, 0]]


@for_each("content, line", [(b"3 3 1\n2 1\0\n", 3), (b"3 3 1\n2 1\n\0", 4)])
def test_a_nul_byte_in_a_matrix_market_file_is_named(content: bytes, line: int) -> None:
    with pytest.raises(DataError, match="there is a NUL byte") as caught:
        load_relation(MARKET + content)
    assert caught.value.line == line


def test_a_matrix_market_file_may_not_claim_a_number_of_thousands_of_digits() -> None:
    with pytest.raises(DataError, match="at most 18 digits"):
        load_relation(MARKET + b"3 3 " + b"9" * 5_000 + b"\n1 1\n")


@for_each("form", ["array", "coordinate"])
@for_each("symmetry, size", [("symmetric", "1 4"), ("symmetric", "4 1"), ("skew-symmetric", "1 1")])
def test_a_matrix_market_file_that_is_symmetric_is_square(form: str, symmetry: str, size: str) -> None:
    """SciPy's reader writes outside of its memory where it is not."""
    entries = " 1\n1 1 1\n" if form == "coordinate" else "\n1\n"
    with pytest.raises(DataError, match=f"{size.replace(' ', ' x ')} cannot be {symmetry}") as caught:
        load_relation(f"%%MatrixMarket matrix {form} integer {symmetry}\n{size}{entries}".encode())
    assert caught.value.line == 2


def test_a_symmetric_array_in_a_matrix_market_file_may_hold_short_numbers() -> None:
    n = 40
    content = f"%%MatrixMarket matrix array integer symmetric\n{n} {n}\n" + "1\n" * (n * (n + 1) // 2)
    assert load_relation(content.encode()).data.n_ones == n * n


def test_the_lines_of_a_matrix_market_file_end_where_its_reader_ends_them() -> None:
    """After a form feed stands no size line, whatever it looks like: the real one claims more than there is."""
    with pytest.raises(DataError, match="promises 900,000,000 entries"):
        load_relation(MARKET + b"%\x0c3 3 1\n3 3 900000000\n1 1\n")


@for_each("encoding", ["UTF1.5", "shift_jis", "utf-7"])
def test_xml_of_an_unknown_encoding_is_refused(encoding: str) -> None:
    content = f'<?xml version="1.0" encoding="{encoding}"?><graphml><graph/></graphml>'.encode()
    with pytest.raises(DataError, match=r"this XML cannot be decoded"):
        load_relation(content)


@for_each("code", [0x110000, 2**32 - 1, 0xD800])
@for_each("order", ["<", ">"])
def test_an_array_of_texts_that_holds_no_letters_is_refused(code: int, order: str) -> None:
    rows = np.array([ord("a"), code], dtype=f"{order}u4").view(f"{order}U1")
    out = io.BytesIO()
    np.savez(out, cells=np.eye(2), rows=rows)
    with pytest.raises(DataError, match="it holds numbers that are no letters"):
        load_table(out.getvalue())


@for_each("write", [arrow, pyarrow.parquet.write_table])
@for_each("load", READERS)
def test_a_file_of_columns_needs_columns_and_rows(load: Any, write: Any) -> None:
    with pytest.raises(DataError, match="column names and no data"):
        load(columns(write, x=pa.int64(), text=pa.string(), y=pa.float64()))
    with pytest.raises(DataError, match="file has no columns"):
        load(columns(write))


@for_each("name", ["person", "things"])
def test_an_arrow_file_with_names_that_are_no_text_is_refused(name: str) -> None:
    content = columns(arrow, person=pa.string(), things=pa.string())
    with pytest.raises(DataError, match="Arrow file that cannot be read"):
        load_relation(content.replace(name.encode(), b"\xff" + name[1:].encode()))


@for_each("write", [plain_parquet, packed_parquet])
@for_each("load", READERS)
@for_each("known", [b"Ann", b"Gil"])
def test_a_column_of_texts_that_are_not_utf_8_is_named(load: Any, write: Any, known: bytes) -> None:
    # As another encoding writes a letter, in the first row and in the last.
    names = ["Ann", "Bob", "Cid", "Eve", "Gil"]
    out = io.BytesIO()
    write(pa.table({"person": names, "event": ["a", "b", "c", "d", "a"]}), out)
    content = out.getvalue().replace(known, b"\xc4" + known[1:])
    shown = "\N{REPLACEMENT CHARACTER}" + known[1:].decode()
    with pytest.raises(DataError, match=f"column 'person': .* not UTF-8 .found '{shown}'"):
        load(content)


@for_each("member", ["xl/worksheets/sheet1.xml", "xl/workbook.xml"])
def test_a_workbook_with_a_damaged_member_is_refused(member: str) -> None:
    out = io.BytesIO()
    pd.DataFrame({"person": ["Ann"], "event": ["Fair"]}).to_excel(out, index=False)
    with zipfile.ZipFile(out) as book:
        at = book.getinfo(member).header_offset + 30 + len(member) + 20
    content = bytearray(out.getvalue())
    content[at : at + 8] = bytes(8)
    with pytest.raises(DataError, match=r"Excel workbook \(xlsx\) that cannot be read"):
        load_relation(bytes(content))


def test_a_damaged_workbook_is_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", "<x/>")
    content = out.getvalue()
    for load in READERS:
        with pytest.raises(DataError):
            load(
                content[:4]
                + content[4:].replace(b"PK\x03\x04", b"PK\x03\x05").replace(b"mimetype", b"mimetypf", 1)
            )


@for_each("cell", ["XFD1048576", "A2147483648", "aaaa9999"])
def test_a_workbook_with_a_cell_far_away_is_refused(cell: str) -> None:
    """The reader of workbooks ends the process where it gets no memory for the cells between."""
    out = io.BytesIO()
    pd.DataFrame({"person": ["Ann", "Bob"], "event": ["Fair", "Ball"]}).to_excel(out, index=False)
    far = io.BytesIO()
    with zipfile.ZipFile(out) as book, zipfile.ZipFile(far, "w") as changed:
        for name in book.namelist():
            changed.writestr(name, book.read(name).replace(b'r="A3"', f'r="{cell}"'.encode()))
    for load in READERS:
        with pytest.raises(DataError, match=r"sheet1.xml has cells up to row .* save the sheet as CSV"):
            load(far.getvalue())


@for_each("cell", ["A" + "1" * 20, "A" + "1" * 5_000, "A" * 10 + "1", "Z" * 5_000 + "1"])
def test_a_workbook_with_a_cell_at_an_endless_place_is_refused(cell: str) -> None:
    """The reader of workbooks takes the last bits of the number for the row, and ends the process as above."""
    out = io.BytesIO()
    pd.DataFrame({"person": ["Ann"], "event": ["Fair"]}).to_excel(out, index=False)
    far = io.BytesIO()
    with zipfile.ZipFile(out) as book, zipfile.ZipFile(far, "w") as changed:
        for name in book.namelist():
            changed.writestr(name, book.read(name).replace(b'r="A2"', f'r="{cell}"'.encode()))
    for load in READERS:
        with pytest.raises(
            DataError, match=r"sheet1.xml has a cell at the place [AZ1]+…, which no sheet has"
        ):
            load(far.getvalue())


@for_each(
    "old, new, words",
    [
        (b"</table:table>", b"</ta`le:table>", r"content.xml is not well-formed XML \(.*line \d+"),
        (b"</table:table>", b"", "content.xml is not well-formed XML"),
        (b"(?i)utf-8", b"UTF255", "content.xml cannot be decoded: unknown encoding: UTF255"),
        (
            b"<office:document-content",
            b"<!DOCTYPE x [<!ENTITY a 'b'>]>\\g<0>",
            "content.xml declares an entity",
        ),
    ],
)
def test_a_sheet_of_opendocument_that_is_no_xml_is_refused(old: bytes, new: bytes, words: str) -> None:
    """The reader of workbooks continues for ever where a table has no end."""
    out = io.BytesIO()
    pd.DataFrame({"person": ["Ann"], "event": ["Fair"]}).to_excel(out, index=False, engine="odf")
    broken = io.BytesIO()
    with zipfile.ZipFile(out) as book, zipfile.ZipFile(broken, "w") as changed:
        for name in book.namelist():
            content = book.read(name)
            changed.writestr(name, re.sub(old, new, content) if name == "content.xml" else content)
    for load in READERS:
        with pytest.raises(DataError, match=words):
            load(broken.getvalue())


def test_a_database_with_names_that_are_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "base"
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE things (person TEXT, event TEXT)")
        base.execute("INSERT INTO things VALUES ('Ann', 'Fair')")
    base.close()
    content = path.read_bytes()
    for name in (b"person", b"things"):
        with pytest.raises(DataError, match="SQLite database that cannot be read"):
            load_relation(content.replace(name, b"\xff" + name[1:]))


def test_a_database_whose_table_has_bytes_for_a_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "base"
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE things (person TEXT, event TEXT)")
        base.execute("INSERT INTO things VALUES ('Ann', 'Fair')")
        base.execute("PRAGMA writable_schema = on")
        base.execute("UPDATE sqlite_master SET name = CAST(name AS BLOB)")
    base.close()
    with pytest.raises(
        DataError, match=r"SQLite database that cannot be read \(the name of a table is no text"
    ):
        load_relation(path.read_bytes())


@for_each(
    "content",
    [
        b'{"person": "Ann", "event": "\\ud800"}\n',
        b'{"person": "Ann", "\\udc00": "Fair"}\n',
        b'{"nodes": [{"id": "\\ud800"}, {"id": "b"}], "links": []}',
    ],
)
def test_half_of_a_letter_in_json_is_refused(content: bytes) -> None:
    with pytest.raises(DataError, match="half of a letter"):
        load_relation(content, filename="links.jsonl" if content.startswith(b'{"person"') else "graph.json")


@for_each("content", [b"doc,1,class,doc", b'"1";word;value;1\n'])
def test_the_kind_of_a_file_with_names_alone_is_guessed(content: bytes) -> None:
    assert guess_kind(content, "file.csv").kind == "relation"


def test_a_number_of_endless_digits_above_a_table_is_refused() -> None:
    """Python refuses to read a whole number of more than 4,300 digits, here one that may be the name of a column."""
    names = ",".join(["1960", "1961", "1962", "9" * 5_000])
    with pytest.raises(DataError, match=r"line 1, column 5: a number .* is infinite or above 1e\+100"):
        load_table(f"country,{names}\nA,2,3,4,5\nB,4,6,7,9\n".encode())


def test_a_sheet_at_a_position_of_endless_digits_is_refused() -> None:
    out = io.BytesIO()
    pd.DataFrame({"person": ["Ann"], "event": ["Fair"]}).to_excel(out, index=False)
    with pytest.raises(DataError, match="there is no sheet of this name"):
        load_relation(out.getvalue(), sheet="9" * 5_000)


#: A database of 1,020 bytes whose list of tables claims to be longer than any memory; found with random changes.
_ENDLESS_LIST = (
    b"c-jjN^vNtqRY=P(%1ta$FlJz4U}R))P*7lC05TyM1{i^u1&vP#Ffr&QGxCBIGtOrKqESE^_zwZ~k|l{rIjJQXnR)5O"
    b"5R%C`$kj2#RUyRD$;VYe2_mSZpuwe7kXlrnpQoe{;u;a6!=<30lv<XWSAxU`%6a;QxVpOracP3$hMDmW1LJ4LXFzHc"
    b"3=_b?%)%hb>6Dn0!_CAZEXv`Op9JPG0y&(Hd3kP$nMDAatuxs"
)


def test_a_database_whose_list_of_tables_is_damaged_is_refused() -> None:
    content = zlib.decompress(base64.b85decode(_ENDLESS_LIST))
    with pytest.raises(DataError, match="list of tables is damaged"):
        load_table(content, filename="things.db")
