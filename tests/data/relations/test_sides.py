"""Whether a file holds a network: what is guessed, why, and how the user changes it."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
import scipy.io
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.relation import Network
from acvb_core.data.relation_readers import load_relation
from acvb_core.data.relation_schema import heading
from tests.loops import for_each

BOTH_WAYS = "1,2\n2,1\n2,3\n3,2\n3,4\n4,3\n"


def loaded(text: str, **options):
    return load_relation(text.encode(), **options)


def market(matrix, **options) -> bytes:
    out = io.BytesIO()
    scipy.io.mmwrite(out, sparse.coo_array(matrix), **options)
    return out.getvalue()


def npz(matrix) -> bytes:
    out = io.BytesIO()
    sparse.save_npz(out, sparse.coo_array(matrix))
    return out.getvalue()


@for_each(
    "text, network, why",
    [
        # Headings of a network, names on both sides.
        (
            "source,target\n1,2\n2,3\n",
            Network(True),
            "named as those of a network, and 1 of 3 names occurs on both",
        ),
        ("From,To\na,b\nb,c\nc,c\n", Network(True, True), "2 of 3 names occur on both"),
        ("from_user,to_user\n1,2\n2,1\n", Network(False), "named as those"),
        ("sender,recipient,value\n1,2,3\n2,3,1\n", Network(True), "named as those"),
        ("node1,node2\n1,2\n2,3\n", Network(False), "named as those"),
        ("user_a,user_b\nx,y\ny,z\n", Network(False), "named as those"),
        ("userID\tfriendID\n2\t275\n275\t2\n", Network(False), "named as those"),
        ("i,j\n1,2\n2,3\n", Network(False), "named as those"),
        ("# FromNodeId\tToNodeId\n1\t2\n2\t3\n", Network(True), "named as those"),
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
        ("1,2\n2,3\n3,1\n3,4\n", "nothing else says"),
        ("1,1\n2,2\n3,3\n4,4\n", "nothing else says"),  # no link between different objects says nothing
        (
            "Ann,Fair\nBob,Fair\nCy,Ball\nFair,Ball\nDi,Gala\nEd,Show\n",
            "1 of 9 names occurs on both, too few",
        ),
        ("Ann,Ann\n", "too few"),
        ("0,1,1,0\n1,0,0,0\n1,1,0,1\n0,0,1,0\n", "the file names none"),
        ("0,1,1,0,1\n1,0,1,0,1\n1,1,0,1,1\n0,0,1,0,1\n", "the file names none"),
        (
            "source,target\n" + "".join(f"{i},{i + 200}\n" for i in range(201)),
            "1 of 401 names occurs on both",
        ),
    ],
)
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
        assert (relation.row_kind, relation.column_kind) == ("person", "person")


M = ["m1", "m2", "m3", "m4"]
NAMES = "a,b\nm1,m2\nm2,m3\nm3,m1\n"


@for_each(
    "text, options, why, shape",
    [
        (NAMES, {"row_nodes": M[:3], "column_nodes": M}, "differ", (3, 4)),
        ("source,target\n0,1\n1,0\n2,3\n", {"shape": (5, 4)}, "5 x 4, is not square", (5, 4)),
        (BOTH_WAYS, {"row_nodes": list("1234"), "column_nodes": list("12345")}, "differ", (4, 5)),
        (",x,y\nx,0,1\ny,1,0\nz,0,1\n", {"shape": (3, 2)}, "3 x 2, is not square", (3, 2)),
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


def test_nodes_without_links_and_the_shape():
    found = loaded("source,target\na,b\nb,a\n", row_nodes=["a", "b", "idle"], domains="one")
    assert found.data.row_labels.tolist() == ["a", "b", "idle"]
    assert "1 node has no link." in found.report.lines()
    relation = loaded("0,1\n1,0\n", domains="one", shape=(4, 4)).data
    assert (relation.shape, relation.n_links) == ((4, 4), 1)
    with pytest.raises(ParameterError, match="square"):
        loaded("0,1\n1,0\n", domains="one", shape=(4, 3))
    with pytest.raises(ParameterError, match="one node list"):
        loaded("a,b\nb,a\n", domains="one", row_nodes=["a", "b"], column_nodes=["b", "a"])
    with pytest.raises(DataError, match="not in the node list"):
        loaded("a,b\nb,a\n", domains="one", row_nodes=["a"])


def test_size_and_missing_pairs_of_a_network_are_told_once():
    found = loaded("source,target,value\na,b,1\nb,c,NA\nc,b,NA\nc,a,0\n", directed=False)
    lines = found.report.lines()
    assert "3 nodes, 1 link (50.000% of the known pairs)." in lines
    assert "1 pair is missing." in lines
    assert not any("row objects" in line or "entries are missing" in line for line in lines)
    assert found.data.n_missing == 5  # both ways, and the diagonal


def test_square_files_without_names():
    path = np.diag(np.ones(3), 1)
    symmetric, one_way = path + path.T, path
    assert load_relation(npz(symmetric)).data.network == Network(False)
    assert load_relation(npz(one_way)).data.network is None
    assert load_relation(npz(one_way), domains="one").data.network == Network(False)
    assert load_relation(npz(one_way), domains="one", directed=True).data.n_links == 3
    assert load_relation(npz(np.eye(4))).data.network is None
    named = load_relation(npz(one_way), domains="one", row_nodes=list("abcd")).data
    assert named.column_labels.tolist() == list("abcd")
    with pytest.raises(DataError, match=r"2 x 3.*square"):
        load_relation(npz(np.ones((2, 3))), domains="one")


def test_matrix_market_says_that_it_is_symmetric():
    found = load_relation(market(np.diag([1.0, 0]), symmetry="symmetric"))
    assert found.data.network == Network(False, True)
    assert "the file says that the matrix is symmetric" in found.schema.sides.reason
    assert "The network is undirected: the file says so." in found.report.lines()
    both = load_relation(market(np.ones((2, 2)) - np.eye(2), symmetry="symmetric"), directed=True)
    assert (both.data.network, both.data.n_links) == (Network(True), 2)
    assert "no direction: 1 pair is linked both ways" in " ".join(both.report.lines())
    assert load_relation(market(np.diag([1.0, 0]), symmetry="general")).data.network is None
    assert load_relation(market(np.ones((2, 2)), symmetry="symmetric"), domains="two").data.n_ones == 4
    apart = {"row_nodes": ["a", "b"], "column_nodes": ["c", "d"]}
    assert load_relation(market(np.ones((2, 2)), symmetry="symmetric"), **apart).data.shape == (2, 2)


@for_each(
    "options",
    [{"domains": "three"}, {"domains": "two", "directed": True}, {"domains": "two", "self_links": False}],
)
def test_what_makes_no_sense_is_refused(options):
    with pytest.raises(ParameterError, match=r"domains"):
        loaded("a,b\n", **options)


@for_each("names", [("user", "item"), ("a1", "b2"), ("person", "event"), ("target", "source"), ("a", "b")])
def test_headings_of_two_kinds(names):
    assert heading(*names) is None


def test_a_heading_of_a_network_is_no_data_and_data_no_heading():
    assert loaded("family_1,family_2\nLee,Ray\nRay,Poe\n").schema.header
    assert loaded("from_user,to_user\nLee,Ray\nRay,Poe\n").schema.header
    assert loaded("pupil1,pupil2\npupil_ann,pupil_bob\npupil_bob,pupil_cy\n").schema.header
    assert not loaded("pupil_1,pupil_2\npupil_2,pupil_3\n").schema.header
    assert not loaded("pupil_1,pupil_2\npupil_3,pupil_4\n").schema.header


@for_each(
    "names",
    [
        ("member_1", "member_2"),
        ("Member 1", "Member 2"),
        ("member_a", "member_b"),
        ("memberA", "memberB"),
        ("mem1", "mem2"),
        ("m_1", "m_2"),
        ("m_A", "m_B"),
        ("id1", "id2"),
        ("p1", "p2"),
    ],
)
@for_each("stem", ["m", ""])
def test_numbered_headings_are_no_link(names, stem):
    lines = "".join(f"{stem}{i},{stem}{3 * i % 7}\n" for i in range(1, 7))
    found = loaded(",".join(names) + "\n" + lines)
    assert (found.schema.header, found.schema.column_names) == (True, names)
    assert set(found.data.row_labels) == {f"{stem}{i}" for i in range(1, 7)}
    assert found.data.network is not None
    assert "named as those of a network" in found.schema.sides.reason


def test_a_network_may_stand_behind_another_column():
    found = loaded("tie,p_1,p_2\nkin,m1,m2\nwork,m2,m3\nkin,m3,m1\n")
    assert (found.schema.header, found.schema.row_column, found.schema.column_column) == (True, 1, 2)
    assert found.data.row_labels.tolist() == ["m1", "m2", "m3"]


@for_each(
    "text",
    [
        "m1,m2\nm2,m3\nm3,m4\n",
        "m1,m2\nm4,m3\nm3,m4\n",
        "a1,a2\nb3,c4\nc5,d6\nd6,b3\n",
        "Lea,Leb\nAnn,Bob\nBob,Cy\n",
    ],
)
def test_objects_named_by_letters_and_numbers_are_no_heading(text):
    assert not loaded(text).schema.header


def test_two_kinds_of_objects_are_not_linked_to_themselves() -> None:
    found = loaded("userID,artistID\n1,1\n2,2\n3,1\n3,4\n")
    assert found.data.network is None
    said = " ".join(found.report.lines())
    assert "itself" not in said
    assert "themselves" not in said
    assert "2 names occur on both sides." in said


def test_self_links_of_the_same_objects_are_told_in_the_right_number() -> None:
    one = loaded("source,target\na,b\nc,c\n", same_nodes=True, domains="two").report.lines()
    two = loaded("source,target\na,a\nc,c\n", same_nodes=True, domains="two").report.lines()
    assert "1 object is linked to itself." in one
    assert "2 objects are linked to themselves." in two
