"""Small valid files of every format, from which inputs are made."""

from __future__ import annotations

import io
import os
import re
import sqlite3
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from scipy import sparse

_LINKS = (
    b"person,event\nAnn,Fair\nBob,Fair\nAnn,Ball\nCid,Ball\n",
    b"source\ttarget\tweight\na\tb\t1\nb\tc\t0\nc\ta\t\n",
    b"1 2\n2 3\n3 1\n4 4\n",
    b'"a, b";"c ""d""";yes\n"e\nf";g;no\n"h";"c ""d""";?\n',
    b"# a comment\nx|y|2.5\nz|y|1e3\n",
    "från;till;värde\nÅsa;Örjan;1,5\nÖrjan;Åsa;0\n".encode("utf-16"),
    "von,nach\nJürgen,Zoë\nZoë,Jürgen\n".encode("latin-1"),
)
_MATRICES = (
    b",a,b,c\nx,1,0,1\ny,0,,1\nz,1,1,0\n",
    b"0 1 0\n1 0 1\n0 1 0\n",
    b"a;b\n1,5;0\n0;2,5\n",
    b",Ann,Bob\nAnn,0,1\nBob,1,0\n",
)
_MARKET = (
    b"%%MatrixMarket matrix coordinate pattern general\n% a comment\n3 4 3\n1 2\n2 3\n3 4\n",
    b"%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 1.0\n3 3 0.5\n",
    b"%%MatrixMarket matrix array integer general\n2 2\n1\n0\n0\n1\n",
    b"%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 2\n2 1 1\n3 2 1\n",
)
_GRAPHS = (
    b'<?xml version="1.0" encoding="UTF-8"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    b'<key id="k" for="node" attr.name="club" attr.type="string"><default>none</default></key>'
    b'<key id="w" for="edge" attr.name="weight" attr.type="double"/><graph edgedefault="undirected">'
    b'<node id="a"><data key="k">x</data></node><node id="b"/><edge source="a" target="b"><data key="w">2</data></edge>'
    b"</graph></graphml>",
    b'<gexf version="1.3"><graph defaultedgetype="directed"><attributes class="node"><attribute id="0" title="club" '
    b'type="string"/></attributes><nodes><node id="0" label="Ann"><attvalues><attvalue for="0" value="x"/></attvalues>'
    b'</node><node id="1" label="Bob"/></nodes><edges><edge id="0" source="0" target="1" weight="2"/></edges></graph>'
    b"</gexf>",
    b'graph [\n directed 1\n node [ id 1 label "Ann" club "x" ]\n node [ id 2 label "Bob" ]\n'
    b" edge [ source 1 target 2 value 1 ]\n]\n",
    b'*Vertices 3\n1 "Ann"\n2 "Bob" 0.1 0.2 0.3\n3 "Cid"\n*Arcs\n1 2 1\n2 3\n*Edges\n1 3 2\n',
    b"*Network net\n*Vertices 4 2\n*Arcslist\n1 3 4\n2 3\n",
    b"*Vertices 2\n*Matrix\n0 1\n1 0\n",
    b'{"directed": true, "multigraph": false, "graph": {}, "nodes": [{"id": "a", "club": "x"}, {"id": 2}], "links": '
    b'[{"source": "a", "target": 2, "weight": 1}]}',
    b'{"nodes": [{"name": "a"}, {"name": "b"}], "edges": [{"source": 0, "target": 1}]}',
)
_TEXTS = (
    b"title,text,label\na,the cat sat on the mat in the house,pets\nb,a dog and the cat went to the mat,pets\n"
    b"c,the house of the dog has a mat,homes\n",
    b"the cat sat on the mat in the house\nthe dog and the cat went to the mat\nthe dog is in the house\n",
    b'name\tcontent\n1\t"Cats ""and"" dogs,\nand mats"\n2\tcats and dogs again\n',
    "id;text\n1;Überall liegen Katzen und Hunde\n2;Katzen und Hunde überall\n".encode("latin-1"),
    "猫がマットの上に座った\n犬と猫が家にいる\n".encode(),
)
_NUMBERED = (
    b"3\n4\n5\n1 1 2\n1 2 1\n2 3 1\n3 4 2\n3 1 1\n",
    b"2 0:1 3:2\n1 1:4\n0\n3 0:1 1:1 2:1\n",
    b"doc,word,count\na,cat,2\na,dog,1\nb,cat,1\n",
    b"document\tword\n1\tcat\n1\tdog\n2\tcat\n",
    b"doc,cat,dog,mat,house,class\na,2,0,1,0,x\nb,0,3,0,0,y\nc,0,0,1,4,x\n",
)
_WORDS = (b"cat\ndog\nmat\nhouse\n", "kätzchen\nhund\nmatte\nhaus\n".encode("utf-16"))
_TABLES = (
    b"city,rain,sun\nBergen,2495,1187\nBari,588,2459\nNice,733,2724\n",
    b"a;b;c\n1,5;2,5;?\n-3;4e2;1\n0;;7\n",
    b"1 2 3\n4 5 6\n7 8 10\n",
    b"name\tage\tclub\tok\nx\t1\tred\tyes\ny\t2\tblue\tno\nz\tNA\tred\tyes\n",
)
_LABELS = (
    b"name,club\nBob,chess\nAnn,go\nCid,\n",
    b"club;name;role\nx;Ann;a\ny;Bob;b\n",
    b"Ann\tred\nBob\tblue\nDora\tred\n",
)
_NAMES = (b"Ann\nBob\nCid\nDora\n", b"node\nAnn\nBob\nCid\n", "Ann\r\nBob\r\nCid\r\nÅsa".encode("utf-16"))
_JSON_LINES = (
    b'{"source": "a", "target": "b", "n": 1}\n{"source": "b", "target": "c", "n": 0}\n',
    b'{"id": 1, "text": "the cat sat on the mat", "label": "x"}\n'
    b'{"id": 2, "text": "a dog on the mat", "label": null}\n',
    b'{"x": 1.5, "y": 2}\n{"x": 3, "y": null}\n{"y": 5, "x": 0.25}\n',
    b'["a", "b"]\n["b", "c"]\n',
)
_FRAMES = (
    pd.DataFrame({"person": ["Ann", "Bob", None], "event": ["Fair", "Ball", "Ball"], "n": [1, 0, 1]}),
    pd.DataFrame({"title": ["a", "b"], "text": ["the cat sat on the mat", "a dog on a mat with the cat"]}),
    pd.DataFrame({"x": [1.5, None, 2.0], "y": [3, 4, 5], "t": pd.to_datetime(["2020-01-01", None, "2021-05-06"])}),
)  # fmt: skip


def zip_of(members: dict[str, bytes]) -> bytes:
    """Return a zip archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def _saved(array: np.ndarray) -> bytes:
    packed = io.BytesIO()
    np.save(packed, array)
    return packed.getvalue()


def _arrays(**arrays: Any) -> bytes:
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    return packed.getvalue()


def _sparse(matrix: sparse.sparray) -> bytes:
    packed = io.BytesIO()
    sparse.save_npz(packed, matrix)
    return packed.getvalue()


def _database(frame: pd.DataFrame) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        base = sqlite3.connect(Path(folder) / "base")
        base.execute("PRAGMA page_size=512")
        frame.to_sql("things", base, index=False)
        base.commit()
        base.close()
        return (Path(folder) / "base").read_bytes()


def _parquet(frame: pd.DataFrame, compression: str) -> bytes:
    packed = io.BytesIO()
    pyarrow.parquet.write_table(pa.Table.from_pandas(frame), packed, compression=compression)
    return packed.getvalue()


def _arrow(frame: pd.DataFrame, compression: str) -> bytes:
    packed = io.BytesIO()
    pyarrow.feather.write_feather(frame, packed, compression=compression)
    return packed.getvalue()


def _workbook(frame: pd.DataFrame, engine: str) -> bytes:
    packed = io.BytesIO()
    with pd.ExcelWriter(packed, engine=engine) as writer:
        frame.to_excel(writer, index=False)
    return _repack(packed.getvalue())


def _repack(workbook: bytes) -> bytes:
    """Return a workbook whose bytes are the same each time: readers draw their options from them."""
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(workbook)) as old,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            # The time when it was written, and the namespaces, which come in any order.
            content = re.sub(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", b"2026-01-01T00:00:00Z", old.read(name))
            content = re.sub(
                rb'( xmlns:\w+="[^"]*")+', lambda spaces: b" " + b" ".join(sorted(spaces[0].split())), content
            )
            new.writestr(zipfile.ZipInfo(name), content)
    return packed.getvalue()


def load_head(sample: str) -> bytes:
    """Return the first lines of a sample."""
    path = Path(__file__).resolve().parents[2] / "sample_data" / f"{sample}.csv"
    return b"".join(path.read_bytes().splitlines(keepends=True)[:25])


_PLAIN: dict[str, tuple[bytes, ...]] = {
    "links": (*_LINKS, *_MATRICES, load_head("karate"), load_head("southern_women")),
    "market": _MARKET, "graphs": _GRAPHS, "texts": _TEXTS, "numbered": _NUMBERED, "words": _WORDS,
    "tables": (*_TABLES, load_head("fertility")), "labels": _LABELS, "names": _NAMES, "json-lines": _JSON_LINES,
}  # fmt: skip


@cache
def seeds_of(name: str) -> tuple[bytes, ...]:
    """Return small files of a format, or of a few that belong together."""
    if name in _PLAIN:
        return _PLAIN[name]
    match name:
        case "archives":
            texts = {"a.txt": b"the cat sat on the mat", "b/c.txt": b"a dog and the cat"}
            return (zip_of(texts | {"d.txt": b"a dog on a mat"}),)
        case "sparse":
            eye = sparse.csr_array(np.eye(3, 4))
            return tuple(map(_sparse, (eye, eye.tocsc(), eye.tocoo(), eye.todia(), eye.tobsr())))
        case "arrays":
            cells = np.array([[1.0, np.nan, 3], [4, 5, 6], [7, 8, 0]])
            pictures = np.arange(24).reshape(4, 2, 3)
            named = _arrays(cells=cells, rows=np.array(["a", "b", "c"]), labels=np.array(["x", "x", "y"]))
            numbers = sparse.csr_array(np.arange(6).reshape(2, 3))
            return (_saved(cells), _saved(pictures), named, _sparse(numbers))
        case "parquet":
            return tuple(_parquet(frame, kind) for frame in _FRAMES for kind in ("none", "snappy"))
        case "arrow":
            return tuple(_arrow(frame, kind) for frame in _FRAMES for kind in ("uncompressed", "lz4"))
        case "excel":
            return tuple(_workbook(frame, kind) for frame in _FRAMES for kind in ("openpyxl", "odf"))
        case "sqlite":
            return tuple(map(_database, _FRAMES))
    raise KeyError(name)


def memory_folder() -> str | None:
    """Return a folder that is kept in memory, None if there is none."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
