"""Warm-up case of corpora: tiny data on which every compiled function is used once."""

from __future__ import annotations

from typing import Any

import numpy as np

from acvb_core.core.protocols import Posterior
from acvb_core.core.rows import Values, WarmUp
from acvb_core.data.corpus import Corpus
from acvb_core.models.lda.evaluate.topic_map import topic_map
from acvb_core.models.lda.rows import LEARN_FROM
from acvb_core.models.lda.sharded.stored_rows import StoredRows
from acvb_core.models.lda.state import Tokens
from acvb_core.models.lda.trained import TrainedTopics


def tiny_corpus() -> tuple[Corpus, Values]:
    """Return two topics of five words each, some repeated in a document, and the settings of a run."""
    counts = [[(1 + (i + j) % 3) * (i % 2 == j // 5) for j in range(10)] for i in range(12)]
    return Corpus.build(counts, name="tiny"), {"k": 3}


def start_from(method: str, values: Values, posterior: Posterior, train: Corpus) -> TrainedTopics:
    """Return the topics of a run as those that another run continues from."""
    sizes, documents = train.frequencies.astype(np.float64), float(train.n_documents)
    return TrainedTopics(posterior, train.vocabulary, sizes, documents, train.name, method, values=values)


def use_model(model: Any, posterior: Posterior, train: Corpus) -> None:
    """Find the topics of documents that were not fitted, and keep responsibilities in half the memory."""
    rows = StoredRows(Tokens.of(train), 3, short=True)
    for piece in rows.pieces():
        rows.put(piece)
    model.transform(posterior, train)
    model.completion(posterior, train)


def use_figures() -> None:
    """Place topics on a map."""
    topic_map(np.full((2, 3), 1 / 3))


#: The concentrations are learned in the last sweep.
CASES = {"lda": WarmUp(tiny_corpus, LEARN_FROM + 1, use_model, use_figures, start_from)}
