"""Agreement of two clusterings on numbers that can be checked by hand."""

from __future__ import annotations

import math

import pytest

from acvb_core.evaluate.agreement import agreement, attribute_agreement, label_agreement


def test_by_hand() -> None:
    one, other = [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1]
    # Pairs together in both: 1 + 3; in one: 3 + 3; in the other: 1 + 6; of 15.
    chance = 6 * 7 / 15
    expected_ari = (4 - chance) / ((6 + 7) / 2 - chance)
    entropy_one = math.log(2)
    entropy_other = -(1 / 3) * math.log(1 / 3) - (2 / 3) * math.log(2 / 3)
    joint = -(1 / 3) * math.log(1 / 3) - (1 / 6) * math.log(1 / 6) - (1 / 2) * math.log(1 / 2)
    expected_nmi = (entropy_one + entropy_other - joint) / ((entropy_one + entropy_other) / 2)
    found = agreement(one, other)
    assert found["ari"] == pytest.approx(expected_ari)
    assert found["nmi"] == pytest.approx(expected_nmi)
    assert agreement(other, one) == pytest.approx(found)


def test_labels_that_are_unknown_are_left_out_and_counted() -> None:
    clusters = [0, 0, 1, 1, 3, 3]
    found = label_agreement(clusters, ["10", "", "9", "9", "x", "10"], n_clusters=5)
    assert (found.known, found.unknown) == (5, 1)
    assert found.table.columns.tolist() == ["9", "10", "x"]
    assert found.table.index.tolist() == [1, 2, 3, 4, 5]
    assert found.table.to_numpy().tolist() == [[0, 1, 0], [2, 0, 0], [0, 0, 0], [0, 1, 1], [0, 0, 0]]
    expected = agreement([0, 1, 1, 3, 3], ["10", "9", "9", "x", "10"])
    assert (found.ari, found.nmi) == pytest.approx((expected["ari"], expected["nmi"]))


def test_every_attribute_has_a_line() -> None:
    table, found = attribute_agreement([0, 0, 1], {"club": ["a", "a", "b"], "town": ["", "x", "x"]})
    assert table["attribute"].tolist() == ["club", "town"]
    assert table["labels"].tolist() == [2, 1]
    assert table["unknown"].tolist() == [0, 1]
    assert table["ari"][0] == 1.0
    assert found["town"].table.to_numpy().tolist() == [[1], [1]]
    assert attribute_agreement([0], {})[0].empty
