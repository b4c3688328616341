"""Documents of topics, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.models.lda.topics import top_documents

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
