"""What is written in each format is read back the same, and the report tells what was done."""

from __future__ import annotations

import csv
import gzip
import io
import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.io
from hypothesis import strategies as st
from scipy import sparse

import acvb_core
from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.relation import Relation
from acvb_core.data.relation_readers import inspect_source, load_relation
from acvb_core.data.sources.values import value_kind
from tests.loops import for_each

# Anything a person can type, quotes, commas, line breaks and blanks inside included. Without quotes around it, a
# label can neither begin nor end with a blank, so labels do not.
labels = st.text(
    st.characters(exclude_categories=["Cc", "Cs"]) | st.sampled_from('",;\t|\n'), min_size=1
).filter(lambda text: text == text.strip() and "\r" not in text and not text.startswith("\ufeff"))


def written(records, delimiter=",") -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(records)
    return out.getvalue().encode()


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
    "integers without a header are data": ("1,2\n3,4\n", {}, ["1", "3"], ["2", "4"]),
    "a name above integers is a header": ("who,what\n1,2\n3,4\n", {}, ["1", "3"], ["2", "4"]),
    "texts without a known header are data": ("Ann,Fair\nBob,Fair\n", {}, ["Ann", "Bob"], ["Fair"]),
    "a header asked for": ("Ann,Fair\nBob,Fair\n", {"header": True}, ["Bob"], ["Fair"]),
    "no header asked for": ("row,col\nBob,Fair\n", {"header": False}, ["row", "Bob"], ["col", "Fair"]),
    "spaces between numbers": ("# FromNodeId ToNodeId\n1  2\n 3 4 \n", {}, ["1", "3"], ["2", "4"]),
    "spaces in names": ("Ann Lee;Fair of May\nBob;Fair of May\n", {}, ["Ann Lee", "Bob"], ["Fair of May"]),
    "commas in names": ("Lee, Ann;Fair\nRay, Bob;Ball\n", {}, ["Lee, Ann", "Ray, Bob"], ["Fair", "Ball"]),
    "columns swapped by name": ("row,col\na,x\nb,x\n", {"row_column": "col"}, ["x"], ["a", "b"]),
    "a matrix without labels": ("0,1,0,1\n1,0,NA,0\n", {}, ["0", "1"], ["0", "1", "2", "3"]),
    "a matrix with an empty corner": (",x,y\nAnn,1,0\nBob,0,1\n", {}, ["Ann", "Bob"], ["x", "y"]),
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


@for_each("domains", ["one", "two"])
def test_a_first_line_that_may_be_names_of_columns_is_told_of(domains):
    body = "a,b\nb,c\nc,d\n" if domains == "one" else "a,x\nb,x\nb,y\n"

    def told(first, **options):
        lines = loaded(f"{first}\n{body}", domains=domains, **options).report.lines()
        return [line for line in lines if "may be names of columns" in line]

    assert told("Modul,nutzt") == [
        "Modul and nutzt, on the first line, occur with each other only. They may be names of columns, and not data."
    ]
    for first in (
        "a,nutzt",
        "Modul,b" if domains == "one" else "Modul,x",
        "sender,receiver",
        "Modul,nutzt\nModul,a",
    ):
        assert told(first) == []
    assert told("Modul,nutzt\nso,so2") == [], "another pair of its own: the first line is like the others"
    assert told("Modul,nutzt", header=False) == [], "the answer was given"
    assert told("7,8") == [], "numbers are no names of columns"


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
        "Values from 3 to 4.5 are used as linked or not linked only: 1 above 4 as linked, 2 other than 0 as not linked."
    )


def test_decimal_thresholds_compare_exactly():
    found = loaded("row,col,score\na,x,0.3\nb,x,0.30000000000000004\n", threshold=0.3)
    assert found.data.ones.toarray().ravel().tolist() == [False, True]


def test_repeated_links_are_merged_and_counted():
    found = loaded("row,col\na,x\nb,y\na,x\na,x\n")
    assert found.data.n_ones == 2
    assert found.report.count("duplicates") == 2


def test_repeated_counts_are_added_before_the_threshold():
    text = "row,col,count\na,x,3\na,x,3\nb,x,2\nb,x,1\nc,x,0\nc,x,9\n"
    found = loaded(text, threshold=5)
    assert found.data.ones.toarray().ravel().tolist() == [True, False, True]
    assert found.report.count("duplicates") == 3


def test_a_known_value_prevails_over_missing():
    found = loaded("row,col,value\na,x,1\na,x,NA\nb,x,NA\nb,x,0\nc,x,NA\n")
    np.testing.assert_array_equal(found.data.ones.toarray().ravel(), [1, 0, 0])
    np.testing.assert_array_equal(found.data.missing.toarray().ravel(), [0, 0, 1])
    assert found.report.count("known_over_missing") == 2
    assert found.report.count("duplicates") == 0


def test_zeros_one_by_one_leave_unlisted_pairs_to_choose():
    text = "row,col,value\na,x,1\na,y,0\nb,x,0\n"
    found = loaded(text)
    assert (found.data.n_missing, found.report.count("unlisted")) == (0, 1)
    assert "choose" in " ".join(found.report.lines())
    chosen = loaded(text, unlisted="missing").data
    np.testing.assert_array_equal(chosen.missing.toarray(), [[0, 0], [0, 1]])


def test_value_column_can_be_switched_off_or_chosen():
    text = "source,target,value,weight\na,x,0,1\nb,x,1,0\n"
    assert loaded(text, value_column=False).data.n_ones == 2
    assert loaded(text, value_column=False).schema.value_column is None
    assert loaded(text, value_column="weight").schema.value_column == 3
    assert loaded(text, value_column="weight").data.ones.toarray().ravel().tolist() == [True, False]
    assert loaded(text, value_column=3).data.ones.toarray().ravel().tolist() == [True, False]


def test_shape_makes_labels_indices():
    found = loaded("0,1\n2,02\n", shape=(4, 3))
    np.testing.assert_array_equal(found.data.ones.toarray(), [[0, 1, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0]])
    assert found.report.count("empty_rows") == 2
    assert found.report.count("empty_columns") == 1


def test_one_set_of_objects_on_both_sides():
    found = loaded("source,target\na,b\nc,c\n", same_nodes=True, domains="two")
    assert found.data.row_labels.tolist() == found.data.column_labels.tolist() == ["a", "b", "c"]
    assert found.report.count("self_links") == 1
    assert found.report.count("shared_labels") == 3


def test_node_list_files(tmp_path):
    (tmp_path / "people.txt").write_text("node\nZoë\nAnn, Bob\nidle\n", encoding="utf-8")
    found = loaded('row,col\n"Ann, Bob",x\nZoë,x\n', row_nodes=tmp_path / "people.txt")
    assert found.data.row_labels.tolist() == ["Zoë", "Ann, Bob", "idle"]
    assert found.report.count("empty_rows") == 1
    assert found.report.count("node_list_heading") == 1


def test_comments_blank_lines_and_blanks_are_told():
    found = loaded("# a note\n% another, note\nrow,col\n\na , x\nb,y\n\n")
    assert found.data.row_labels.tolist() == ["a", "b"]
    report = found.report
    assert (report.count("comment_lines"), report.count("blank_lines"), report.count("trimmed")) == (2, 2, 2)
    assert report.count("lines") == 7


def test_encoding_can_be_chosen_and_is_told():
    found = load_relation("row,col\nJosé,x\n".encode("cp1252"), encoding="cp1252")
    assert found.data.row_labels.tolist() == ["José"]
    assert "The text was decoded as cp1252." in found.report.lines()


def test_matrix_market_kinds():
    head = "%%MatrixMarket matrix coordinate "
    symmetric = loaded(head + "pattern symmetric\n% note\n3 3 2\n2 1\n3 3\n").data
    np.testing.assert_array_equal(symmetric.ones.toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    counted = loaded(head + "integer general\n2 2 3\n1 1 2\n1 1 3\n2 1 4\n", threshold=4)
    np.testing.assert_array_equal(counted.data.ones.toarray(), [[1, 0], [0, 0]])
    dense = loaded("%%MatrixMarket matrix array real general\n2 2\n1\n0\n0\n1\n").data
    np.testing.assert_array_equal(dense.ones.toarray(), np.eye(2))


def test_inspect_shows_what_the_page_needs():
    layout = inspect_source(gzip.compress(b"source;target;weight\n" + b"a;x;3\nb;y;0\n" * 30), "net.csv.gz")
    assert (layout.format, layout.gzipped, layout.delimiter, layout.header) == ("edges", True, ";", True)
    assert layout.column_names == ("source", "target", "weight")
    assert (layout.row_column, layout.column_column, layout.value_column) == (0, 1, 2)
    assert (len(layout.rows), layout.rows[0]) == (20, ("a", "x", "3"))
    json.dumps(layout.to_dict())


def test_inspect_takes_what_is_given():
    source = b"source,target,weight\na,1,1\nb,0,0\n"
    assert inspect_source(source, header=False).rows[0] == ("source", "target", "weight")
    assert inspect_source(source, format="matrix").format == "matrix"
    with pytest.raises(DataError, match="one field"):
        inspect_source(source, delimiter=";")


@for_each(
    "values, kind",
    [
        ("0 1 1", "0/1"),
        ("y n ?", "yes/no"),
        ("0 5 2", "counts"),
        ("0.5 1 2", "numbers"),
        ("NA ? NA", "missing"),
    ],
)
def test_values_are_of_one_kind(values, kind):
    assert value_kind(values.split()) == kind


def test_sources_of_every_sort_and_their_names(tmp_path):
    path = tmp_path / "outings.csv.gz"
    path.write_bytes(gzip.compress(b"row,col\na,x\n"))
    with path.open("rb") as handle:
        for source in (path, str(path), handle):
            assert load_relation(source).data.name == "outings"
        assert not handle.closed
    assert load_relation(path.read_bytes(), filename="a.csv").data.name == "a"
    assert load_relation(path, name="mine").data.name == "mine"


def test_columns_far_to_the_right_have_names_and_are_looked_at() -> None:
    names = [f"c{at}" for at in range(43)]
    text = "He walked along the river and looked at the old boats until the evening came"
    lines = [",".join([*names, "person", "event", "review"])]
    lines += [",".join([*map(str, range(43)), f"P{at % 3}", f"E{at % 2}", f"{text} {at}"]) for at in range(9)]
    content = "\n".join(lines).encode()
    assert inspect_source(content).column_names[43:] == ("person", "event", "review")
    with pytest.raises(DataError, match="'review' holds long texts"):
        load_relation(content)
    loaded = load_relation(content, row_column="person", column_column="event", value_column=False)
    assert loaded.data.shape == (3, 2)


def test_ids_beside_a_matrix_are_names() -> None:
    """A pivot of users and items, both numbered: as a frame with an index, with a column, and as CSV."""
    cells = (np.random.default_rng(0).random((12, 8)) < 0.45).astype(int)
    users, items = [str(100 + i) for i in range(12)], [str(j + 1) for j in range(8)]
    frame = pd.DataFrame(cells, pd.Index(range(100, 112), name="userId"), range(1, 9))
    for form in (frame, frame.reset_index(), frame.to_csv().encode()):
        assert_same(load_relation(form).data, users, items, cells)
    assert (
        acvb_core.fit(frame, "vb", k_rows=2, k_cols=2, max_sweeps=2).rows["object"].tolist()[0] in frame.index
    )


def test_whole_numbers_are_one_id_with_and_without_a_fraction() -> None:
    """Three users were four: 1.0 and 1 were two."""
    loaded = load_relation(b"user,item\n1.0,a\n1,b\n2.0,a\n3,c\n")
    assert loaded.data.row_labels.tolist() == ["1", "2", "3"]
    assert loaded.report.count("whole_ids") == 1
    network = load_relation(b"source,target\n1.0,2\n2.0,3\n3.0,1\n")
    assert (network.data.shape, network.data.row_labels.tolist()) == ((3, 3), ["1", "2", "3"])
    versions = load_relation(b"package,version\na,1.0\nb,1.0\nb,1.1\n")
    assert versions.data.column_labels.tolist() == ["1.0", "1.1"]
    assert load_relation([(1.0, "a"), (1, "b")]).data.row_labels.tolist() == ["1"]


@for_each("rounded", ["1.23457E+11", "9.007199254740992e+15"])
def test_ids_that_were_rounded_are_refused(rounded: str) -> None:
    text = f"user,item\n12,a\n{rounded},b\n".encode()
    with pytest.raises(DataError, match="line 3, column 1: this id is a rounded number"):
        load_relation(text)
    names = f"user,item\nann,a\n{rounded},b\n".encode()
    assert load_relation(names).data.row_labels.tolist() == ["ann", rounded]


def test_ids_of_a_frame_that_floats_cannot_tell_apart_are_refused() -> None:
    """Two users became one."""
    frame = pd.DataFrame({"user": [9007199254740993.0, 9007199254740992.0, 5.0], "item": list("abc")})
    with pytest.raises(DataError, match="row 1, column 'user': this id is a rounded number"):
        load_relation(frame)


def test_a_first_line_that_may_be_a_heading_is_asked_about() -> None:
    """Buyer and Product were two more objects, with a link."""
    lines = [
        "Buyer,Product",
        "ann,milk",
        "ann,beer",
        "bob,milk",
        "bob,beer",
        "cyd,milk",
        "cyd,wine",
        "ann,wine",
    ]
    text = "\n".join(lines).encode()
    book = io.BytesIO()
    pd.read_csv(io.BytesIO(text)).to_excel(book, index=False)
    for content, place in ((text, "line"), (gzip.compress(text), "line"), (book.getvalue(), "row")):
        with pytest.raises(
            DataError, match=f"the first {place} may hold the names of the columns"
        ) as refused:
            load_relation(content, filename="sales.xlsx" if place == "row" else "sales.csv")
        assert refused.value.remedy == "Say whether it holds names (header=True) or data (header=False)."
        assert load_relation(content, header=True).data.shape == (3, 3)
        assert load_relation(content, header=False).data.shape == (4, 4)
    assert load_relation(text.replace(b"cyd,wine", b"cyd,tea")).data.shape == (4, 5), "tea, too, occurs once"


AMOUNTS = "buyer,goods,amount\nann,tea,1\nann,jam,167\nbob,tea,40\nbob,jam,-3\ncyd,tea,0\n"


def test_what_is_given_up_of_amounts_is_said_first() -> None:
    matrix = ",tea,jam\nann,1,167\nbob,40,-3\ncyd,0,\n"
    told = (
        "Values from -3 to 167 are used as linked or not linked only: 3 above 0 as linked, "
        "1 other than 0 as not linked."
    )
    stored = sparse.coo_array(([1.0, 167, 40, -3, 0], ([0, 0, 1, 1, 2], [0, 1, 0, 1, 0])))
    for form in (
        AMOUNTS.encode(),
        gzip.compress(matrix.encode()),
        np.array([[1, 167], [40, -3], [0, np.nan]]),
        stored,
    ):
        found = load_relation(form, threshold=0)
        assert found.report.lines()[0] == told
        assert "1 value is negative: taken as no link." in found.report.lines()
    assert loaded("buyer,goods,amount\nann,tea,1\nbob,tea,0\n").report.count("values") == 0
    low = loaded(AMOUNTS, threshold=200)
    assert low.report.lines()[0].endswith("0 above 200 as linked, 4 other than 0 as not linked.")


def test_a_threshold_may_be_a_quantile(tmp_path) -> None:
    """Of the positive values that are read: of 1 to 10, links are those above 9.1."""
    cells = np.arange(1.0, 11).reshape(5, 2)
    lines = [f"r{i},c{j},{cells[i, j]:g}" for i in range(5) for j in range(2)]
    table = [",c0,c1", *(f"r{i},{cells[i, 0]:g},{cells[i, 1]:g}" for i in range(5))]
    graph = nx.Graph()
    graph.add_weighted_edges_from((f"r{i}", f"c{j}", cells[i, j]) for i in range(5) for j in range(2))
    path = tmp_path / "list.csv"
    path.write_text("\n".join(["row,col,value", *lines, "r0,c2,0", "r1,c2,-5"]))
    market = io.BytesIO()
    scipy.io.mmwrite(market, sparse.coo_array(cells))
    forms = [
        path,
        gzip.compress("\n".join(table).encode()),
        cells,
        sparse.csr_array(cells),
        graph,
        market.getvalue(),
    ]
    forms += [pd.read_csv(path), [(f"r{i}", f"c{j}", cells[i, j]) for i in range(5) for j in range(2)]]
    for form in forms:
        found = load_relation(form, threshold="90%", directed=None if form is not graph else False)
        assert found.data.n_links == 1
        assert "The threshold is 9.1, the 90% quantile of 10 positive values." in found.report.lines()
        assert load_relation(form, threshold="0 %").data.n_links == 9
    assert acvb_core.fit(path, "vb", threshold="90%", max_sweeps=1).prepared.data.n_ones == 1
    clash = path.read_text().replace("r1,c2,-5", "r4,c1,0.5").encode()
    with pytest.raises(DataError, match="the pair is a link on line 11 and no link on line 13"):
        load_relation(clash, threshold="50%")
    with pytest.raises(DataError, match="no value is above 0"):
        loaded("row,col,value\na,x,0\n", threshold="90%")
    for wrong in ("90", "100%", "-1%", "many"):
        with pytest.raises(ParameterError, match="threshold is a number, or a quantile"):
            loaded("row,col,value\na,x,0\n", threshold=wrong)
