"""Files of a run of LDA beside its tables: topics as arrays, for pyLDAvis, and those of all documents."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.engine.result import Result
from acvb_core.models.lda.pyldavis import pyldavis_data
from acvb_core.models.lda.topics import build_topics, document_table, word_probability
from acvb_core.models.lda.transform import fold_in
from acvb_core.store.export import csv_text, has_heading
from acvb_core.store.files import labels_bytes
from acvb_core.store.topics import MODEL, is_model, save_model

#: Documents whose topics are worked out at a time.
CHUNK = 5_000
#: Files that a run may leave, and how each is recognised.
OWN_FILES = (
    ("topics.csv", has_heading("topic", "rank", "word", "probability")),
    ("documents.csv", has_heading("document", "tokens", "topic_1")),
    ("documents.csv", has_heading("document", "topic_1")),  # of an earlier version
    (MODEL, is_model),
)


def arrays(result: Result) -> dict[str, Any]:
    """Return the arrays of posterior.npz.

    theta, shape (D, K): share of topic k in each document, in column k - 1; phi, shape (K, V): probability of each
    word in each topic, rows sum to one; document_counts, shape (D, K), and word_counts, shape (V, K): expected tokens
    of each topic in each document, and of each word; alpha, shape (K,); beta; vocabulary, document_names: names
    (`labels_bytes`). The K topics are those in use, so counts lack the part of a word that each empty topic holds. Of a
    corpus on disk the documents are a sample.
    """
    posterior, shown = result.posterior, _shown_corpus(result)
    topics = build_topics(posterior)
    return {
        "theta": topics.document_share,
        "phi": topics.word_probability,
        "document_counts": posterior["documents"],
        "word_counts": posterior["words"],
        "alpha": posterior["alpha"],
        "beta": np.float64(posterior.hyper["beta"]),
        "vocabulary": labels_bytes(shown.vocabulary),
        "document_names": labels_bytes(shown.documents),
    }


def pyldavis_json(result: Result, n_words: int = 30) -> str:
    """Return the topics as the JSON that pyLDAvis's front-end draws.

    Lengths of documents are those of the training corpus, without the words that were held out; of a corpus on disk,
    those of a sample of it.

    Raises ParameterError: the run is of a model without topics.
    """
    if result.prepared.spec.model != "lda":
        raise ParameterError(f"model {result.prepared.spec.model!r} has no topics that pyLDAvis could draw.")
    topics = build_topics(result.posterior)
    shown = _shown_corpus(result)
    shares = topics.word_probability, topics.document_share
    # Not sorted anew: a topic has the number that it has everywhere.
    data = pyldavis_data(*shares, shown.lengths, shown.vocabulary, n_words=n_words, sort=False)
    return json.dumps(data, allow_nan=False) + "\n"


def _shown_corpus(result: Result) -> Corpus:
    model: Any = result.prepared.model
    shown: Corpus = model.shown_documents
    return shown


def facts(result: Result) -> dict[str, Any]:
    """Return what run.json tells of the documents whose topics are given: how many of how many, and if of all."""
    shown, trained = _shown_corpus(result).n_documents, result.prepared.train.n_documents
    return {"documents_shown": shown, "documents_trained": trained, "documents_are_a_sample": shown < trained}


def files(result: Result, folder: Path) -> list[Path]:
    """Write the topics to continue from; return their file."""
    path = folder / MODEL
    save_model(result, path)
    return [path]


def name_columns(
    documents: pd.DataFrame, names: Sequence[str | None], labels: Iterable[str] | None = None
) -> pd.DataFrame:
    """Return a table of documents with the topics' names in its heading ("topic_1: sport") and the known labels.

    `documents`: document, tokens, topic_1 ….
    `names`: the user's name of each topic, topic 1 first.
    `labels`: the known label of each document, which becomes the second column.
    """
    headings = {f"topic_{k}": f"topic_{k}: {name}" for k, name in enumerate(names, 1) if name}
    table = documents.rename(columns=headings)
    if labels is not None:
        table.insert(1, "label", list(labels))
    return table


def write_document_topics(
    result: Result,
    path: Path,
    progress: Callable[[float], None] | None = None,
    names: Sequence[str | None] | None = None,
) -> None:
    """Write the topic shares of all documents as CSV, as in documents.csv; of a corpus on disk chunk by chunk.

    All documents of a corpus on disk are those that were held out, too; their topics follow from the trained ones.

    `path`: a file that is there is replaced, whole or not at all.
    `progress`: called with the share that is done; it may raise to give up.
    `names`: the topics' names; with them the table carries names and known labels (`name_columns`).
    Raises ParameterError: the run is of a model without topics.
    Raises OSError: the file cannot be written.
    """
    if result.prepared.spec.model != "lda":
        raise ParameterError(f"model {result.prepared.spec.model!r} has no topics of documents.")
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        with temporary.open("x", encoding="utf-8", newline="") as file:
            for part in _document_tables(result):
                frame = part.frame if names is None else name_columns(part.frame, names, part.labels)
                text = csv_text(frame)
                # The heading is one line: a name has no line breaks.
                file.write(text if part.begin == 0 else text.partition("\n")[2])
                if progress is not None:
                    progress(part.end / part.of)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


class _Part(NamedTuple):
    frame: pd.DataFrame
    labels: NDArray[Any] | None
    begin: int
    end: int
    of: int


def _document_tables(result: Result) -> Iterator[_Part]:
    data = result.prepared.data
    if not isinstance(data, DiskCorpus):
        frame = result.tables["documents"]
        yield _Part(frame, _shown_corpus(result).labels, 0, len(frame), max(len(frame), 1))
        return
    phi, alpha = word_probability(result.posterior), result.posterior["alpha"]
    numbers = np.setdiff1d(np.arange(data.n_all), data.left_out, assume_unique=True)
    for begin in range(0, len(numbers), CHUNK):
        corpus = data.documents(numbers[begin : begin + CHUNK])
        frame = document_table(fold_in(corpus.counts, phi, alpha), corpus)
        yield _Part(frame, corpus.labels, begin, begin + corpus.n_documents, len(numbers))
