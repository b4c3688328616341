"""Files that claim what is not so, or have odd bytes, are read or refused in words before memory is taken."""

from __future__ import annotations

import base64
import gzip
import io
import re
import zipfile
import zlib
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from numpy.lib import format as npy
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.relation_readers import load_relation
from acvb_core.data.sources import containers, parse
from acvb_core.data.table_build import load_table
from benchmarks.fuzz_readers.judge import faults_raised, judge
from benchmarks.fuzz_readers.mutations import draw_input
from benchmarks.fuzz_readers.readers import READERS as FUZZED
from benchmarks.fuzz_readers.readers import Reader
from tests.loops import for_each, rotate

BOTH = for_each("load", [load_relation, load_table])


def npz(*, packed: bool = False, **arrays: Any) -> bytes:
    out = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(out, **arrays)
    return out.getvalue()


def header(shape: tuple[int, ...], descr: str = "<f8", *, fortran: bool = False, held: bytes = b"") -> bytes:
    """An npy file that claims a shape and a type, whatever it holds."""
    out = io.BytesIO()
    npy.write_array_header_1_0(out, {"descr": descr, "fortran_order": fortran, "shape": shape})
    return out.getvalue() + held


def compressed(kind: str, indices: Any, indptr: Any, shape: Any = (2, 2), data: Any = (1.0, 1.0)) -> bytes:
    parts = {"data": data, "indices": indices, "indptr": indptr, "shape": shape}
    return npz(format=np.array(kind), **{name: np.array(part) for name, part in parts.items()})


BROKEN = {
    "csr, index beyond": (compressed("csr", [0, 99_999_999], [0, 1, 2]), "indices must be < 2"),
    "csc, negative index": (compressed("csc", [0, -1], [0, 1, 2]), "indices must be >= 0"),
    "csr, pointers that fall to 0": (compressed("csr", [266, 512], [0, 2, 0]), "non-decreasing"),
    "bsr, pointers that fall far": (
        compressed("bsr", np.int32([0, 1, 2]), np.int32([0, 1, 2, -(2**31)]), (3, 4), np.ones((3, 1, 1))),
        "non-decreasing",
    ),
    "csr, pointers from 1": (compressed("csr", [0, 1], [1, 1, 2]), "start"),
    "csr, too many promised": (compressed("csr", [0, 1], [0, 1, 2**31 - 1]), "cannot be read"),
    "csr, fractional indices": (compressed("csr", [0.5, 1.0], [0, 1, 2]), "cannot be read"),
    "csr, complex": (compressed("csr", [0, 1], [0, 1, 2], data=[1j, 2]), "type complex128"),
    "csr, three sides": (compressed("csr", [0, 1], [0, 1, 2], shape=[2, 2, 2]), "cannot be read"),
    "csr, no indices": (npz(format=np.array("csr"), shape=np.array([2, 2]), data=np.ones(2)), "cannot be read"),
    "bsr, ragged blocks": (compressed("bsr", [0], [0, 1], [3, 3], np.ones((1, 2, 2))), "cannot be read"),
    "coo, index beyond": (
        npz(format=np.array("coo"), shape=np.array([2, 2]), data=np.ones(1), row=np.array([7]), col=np.array([0])),
        "cannot be read",
    ),
    "dia, offset beyond": (
        npz(format=np.array("dia"), shape=np.array([2, 2]), data=np.ones((1, 2)), offsets=np.array([7])),
        "diagonal is outside",
    ),
    "no such format": (compressed("exe", [0, 1], [0, 1, 2]), "no sparse format 'exe'"),
}  # fmt: skip


@BOTH
@for_each("case", list(BROKEN))
def test_a_broken_sparse_matrix_is_refused(load: Any, case: str) -> None:
    content, words = BROKEN[case]
    with pytest.raises(DataError, match=words) as caught:
        load(content, filename="upload.npz")
    assert caught.value.source == "upload.npz"


@BOTH
@for_each("side", [2**31 - 2, 40_000_000])
def test_a_sparse_matrix_that_claims_far_more_than_it_contains_is_refused(load: Any, side: int) -> None:
    out = io.BytesIO()
    sparse.save_npz(out, sparse.coo_array(([1.0], ([0], [1])), shape=(side, side)))
    with pytest.raises(DataError, match=rf"{side:,}"):
        load(out.getvalue(), filename="upload.npz")


@for_each(
    "content, words",
    [
        (header((10**6, 10**6)), "claims the shape"),
        (header((3, -3), held=bytes(72)), "claims the shape"),
        (header((10**12, 2), "|S0"), "type |S0"),
        (header((2, 2), "|O", held=b"\x80\x04N."), "type object"),
        (header((2, 2), "<m8[s]", held=bytes(32)), "type"),
        (header((2, 2), "<c16", held=bytes(64)), "type complex128"),
        (header((2, 2), held=bytes(32))[:40], "cannot be read"),
        (b"\x93NUMPY\x09\x00" + bytes(64), "version"),
    ],
)
def test_an_npy_file_that_claims_more_than_it_contains_is_refused(content: bytes, words: str) -> None:
    for packed in (content, gzip.compress(content, mtime=0)):
        with pytest.raises(DataError, match=words.replace("|", r"\|")):
            load_table(packed, filename="upload.npy")


def test_small_cells_count_as_the_numbers_that_they_become(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acvb_core.data.sources.source.ROOM", 100_000)
    content = npz(packed=True, x=np.zeros((200, 100), dtype=np.uint8))
    with pytest.raises(DataError, match="unpacks to more than 100,000"):
        load_table(content, filename="upload.npz")


def test_an_archive_of_many_arrays_is_refused() -> None:
    with pytest.raises(DataError, match="holds 1,001 arrays; at most 1,000"):
        load_table(npz(**{f"x{i}": np.ones(1) for i in range(1_001)}), filename="upload.npz")


BANNER = "%%MatrixMarket matrix coordinate real "


@for_each(
    "text, words",
    [
        (BANNER + "general\n40000000 2 1\n1 1 1\n", "40,000,000 rows for 1 entry"),
        (BANNER + "general\n2 2 900000000\n1 1 1\n", "promises 900,000,000 entries"),
        (BANNER + "general\n2 2 1\n3 1 1\n", "not a readable MatrixMarket"),
        (BANNER + "general\n2 2 1\n-1 1 1\n", "not a readable MatrixMarket"),
        (BANNER + "general\n2 2 3\n1 1 1\n", "not a readable MatrixMarket"),
    ],
)
def test_a_market_file_that_claims_more_than_it_contains_is_refused(text: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        load_relation(gzip.compress(text.encode(), mtime=0), filename="upload.mtx")


def test_a_gzip_file_of_one_thing_repeated_is_refused_as_it_unpacks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_relation(gzip.compress(b"a,b\n" * 50_000, mtime=0)).data.n_ones == 1
    monkeypatch.setattr("acvb_core.data.sources.source.REPEATED_BYTES", 1 << 20)
    bomb = gzip.compress(b"a,b\n" * 2_000_000, mtime=0)
    for load in (load_relation, load_corpus, load_table):
        with pytest.raises(DataError, match=r"unpack to \d,\d{3},\d{3}, over and over"):
            load(bomb, filename="upload.csv.gz")


@BOTH
def test_lines_of_json_with_ever_new_fields_are_refused(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "MAX_JSON_FIELDS", 5)
    lines = "\n".join(f'{{"a{i}": 1, "b{i}": 2}}' for i in range(9)).encode()
    with pytest.raises(DataError, match="hold 6 different fields; at most 5") as caught:
        load(lines, filename="upload.jsonl")
    assert caught.value.line == 3


@BOTH
def test_an_endless_line_of_json_is_refused(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "MAX_TEXT", 1_000)
    lines = b'{"a": "x", "b": "y"}\n{"a": "' + b"x" * 2_000 + b'", "b": "y"}\n'
    with pytest.raises(DataError, match="longer than 1,000 characters") as caught:
        load(lines, filename="upload.jsonl")
    assert caught.value.line == 2


def test_a_line_of_endless_fields_is_refused() -> None:
    with pytest.raises(DataError, match=r"2,000,001 fields; at most 2,000,000"):
        load_table(b"1,0," * (parse.MAX_FIELDS // 2) + b"1\n", filename="upload.csv")


MARKET = b"%%MatrixMarket matrix coordinate pattern general\n"
READERS = [load_relation, load_corpus, load_table]


def plain_parquet(table: pa.Table, out: io.BytesIO) -> None:
    pyarrow.parquet.write_table(
        table, out, use_dictionary=False, compression="none", write_statistics=False, store_schema=False
    )


def packed_parquet(table: pa.Table, out: io.BytesIO) -> None:
    packed = table.set_column(0, "person", table.column(0).dictionary_encode())
    pyarrow.parquet.write_table(packed, out, compression="none", write_statistics=False)


@for_each("end", [b"   ", b"\xff\xff", b" x", b""])
def test_a_matrix_market_file_may_end_without_a_line_end(end: bytes) -> None:
    """SciPy's reader leaves its memory where a line end is missing, and the process ended."""
    relation = load_relation(MARKET + b"3 3 2\n1 2\n2 1" + end).data
    assert np.argwhere(relation.ones.toarray()).tolist() == [[0, 1], [1, 0]]


@for_each("form", ["array", "coordinate"])
@for_each("symmetry, size", [("symmetric", "1 4"), ("skew-symmetric", "1 1")])
def test_a_matrix_market_file_that_is_symmetric_is_square(form: str, symmetry: str, size: str) -> None:
    """SciPy's reader writes outside of its memory where it is not."""
    entries = " 1\n1 1 1\n" if form == "coordinate" else "\n1\n"
    with pytest.raises(DataError, match=f"{size.replace(' ', ' x ')} cannot be {symmetry}") as caught:
        load_relation(f"%%MatrixMarket matrix {form} integer {symmetry}\n{size}{entries}".encode())
    assert caught.value.line == 2


@for_each("load, write", rotate(READERS, [plain_parquet, packed_parquet]))
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


FAR, NOWHERE = (
    r"has cells up to row .* save the sheet as CSV",
    "has a cell at the place [AZ1]+…, which no sheet has",
)


@for_each(
    "cell, words",
    [("XFD1048576", FAR), ("aaaa9999", FAR), ("A" + "1" * 20, NOWHERE), ("Z" * 5_000 + "1", NOWHERE)],
)
def test_a_workbook_with_a_cell_far_away_is_refused(cell: str, words: str) -> None:
    """The reader of workbooks ends the process where it gets no memory for the cells between."""
    out = io.BytesIO()
    pd.DataFrame({"person": ["Ann", "Bob"], "event": ["Fair", "Ball"]}).to_excel(out, index=False)
    far = io.BytesIO()
    with zipfile.ZipFile(out) as book, zipfile.ZipFile(far, "w") as changed:
        for name in book.namelist():
            changed.writestr(name, book.read(name).replace(b'r="A3"', f'r="{cell}"'.encode()))
    for load in READERS:
        with pytest.raises(DataError, match=f"sheet1.xml {words}"):
            load(far.getvalue())


@for_each(
    "old, new, words",
    [
        (b"</table:table>", b"</ta`le:table>", r"content.xml is not well-formed XML \(.*line \d+"),
        (b"</table:table>", b"", "content.xml is not well-formed XML"),
        (b"(?i)utf-8", b"UTF255", "content.xml cannot be decoded: unknown encoding: UTF255"),
        (b"<office:document-content", b"<!DOCTYPE x [<!ENTITY a 'b'>]>\\g<0>", "content.xml declares an entity"),
    ],
)  # fmt: skip
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


INPUTS = 60


@for_each("reader", FUZZED)
def test_damaged_files_are_read_or_refused(reader: Reader) -> None:
    rng, seeds = Random(20260101), list(reader.seeds())
    inputs = [*seeds, *(draw_input(rng, reader.draw, seeds, len(seeds)) for _ in range(INPUTS))]
    with faults_raised() as unseen:
        outcomes = [judge(reader.read, content) for content in inputs]
    # A time says nothing here: the first input may compile a kernel.
    faults = {found.words for found in outcomes if found.kind == "fault" and "CPU s" not in found.words}
    assert not faults
    assert not unseen
    assert {found.kind for found in outcomes} >= {"read"}
