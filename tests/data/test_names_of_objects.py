"""Objects named by a known label in place of their ids, and back."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.data.network import name_ids, with_attributes, with_names
from acvb_core.data.relation import Network, Relation

IDS = [str(i) for i in range(1, 8)]
NAMES = ["Ball", "Doll", "Ball", " ", "5", "Ball (1)", "4"]
#: Shared names have their ids behind them, blank ones give way to the id, and no two are the same.
SHOWN = ["Ball (1)", "Doll", "Ball (3)", "4 (4)", "5", "Ball (1) (2)", "4 (7)"]


def shop(**more: object) -> Relation:
    relation = Relation.build(
        np.eye(2, 7), column_labels=IDS, row_labels=["a", "b"], row_kind="shop", column_kind="item", **more
    )
    return with_attributes(relation, {"name": NAMES, "kind": ["toy"] * 7}, "cols")


def test_names_are_different_and_ids_stay_known() -> None:
    named = with_names(shop(), cols="name")
    assert named.column_labels.tolist() == SHOWN
    assert {name: values.tolist() for name, values in named.column_attributes.items()} == {
        "item": IDS,
        "kind": ["toy"] * 7,
    }
    assert (named.row_kind, named.column_kind, named.fingerprint) == ("shop", "name", shop().fingerprint)
    back = with_names(named, cols="item")
    assert back.column_labels.tolist() == IDS
    assert back.column_attributes["name"].tolist() == SHOWN
    assert (named.id_names, back.id_names) == (("", "item"), ("", ""))
    assert set(named.labels_of("cols")) == {"kind"}  # ids, which may be numbers, are nothing to compare with
    by_kind = with_names(named, cols="kind")
    assert by_kind.column_labels.tolist() == [f"toy ({one})" for one in IDS]
    assert by_kind.id_names == ("", "item")


def test_a_network_has_names_on_both_sides() -> None:
    nodes = Relation.build(np.eye(3)[[1, 2, 0]], network=Network(), attributes={"id": ["x", "y", "z"]})
    named = with_names(nodes, rows="id")
    assert named.row_labels.tolist() == named.column_labels.tolist() == ["x", "y", "z"]
    assert named.row_kind == named.column_kind == "id"
    assert name_ids(nodes, "rows") == "id (2)"  # there is an id already
    with pytest.raises(ParameterError, match="one set of objects"):
        with_names(nodes, cols="id")


def test_an_attribute_that_is_not_known_is_refused() -> None:
    with pytest.raises(
        ParameterError, match="the cols have no known label 'price'; there are 'name', 'kind'"
    ):
        with_names(shop(), cols="price")
    with pytest.raises(ParameterError, match="the rows have no known label 'name'; there is none"):
        with_names(shop(), rows="name")
