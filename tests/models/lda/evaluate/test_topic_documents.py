"""Documents of topics and topics of documents, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from acvb_core.core.errors import ParameterError
from acvb_core.models.lda.evaluate.topic_documents import (
    similar_documents,
    top_documents,
    topic_shares,
    topics_of_document,
)

SHARE = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.9, 0.1]])
LENGTHS = np.array([2, 10, 50, 4])


def test_by_share_and_by_tokens() -> None:
    by_share = top_documents(SHARE, LENGTHS, 0, 3)
    assert by_share["document"].tolist() == [0, 3, 2]
    by_tokens = top_documents(SHARE, LENGTHS, 0, 3, by="tokens")
    assert by_tokens["document"].tolist() == [2, 3, 1]
    np.testing.assert_allclose(by_tokens["tokens"], [30, 3.6, 2])
    assert by_tokens["length"].tolist() == [50, 4, 10]
    np.testing.assert_allclose(by_tokens["share"], [0.6, 0.9, 0.2])


def test_short_documents_are_left_out() -> None:
    assert top_documents(SHARE, LENGTHS, 0, 10, min_length=4)["document"].tolist() == [3, 2, 1]
    assert len(top_documents(SHARE, LENGTHS, 0, min_length=51)) == 0
    assert top_documents(SHARE, np.array([0, 1, 1, 1]), 0)["document"].tolist() == [3, 2, 1]


def test_no_such_order() -> None:
    with pytest.raises(ParameterError, match="'age'"):
        top_documents(SHARE, LENGTHS, 0, by="age")  # type: ignore[arg-type]


@pytest.mark.parametrize("topic", [-1, 2])
def test_no_such_topic(topic: int) -> None:
    with pytest.raises(ParameterError, match=f"no topic {topic + 1}"):
        top_documents(SHARE, LENGTHS, topic)


def test_topics_of_a_document() -> None:
    found = topics_of_document([[0.1, 0.5, 0.4]], 0)
    assert found["topic"].tolist() == [1, 2, 0]
    assert found["share"].tolist() == [0.5, 0.4, 0.1]
    assert topics_of_document([[0.1, 0.5, 0.4]], 0, minimum=0.4)["topic"].tolist() == [1, 2]


def test_shares_of_all_tokens() -> None:
    expected = np.array([1.8 + 2 + 30 + 3.6, 0.2 + 8 + 20 + 0.4]) / 66
    np.testing.assert_allclose(topic_shares(SHARE, LENGTHS), expected)


def test_similar_documents() -> None:
    found = similar_documents(SHARE, 0, 2)
    assert found["document"].tolist() == [3, 2]
    assert found["distance"][0] == 0.0
    assert found["distance"][1] == pytest.approx(jensenshannon(SHARE[0], SHARE[2], base=2))
    assert similar_documents(SHARE, 3)["document"].tolist() == [0, 2, 1]
