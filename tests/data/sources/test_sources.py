"""What may be given as a source, what stands above its table, and what its archive contains."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.disk_build import read_to_disk
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.relation import Relation
from acvb_core.data.relation_readers import load_labels, load_relation
from acvb_core.data.sources import source
from acvb_core.data.table_build import inspect_table, load_table
from tests.data.support import EVERY_WORD
from tests.loops import for_each

EDGES = b"person,event\nAnn,Fair\nBob,Fair\nBob,Ball\n"
COUNTS = b"doc,word,count\na,cat,2\na,dog,1\nb,cat,1\n"
NUMBERS = b"city,rain,sun\nBergen,2495,1187\nBari,588,2459\n"
LABELS = b"name,club\nBob,chess\nAnn,go\n"
PEOPLE = Relation.build([[0, 1], [1, 0]], row_labels=["Ann", "Bob"])

Read = Callable[..., Any]


def to_disk(source: Any, **options: Any) -> Any:
    """Read to a folder of its own, into which nothing else is written."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        found = read_to_disk(source, Path(folder) / "disk", **options)
        return found.data.size_text, found.report.lines()


DOORS: dict[str, tuple[Read, bytes]] = {
    "relation": (lambda source, **o: load_relation(source, **o).data.identity(), EDGES),
    "corpus": (lambda source, **o: load_corpus(source, **o).data.identity(), COUNTS),
    "table": (lambda source, **o: load_table(source, **o).data.identity(), NUMBERS),
    "disk": (to_disk, COUNTS),
    "labels": (lambda source, **o: load_labels(source, PEOPLE, **o)["club"].tolist(), LABELS),
    "vocabulary": (
        lambda source: load_corpus(b"1 0:1\n1 1:2\n", format="ldac", vocabulary=source).data.identity(),
        b"cat\ndog\n",
    ),
    "node list": (
        lambda source: load_relation(EDGES, row_nodes=source, name="x").data.identity(),
        b"Cid\nBob\nAnn\n",
    ),
}
doors = for_each("door", list(DOORS))


class Pipe(io.RawIOBase):
    """A stream that gives its bytes once, some at a time."""

    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        return self._content.readinto(memoryview(buffer)[:7])


def named(content: bytes, name: str) -> io.BytesIO:
    file = io.BytesIO(content)
    file.name = name
    return file


@doors
@for_each(
    "address", ["https://example.org/a.csv", "HTTPS://A.B/c", "file:///data/a.csv", Path("s3://a/b.csv")]
)
def test_nothing_is_fetched(door: str, address: Any) -> None:
    read, _ = DOORS[door]
    with pytest.raises(DataError) as caught:
        read(address)
    assert caught.value.what == "nothing is fetched from an address"
    assert caught.value.remedy == "Download the file and give its path."
    assert caught.value.source == str(address)


def test_what_cannot_be_opened_is_refused_with_advice() -> None:
    for given, advice in ((EDGES.decode(), "io.StringIO"), ("no such file", "Check the path")):
        with pytest.raises(DataError, match="cannot be opened") as caught:
            load_relation(given)
        assert advice in caught.value.remedy


@doors
def test_a_tilde_is_the_home_folder(door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, content = DOORS[door]
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "data.txt").write_bytes(content)
    assert read("~/data.txt") == read(tmp_path / "data.txt") == read(Path("~/data.txt"))


@doors
def test_text_streams_are_read_as_what_they_hold(door: str, tmp_path: Path) -> None:
    read, content = DOORS[door]
    expected = read(named(content, "data.txt"))
    text = io.StringIO(content.decode())
    text.name = "data.txt"  # type: ignore[attr-defined]
    assert read(text) == expected
    path = tmp_path / "data.txt"
    path.write_text(content.decode(), encoding="utf-16")
    with path.open(encoding="utf-16") as opened:
        assert read(opened) == expected
        assert not opened.closed


@doors
@for_each("packed", [False, True])
def test_streams_that_cannot_seek(door: str, packed: bool) -> None:
    read, content = DOORS[door]
    given = gzip.compress(content) if packed else content
    assert read(io.BufferedReader(Pipe(given))) == read(given)


@doors
@for_each("name", ["-", "/dev/stdin"])
def test_standard_input(door: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read, content = DOORS[door]
    if name == "-":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Pipe(content))))
        assert read(name) == read(named(content, "stdin"))
        return
    kept = os.dup(0)
    ends = os.pipe()
    try:
        os.write(ends[1], content)
        os.close(ends[1])
        os.dup2(ends[0], 0)
        assert read(name) == read(named(content, "stdin"))
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(ends[0])


def load_texts(content: bytes) -> Any:
    return load_corpus(content, filename="upload.zip", tokeniser=EVERY_WORD)


def pack(n: int, *, comment: bytes = b"") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as files:
        for i in range(n):
            files.writestr(f"{i}.txt", f"river bank {i}")
        files.comment = comment
    return out.getvalue()


@for_each("load", [load_texts, load_relation, load_table])
def test_too_many_files_are_refused_before_they_are_listed(
    load: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MAX_FILES", 4)
    monkeypatch.setattr(zipfile.ZipFile, "_RealGetContents", lambda _: pytest.fail("its files were listed"))
    with pytest.raises(DataError, match="more than 4 files"):
        load(pack(5, comment=b"made by hand"))


@for_each("piece", [5, 7, 1 << 20])
def test_files_are_counted_whatever_the_end_claims(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_DIRECTORY_PIECE", piece)
    content = bytearray(pack(9))
    end = content.rindex(b"PK\x05\x06")
    content[end + 8 : end + 12] = b"\x01\x00\x01\x00"
    assert source.count_files(io.BytesIO(content)) == 9


TITLED = {
    "blank cells behind a title": ("Pets of 2020,,\n,,\n", "name,height,weight\nRex,40.5,12.5\nTom,25,4.2\n", 2),
    "a comma in a title": ("Pets, and how\n\nthey grow\n", "a,b,c,d\n1,2,3,4\n2,4,6,7\n", 3),
    "Excel's sign": ("sep=;\n", "name;height\nRex;40,5\nTom;25,2\n", 1),
    "a quoted title of two lines": ('"Pets\nof 2020"\n', "name;height\nRex;40\nTom;25\n", 2),
}  # fmt: skip


@for_each("case", list(TITLED))
def test_titles_above_a_table_are_passed_over(case: str, tmp_path: Path) -> None:
    title, rest, n_lines = TITLED[case]
    sources: list[Any] = [(title + rest).encode(), gzip.compress((title + rest).encode()), tmp_path / "x.csv"]
    sources[2].write_bytes(sources[0])
    plain = load_table(rest.encode())
    source = sources[len(case) % 3]
    found = load_table(source, name="the data")
    assert found.data.fingerprint == plain.data.fingerprint
    assert f"; line {n_lines + 1} holds names." in found.report.lines()[0]
    (fact,) = [fact for fact in found.report.facts if fact.name == "title_lines"]
    assert (fact.count, fact.sentence) == (
        n_lines,
        f"{n_lines} line{'' if n_lines == 1 else 's'} above the table: taken for titles, skipped.",
    )
    assert inspect_table(source).lines == tuple(n_lines + line for line in inspect_table(rest.encode()).lines)


def test_faults_of_the_first_record_below_titles_name_its_line() -> None:
    assert load_relation(b"Who met whom\nperson,event\nAnn,Fair\n").report.count("title_lines") == 1
    body = "".join(f"{one},{other}\n" for one in ("Ann", "Bob", "Cyd") for other in ("Hat", "Tie"))
    with pytest.raises(DataError, match="may hold the names") as caught:
        load_relation(f"Sales\n\nBuyer,Product\n{body}".encode())
    assert caught.value.line == 3


@for_each(
    "content",
    [
        b"7\na,1\nb,2\n",  # a number may be the size of what follows
        b"a\nb\nc\nd\ne\nf\ng\nh,1\ni,2\n",  # more lines than titles have
        b"a title\na,1\nb,2,3\nc,3\nd\n",  # what follows is no table
        b"city\nParis, France\nRome, Italy\nBerlin, Germany\n",  # a column of names with commas
    ],
)
def test_lines_that_may_be_data_are_not_titles(content: bytes) -> None:
    for load in (load_table, load_relation):
        with pytest.raises(DataError):
            load(content)


def workbook(rows: list[list[Any]], *merged: str) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for cells in merged:
        book.active.merge_cells(cells)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_merged_cells_are_filled() -> None:
    rows: list[list[Any]] = [["person", "event"], ["Ann", "Fair"], [None, "Ball"], ["Bob", "Ball"]]
    found = load_relation(workbook(rows, "A2:A3"))
    assert found.data.n_ones == 3
    assert found.data.row_labels.tolist() == ["Ann", "Bob"]
    assert load_relation(workbook([["Who met whom"], *rows[1:]], "A2:A3")).data.n_ones == 3
    told = "1 cell of merged cells in the sheet: filled with the value of the first one."
    assert told in found.report.lines()
    title = load_table(workbook([["Pets of 2020"], ["a", "b", "c"], [1, 2, 3], [4, 5, 6]], "A1:C1"))
    assert title.data.values.tolist() == [[1, 2, 3], [4, 5, 6]]
