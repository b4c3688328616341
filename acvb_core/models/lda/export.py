"""Files of a run of LDA: topics as arrays and for pyLDAvis, and the topics of all documents."""

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
from acvb_core.data.corpora.metadata import take_groups
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.engine.result import Result
from acvb_core.evaluate.ranking import distributions, top_words
from acvb_core.models.lda.model import SHOWN
from acvb_core.models.lda.topics import build_topics, document_table, topic_map, word_probability
from acvb_core.models.lda.transform import fold_in
from acvb_core.store.export import csv_text, has_heading, name_headings
from acvb_core.store.files import labels_bytes
from acvb_core.store.topics import MODEL, is_model, save_model

Floats = NDArray[np.float64]
#: Documents whose topics are computed at a time.
CHUNK = 5_000
#: Files of a run, and how each is recognised.
OWN_FILES = (
    ("topics.csv", has_heading("topic", "name", "rank", "word")),
    ("topics.csv", has_heading("topic", "rank", "word", "probability")),  # of an earlier version
    ("documents.csv", has_heading("document", "tokens", "topic_1")),
    ("documents.csv", has_heading("document", "topic_1")),  # of an earlier version
    (MODEL, is_model),
)


def arrays(result: Result) -> dict[str, Any]:
    """Return the arrays of posterior.npz.

    theta, shape (D, K): share of topic k in each document, in column k - 1; phi, shape (K, V): probability of each
    word in each topic, rows sum to one; document_counts, shape (D, K), and word_counts, shape (V, K): expected tokens
    of each topic in each document, and of each word; alpha, shape (K,); beta; vocabulary, document_names: names
    (`labels_bytes`). The K topics are those in use, so counts lack the small parts of empty topics. For a corpus on
    disk the documents are a sample.
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
    """Return the topics as the JSON that the front-end of pyLDAvis draws.

    Document lengths are those of the training corpus, without held-out words; for a corpus on disk, those of a sample.

    Raises ParameterError: the model of the run has no topics.
    """
    if result.prepared.spec.model != "lda":
        raise ParameterError(f"model {result.prepared.spec.model!r} has no topics that pyLDAvis could draw.")
    topics, shown = build_topics(result.posterior), _shown_corpus(result)
    phi, theta = (distributions(rows) for rows in (topics.word_probability, topics.document_share))
    tokens = np.asarray(shown.lengths, dtype=np.float64) @ theta
    # The front-end passes over names: it shows the numbers of topics alone.
    names = {"topic.names": list(result.names["topics"])}
    data = pyldavis_data(phi, tokens, shown.vocabulary, n_words) | names
    return json.dumps(data, allow_nan=False) + "\n"


#: Step of the slider for lambda in pyLDAvis.
LAMBDA_STEP = 0.01
#: Words are searched for in this many intervals of lambda.
_INTERVALS = 10


def pyldavis_data(phi: Floats, tokens: Floats, words: NDArray[Any], n_words: int) -> dict[str, Any]:
    """Return the result of pyLDAvis's `PreparedData.to_dict()` as plain lists.

    Topics keep their numbers. Word frequencies are expected ones, so that the parts of each bar add up to it (pyLDAvis
    does the same). The map uses `topic_map`, whose distance is a metric: the square root of pyLDAvis's divergence.

    `phi`: shape (K, V); `tokens`: shape (K,), expected tokens of each topic; `words`: shape (V,).
    `n_words`: bars shown at a time.
    Reference: Sievert and Shirley 2014. Chuang, Manning and Heer 2012, eq. 1-2 (saliency).
    """
    numbers, shown = list(range(1, len(phi) + 1)), min(n_words, len(words))
    # Expected tokens of each word.
    expected = tokens @ phi
    log_p = np.log(np.where(expected > 0.0, expected, np.nan) / expected.sum())
    salient = top_words(np.nan_to_num(_saliency(phi, tokens, expected)), shown)
    frequency, ranks = np.floor(expected[salient]), np.arange(shown, 0, -1, dtype=np.float64)
    bars = [_bars("Default", words[salient], frequency, frequency, ranks, ranks)]
    seen = [salient]
    for number, row, size in zip(numbers, phi, tokens, strict=True):
        with np.errstate(divide="ignore"):
            log_phi = np.log(row)
        best = _ever_shown(log_phi, log_p, shown)
        logs = log_phi[best].round(4), (log_phi[best] - log_p[best]).round(4)
        bars.append(_bars(f"Topic{number}", words[best], size * row[best], expected[best], *logs))
        seen.append(best)
    x, y = topic_map(phi).positions.T.tolist()
    shares = (100.0 * tokens / tokens.sum()).tolist()
    return {
        "mdsDat": {"x": x, "y": y, "topics": numbers, "cluster": [1] * len(phi), "Freq": shares},
        "tinfo": pd.concat(bars).to_dict("list"),
        "token.table": _token_table(phi, tokens, expected, words, np.unique(np.concatenate(seen))),
        "R": shown,
        "lambda.step": LAMBDA_STEP,
        "plot.opts": {"xlab": "PC1", "ylab": "PC2"},
        "topic.order": numbers,
    }


def _bars(
    category: str, terms: NDArray[Any], part: Floats, total: Floats, logprob: Floats, loglift: Floats
) -> pd.DataFrame:
    """Return the bars of a topic, or those without a chosen topic."""
    columns = {"Term": terms, "Freq": part, "Total": total, "Category": category}
    return pd.DataFrame(columns | {"logprob": logprob, "loglift": loglift})


def _saliency(phi: Floats, tokens: Floats, expected: Floats) -> Floats:
    """Return p(w) times the divergence of p(topic | w) from p(topic): sum of p(topic, w) log p(w | topic) / p(w)."""
    total = expected.sum()
    out = np.zeros(phi.shape[1])
    share = expected / total
    for row, size in zip(phi, tokens, strict=True):
        used = row > 0.0
        out[used] += size / total * row[used] * np.log(row[used] / share[used])
    return out


def _ever_shown(log_phi: Floats, log_p: Floats, shown: int) -> NDArray[np.int64]:
    """Return the words among the `shown` most relevant ones at some lambda, those of small lambda first.

    Relevance is linear in lambda, so in an interval it is between its values at the two ends. A word is never shown
    there if `shown` words have a smaller end above its larger end.
    """
    used = np.flatnonzero(np.isfinite(log_phi) & np.isfinite(log_p))
    log_phi, log_p = log_phi[used], log_p[used]
    top = []
    for piece in np.array_split(np.linspace(0.0, 1.0, round(1.0 / LAMBDA_STEP) + 1), _INTERVALS):
        ends = log_phi - (1.0 - piece[[0, -1]])[:, None] * log_p
        least, most = ends.min(axis=0), ends.max(axis=0)
        near = np.flatnonzero(most >= np.sort(least)[-min(shown, len(least)) :][0])
        scores = log_phi[near] - (1.0 - piece)[:, None] * log_p[near]
        top.append(near[top_words(scores, shown)].ravel())
    _, first = np.unique(np.concatenate(top), return_index=True)
    return used[np.concatenate(top)[np.sort(first)]]


def _token_table(
    phi: Floats, tokens: Floats, expected: Floats, words: NDArray[Any], seen: NDArray[np.int64]
) -> dict[str, list[Any]]:
    """Return the shares of the topics in each word, without parts below half a token."""
    parts = tokens[:, None] * phi[:, seen]
    by_name = np.argsort(words[seen].astype(str), kind="stable")
    word, topic = np.nonzero(parts.T[by_name] >= 0.5)
    word = by_name[word]
    return {
        "Topic": (topic + 1).tolist(),
        "Freq": (parts[topic, word].round() / expected[seen[word]]).tolist(),
        "Term": words[seen[word]].tolist(),
    }


def _shown_corpus(result: Result) -> Corpus:
    model: Any = result.prepared.model
    shown: Corpus = model.shown_documents
    return shown


def facts(result: Result) -> dict[str, Any]:
    """Return, for run.json, how many documents have topics in the files, of how many, and of which groups."""
    shown, train = _shown_corpus(result).n_documents, result.prepared.train
    is_sample = isinstance(train, DiskCorpus) and train.n_documents > SHOWN
    found = {
        "documents_shown": shown,
        "documents_trained": train.n_documents,
        "documents_are_a_sample": is_sample,
    }
    return found | ({"documents_of": dict(result.groups)} if result.groups else {})


def files(result: Result, folder: Path) -> list[Path]:
    """Write the topics to continue from; return their file."""
    path = folder / MODEL
    save_model(result, path)
    return [path]


def name_columns(
    documents: pd.DataFrame, names: Sequence[str], labels: Iterable[str] | None = None
) -> pd.DataFrame:
    """Return a table of documents with the topics' names in its heading ("topic_1: sport").

    `documents`: document, tokens, topic_1 ….
    `names`: the name of each topic, topic 1 first.
    `labels`: the known label of each document, for a second column.
    """
    table = name_headings(documents, "topic", names)
    if labels is not None:
        table.insert(1, "label", list(labels))
    return table


def write_document_topics(
    result: Result,
    path: Path,
    progress: Callable[[float], None] | None = None,
    labels: bool = False,
) -> None:
    """Write the topic shares of all documents as documents.csv; a corpus on disk is read in chunks.

    For a corpus on disk this includes held-out documents, whose shares follow from the trained topics.

    `path`: an existing file is replaced only when the new one is complete.
    `progress`: called with the finished share; it may raise to stop.
    `labels`: with the known label of each document.
    Raises ParameterError: the model of the run has no topics.
    Raises OSError: the file cannot be written.
    """
    if result.prepared.spec.model != "lda":
        raise ParameterError(f"model {result.prepared.spec.model!r} has no topics of documents.")
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        with temporary.open("x", encoding="utf-8", newline="") as file:
            for part in _document_tables(result):
                known = part.labels if labels else None
                frame = name_columns(part.frame, result.names["topics"], known)
                file.write(csv_text(frame, header=part.begin == 0))
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
        chosen = numbers[begin : begin + CHUNK]
        corpus = take_groups(data.documents(chosen), result.groups)
        frame = document_table(fold_in(corpus.counts, phi, alpha), corpus)
        yield _Part(frame, corpus.labels, begin, begin + len(chosen), len(numbers))
