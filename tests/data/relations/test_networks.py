"""From a relation to a network and back: pair by pair as the rules say, and nothing is left out without a word."""

from __future__ import annotations

import gzip
import io
import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acvb_core.core.errors import DataError
from acvb_core.data.network import as_network, as_two_sided, with_attributes
from acvb_core.data.relation import Network, Relation
from acvb_core.data.relation_readers import load_relation
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
    assert network.network == Network(directed=True, self_links=True)
    assert network.n_missing == 0
    # Nothing was said of what columns do to anybody, nor of links to the first row.
    silent = as_network(relation, directed=True, unlisted="missing").data
    expected = np.ones((4, 4), dtype=bool)
    expected[np.ix_([0, 1], [1, 2, 3])] = False
    np.testing.assert_array_equal(silent.missing.toarray(), expected)


def test_too_many_pairs_nothing_is_known_of(monkeypatch):
    relation = Relation.build([[1, 0], [0, 1]], row_labels=["a", "b"], column_labels=["c", "d"])
    monkeypatch.setattr("acvb_core.data.relation_build.MAX_MISSING", 11)
    with pytest.raises(DataError, match="12 pairs"):
        as_network(relation, unlisted="missing")


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


def test_a_network_goes_back_to_two_sides_and_forth():
    network = as_network(
        Relation.build([[0, 1, 0], [1, 0, 1], [0, 1, 0]], attributes={"club": ["x", "y", "x"]})
    ).data
    apart = as_two_sided(network)
    assert apart.network is None
    np.testing.assert_array_equal(apart.ones.toarray(), network.ones.toarray())
    np.testing.assert_array_equal(apart.missing.toarray(), network.missing.toarray())
    assert as_two_sided(apart) is apart
    assert as_network(apart).data.fingerprint == network.fingerprint
    assert as_network(network).data.fingerprint == network.fingerprint
    assert apart.attributes["club"].tolist() == ["x", "y", "x"]


@for_each("kind, called", [("source", "node"), ("row", "node"), ("person", "person")])
def test_what_a_node_is_called(kind, called):
    assert as_network(Relation.build([[0, 1], [1, 0]], row_kind=kind)).data.row_kind == called


def test_attributes_are_added_and_replaced():
    relation = Relation.build([[0, 1], [1, 0]], attributes={"a": ["1", "2"], "b": ["x", "y"]})
    found = with_attributes(relation, {"b": ["u", "v"], "c": ["", "w"]})
    assert {name: values.tolist() for name, values in found.attributes.items()} == {
        "a": ["1", "2"], "b": ["u", "v"], "c": ["", "w"],
    }  # fmt: skip
    assert found.fingerprint == relation.fingerprint
    with pytest.raises(DataError, match="3 values for 2"):
        with_attributes(relation, {"d": ["1", "2", "3"]})


@for_each(
    "heading, word, directed",
    [
        ("Type", "Undirected", False),
        ("Type", "Directed", True),
        ("directed", "0", False),
        ("directed", "TRUE", True),
        ("undirected", "1", False),
    ],
)
def test_a_column_says_whether_links_have_a_direction(heading: str, word: str, directed: bool) -> None:
    """Gephi's table of edges. The column was left out, or taken for the value of a link: "0" for none."""
    text = f"Source,Target,{heading},Weight\n1,2,{word},1\n2,3,{word},1\n3,1,{word},1\n"
    for form in (text.encode(), gzip.compress(text.encode()), pd.read_csv(io.StringIO(text), dtype=str)):
        loaded = load_relation(form)
        assert loaded.data.network.directed is directed
        assert loaded.data.n_ones == 3 * (2 - directed)
        said = f"The network is {'' if directed else 'un'}directed: the column {heading!r} says so."
        assert said in loaded.report.lines()
    asked = load_relation(text.encode(), directed=not directed)
    assert asked.data.network.directed is not directed


def test_links_with_and_without_a_direction_are_asked_about() -> None:
    text = b"Source,Target,Type\n1,2,Directed\n2,3,Undirected\n3,1,Directed\n"
    with pytest.raises(DataError, match="line 3, column 3: some links have a direction and some have none"):
        load_relation(text)
    assert load_relation(text, directed=True).data.n_ones == 3
    late = b"Source,Target,Type\n" + b"1,2,Directed\n" * 300 + b"3,1,Both\n"
    with pytest.raises(DataError, match="line 302, column 3: 'Both' says neither"):
        load_relation(late)


@for_each("names", ["from,to", "Source,Target", "src,dst"])
def test_ends_of_sorted_pairs_give_no_direction_by_themselves(names: str) -> None:
    """Undirected links are exported like that. Every such list was a directed network."""
    pairs = "1,2\n1,10\n2,10\n10,11\n11,11\n"
    text = f"{names}\n{pairs}"
    for form in (text.encode(), gzip.compress(text.encode()), pd.read_csv(io.StringIO(text))):
        with pytest.raises(DataError, match="may give links a direction or not") as refused:
            load_relation(form)
        assert "(directed=True) or that they have none (directed=False)" in refused.value.remedy
    with pytest.raises(DataError, match="the names of the columns may give links a direction or not"):
        load_relation(f"# a comment\n# {names}\n{pairs}".encode())
    assert load_relation(text.encode(), directed=True).data.n_links == 5
    assert load_relation(text.encode(), directed=False).data.network == Network(False, True)
    assert load_relation(f"{names}\nann,bob\nann,cyd\nbob,cyd\n".encode(), domains="two").data.shape == (2, 2)
    for said in (f"{names}\n2,1\n{pairs}", f"{names}\n{pairs}12,11\n", f"follower,followee\n{pairs}"):
        assert load_relation(said.encode()).data.network == Network(True, True)
    assert load_relation(f"{names}\n0,1\n0,2\n1,2\n{'9' * 5000},1\n2,0\n".encode()).data.n_links == 5
    denied = f"{names},value\n1,2,1\n2,3,1\n3,4,1\n2,1,0\n"
    assert load_relation(denied.encode()).data.network == Network(True)


def test_links_without_a_direction_in_a_directed_network_are_told_of() -> None:
    links = b"Source,Target,Type\na,b,Directed\nb,c,Undirected\nc,d,Undirected\nd,a,Directed\nd,b,Directed\n"
    found = load_relation(links, directed=True)
    assert found.report.count("undirected_as_directed") == 2
    assert (
        "2 links have no direction: they are read from the first object to the second only."
        in found.report.lines()
    )
    assert load_relation(links, directed=False).report.count("undirected_as_directed") == 0
    plain = load_relation(links.replace(b"Undirected", b"Directed"), directed=True)
    assert plain.report.count("undirected_as_directed") == 0
