"""The allowed answers of a reader to an input: return valid data, or refuse it in words."""

from __future__ import annotations

import re
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from acvb_core.core.errors import AcvbError
from acvb_core.data.corpus import Corpus
from acvb_core.data.relation import Relation
from acvb_core.data.report import LoadedData
from acvb_core.data.table import Table

#: CPU seconds and bytes of memory that one input may take.
MOST_SECONDS = 2.0
MOST_MEMORY = 1_000_000_000
_LABELS = ("row_labels", "column_labels", "vocabulary", "documents", "rows", "columns")
_VALUES = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[\d,.]*\d")


class Outcome(NamedTuple):
    """How a reader answered one input; `words` are its message, or what is wrong."""

    kind: str  # "read", "refused" or "fault"
    words: str
    seconds: float  # of CPU

    @property
    def form(self) -> str:
        """The answer without the values in it: inputs of one form are much alike."""
        return f"{self.kind} {_VALUES.sub('#', self.words)}"


def judge(read: Callable[[bytes], Any], content: bytes) -> Outcome:
    """Return how a reader answers an input; a warning counts as a fault, and so does an error of another family."""
    before = time.process_time()
    try:
        kind, words = "read", check_data(read(content))
    except AcvbError as error:
        kind, words = "refused", str(error)
        if not words.strip():
            kind, words = "fault", f"a {type(error).__name__} without a message"
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of compiled code is no Exception
        where = traceback.extract_tb(error.__traceback__)[-1]
        kind = "fault"
        words = f"{type(error).__name__} in {where.name} ({where.filename}:{where.lineno}): {error}"
    seconds = time.process_time() - before
    if seconds > MOST_SECONDS:
        kind, words = "fault", f"{seconds:.1f} CPU s; {words}"
    return Outcome(kind, words, seconds)


@contextmanager
def faults_raised() -> Iterator[list[str]]:
    """Make errors of warnings, and give the list of those that no one could catch, such as of files left open."""
    unseen: list[str] = []

    def note(unraisable: Any) -> None:
        unseen.append(f"{type(unraisable.exc_value).__name__} that nobody saw: {unraisable.exc_value}")

    hook, sys.unraisablehook = sys.unraisablehook, note
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            # NumPy says so of a header with an integer as Python 2 wrote it, and reads it all the same.
            warnings.filterwarnings(
                "ignore", message="Reading `.npy` or `.npz` file required additional header parsing"
            )
            # And of a type's name as NumPy 1 wrote it.
            warnings.filterwarnings("ignore", message="Data type alias", category=DeprecationWarning)
            yield unseen
    finally:
        sys.unraisablehook = hook


def check_data(data: Any) -> str:
    """Check what was read, and return it in words; of what no check is known, the type."""
    if isinstance(data, LoadedData):
        facts = data.report.facts
        assert all(fact.sentence.strip() for fact in facts), "a fact without a sentence"
        names = " ".join(fact.name for fact in facts)
        " ".join(fact.sentence for fact in facts).encode()
        held = data.data
        for labels in (getattr(held, name, ()) for name in _LABELS):
            "\n".join(labels).encode()  # half of a letter cannot be written to a file
        return f"{check_data(held)} {names}"
    if isinstance(data, Relation):
        _check_relation(data)
    elif isinstance(data, Corpus):
        _check_corpus(data)
    elif isinstance(data, Table):
        _check_table(data)
    elif isinstance(data, list | tuple) and data and all(isinstance(part, str) for part in data):
        return " ".join(data)
    return type(data).__name__


def _check_labels(labels: Any, number: int, *, unique: bool = True) -> None:
    assert len(labels) == number, f"{len(labels)} labels of {number} objects"
    assert all(type(label) is str for label in labels), "a label that is no text"
    assert not unique or len(set(labels)) == number, "a label is repeated"


def _check_relation(relation: Relation) -> None:
    n_rows, n_columns = relation.shape
    _check_labels(relation.row_labels, n_rows)
    _check_labels(relation.column_labels, n_columns)
    for pattern in (relation.ones, relation.missing):
        assert pattern.shape == relation.shape, "a pattern of another shape"
        pattern.check_format(full_check=True)
        assert pattern.has_canonical_format, "an entry is stored twice"
    assert not relation.ones.multiply(relation.missing).nnz, "an entry is both 1 and missing"
    for values in relation.attributes.values():
        _check_labels(values, n_rows, unique=False)
    if relation.network is not None:
        assert list(relation.row_labels) == list(relation.column_labels), "a network of two sides"
    assert relation.size_text


def _check_corpus(corpus: Corpus) -> None:
    corpus.counts.check_format(full_check=True)
    assert corpus.counts.data.dtype.kind in "iu", "counts that are not whole"
    assert corpus.counts.nnz, "a corpus without words"
    assert (corpus.counts.data > 0).all(), "a stored count that is not positive"
    _check_labels(corpus.vocabulary, corpus.n_words)
    _check_labels(corpus.documents, corpus.n_documents)
    if corpus.labels is not None:
        _check_labels(corpus.labels, corpus.n_documents, unique=False)
    assert corpus.texts is None or len(corpus.texts) == corpus.n_documents, "texts of other documents"
    assert corpus.size_text


def _check_table(table: Table) -> None:
    assert table.values.dtype == np.float64, "cells that are no numbers"
    assert min(table.shape), "a table without cells"
    assert not np.isinf(table.values).any(), "an infinite cell"
    _check_labels(table.rows, table.n_rows)
    _check_labels(table.columns, table.n_columns)
    if table.labels is not None:
        _check_labels(table.labels, table.n_rows, unique=False)
    assert np.isfinite(table.scale.apply(table.values)[table.observed]).all(), "a scale that is not finite"
    assert table.size_text
