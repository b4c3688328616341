"""What may be handed in as a source: paths with a tilde, streams that cannot seek, text streams; no addresses."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.disk_build import read_to_disk
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.relation import Relation
from acvb_core.data.relation_readers import load_labels, load_relation
from acvb_core.data.sources import source as sources
from acvb_core.data.table_build import load_table
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
@for_each("address", ["https://example.org/a.csv", "http://a.b/c", "s3://bucket/a.parquet", "ftp://a/b", "HTTPS://A.B/c",
     "file:///data/a.csv", "gs://a/b.csv", Path("https://example.org/a.csv")])  # fmt: skip
def test_nothing_is_fetched(door: str, address: Any) -> None:
    read, _ = DOORS[door]
    with pytest.raises(DataError) as caught:
        read(address)
    assert caught.value.what == "nothing is fetched from an address"
    assert caught.value.remedy == "Download the file and give its path."
    assert caught.value.source == str(address)


@doors
def test_a_tilde_is_the_home_folder(door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, content = DOORS[door]
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "data.txt").write_bytes(content)
    assert read("~/data.txt") == read(tmp_path / "data.txt") == read(Path("~/data.txt"))


def test_a_tilde_of_nobody_is_a_path() -> None:
    with pytest.raises(DataError, match="cannot be opened"):
        load_relation("~nobody_of_this_name/data.txt")


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


def test_letters_of_a_text_file_are_those_that_it_was_opened_with(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("row,column\nÅsa,Ü\nBo,Ü\n", encoding="latin-1")
    with path.open(encoding="latin-1") as opened:
        assert load_relation(opened).data.row_labels.tolist() == ["Åsa", "Bo"]
    with path.open(encoding="utf-8") as opened, pytest.raises(DataError, match="not utf-8 text") as caught:
        load_relation(opened)
    assert caught.value.source == "data.csv"
    with path.open(encoding="latin-1") as opened, pytest.raises(ParameterError, match="leave encoding out"):
        load_relation(opened, encoding="latin-1")


def test_a_text_stream_of_half_letters_is_refused() -> None:
    with pytest.raises(DataError) as caught:
        load_relation(io.StringIO("a,b\nx,\ud800\n"))
    assert caught.value.line == 2


def test_a_closed_file_is_refused() -> None:
    for closed in (io.StringIO("a,b\n"), io.BytesIO(b"a,b\n")):
        closed.close()
        with pytest.raises(DataError, match="this file is closed"):
            load_relation(closed)


@doors
@for_each("packed", [False, True])
def test_streams_that_cannot_seek(door: str, packed: bool) -> None:
    read, content = DOORS[door]
    given = gzip.compress(content) if packed else content
    assert read(io.BufferedReader(Pipe(given))) == read(given)


def test_a_long_stream_goes_to_a_temporary_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "SPOOL", 100)
    lines = b"".join(b"r%d,c%d\n" % (i, i % 7) for i in range(500))
    with sources.ByteSource(io.BufferedReader(Pipe(lines))) as source:
        assert source._handle._rolled  # type: ignore[attr-defined]
        assert source.size() == len(lines)
        handle = source._handle
    assert handle.closed
    assert load_relation(io.BufferedReader(Pipe(lines))).data.shape == (500, 7)


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


def test_a_named_pipe_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(EDGES,))
    writer.start()
    assert load_relation(pipe).data.shape == (2, 2)
    writer.join()


def test_text_taken_for_a_path_says_how_to_give_it() -> None:
    with pytest.raises(DataError, match="cannot be opened") as caught:
        load_relation(EDGES.decode())
    assert "io.StringIO" in caught.value.remedy
    with pytest.raises(DataError, match="cannot be opened"):
        load_relation("a\0b")
