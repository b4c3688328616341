"""Binary and sparse files that claim what is not so: refused before anything is allocated or followed."""

from __future__ import annotations

import gzip
import io
import zipfile
from functools import partial
from typing import Any

import numpy as np
import openpyxl
import pytest
from numpy.lib import format as npy
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.relation_readers import load_relation
from acvb_core.data.sources import arrays, containers, parse
from acvb_core.data.sources.arrays import check_size
from acvb_core.data.table_build import load_table
from tests.loops import for_each

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


def archive(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as files:
        for name, content in members.items():
            files.writestr(f"{name}.npy", content)
    return out.getvalue()


def compressed(kind: str, indices: Any, indptr: Any, shape: Any = (2, 2), data: Any = (1.0, 1.0)) -> bytes:
    parts = {"data": data, "indices": indices, "indptr": indptr, "shape": shape}
    return npz(format=np.array(kind), **{name: np.array(part) for name, part in parts.items()})


BROKEN = {
    "csr, index beyond": (compressed("csr", [0, 99_999_999], [0, 1, 2]), "indices must be < 2"),
    "csr, negative index": (compressed("csr", [0, -1], [0, 1, 2]), "indices must be >= 0"),
    "csc, index beyond": (compressed("csc", [0, 99_999_999], [0, 1, 2]), "indices must be < 2"),
    "csr, falling pointers": (compressed("csr", [0, 1], [0, 9, 2]), "non-decreasing"),
    "csr, pointers that fall to 0": (compressed("csr", [266, 512], [0, 2, 0]), "non-decreasing"),
    "bsr, pointers that fall far": (
        compressed("bsr", np.int32([0, 1, 2]), np.int32([0, 1, 2, -(2**31)]), (3, 4), np.ones((3, 1, 1))),
        "non-decreasing",
    ),
    "csr, pointers from 1": (compressed("csr", [0, 1], [1, 1, 2]), "start"),
    "csr, too many promised": (compressed("csr", [0, 1], [0, 1, 2**31 - 1]), "cannot be read"),
    "csr, a value too few": (compressed("csr", [0, 1], [0, 1, 2], data=[1.0]), "cannot be read"),
    "csr, fractional indices": (compressed("csr", [0.5, 1.0], [0, 1, 2]), "cannot be read"),
    "csr, complex": (compressed("csr", [0, 1], [0, 1, 2], data=[1j, 2]), "type complex128"),
    "csr, negative shape": (compressed("csr", [0, 1], [0, 1, 2], shape=[2, -2]), "cannot be read"),
    "csr, three sides": (compressed("csr", [0, 1], [0, 1, 2], shape=[2, 2, 2]), "cannot be read"),
    "csr, no indices": (npz(format=np.array("csr"), shape=np.array([2, 2]), data=np.ones(2)), "cannot be read"),
    "bsr, index beyond": (compressed("bsr", [0, 5], [0, 1, 2], [4, 4], np.ones((2, 2, 2))), "must be < 2"),
    "bsr, ragged blocks": (compressed("bsr", [0], [0, 1], [3, 3], np.ones((1, 2, 2))), "cannot be read"),
    "coo, index beyond": (
        npz(format=np.array("coo"), shape=np.array([2, 2]), data=np.ones(1), row=np.array([7]), col=np.array([0])),
        "cannot be read",
    ),
    "coo, negative index": (
        npz(format=np.array("coo"), shape=np.array([2, 2]), data=np.ones(1), row=np.array([-1]), col=np.array([0])),
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
def test_a_date_that_no_calendar_has_is_refused(load: Any) -> None:
    book = openpyxl.Workbook()
    for row in (["height", "born"], [1, 2], [3, -1e100]):
        book.active.append(row)
    book.active["B3"].number_format = "yyyy-mm-dd"
    out = io.BytesIO()
    book.save(out)
    with pytest.raises(DataError, match="workbook"):
        load(out.getvalue(), filename="upload.xlsx")


@BOTH
@for_each("kind", ["csr", "csc", "coo", "bsr", "dia"])
def test_sound_matrices_of_every_format_are_read(load: Any, kind: str) -> None:
    cells = np.array([[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1]])
    out = io.BytesIO()
    sparse.save_npz(out, sparse.csr_array(cells).asformat(kind))
    found = load(out.getvalue(), filename="upload.npz")
    read = found.data.ones.toarray() if load is load_relation else found.data.values
    np.testing.assert_array_equal(read, cells)


@BOTH
@for_each("kind", ["csr", "coo", "dia"])
@for_each("type_", ["<f2", ">f8", ">i4", "<g", "<u8"])
def test_numbers_of_any_size_and_byte_order_are_read(load: Any, kind: str, type_: str) -> None:
    cells = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 1]])
    out = io.BytesIO()
    sparse.save_npz(out, sparse.csr_array(cells).asformat(kind))
    with np.load(io.BytesIO(out.getvalue())) as arrays:
        parts = {name: arrays[name] for name in arrays.files}
    found = load(npz(**{**parts, "data": parts["data"].astype(type_)}), filename="upload.npz")
    read = found.data.ones.toarray() if load is load_relation else found.data.values
    np.testing.assert_array_equal(read, cells)


@BOTH
@for_each("side", [2**31 - 2, 40_000_000])
def test_a_sparse_matrix_that_claims_far_more_than_it_holds_is_refused(load: Any, side: int) -> None:
    out = io.BytesIO()
    sparse.save_npz(out, sparse.coo_array(([1.0], ([0], [1])), shape=(side, side)))
    with pytest.raises(DataError, match=rf"{side:,}"):
        load(out.getvalue(), filename="upload.npz")


@for_each(
    "content, words",
    [
        (header((10**6, 10**6)), "claims the shape"),
        (header((3, 3), held=bytes(8 * 8)), "claims the shape"),
        (header((3, -3), held=bytes(72)), "claims the shape"),
        (header((2**62, 2**62)), "claims the shape"),
        (header((10**12, 2), "|S0"), "type |S0"),
        (header((2, 2), "|O", held=b"\x80\x04N."), "type object"),
        (header((2, 2), "|V8", held=bytes(32)), "type"),
        (header((2, 2), "<m8[s]", held=bytes(32)), "type"),
        (header((2, 2), "<c16", held=bytes(64)), "type complex128"),
        (header((2, 2), held=bytes(32))[:40], "cannot be read"),
        (b"\x93NUMPY\x09\x00" + bytes(64), "version"),
    ],
)
def test_an_npy_file_that_claims_what_it_does_not_hold_is_refused(content: bytes, words: str) -> None:
    for packed in (content, gzip.compress(content, mtime=0)):
        with pytest.raises(DataError, match=words.replace("|", r"\|")):
            load_table(packed, filename="upload.npy")
    with pytest.raises(DataError):
        load_table(archive(x=content), filename="upload.npz")


def test_columns_first_and_structured_arrays() -> None:
    cells = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]])
    content = header((2, 3), fortran=True, held=cells.T.tobytes())
    np.testing.assert_array_equal(load_table(content, filename="upload.npy").data.values, cells)
    out = io.BytesIO()
    np.save(out, np.array([(1, 2.0), (3, 4.0)], dtype=[("a", "<i4"), ("b", "<f8")]))
    with pytest.raises(DataError, match="type"):
        load_table(out.getvalue(), filename="upload.npy")


def test_a_small_archive_that_unpacks_to_gigabytes_is_refused() -> None:
    # What is packed is a claim of zeros: nothing of that size is made here or there.
    bomb = bytearray(npz(packed=True, x=np.zeros((100, 10))))
    claimed = (3 << 30).to_bytes(4, "little")
    at = bomb.rindex(b"PK\x01\x02")
    bomb[at + 24 : at + 28] = claimed
    for load in (load_relation, load_table):
        with pytest.raises(DataError, match=r"unpacks to more than|no sparse matrix"):
            load(bytes(bomb), filename="upload.npz")


def test_small_cells_count_as_the_numbers_that_they_become(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acvb_core.data.sources.source.ROOM", 100_000)
    content = npz(packed=True, x=np.zeros((200, 100), dtype=np.uint8))
    with pytest.raises(DataError, match="unpacks to more than 100,000"):
        load_table(content, filename="upload.npz")


def test_a_gzip_file_that_unpacks_to_gigabytes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acvb_core.data.sources.source.ROOM", 100_000)
    content = gzip.compress(header((400, 100), held=bytes(320_000)), mtime=0)
    with pytest.raises(DataError, match="unpacks to more than 100,000"):
        load_table(content, filename="upload.npy.gz")


BANNER = "%%MatrixMarket matrix coordinate real "


@for_each(
    "text, words",
    [
        (BANNER + "general\n40000000 2 1\n1 1 1\n", "40,000,000 rows for 1 entry"),
        (BANNER + "general\n2 40000000 1\n1 1 1\n", "40,000,000 columns for 1 entry"),
        (BANNER + "general\n2 2 900000000\n1 1 1\n", "promises 900,000,000 entries"),
        (BANNER + "general\n2 2 1\n3 1 1\n", "not a readable MatrixMarket"),
        (BANNER + "general\n2 2 1\n0 1 1\n", "not a readable MatrixMarket"),
        (BANNER + "general\n2 2 1\n-1 1 1\n", "not a readable MatrixMarket"),
        (BANNER + "symmetric\n3 2 1\n3 1 1\n", "MatrixMarket|outside|exceeds|index|symmetric"),
        (BANNER + "general\n2 2 3\n1 1 1\n", "not a readable MatrixMarket"),
    ],
)
def test_a_market_file_that_claims_what_it_does_not_hold_is_refused(text: str, words: str) -> None:
    for content in (text.encode(), gzip.compress(text.encode(), mtime=0)):
        with pytest.raises(DataError, match=words):
            load_relation(content, filename="upload.mtx")


def test_a_size_that_the_user_gives_too_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(number: int, what: str, *_: object) -> None:
        raise AssertionError(f"{number:,} {what} were doubted")

    monkeypatch.setattr("acvb_core.data.matrix.check_size", refuse)
    text = (BANNER + "general\n3 2 1\n1 1 1\n").encode()
    assert load_relation(text, filename="upload.mtx", shape=(3, 2)).data.n_ones == 1
    with pytest.raises(AssertionError, match="doubted"):
        load_relation(text, filename="upload.mtx")


@for_each(
    "content, words",
    [
        (b"*Vertices 4000000\n*Arcs\n1 2\n", "4,000,000 vertices for 1 entry"),
        (b"*Vertices 999999", "999,999 vertices for 0 entries"),
    ],
)
def test_vertices_that_no_link_names_are_not_made(content: bytes, words: str) -> None:
    with pytest.raises(DataError, match=words):
        load_relation(content, filename="upload.net")


def test_some_vertices_need_no_link() -> None:
    relation = load_relation(b"*Vertices 100000\n*Arcs\n1 2\n", filename="upload.net").data
    assert relation.shape == (100_000, 100_000)


@for_each("content", [b"40000000\n2\n1\n1 1 1\n", b"2\n40000000\n1\n1 1 1\n", b"1 39999999:1\n1 0:1\n"])
def test_counts_that_claim_more_than_they_hold_are_refused(content: bytes) -> None:
    with pytest.raises(DataError, match=r"claims|40,000,000"):
        load_corpus(content, filename="upload.txt")


def test_a_gzip_file_of_one_thing_repeated_is_refused_as_it_unpacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acvb_core.data.sources.source.REPEATED_BYTES", 1 << 20)
    bomb = gzip.compress(b"a,b\n" * 2_000_000, mtime=0)
    for load in (load_relation, load_corpus, load_table):
        with pytest.raises(DataError, match=r"unpack to \d,\d{3},\d{3}, over and over"):
            load(bomb, filename="upload.csv.gz")
    rng = np.random.default_rng(0)
    usual = "\n".join(f"a{i},b{j}" for i, j in rng.integers(300, size=(150_000, 2))).encode()
    assert len(usual) > 1 << 20
    assert load_relation(gzip.compress(usual, mtime=0), filename="upload.csv.gz").data.shape == (300, 300)


def test_an_archive_of_many_arrays_is_refused_before_one_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "MAX_ARRAYS", 3)
    content = npz(**{f"x{i}": np.ones((2, 2)) for i in range(4)})
    monkeypatch.setattr(arrays.npy, "read_array", lambda *_, **__: pytest.fail("an array was read"))
    with pytest.raises(DataError, match="holds 4 arrays; at most 3"):
        load_table(content, filename="upload.npz")


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


def test_a_number_of_endless_digits_is_named() -> None:
    with pytest.raises(DataError, match="too many digits"):
        load_relation(b'{"a": ' + b"9" * 5_000 + b', "b": 1}\n', filename="upload.jsonl")


@for_each("load", [load_relation, load_table, load_corpus])
def test_a_line_of_endless_fields_is_refused(load: Any) -> None:
    options = {"format": "table"} if load is load_corpus else {}
    with pytest.raises(DataError, match=r"2,000,001 fields; at most 2,000,000"):
        load(b"1,0," * (parse.MAX_FIELDS // 2) + b"1\n", filename="upload.csv", **options)


def test_a_long_array_of_mostly_zeros_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file lists every cell: none is claimed."""
    monkeypatch.setattr("acvb_core.data.matrix.check_size", partial(check_size, allowed=100))
    text = "%%MatrixMarket matrix array integer general\n200 1\n1\n" + "0\n" * 199
    assert load_relation(text.encode(), filename="x.mtx").data.shape == (200, 1)
    text = "%%MatrixMarket matrix coordinate integer general\n200 1 1\n1 1 1\n"
    with pytest.raises(DataError, match="claims 200 rows"):
        load_relation(text.encode(), filename="x.mtx")
