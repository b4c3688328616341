"""The memory and the time that a run of topics is said to need."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.core.spec import MethodSpec
from acvb_core.data.corpus import Corpus
from acvb_core.models.lda.memory import memory_bytes, sweep_seconds
from acvb_core.registry import methods_of

METHODS = methods_of("lda")
ROWS = pytest.mark.parametrize("row", METHODS, ids=[row.name for row in METHODS])


def corpus_of(documents: int) -> Corpus:
    return Corpus.build(np.ones((documents, 50), dtype=np.int64))


@ROWS
def test_only_streams_do_without_the_counts_of_documents(row: MethodSpec) -> None:
    """With 100 times the documents a batch method holds 100 times as much; a stream has its topics and two shards."""
    values = row.values({"k": 200})
    few, many = (memory_bytes(corpus_of(n), row.name, values) for n in (100, 10_000))
    if row.streams:
        assert many - few <= 8 * 50 * 9_900
    else:
        assert many - few >= 4 * 200 * 9_900


@ROWS
def test_time_grows_with_the_topics_of_a_batch_method(row: MethodSpec) -> None:
    one, ten = (sweep_seconds(corpus_of(100), row.name, row.values({"k": k})) for k in (1, 10))
    assert ten == pytest.approx(0.0 if row.streams else 10 * one)
    assert (one > 0) is not row.streams
