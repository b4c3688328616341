"""Further columns of a list of links that say one thing of each object become known labels of objects."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.names import EndLabels, name_ends
from acvb_core.data.network import as_network, as_two_sided, with_attributes
from acvb_core.data.relation_readers import load_labels, load_relation
from acvb_core.data.report import LoadedData
from tests.loops import for_each

PEOPLE = {f"p{i}": ("red", "blue", "green")[i % 3] for i in range(12)}


def lines(**columns: Callable[[str, str, int], object]) -> pd.DataFrame:
    """Sixty links between the people, with further columns."""
    rng = random.Random(1)
    ends = [rng.sample(sorted(PEOPLE), 2) for _ in range(60)]
    table = {"from": [one for one, _ in ends], "to": [other for _, other in ends]}
    further = {
        name: [of(one, other, i) for i, (one, other) in enumerate(ends)] for name, of in columns.items()
    }
    return pd.DataFrame(table | further)


def facts_of(loaded: LoadedData) -> dict[str, str]:
    return {fact.name: fact.sentence for fact in loaded.report.facts}


def test_columns_of_both_ends_become_one_label(tmp_path: Path) -> None:
    table = lines(
        from_team=lambda one, other, i: PEOPLE[one],
        to_team=lambda one, other, i: PEOPLE[other],
        day=lambda one, other, i: f"day {i}",
    )
    table.to_csv(tmp_path / "links.csv", index=False)
    for given in (table, tmp_path / "links.csv"):
        loaded = load_relation(given, domains="one", directed=True)
        labels = loaded.data.attributes["team"]
        assert dict(zip(loaded.data.row_labels, labels, strict=True)) == PEOPLE
        told = facts_of(loaded)
        assert "team (from from_team and to_team)" in told["end_labels"]
        assert "day" in told["unused_columns"]
        assert "team" not in told["unused_columns"]
        bare = load_relation(table[["from", "to"]], domains="one", directed=True).data
        assert loaded.data.fingerprint == bare.fingerprint


def test_a_column_that_contradicts_itself_is_not_used() -> None:
    table = lines(team=lambda one, other, i: "red" if i == 59 and PEOPLE[one] != "red" else PEOPLE[one])
    table.loc[59, "team"] = "another"
    loaded = load_relation(table, domains="two")
    assert not loaded.data.attributes
    assert "team" in facts_of(loaded)["unused_columns"]


def test_each_of_two_sides_gets_its_own_labels() -> None:
    table = lines(
        team=lambda one, other, i: PEOPLE[one],
        theirs=lambda one, other, i: PEOPLE[other],
        name=lambda one, other, i: f"Mr. {other}",
    )
    loaded = load_relation(table, domains="two")
    relation = loaded.data
    assert list(relation.attributes) == ["team"]
    assert dict(zip(relation.column_labels, relation.column_attributes["theirs"], strict=True)) == PEOPLE
    assert relation.column_attributes["name"].tolist() == [f"Mr. {one}" for one in relation.column_labels]
    assert "team of from, theirs of to, name of to" in facts_of(loaded)["end_labels"]
    # Both sides as one set of objects, and back: every object keeps what was known of it.
    network = as_network(relation, directed=True).data
    assert dict(zip(network.row_labels, network.attributes["team"], strict=True)) == PEOPLE
    assert set(network.attributes) == {"team", "name"}
    assert as_two_sided(network).attributes_of("cols") == network.attributes


def test_a_table_gives_labels_to_the_side_it_is_for(tmp_path: Path) -> None:
    relation = load_relation(pd.DataFrame({"a": ["x", "y", "y"], "b": ["1", "2", "1"]}), domains="two").data
    kinds = b"item,kind\n2,toy\n1,tool\n"
    labels = load_labels(kinds, relation, domain="cols")
    assert with_attributes(relation, labels, "cols").column_attributes["kind"].tolist() == ["tool", "toy"]
    with pytest.raises(DataError, match=r"is a row object .* objects of the other side"):
        load_labels(kinds, relation)
    with pytest.raises(ParameterError, match="no domain 'columns'"):
        load_labels(kinds, relation, domain="columns")


def test_blank_cells_say_nothing_and_columns_without_repeats_are_left_out(tmp_path: Path) -> None:
    table = lines(team=lambda one, other, i: PEOPLE[one] if i % 4 else "", one=lambda one, other, i: "same")
    table.to_csv(tmp_path / "links.csv", index=False)
    relation = load_relation(tmp_path / "links.csv", domains="two").data
    assert dict(zip(relation.row_labels, relation.attributes["team"], strict=True)).items() <= PEOPLE.items()
    assert "one" not in relation.attributes  # it does not tell objects from one another
    once = pd.DataFrame({"a": [f"a{i}" for i in range(20)], "b": ["x", "y"] * 10, "c": ["u", "v"] * 10})
    assert not load_relation(once, domains="two").data.attributes


@for_each(
    "first, second, name",
    [
        ("importer_package", "imported_package", "package"),
        ("from_home_town", "to_home_town", "home town"),
        ("team of sender", "team of receiver", "team"),
        ("home town", "home town", "home town"),
        ("here", "there", "here"),
    ],
)
def test_columns_of_a_network_become_one_attribute_if_they_agree(first: str, second: str, name: str) -> None:
    nodes = [np.array(["Ann", "Bob", "Cyd", "Dan"], dtype=object)]
    one = EndLabels(first, 0, {"Ann": "red", "Bob": "blue"})
    other = EndLabels(second, 1, {"Bob": "blue", "Cyd": "green"})
    (labels,), given = name_ends(nodes, [one, other])
    assert labels == {name: ["red", "blue", "green", ""]}
    assert given == {first: name, second: name}
    for apart in ({"Bob": "red"}, {"Cyd": "green"}):  # they disagree, or speak of different nodes
        (labels,), given = name_ends(nodes, [one, EndLabels("other", 1, apart)])
        assert list(labels) == [first, "other"]
        assert labels["other"] == [apart.get(node, "") for node in nodes[0]]
        assert given == {first: first, "other": "other"}


def test_only_the_first_columns_and_those_of_few_texts_are_looked_at() -> None:
    table = lines(**{f"c{n}": lambda one, other, i: f" {PEOPLE[one]} " for n in range(25)})
    assert list(load_relation(table, domains="two").data.attributes) == [f"c{n}" for n in range(20)]
    assert set(load_relation(table, domains="two").data.attributes["c1"]) == set(PEOPLE.values())
    bare = table.drop(columns=[f"c{n}" for n in range(1, 25)]).to_csv(index=False, header=False).encode()
    assert not load_relation(bare, domains="two", header=False).data.attributes
    tags = table[["from", "to"]].assign(tags=[["red"], ["blue"]] * 30)
    assert "tags" in facts_of(load_relation(tags, domains="two"))["unused_columns"]
    for n_texts, kept in ((10_000, ["of"]), (10_001, [])):
        many = pd.DataFrame({"a": [f"a{i}" for i in range(n_texts)] * 2, "b": ["x", "y"] * n_texts})
        assert list(load_relation(many.assign(of="text " + many["a"]), domains="two").data.attributes) == kept
