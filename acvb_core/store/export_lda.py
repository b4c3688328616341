"""What a run of latent Dirichlet allocation leaves beside its tables: topics as arrays, and for pyLDAvis."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from acvb_core.engine.result import Result
from acvb_core.errors import ParameterError
from acvb_core.evaluate.pyldavis import pyldavis_data
from acvb_core.lda.topics import topics_of
from acvb_core.store.files import labels_bytes


def lda_arrays(result: Result) -> dict[str, Any]:
    """Return the arrays of posterior.npz.

    theta, shape (D, K): share of topic k in each document, in column k - 1; phi, shape (K, V): probability of each
    word in each topic, rows sum to one; document_counts, shape (D, K), and word_counts, shape (V, K): expected tokens
    of each topic in each document, and of each word; alpha, shape (K,); beta; vocabulary, document_names: names
    (`labels_bytes`).
    """
    posterior, corpus = result.posterior, result.problem.data
    topics = topics_of(posterior)
    return {
        "theta": topics.document_share,
        "phi": topics.word_probability,
        "document_counts": posterior["documents"],
        "word_counts": posterior["words"],
        "alpha": posterior["alpha"],
        "beta": np.float64(posterior.hyper["beta"]),
        "vocabulary": labels_bytes(corpus.vocabulary),
        "document_names": labels_bytes(corpus.documents),
    }


def pyldavis_json(result: Result, n_words: int = 30) -> str:
    """Return the topics as the JSON that pyLDAvis's front-end draws.

    Lengths of documents are those of the training corpus, without the words that were held out.

    Raises
    ------
    ParameterError
        The run is of a model without topics.
    """
    if result.problem.settings.model != "lda":
        raise ParameterError(
            f"model {result.problem.settings.model!r} has no topics that pyLDAvis could draw."
        )
    topics = topics_of(result.posterior)
    train = result.problem.train
    shares = topics.word_probability, topics.document_share
    # Not sorted anew: a topic has the number that it has everywhere.
    data = pyldavis_data(*shares, train.lengths, train.vocabulary, n_words=n_words, sort=False)
    return json.dumps(data, allow_nan=False) + "\n"
