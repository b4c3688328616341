"""What the tests of the store share: relations, corpora, and what it means to come back the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd

from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.data.relation import Network, Relation
from acvb_core.data.table import Image, Table
from acvb_core.engine.job import RunOutline
from acvb_core.engine.result import Result
from acvb_core.samples.catalogue import load_sample

WOMEN = load_sample("southern_women").relation
SURVEY = load_sample("survey").relation
SMALL = {"k_rows": 4, "k_cols": 3, "max_sweeps": 8}

ODD_LABELS = [
    "", " ", "a,b", '"', "line\nbreak", "nul\0inside", "ends in nul\0", "naïve Ω 日本", "👩‍👩‍👧", "\ud83d", "\ude00",
    "\ud83d\ude00", "=1+1", "x" * 5000,
]  # fmt: skip


def odd_relation(last: str = "last") -> Relation:
    labels = [*ODD_LABELS, last]
    ones = np.eye(len(labels), 3, dtype=bool)
    missing = np.zeros_like(ones)
    missing[-1, :2] = True
    return Relation.build(
        ones, missing, row_labels=labels, column_labels=["x", "X", "ｘ"], name="odd 日", row_kind="行"
    )


def network(
    directed: bool, self_links: bool, *, n: int = 24, groups: int = 3, labels: str = "group"
) -> Relation:
    """A small network of groups that are linked among themselves, with unknown pairs and a known label each."""
    rng = np.random.default_rng(4)
    group = np.arange(n) % groups
    ones = rng.random((n, n)) < np.where(group[:, None] == group, 0.7, 0.08)
    missing = rng.random((n, n)) < 0.05
    if not directed:
        ones, missing = np.triu(ones), np.triu(missing)
    if not self_links:
        np.fill_diagonal(ones, False)
    known = [f"g{k}" for k in group]
    known[3] = ""
    return Relation.build(
        ones & ~missing, missing, row_labels=[f"n{i}" for i in range(n)], name="net", row_kind="person",
        network=Network(directed, self_links), attributes={labels: known},
    )  # fmt: skip


def odd_corpus(last: str = "last") -> Corpus:
    """A corpus with an empty document, an unused word, odd names, texts, labels and settings."""
    documents = [*ODD_LABELS, last]
    counts = np.eye(len(documents), 4, dtype=np.int64) * 3
    counts[4, 1] = 2**31 - 1
    return Corpus.build(
        counts,
        vocabulary=["", "=a", "日本", "\ud83d"],
        documents=documents,
        name="odd 日",
        texts=[f"text of {name}" for name in documents],
        labels=["same"] * len(documents),
        tokeniser=Tokeniser(stop_words=("english", "german"), extra_stop_words=("ß",), max_words=9, ngrams=2),
    )


def odd_table(last: str = "last") -> Table:
    """A table with odd names, groups of which some are not known, missing cells, a row of them, and half a picture."""
    rows = [*ODD_LABELS, last]
    values = np.random.default_rng(5).normal(size=(len(rows), 3)) * [1e-49, 1.0, 1e49]
    values[2] = np.nan
    values[4, 1], values[5, 1] = -0.0, 5e-324
    return Table.build(
        values, rows=rows, columns=["", "=a", "日本"], name="odd 日", standardise=False,
        labels=["", "日本", "\ud83d", *["same"] * (len(rows) - 3)],
        image=Image(2, 2, np.array([3, 0, 1]), np.array([np.nan, np.nan, 7.5, np.nan])),
    )  # fmt: skip


def assert_same_data(one: Any, other: Any) -> None:
    """Compare data sets or parts of them in every bit and every type, the sign of zero included."""
    assert type(one) is type(other)
    if hasattr(one, "indptr"):
        for name in ("indptr", "indices", "data"):
            assert_same_data(getattr(one, name, None), getattr(other, name, None))
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tolist() == other.tolist() if one.dtype == object else one.tobytes() == other.tobytes()
    elif is_dataclass(one):
        assert getattr(one, "fingerprint", None) == getattr(other, "fingerprint", None)
        for field in fields(one):
            if field.init:
                assert_same_data(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, Mapping):
        assert list(one) == list(other)
        for name, value in one.items():
            assert_same_data(value, other[name])
    else:
        assert one == other


def assert_same_result(one: Result, other: Result) -> None:
    assert one.to_dict() == other.to_dict()
    pd.testing.assert_frame_equal(one.history, other.history, check_exact=True)
    assert one.posterior.arrays.keys() == other.posterior.arrays.keys()
    for name, array in one.posterior.arrays.items():
        assert np.array_equal(array, other.posterior[name]), name
        assert one.posterior.axes[name] == other.posterior.axes[name]
    assert one.posterior.hyper == other.posterior.hyper
    for name, table in one.tables.items():
        pd.testing.assert_frame_equal(table, other.tables[name], check_exact=True)


def assert_same_outline(listed: RunOutline, read: RunOutline) -> None:
    """Compare what the list says of a run with what its file says.

    The list has the held-out scores of the last sweep alone; a run that was interrupted may have earlier ones.
    """
    found, wanted = vars(listed), vars(read)
    if listed.heldout or read.verdict is not None:
        assert listed.score == read.score or not read.heldout
    for field in wanted.keys() - {"heldout"}:
        both_nan = found[field] != found[field] and wanted[field] != wanted[field]
        assert both_nan or found[field] == wanted[field], field
