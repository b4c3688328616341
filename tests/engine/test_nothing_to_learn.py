"""Data of which nothing is known, or nothing is left once a share is held out, are refused before a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from acvb_core.core.errors import DataError
from acvb_core.data.corpus import Corpus
from acvb_core.data.relation import Network, Relation
from acvb_core.data.table import Table
from acvb_core.engine.fitting import compare, fit
from acvb_core.engine.prepared import prepare_run
from acvb_core.models.lda.grid import prepare_grid

UNKNOWN = Relation.build(np.zeros((4, 5)), missing=np.ones((4, 5)), name="unknown")
PAIR = Relation.build([[0, 1], [1, 0]], name="pair", network=Network(directed=False))
ALONE = Relation.build([[0]], name="alone", network=Network(directed=False))
WORD = Corpus.build([[1, 0], [0, 1]], name="words")


def check(data: Any, message: str, **options: Any) -> None:
    with pytest.raises(DataError) as caught:
        prepare_run(data, "vb", **options)
    assert str(caught.value) == message


def test_a_relation_without_a_known_entry() -> None:
    check(
        UNKNOWN, "unknown: there is no entry to learn from: no entry is known. Load data with known entries."
    )


def test_a_network_without_pairs() -> None:
    check(ALONE, "alone: there is no pair to learn from: no pair is known. Load data with known pairs.")


def test_a_network_whose_only_pair_is_held_out() -> None:
    check(
        PAIR,
        "pair: there is no pair to learn from: of 1 known pair, none is left. Hold out a smaller share, or nothing.",
        heldout=0.9,
    )
    assert prepare_run(PAIR, "vb").train.n_known == 1


def test_a_relation_whose_entries_are_all_held_out() -> None:
    check(
        Relation.build([[1]], name="one"),
        "one: there is no entry to learn from: of 1 known entry, none is left. Hold out a smaller share, or nothing.",
        heldout=0.9,
    )


def test_words_and_cells_that_are_left_are_enough() -> None:
    """The splits leave each document a word, and each column a cell."""
    assert prepare_run(WORD, "vb", {"k": 2}, heldout=0.9).train.n_tokens
    assert prepare_run(WORD, "vb", {"k": 2}, heldout_documents=0.9).train.n_tokens
    assert prepare_run(Table.build([[1.0, 2.0], [3.0, 4.0]]), "fab", heldout=0.9).train.n_observed


def test_a_corpus_and_a_table_of_which_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """No split makes these today."""
    table = Table.build([[1.0, 2.0], [3.0, 4.0]], name="cells")
    message = "{}: there is no {} to learn from: no {} is known. Load data with known {}."
    monkeypatch.setattr(Corpus, "n_tokens", 0)
    corpus = Corpus.build([[1, 0], [0, 1]], name="words")
    check(corpus, message.format("words", "word", "word", "words"))
    monkeypatch.setattr(Table, "n_observed", 0)
    check(table, message.format("cells", "cell", "cell", "cells"))
    with pytest.raises(DataError, match="no word to learn from"):
        list(prepare_grid(corpus, [2]))


def test_every_way_in_refuses() -> None:
    with pytest.raises(DataError, match="no entry to learn from"):
        fit(UNKNOWN)
    with pytest.raises(DataError, match="no pair to learn from"):
        compare(PAIR, ["vb", "cvb0"], heldout=0.9)
