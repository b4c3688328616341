"""Formats are known by their first bytes, and named where they are refused."""

from __future__ import annotations

import gzip
import json
import sys

import numpy as np
import pytest
from scipy import io as scipy_io
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.disk_build import read_to_disk
from acvb_core.data.corpora.readers import inspect_corpus, load_corpus, read_texts
from acvb_core.data.relation_readers import inspect_source, load_relation
from acvb_core.data.schema import Kind
from acvb_core.data.sources.formats import FORMATS, choices_of, formats_of
from acvb_core.data.sources.source import ByteSource
from acvb_core.data.table_build import inspect_table, load_table
from tests.data.support import EVERY_WORD, saved, zipped
from tests.loops import for_each, rotate

KINDS: tuple[Kind, ...] = ("relation", "corpus", "table")


COLUMNS = {
    "parquet": b"PAR1\x15\x00",
    "arrow": b"ARROW1\x00\x00",
    "excel": b"\xd0\xcf\x11\xe0\xa1\xb1",
    "json-lines": b'{"a": 1}\n{"a": 2}\n',
    "sqlite": b"SQLite format 3\x00",
}


CONTENT = {
    ("matrix-market", "relation"): saved(scipy_io.mmwrite, sparse.eye_array(3).tocoo()),
    ("npz", "relation"): saved(sparse.save_npz, sparse.eye_array(3).tocsr()),
    ("graphml", "relation"): b"\n<graphml><graph/></graphml>",
    ("gexf", "relation"): b'<?xml version="1.0"?>\n<!-- a -->\n<gexf xmlns="x"><graph/></gexf>',
    ("node-link", "relation"): b'{"directed": true, "nodes": [{"id": 1}], "links": []}',
    ("gml", "relation"): b"# a\ngraph [\n]\n",
    ("pajek", "relation"): b"\xef\xbb\xbf*Vertices 2\n",
    ("npy", "table"): saved(np.save, np.eye(3)),
    ("npz", "table"): saved(np.savez, np.eye(3)),
}


@for_each("name, kind", list(CONTENT))
def test_first_bytes_tell_the_format_and_other_kinds_refuse_it(name: str, kind: Kind) -> None:
    content = CONTENT[name, kind]
    with ByteSource(content, kind=kind) as source:
        assert source.format is not None
        assert (source.format.name, kind in source.format.kinds) == (name, True)
    own = next(row for row in formats_of(kind) if row.name == name)
    for other in (*KINDS, None):
        if own.sure and other not in (kind, None) and name not in choices_of(other):
            with pytest.raises(
                DataError, match=f"this is {own.noun}".replace("(", r"\(").replace(")", r"\)")
            ):
                ByteSource(content, kind=other)


def test_a_missing_library_names_the_extra_of_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(DataError, match="python-calamine is not installed") as caught:
        load_relation(COLUMNS["excel"])
    extra = next(row.extra for row in FORMATS if row.name == "excel")
    assert extra
    assert f'pip install "acvb-core[{extra}]"' in caught.value.remedy


REST = bytes(range(256))
DOORS = [inspect_source, inspect_corpus, inspect_table]

KNOWN = {
    b"PK\x05\x06" + bytes(18): "an empty zip archive",
    b"\xfd7zXZ\x00" + REST: "an xz file",
    b"\x28\xb5\x2f\xfd" + REST: "a Zstandard file",
    b"a.txt".ljust(257, b"\0") + b"ustar\x0000" + REST: "a tar archive",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + REST: "an old Excel workbook (xls) or Word document",
    b"ARROW1\x00\x00" + REST: "an Arrow file",
    b"\x89HDF\r\n\x1a\n" + REST: "an HDF5 file",
    b"MATLAB 5.0 MAT-file, Platform: GLNXA64" + REST: "a MATLAB file (mat)",
    b"X\n\x00\x00\x00\x03" + REST: "an R object (rds)",
    b"SQLite format 3\x00" + REST: "an SQLite database",
    b"\x80\x02}q\x00." + REST: "a Python pickle",
    b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n": "a PDF document",
    b"\x89PNG\r\n\x1a\n" + REST: "a PNG image",
    b"\x7fELF" + REST: "a program",
}


@for_each("content", list(KNOWN))
def test_a_binary_file_is_named_whatever_it_is_called(content: bytes) -> None:
    for door in DOORS:
        with pytest.raises(DataError, match=r"this is") as caught:
            door(content, "upload.csv")
        assert caught.value.what.startswith(f"this is {KNOWN[content]}")
        assert (caught.value.source, bool(caught.value.remedy)) == ("upload.csv", True)


WORDS = "the quick brown fox and a lazy dog by the old river bank"
RECORDS = [{"id": n, "text": f"{WORDS}, {n}"} for n in range(30)]
LINES = "".join(json.dumps(record) + "\n" for record in RECORDS)
BODY = "".join(f"<p>{WORDS}</p>\n" for _ in range(5))

TEXT_FORMATS = {
    "JSON": (json.dumps(RECORDS), "a JSON file"),
    "JSON whose end is not seen": (json.dumps(RECORDS * 800), "a JSON file"),
    "JSON over several lines whose end is not seen": (json.dumps(RECORDS * 800, indent=1), "a JSON file"),
    "HTML": (f"<!DOCTYPE html>\n<html><body>\n{BODY}</body></html>", "an HTML page"),
    "HTML without a type": (f"\n<HTML lang='en'>\n{BODY}</HTML>\n", "an HTML page"),
    "HTML behind comments": ("<!-- a -->\n" * 40 + f"<!-- b --><html>{BODY}</html>", "an HTML page"),
    "XML": (f'<?xml version="1.0"?>\n<docs>{BODY}</docs>', "an XML file"),
    "XML without a declaration": (f"<docs year='1'>\n{BODY}</docs>\n", "an XML file"),
    "SGML": (f"<!DOCTYPE lewis SYSTEM 'lewis.dtd'>\n{BODY}", "an XML file"),
    "RTF": (r"{\rtf1\ansi {\fonttbl {\f0 Times;}}" + "\n" + rf"\par {WORDS}" + "\n}", "an RTF document"),
    "PDF behind a blank line": ("\n%PDF-1.4\nstream", "a PDF document"),
}  # fmt: skip

#: Read as columns, by the readers that take columns.
JSON_LINES = {
    "JSON Lines": (LINES, "a JSON Lines file"),
    "JSON Lines behind blank lines": ("\n \n" + LINES, "a JSON Lines file"),
    "JSON Lines whose end is not seen": (LINES * 600, "a JSON Lines file"),
}

PROSE = {
    "a bracket": f"[1] First, {WORDS}\n[2] Second, {WORDS}\n",
    "a tag": f"<b>Bold</b> {WORDS}\n{WORDS}\n",
    "a sign": f"< 5 {WORDS}\n> 6 {WORDS}\n",
    "LaTeX": "\\documentclass{article}\n\\begin{document}\n" + f"{WORDS}\n{WORDS}\n",
    "a quoted word": f'["{WORDS}"] said the fox\n{WORDS}\n',
    "one line of JSON": f'{{"a": 1}}\n{WORDS}\n{WORDS}\n',
}

formats = for_each("content, kind", TEXT_FORMATS.values())


READERS = {
    "corpus": load_corpus,
    "one text a line": lambda data: load_corpus(data, format="lines"),
    "counts": lambda data: load_corpus(data, format="counts"),
    "texts": read_texts,
    "a look at a corpus": inspect_corpus,
    "a vocabulary": lambda data: load_corpus(b"0 0:1\n1 0:2", format="ldac", vocabulary=data),
    "a table": load_table,
    "a node list": lambda data: load_relation(b"a,b\nb,c\n", row_nodes=data),
    "a gzipped file": lambda data: load_corpus(gzip.compress(data)),
}  # fmt: skip
NO_COLUMNS = ["one text a line", "a vocabulary", "a node list"]


@for_each("name, reader", [*rotate(TEXT_FORMATS, READERS, 2), *rotate(JSON_LINES, NO_COLUMNS)])
def test_it_is_refused_by_name(name, reader):
    content, kind = (TEXT_FORMATS | JSON_LINES)[name]
    with pytest.raises(DataError, match=f"this is {kind}"):
        READERS[reader](content.encode())


def test_cut_json_is_told_by_its_name(tmp_path):
    (tmp_path / "cut.json").write_text(json.dumps(RECORDS)[:-9])
    with pytest.raises(DataError, match="this is a JSON file"):
        load_table(tmp_path / "cut.json")


GRAPHS = {
    "GML": ('graph [\n  node [\n    id 0\n    label "the sea"\n  ]\n]\n', "a GML file"),
    "Pajek": ('*Vertices 2\n1 "the sea"\n2 "the land"\n*Edges\n1 2\n', "a Pajek file"),
    "GraphML": ('<graphml><graph><node id="the sea"/></graph></graphml>', "a GraphML file"),
    "GEXF": ('<gexf><graph><nodes><node id="1"/></nodes></graph></gexf>', "a GEXF file"),
    "node-link": ('{"nodes": [{"id": "the sea"}], "links": []}', "a node-link JSON file"),
}


@for_each("name, read", rotate(GRAPHS, ["corpus", "one text a line", "a table", "a look at a corpus"], 2))
def test_a_graph_is_no_texts_and_no_table(name, read):
    content, kind = GRAPHS[name]
    with pytest.raises(
        DataError, match=f"this is {kind}, which holds nodes and links. Read it as a relation"
    ):
        READERS[read](content.encode())


def test_such_files_of_an_archive_are_refused_or_left_out(tmp_path):
    archive = zipped({"fine.txt": WORDS, "other.txt": LINES})
    with pytest.raises(DataError, match=r"other\.txt: this is a JSON Lines file"):
        load_corpus(archive)
    disk = read_to_disk(archive, tmp_path / "disk", broken="skip", tokeniser=EVERY_WORD)
    assert disk.data.n_documents == 1
    assert "1 broken file left out" in disk.report.lines()[0]


@formats
def test_it_is_no_relation(content, kind):
    with pytest.raises(DataError, match=f"this is {kind}|this is XML, but no GraphML"):
        load_relation(content.encode(), filename="data.txt")
    if not content.startswith(("<?xml", "<!--")):  # which the reader of GraphML looks into
        with pytest.raises(DataError, match=f"this is {kind}"):
            inspect_source(content.encode())


@for_each("text", PROSE.values())
def test_prose_that_begins_alike_is_read(text):
    found = load_corpus(text.encode(), tokeniser=EVERY_WORD)
    assert found.schema.format == "lines"
    assert found.data.n_documents == text.count("\n")
