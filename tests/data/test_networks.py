"""Networks: when a file contains one, pair by pair as the rules say, and known labels of the objects."""

from __future__ import annotations

import gzip
import io
import itertools
import json

import numpy as np
import pandas as pd
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.network import as_network
from acvb_core.data.relation import Network, Relation
from acvb_core.data.relation_readers import inspect_source, load_labels, load_relation
from tests.loops import for_each

NAMES = ["ann", "bob", "cy", "di"]
# What a file says of a pair: linked, not linked, missing, or nothing at all.
SAID = {"1": "1", "0": "0", "?": "NA", "": None}


@st.composite
def said(draw):
    """What is said of each ordered pair of some names; at least one thing is."""
    pairs = list(itertools.product(NAMES, repeat=2))
    found = draw(st.lists(st.sampled_from(list(SAID)), min_size=len(pairs), max_size=len(pairs)))
    return dict(zip(pairs, found, strict=True)) | {("ann", "bob"): "1"}


def expected(of, directed, self_links, unlisted):
    """What a pair is: "1", "0" or "?"."""

    def entry(a, b):
        ways = [of[a, b]] if directed else [of[a, b], of[b, a]]
        if a == b and not self_links:
            return "?"
        for sign in ("1", "0", "?"):  # a link prevails, then what is known
            if sign in ways:
                return sign
        return "0" if unlisted == "zero" else "?"

    return entry


@given(said(), st.booleans(), st.booleans(), st.sampled_from(["zero", "missing"]))
def test_every_pair_of_a_list_is_as_the_rules_say(of, directed, self_links, unlisted):
    lines = [f"{a},{b},{SAID[sign]}" for (a, b), sign in of.items() if sign]
    found = load_relation(
        "\n".join(["source,target,value", *lines]).encode(),
        domains="one",
        directed=directed,
        self_links=self_links,
        unlisted=unlisted,
    )
    relation = found.data
    assert relation.network == Network(directed, self_links)
    entry = expected(of, directed, self_links, unlisted)
    for i, a in enumerate(relation.row_labels):
        for j, b in enumerate(relation.row_labels):
            sign = "1" if relation.ones[i, j] else "?" if relation.missing[i, j] else "0"
            assert sign == entry(a, b), (a, b)
    own = sum(of[a, a] == "1" for a in NAMES)
    assert found.report.count("self_links_left_out") == (0 if self_links else own)
    pairs = [(of[a, b], of[b, a]) for a, b in itertools.combinations(NAMES, 2)]
    one_way = sum((a == "1") != (b == "1") for a, b in pairs)
    denied = sum({a, b} == {"1", "0"} for a, b in pairs)
    assert found.report.count("one_way") == (0 if directed else one_way)
    assert found.report.count("denied_one_way") == (0 if directed else denied)


@given(said(), st.booleans(), st.booleans())
def test_every_pair_of_a_table_is_as_the_rules_say(of, directed, self_links):
    of = {pair: sign or "0" for pair, sign in of.items()}  # a table says something of every pair
    ones = [[of[a, b] == "1" for b in NAMES] for a in NAMES]
    missing = [[of[a, b] == "?" for b in NAMES] for a in NAMES]
    made = as_network(
        Relation.build(ones, missing, row_labels=NAMES, column_labels=NAMES),
        directed=directed,
        self_links=self_links,
    )
    relation = made.data
    entry = expected(of, directed, self_links, "zero")
    found = np.where(relation.ones.toarray(), "1", np.where(relation.missing.toarray(), "?", "0"))
    assert found.tolist() == [[entry(a, b) for b in NAMES] for a in NAMES]
    known = sum({of[a, b], of[b, a]} in ({"?", "0"}, {"?", "1"}) for a, b in itertools.combinations(NAMES, 2))
    assert made.report.count("known_one_way") == (0 if directed else known)


def test_nodes_are_the_rows_and_then_the_other_columns():
    relation = Relation.build(
        [[1, 0, 1], [0, 1, 0]],
        row_labels=["b", "a"],
        column_labels=["c", "a", "d"],
        attributes={"club": ["x", "y"]},
    )
    network = as_network(relation, directed=True).data
    assert network.row_labels.tolist() == network.column_labels.tolist() == ["b", "a", "c", "d"]
    assert network.attributes["club"].tolist() == ["x", "y", "", ""]
    assert sorted(zip(*network.ones.nonzero(), strict=True)) == [(0, 2), (0, 3), (1, 1)]
    # Nothing was said of what columns do to anybody, nor of links to the first row.
    silent = as_network(relation, directed=True, unlisted="missing").data
    expected = np.ones((4, 4), dtype=bool)
    expected[np.ix_([0, 1], [1, 2, 3])] = False
    np.testing.assert_array_equal(silent.missing.toarray(), expected)


@for_each(
    "heading, word, directed",
    [
        ("Type", "Undirected", False),
        ("Type", "Directed", True),
        ("directed", "TRUE", True),
        ("undirected", "1", False),
    ],
)
def test_a_column_says_whether_links_have_a_direction(heading: str, word: str, directed: bool) -> None:
    """Gephi's table of edges. The column was left out, or taken for the value of a link: "0" for none."""
    text = f"Source,Target,{heading},Weight\n1,2,{word},1\n2,3,{word},1\n3,1,{word},1\n"
    for form in (text.encode(), pd.read_csv(io.StringIO(text), dtype=str)):
        loaded = load_relation(form)
        assert loaded.data.network.directed is directed
        assert loaded.data.n_ones == 3 * (2 - directed)
        said = f"The network is {'' if directed else 'un'}directed: the column {heading!r} says so."
        assert said in loaded.report.lines()
    asked = load_relation(text.encode(), directed=not directed)
    assert asked.data.network.directed is not directed


def test_ends_of_sorted_pairs_give_no_direction_by_themselves() -> None:
    """Undirected links are exported like that. Every such list was a directed network."""
    names, pairs = "from,to", "1,2\n1,10\n2,10\n10,11\n11,11\n"
    text = f"{names}\n{pairs}"
    for form in (text.encode(), pd.read_csv(io.StringIO(text))):
        with pytest.raises(DataError, match="may give links a direction or not") as refused:
            load_relation(form)
        assert "(directed=True) or that they have none (directed=False)" in refused.value.remedy
    with pytest.raises(DataError, match="the names of the columns may give links a direction or not"):
        load_relation(f"# a comment\n# {names}\n{pairs}".encode())
    assert load_relation(text.encode(), directed=True).data.n_links == 5
    for said in (f"{names}\n2,1\n{pairs}", f"{names}\n{pairs}12,11\n", f"follower,followee\n{pairs}"):
        assert load_relation(said.encode()).data.network == Network(True, True)
    denied = f"{names},value\n1,2,1\n2,3,1\n3,4,1\n2,1,0\n"
    assert load_relation(denied.encode()).data.network == Network(True)


BOTH_WAYS = "1,2\n2,1\n2,3\n3,2\n3,4\n4,3\n"


def loaded(text: str, **options):
    return load_relation(text.encode(), **options)


@for_each(
    "text, network, why",
    [
        # Headings of a network, names on both sides.
        ("source,target\n1,2\n2,3\n", Network(True), "of a network, and 1 of 3 names occurs on both"),
        ("From,To\na,b\nb,c\nc,c\n", Network(True, True), "2 of 3 names occur on both"),
        ("from_user,to_user\n1,2\n2,1\n", Network(False), "named as those"),
        ("from_name,from_id,to_name,to_id\nA,1,B,2\nB,2,C,3\n", Network(True), "1 of 3 names occurs"),
        ("sender,recipient,value\n1,2,3\n2,3,1\n", Network(True), "named as those"),
        ("userID\tfriendID\n2\t275\n275\t2\n", Network(False), "named as those"),
        ("# FromNodeId\tToNodeId\n1\t2\n2\t3\n", Network(True), "named as those"),
        (
            "a1,a2\n" + "".join(f"{i},{i + 40}\n" for i in range(41)),
            Network(False),
            "1 of 81 names occurs on both",
        ),
        # Names that are words.
        ("Ann,Bob\nBob,Cy\nCy,Ann\n", Network(False), "3 of 3 names occur on both"),
        ("Ann,Bob,1\nBob,Ann,0\nBob,Cy,1\n", Network(True), "2 of 3 names occur on both"),
        # Numbers, but every link goes both ways.
        (BOTH_WAYS, Network(False), "every link goes both ways"),
        ("row,col\n" + BOTH_WAYS + "2,2\n", Network(False, True), "every link goes both ways"),
        # A table with the same names at the top and at the left.
        (",1,2\n1,0,1\n2,0,0\n", Network(False), "same names at the top"),
        (",x,y,z\nx,0,1,0\ny,1,0,0\nz,0,1,0\n", Network(True), "3 of 3 names"),
        # A table without names that is symmetric.
        ("0,1,1,0\n1,0,1,0\n1,1,0,1\n0,0,1,0\n", Network(False), "the matrix is square"),
    ],
)
def test_networks_are_found(text, network, why):
    found = loaded(text)
    assert found.data.network == network
    assert why in " ".join(found.report.lines())
    sides = found.schema.sides
    assert (sides.domains, sides.directed, sides.self_links) == ("one", network.directed, network.self_links)
    assert why in sides.reason
    assert json.loads(json.dumps(found.schema.to_dict()))["sides"]["domains"] == "one"


@for_each(
    "text, why",
    [
        ("person,event\nAnn,Fair\nBob,Fair\n", "no name occurs on both"),
        ("source,target\nAnn,Fair\nBob,Fair\n", "no name occurs on both"),
        ("userID,artistID\n1,2\n2,3\n3,1\n3,4\n", "3 of 4 names occur on both, numbers"),
        ("1,1\n2,2\n3,3\n4,4\n", "nothing else says"),
        ("Ann,Fair\nBob,Fair\nCy,Ball\nFair,Ball\nDi,Gala\nEd,Show\n", "1 of 9 names occurs on both, too few"),
        ("0,1,1,0\n1,0,0,0\n1,1,0,1\n0,0,1,0\n", "the file names none"),
        ("source,target\n" + "".join(f"{i},{i + 200}\n" for i in range(201)), "1 of 401 names occurs on both"),
    ],
)  # fmt: skip
def test_two_kinds_of_objects_stay_two(text, why):
    found = loaded(text)
    assert found.data.network is None
    assert why in " ".join(found.report.lines())
    assert (found.schema.sides.domains, found.schema.sides.directed) == ("two", None)


def test_the_user_has_the_last_word():
    text = "source,target\na,b\nb,a\nb,c\nc,c\n"
    found = loaded(text)
    assert found.data.network == Network(True, True)
    assert loaded(text, domains="two").data.shape == (3, 3)
    assert loaded(text, domains="two").data.network is None
    found = loaded(text, directed=False)
    assert (found.data.network, found.data.n_links) == (Network(False, True), 3)
    assert "1 of 2 linked pairs is linked one way only" in " ".join(found.report.lines())
    found = loaded(text, self_links=False)
    assert (found.data.network, found.data.n_links) == (Network(True, False), 3)
    assert "1 link of an object to itself was left out" in " ".join(found.report.lines())
    apart = "person,event\nAnn,Fair\nBob,Fair\n"
    for options in ({"domains": "one"}, {"directed": True}, {"self_links": False}, {"same_nodes": True}):
        relation = loaded(apart, **options).data
        assert sorted(relation.row_labels) == ["Ann", "Bob", "Fair"]
        assert relation.network is not None
        assert (relation.row_kind, relation.column_kind) == ("node", "node")


M = ["m1", "m2", "m3", "m4"]
CIRCLE = "a,b\nm1,m2\nm2,m3\nm3,m1\n"


@for_each(
    "text, options, why, shape",
    [
        (CIRCLE, {"row_nodes": M[:3], "column_nodes": M}, "differ", (3, 4)),
        ("source,target\n0,1\n1,0\n2,3\n", {"shape": (5, 4)}, "5 x 4, is not square", (5, 4)),
    ],
)
def test_sides_that_are_given_as_different_are_two_kinds(text, options, why, shape):
    assert loaded(text).data.network is not None
    found = loaded(text, **options)
    assert (found.data.network, found.data.shape) == (None, shape)
    assert (found.schema.sides.domains, found.schema.sides.directed) == ("two", None)
    assert why in found.schema.sides.reason
    assert found.schema.sides.reason in found.report.lines()
    for asked in ({"domains": "one"}, {"directed": True}, {"self_links": False}):
        with pytest.raises(ParameterError, match=r"one node list.*differ|must be square.*domains='two'"):
            loaded(text, **options, **asked)


RELATION = Relation.build([[0, 1], [1, 0], [1, 1]], row_labels=["Ann", "Bob", "3"])


def test_short_names_of_columns_may_be_objects():
    assert not inspect_source(b"ego,alter\nann,bob\nbob,cyd\ncyd,ann\n").header


def test_links_with_and_without_a_direction_are_asked_about() -> None:
    text = "Source,Target,Type\n1,2,Directed\n2,3,Undirected\n3,1,Directed\n"
    with pytest.raises(DataError, match="line 3, column 3: some links have a direction and some have none"):
        loaded(text)
    found = loaded(text, directed=True)
    assert (found.data.n_ones, found.report.count("undirected_as_directed")) == (3, 1)


def test_labels_are_matched_to_their_objects():
    found = load_labels(gzip.compress(b"name;club;age\n3;go;\nAnn;chess;41\nBob;go;7\n"), RELATION)
    assert {name: values.tolist() for name, values in found.items()} == {
        "club": ["chess", "go", "go"],
        "age": ["41", "7", ""],
    }
    assert found.report.lines() == [
        "Read 4 lines of labels; the first holds names.",
        "3 of 3 objects have labels: club, age.",
    ]


@for_each(
    "text, place, what",
    [
        (b"name,club\nzed,go\nyan,chess\n", (2, 1), r"none of the 2 names.*'Ann', 'Bob', '3'.*'zed, yan'"),
        (b"name,club\nAnn,go\nAnn,go\nBob,go\nAnn,chess\n", (5, 1), "other labels on line 2"),
        (b"name,club,club\nAnn,go,chess\n", (1, None), "same name"),
        (b"name,club\n", (None, None), "no labels"),
    ],
)
def test_tables_without_labels_are_refused(text, place, what):
    with pytest.raises(DataError, match=what) as told:
        load_labels(text, RELATION, filename="clubs.csv")
    assert (told.value.source, told.value.line, told.value.column) == ("clubs.csv", *place)


@for_each(
    "links, directed, why",
    [
        ([[0, 1, 0], [1, 1, 1], [0, 1, 0]], False, "both ways"),
        ([[0, 1, 1], [0, 0, 1], [0, 0, 0]], False, "one side of the diagonal"),
        ([[0, 1, 0], [0, 0, 1], [1, 0, 0]], True, "no linked pair goes both ways"),
        ([[0, 1, 0], [1, 0, 1], [0, 0, 0]], True, "1 of 2"),
    ],
)
def test_the_direction_of_a_table_is_guessed(links, directed, why):
    made = as_network(Relation.build(links))
    assert made.data.network.directed is directed
    assert any(why in fact.sentence for fact in made.report.facts if fact.name == "direction")


def market(matrix, **options) -> bytes:
    out = io.BytesIO()
    scipy.io.mmwrite(out, sparse.coo_array(matrix), **options)
    return out.getvalue()


def test_matrix_market_says_that_it_is_symmetric():
    found = load_relation(market(np.diag([1.0, 0]), symmetry="symmetric"))
    assert found.data.network == Network(False, True)
    assert "the file says that the matrix is symmetric" in found.schema.sides.reason
    assert "The network is undirected: the file says so." in found.report.lines()
    both = load_relation(market(np.ones((2, 2)) - np.eye(2), symmetry="symmetric"), directed=True)
    assert (both.data.network, both.data.n_links) == (Network(True), 2)
    assert "no direction: 1 pair is linked both ways" in " ".join(both.report.lines())
