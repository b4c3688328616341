"""The table of formats is what readers, command line and pages go by."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from scipy import io as scipy_io
from scipy import sparse

from acvb_core.cli.parser import build_parser
from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.readers import inspect_corpus, load_corpus
from acvb_core.data.relation_readers import inspect_source, load_relation
from acvb_core.data.schema import Kind
from acvb_core.data.sources.formats import FORMATS, choices_of, files_of, formats_of
from acvb_core.data.sources.source import ByteSource
from acvb_core.data.table_build import inspect_table
from tests.loops import for_each

KINDS: tuple[Kind, ...] = ("relation", "corpus", "table")


COLUMNS = {
    "parquet": b"PAR1\x15\x00",
    "arrow": b"ARROW1\x00\x00",
    "excel": b"\xd0\xcf\x11\xe0\xa1\xb1",
    "json-lines": b'{"a": 1}\n{"a": 2}\n',
    "sqlite": b"SQLite format 3\x00",
}


def saved(save, *arrays) -> bytes:
    out = io.BytesIO()
    save(out, *arrays)
    return out.getvalue()


CONTENT = {
    ("matrix-market", "relation"): saved(scipy_io.mmwrite, sparse.eye_array(3).tocoo()),
    ("npz", "relation"): saved(sparse.save_npz, sparse.eye_array(3).tocsr()),
    ("graphml", "relation"): b"\n<graphml><graph/></graphml>",
    ("gexf", "relation"): b'<?xml version="1.0"?>\n<!-- a -->\n<gexf xmlns="x"><graph/></gexf>',
    ("node-link", "relation"): b'{"directed": true, "nodes": [{"id": 1}], "links": []}',
    ("gml", "relation"): b"# a\ngraph [\n]\n",
    ("pajek", "relation"): b"\xef\xbb\xbf*Vertices 2\n",
    ("zip", "corpus"): b"",
    ("npy", "table"): saved(np.save, np.eye(3)),
    ("npz", "table"): saved(np.savez, np.eye(3)),
}


def test_every_row_with_first_bytes_is_tried() -> None:
    assert {
        (row.name, kind) for row in FORMATS if row.family not in ("columns", "text") for kind in row.kinds
    } == set(CONTENT)


@for_each("name, kind", [key for key, content in CONTENT.items() if content])
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


@for_each("name", list(COLUMNS))
def test_columns_are_taken_by_those_who_ask_for_them(name: str) -> None:
    assert [row.name for row in FORMATS if row.family == "columns"] == list(COLUMNS)
    for kind in KINDS:
        found = ByteSource(COLUMNS[name], kind=kind, columns=True).format
        assert found is not None
        assert found.name == name
    if name != "json-lines":  # which is text
        with pytest.raises(DataError, match="this is a"):
            ByteSource(COLUMNS[name])


def test_the_readers_take_the_choices_of_the_table() -> None:
    for inspect, kind in ((inspect_source, "relation"), (inspect_corpus, "corpus")):
        with pytest.raises(ParameterError, match=", ".join(choices_of(kind))):
            inspect(b"a,b\n", format="nonsense")
    for read, kind in ((load_relation, "relation"), (load_corpus, "corpus")):
        for row in formats_of(kind):
            if row.family != "text" and row.name in choices_of(kind):
                with pytest.raises(DataError, match="this does not start like "):
                    read(b"a,b\nc,d\n", format=row.name)


def test_what_a_name_promises_must_be_there() -> None:
    with pytest.raises(DataError, match="the name says that this is a NumPy array"):
        inspect_table(b"a,b\n1,2\n3,4\n", "numbers.npy")
    assert inspect_source(b"a,b\nb,c\n", "links.mtx").format == "edges"


def test_help_and_pages_list_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["fit", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    for kind in ("relation", "corpus"):
        assert ", ".join(choices_of(kind)) in told
    for kind in KINDS:
        assert all(row.files == "" or (row.files or row.title) in files_of(kind) for row in formats_of(kind))
        assert files_of(kind).split("(")[0] in told


def test_a_missing_library_names_the_extra_of_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(DataError, match="python-calamine is not installed") as caught:
        load_relation(COLUMNS["excel"])
    extra = next(row.extra for row in FORMATS if row.name == "excel")
    assert extra
    assert f'pip install "acvb-core[{extra}]"' in caught.value.remedy
