"""Relations from files: every form gives the same relation, block by block as all at once, with a report."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import io as scipy_io
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.relation import Relation
from acvb_core.data.relation_readers import inspect_source, load_relation
from benchmarks.read_edges import write_edges
from tests.data.support import saved
from tests.loops import for_each


def assert_same(relation: Relation, rows, columns, table) -> None:
    assert relation.row_labels.tolist() == list(rows)
    assert relation.column_labels.tolist() == list(columns)
    np.testing.assert_array_equal(relation.ones.toarray(), table == 1)
    np.testing.assert_array_equal(relation.missing.toarray(), np.isnan(table))


def loaded(text: str, **options):
    return load_relation(text.encode(), **options)


#: How a text is read: what it shows, the text, options, and the labels of both sides.
READ_AS = {
    "labels are text": ("row,col\n007,NA\n7,1e3\nNaN,null\n", {}, ["007", "7", "NaN"], ["NA", "1e3", "null"]),
    "a name above integers is a header": ("who,what\n1,2\n3,4\n", {}, ["1", "3"], ["2", "4"]),
    "a header asked for": ("Ann,Fair\nBob,Fair\n", {"header": True}, ["Bob"], ["Fair"]),
    "no header asked for": ("row,col\nBob,Fair\n", {"header": False}, ["row", "Bob"], ["col", "Fair"]),
    "spaces between numbers": ("# FromNodeId ToNodeId\n1  2\n 3 4 \n", {}, ["1", "3"], ["2", "4"]),
    "spaces in names": ("Ann Lee;Fair of May\nBob;Fair of May\n", {}, ["Ann Lee", "Bob"], ["Fair of May"]),
    "commas in names": ("Lee, Ann;Fair\nRay, Bob;Ball\n", {}, ["Lee, Ann", "Ray, Bob"], ["Fair", "Ball"]),
    "a matrix without labels": ("0,1,0,1\n1,0,NA,0\n", {}, ["0", "1"], ["0", "1", "2", "3"]),
    "a matrix whose first cell is missing": (",1,,0\n1,0,1,0\n0,1,1,1\n", {}, list("012"), list("0123")),
    "a matrix and further objects": (",x,y\nAnn,1,0\n", {"row_nodes": ["Zed", "Ann"]}, ["Zed", "Ann"], ["x", "y"]),
    "a matrix with a name in its corner": (
        "animal,legs,eyes,tails,ears,wings,fins\ncat,4,2,1,2,0,0\nbee,6,5,0,0,4,0\n", {"threshold": 4},
        ["cat", "bee"], ["legs", "eyes", "tails", "ears", "wings", "fins"],
    ),
    "line ends of Windows": ('row,col\r\na,x\r\n"b\r\nb",y\r\n', {}, ["a", "b\r\nb"], ["x", "y"]),
    "line ends of old Macs": ('row,col\ra,x\r"b\rb",y\r', {}, ["a", "b\rb"], ["x", "y"]),
}  # fmt: skip


@for_each("text, options, rows, columns", READ_AS)
def test_a_text_is_read_as_what_it_says(text, options, rows, columns):
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
        relation = load_relation(text.encode(encoding), domains="two", **options).data
        assert relation.row_labels.tolist() == rows
        assert relation.column_labels.tolist() == columns


def test_a_column_that_numbers_the_lines_is_no_side_of_the_links() -> None:
    content = b"nr,buyer,goods,times\n3,ann,tea,1\n4,bob,tea,2\n9,ann,jam,1\n"
    layout = inspect_source(content)
    assert (layout.row_column, layout.column_column, layout.value_column) == (1, 2, 3)
    others = inspect_source(b"nr,buyer,goods,times\n3,ann,5,1\n4,bob,5,2\n9,ann,6,1\n")
    assert others.row_column == 0, "two columns of names are needed"


def test_a_column_that_belongs_to_the_objects_of_another_is_no_end_of_the_links() -> None:
    segments = {"c1": "families", "c2": "cooks", "c3": "cooks"}
    bought = [pair.split() for pair in ("c1 p1", "c1 p2", "c2 p2", "c2 p3", "c3 p1", "c3 p3", "c3 p2")]
    lines = [f"{segments[who]},{who},{what},name of {what},2,7.5" for who, what in bought]
    given = "segment,customer_id,product_id,product_name,quantity,amount\n" + "\n".join(lines)
    relation = load_relation(given.encode(), filename="sales.csv", threshold=0).data
    assert (relation.row_kind, relation.column_kind) == ("customer_id", "product_id")
    assert relation.weights is not None
    assert set(relation.weights) == {2.0}
    # Where nothing repeats, the first two columns are the ends.
    few = "\n".join(given.splitlines()[:3])
    assert load_relation(few.encode(), filename="sales.csv", threshold=0).data.column_kind == "customer_id"


def test_values_words_and_missing():
    text = "row,col,value\na,x,y\na,y,N\nb,x,TRUE\nb,y,false\nc,x,?\nc,y,\nd,x,na\nd,y,NaN\n"
    found = loaded(text)
    np.testing.assert_array_equal(found.data.ones.toarray(), [[1, 0], [1, 0], [0, 0], [0, 0]])
    np.testing.assert_array_equal(found.data.missing.toarray(), [[0, 0], [0, 0], [1, 1], [1, 1]])
    assert found.report.count("missing") == 4


def test_threshold_is_exclusive_and_reported():
    found = loaded("row,col,rating\na,x,3\nb,x,4\nc,x,4.5\n", threshold=4)
    assert found.data.ones.toarray().ravel().tolist() == [False, False, True]
    assert found.report.lines()[0] == (
        "Values from 3 to 4.5 are read by the threshold 4: 1 above it as linked, 2 other than 0 as not linked. "
        "Models of counts use the values of links as weights; others use linked or not linked only."
    )


def test_a_known_value_prevails_over_missing():
    found = loaded("row,col,value\na,x,1\na,x,NA\nb,x,NA\nb,x,0\nc,x,NA\n")
    np.testing.assert_array_equal(found.data.ones.toarray().ravel(), [1, 0, 0])
    np.testing.assert_array_equal(found.data.missing.toarray().ravel(), [0, 0, 1])
    assert (found.report.count("known_over_missing"), found.report.count("duplicates")) == (2, 0)


def test_value_column_can_be_switched_off_or_chosen():
    text = "source,target,value,weight\na,x,0,1\nb,x,1,0\n"
    assert loaded(text, value_column=False).data.n_ones == 2
    assert loaded(text, value_column="weight").data.ones.toarray().ravel().tolist() == [True, False]
    assert loaded(text, value_column=3).data.ones.toarray().ravel().tolist() == [True, False]


def test_ids_next_to_a_matrix_are_names() -> None:
    """A pivot of users and items, both numbered: as a frame with an index, with a column, and as CSV."""
    cells = (np.random.default_rng(0).random((12, 8)) < 0.45).astype(int)
    users, items = [str(100 + i) for i in range(12)], [str(j + 1) for j in range(8)]
    frame = pd.DataFrame(cells, pd.Index(range(100, 112), name="userId"), range(1, 9))
    for form in (frame, frame.reset_index(), frame.to_csv().encode()):
        assert_same(load_relation(form).data, users, items, cells)


def test_whole_numbers_are_one_id_with_and_without_a_fraction() -> None:
    """Three users were four: 1.0 and 1 were two."""
    loaded = load_relation(b"user,item\n1.0,a\n1,b\n2.0,a\n3,c\n")
    assert loaded.data.row_labels.tolist() == ["1", "2", "3"]
    assert loaded.report.count("whole_ids") == 1
    versions = load_relation(b"package,version\na,1.0\nb,1.0\nb,1.1\n")
    assert versions.data.column_labels.tolist() == ["1.0", "1.1"]
    assert load_relation([(1.0, "a"), (1, "b")]).data.row_labels.tolist() == ["1"]


@for_each("rounded", ["1.23457E+11", "9.007199254740992e+15"])
def test_ids_that_were_rounded_are_refused(rounded: str) -> None:
    text = f"user,item\n12,a\n{rounded},b\n".encode()
    with pytest.raises(DataError, match="line 3, column 1: this id is a rounded number"):
        load_relation(text)
    with pytest.raises(DataError, match="this id is a rounded number"):
        load_relation(b'{"user": 12345678901234567.0, "item": "a"}\n{"user": 5.0, "item": "b"}\n')
    names = f"user,item\nann,a\n{rounded},b\n".encode()
    assert load_relation(names).data.row_labels.tolist() == ["ann", rounded]


def test_a_first_line_that_may_be_a_heading_is_asked_about() -> None:
    """Buyer and Product were two more objects, with a link."""
    text = b"Buyer,Product\nann,milk\nann,beer\nbob,milk\nbob,beer\ncyd,milk\ncyd,wine\nann,wine\n"
    book = io.BytesIO()
    pd.read_csv(io.BytesIO(text)).to_excel(book, index=False)
    for content, place in ((text, "line"), (book.getvalue(), "row")):
        with pytest.raises(DataError, match=f"the first {place} may hold the names of the col") as refused:
            load_relation(content)
        assert refused.value.remedy == "Say whether it holds names (header=True) or data (header=False)."
        assert load_relation(content, header=True).data.shape == (3, 3)
        assert load_relation(content, header=False).data.shape == (4, 4)
    assert load_relation(text.replace(b"cyd,wine", b"cyd,tea")).data.shape == (4, 5), "tea, too, occurs once"


def test_a_threshold_may_be_a_quantile(tmp_path) -> None:
    """Of the positive values that are read: of 1 to 10, links are those above 9.1."""
    cells = np.arange(1.0, 11).reshape(5, 2)
    lines = [f"r{i},c{j},{cells[i, j]:g}" for i in range(5) for j in range(2)]
    table = [",c0,c1", *(f"r{i},{cells[i, 0]:g},{cells[i, 1]:g}" for i in range(5))]
    graph = nx.Graph()
    graph.add_weighted_edges_from((f"r{i}", f"c{j}", cells[i, j]) for i in range(5) for j in range(2))
    path = tmp_path / "list.csv"
    path.write_text("\n".join(["row,col,value", *lines, "r0,c2,0", "r1,c2,-5"]))
    forms = [path, "\n".join(table).encode(), sparse.csr_array(cells), graph, pd.read_csv(path)]
    for form in forms:
        found = load_relation(form, threshold="90%", directed=None if form is not graph else False)
        assert found.data.n_links == 1
        assert "The threshold is 9.1, the 90% quantile of 10 positive values." in found.report.lines()
        assert load_relation(form, threshold="0 %").data.n_links == 9
    clash = path.read_text().replace("r1,c2,-5", "r4,c1,0.5").encode()
    with pytest.raises(DataError, match="the pair is a link on line 11 and no link on line 13"):
        load_relation(clash, threshold="50%")
    for wrong in ("90", "100%"):
        with pytest.raises(ParameterError, match="threshold is a number, or a quantile"):
            loaded("row,col,value\na,x,0\n", threshold=wrong)


TRICKY = (
    '\ufeff# note\nrow,col,value\r\n"a\nb",x,1\n\n"say ""hi""",y,0\r\n  c , z ,yes\r\n'
    '"Zoë,\r\n", "x" ,NA\n"",x,1\n'
).encode()


@for_each("block_bytes", [*range(1, 9), 13, 21, 34])
def test_blocks_do_not_matter(block_bytes):
    source = TRICKY.replace(b'"",x,1\n', b"d,x,1")
    whole = load_relation(source)
    cut = load_relation(source, block_bytes=block_bytes)
    assert cut.data.fingerprint == whole.data.fingerprint
    assert cut.data.row_labels.tolist() == ["a\nb", 'say "hi"', "c", "Zoë,\r\n", "d"]
    assert cut.report.to_dict() == whole.report.to_dict()


@for_each("block_bytes", [64, 1 << 19])
@for_each(
    "bad, column, what",
    [
        (b"p,q,oops\n", 3, "neither"),
        (b"p,q\0,1\n", 2, "NUL"),
        (b'"p"p,q,1\n', 1, "after the closing quote"),
        (b"\xe9,q,1\n", None, "UTF-8"),
        (b"r1,c1,0\n", 3, "a link on line 2 and no link on line 3,002"),
    ],
)
def test_a_fault_far_down_is_named_by_its_line(block_bytes, bad, column, what):
    good = b"".join(b"r%d,c%d,1\n" % (i % 97 + 1, i % 89 + 1) for i in range(3_000))
    with pytest.raises(DataError, match=what) as caught:
        load_relation(b"row,col,value\n" + good + bad + good, block_bytes=block_bytes)
    assert (caught.value.line, caught.value.column) == (3_002, column)


def test_values_that_never_repeat(monkeypatch):
    monkeypatch.setattr("acvb_core.data.sources.values._MAX_REMEMBERED", 50)
    numbers = np.random.default_rng(2).random(3000)
    text = "row,col,value\n" + "".join(f"{i},x,{number!r}\n" for i, number in enumerate(numbers.tolist()))
    relation = load_relation(text.encode(), threshold=0.5, block_bytes=512).data
    np.testing.assert_array_equal(relation.ones.toarray().ravel(), numbers > 0.5)


def test_a_long_file_takes_little_more_memory_than_its_links(tmp_path):
    root = Path(__file__).parents[2]
    path = tmp_path / "edges.csv.gz"
    write_edges(path, n_lines=2_000_000, n_rows=5_000, n_columns=50_000)
    command = [sys.executable, "-m", "benchmarks.read_edges", "--read", str(path)]
    found = json.loads(subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout)
    assert found["links"] > 1_900_000
    assert found["peak_mb_above_baseline"] < 3 * found["csr_mb"] + 50


ROWS, COLUMNS = ["Ann", "Bob", "Cy", "Dora Lee"], ["fair", "ball", "tea"]
CELLS = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 0, 1]])
TRIPLES = [(ROWS[i], COLUMNS[j], int(CELLS[i, j])) for i, j in np.ndindex(CELLS.shape)]
PAIRS = [(row, column) for row, column, value in TRIPLES if value]
FRAME = pd.DataFrame(CELLS, index=pd.Index(ROWS), columns=COLUMNS)
LINKS = pd.DataFrame(TRIPLES, columns=["source", "target", "value"])
GRAPH = nx.Graph(PAIRS)
nx.set_node_attributes(GRAPH, {name: int(name in COLUMNS) for name in ROWS + COLUMNS}, "bipartite")

#: Forms that hold the names, and those that do not.
NAMED_FORMS: dict[str, Callable[[], Any]] = {
    "comma": lambda: LINKS.to_csv(index=False).encode(),
    "tab, gzipped": lambda: gzip.compress(LINKS.to_csv(index=False, sep="\t").encode()),
    "semicolon, no head": lambda: LINKS.to_csv(index=False, header=False, sep=";").encode(),
    "matrix": lambda: FRAME.to_csv().encode(),
    "node-link, edges": lambda: json.dumps(nx.node_link_data(GRAPH, edges="edges")).encode(),
    "graph": lambda: GRAPH,
    "view of a graph": lambda: GRAPH.copy(as_view=True),
    "pairs": lambda: PAIRS,
    "triples": lambda: TRIPLES,
    "lists": lambda: list(map(list, PAIRS)),
    "generator": lambda: iter(PAIRS),
    "array of pairs": lambda: np.array(PAIRS),
    "frame": lambda: FRAME,
    "nullable frame": lambda: FRAME.astype("Int64"),
    "long frame": lambda: LINKS[["value", "source", "target"]],
}
PLAIN_FORMS: dict[str, Callable[[], Any]] = {
    "MatrixMarket": lambda: saved(scipy_io.mmwrite, sparse.coo_array(CELLS)),
    "npz": lambda: saved(sparse.save_npz, sparse.csr_array(CELLS)),
    "array": lambda: CELLS,
    "csr": lambda: sparse.csr_array(CELLS),
    "coo matrix": lambda: sparse.coo_matrix(CELLS),
}


@for_each("form", [*NAMED_FORMS, *PLAIN_FORMS])
def test_every_form_is_the_same_relation(form: str) -> None:
    named = {} if form in NAMED_FORMS else {"row_nodes": ROWS, "column_nodes": COLUMNS}
    found = load_relation((NAMED_FORMS | PLAIN_FORMS)[form](), domains="two", **named).data
    assert found.row_labels.tolist() == ROWS
    assert found.column_labels.tolist() == COLUMNS
    assert found.fingerprint == Relation.build(CELLS).fingerprint


def test_matrix_market_kinds():
    head = "%%MatrixMarket matrix coordinate "
    symmetric = loaded(head + "pattern symmetric\n% note\n3 3 2\n2 1\n3 3\n").data
    np.testing.assert_array_equal(symmetric.ones.toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    counted = loaded(head + "integer general\n2 2 3\n1 1 2\n1 1 3\n2 1 4\n", threshold=4)
    np.testing.assert_array_equal(counted.data.ones.toarray(), [[1, 0], [0, 0]])


AMOUNTS = "buyer,goods,amount\nann,tea,1\nann,jam,167\nbob,tea,40\nbob,jam,-3\ncyd,tea,0\n"


def test_what_is_given_up_of_amounts_is_said_first() -> None:
    told = (
        "Values from -3 to 167 are read by the threshold 0: 3 above it as linked, 1 other than 0 as not linked. "
        "Models of counts use the values of links as weights; others use linked or not linked only."
    )
    stored = sparse.coo_array(([1.0, 167, 40, -3, 0], ([0, 0, 1, 1, 2], [0, 1, 0, 1, 0])))
    for form in (AMOUNTS.encode(), np.array([[1, 167], [40, -3], [0, np.nan]]), stored):
        found = load_relation(form, threshold=0)
        assert found.report.lines()[0] == told
        assert (
            "1 value is negative: taken as no link. Models of counts refuse such data."
            in found.report.lines()
        )
        assert found.data.negative == 1
    assert loaded("buyer,goods,amount\nann,tea,1\nbob,tea,0\n").report.count("values") == 0
