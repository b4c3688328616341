"""Documents of a topic, topics of a document, documents alike in their topics."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from acvb_core.core.errors import ParameterError
from acvb_core.evaluate.distributions import distributions, jensen_shannon
from acvb_core.evaluate.ranking import check_topics, top_words

DocumentOrder = Literal["share", "tokens"]


def topic_shares(document_share: ArrayLike, lengths: ArrayLike) -> NDArray[np.float64]:
    """Return the share of each topic in all tokens, shape (K,): the documents' shares weighted by their lengths.

    `document_share`: shape (D, K).
    `lengths`: shape (D,); number of tokens of each document.
    """
    tokens = np.asarray(lengths, dtype=np.float64) @ np.asarray(document_share, dtype=np.float64)
    return np.asarray(tokens / tokens.sum())


def top_documents(
    document_share: ArrayLike,
    lengths: ArrayLike,
    topic: int,
    n: int = 10,
    *,
    by: DocumentOrder = "share",
    min_length: int = 1,
) -> pd.DataFrame:
    """Return the documents that have most of a topic.

    `document_share`: shape (D, K); share of each topic in each document.
    `lengths`: shape (D,); number of tokens of each document.
    `topic`: 0-based.
    `n`: at most so many documents.
    `by`: the share of the topic in the document, or the number of tokens expected of it. Short documents are quickly
      of one topic alone; long ones lead by tokens.
    `min_length`: documents with fewer tokens are left out.
    Returns: one row for each document, the one with most first, ties in the order of the corpus: document (0-based),
      share, tokens (expected), length.
    """
    shares = np.asarray(document_share)
    share = shares[:, check_topics(topic, shares.shape[1])[0]].astype(np.float64)
    length = np.asarray(lengths)
    if by not in ("share", "tokens"):
        raise ParameterError(f"Documents are ordered by share or tokens, not by {by!r}.")
    long_enough = np.flatnonzero(length >= min_length)
    tokens = share * length
    document = long_enough
    if len(long_enough):
        document = long_enough[top_words((share if by == "share" else tokens)[long_enough], n)]
    return pd.DataFrame(
        {
            "document": document,
            "share": share[document],
            "tokens": tokens[document],
            "length": length[document],
        }
    )


def topics_of_document(document_share: ArrayLike, document: int, minimum: float = 0.0) -> pd.DataFrame:
    """Return the topics of a document, the largest first: topic (0-based) and share, of at least `minimum`."""
    share = np.asarray(document_share)[document].astype(np.float64)
    order = np.argsort(-share, kind="stable")
    order = order[share[order] >= minimum]
    return pd.DataFrame({"topic": order, "share": share[order]})


def similar_documents(document_share: ArrayLike, document: int, n: int = 10) -> pd.DataFrame:
    """Return the documents whose topics are most like those of one: document (0-based) and distance.

    `document_share`: shape (D, K).
    `document`: 0-based; it is not among the documents returned.
    `n`: at most so many.
    Returns: the closest first, ties in the order of the corpus; the distance is that of Jensen and Shannon (base 2).
    """
    share = distributions(document_share, "the documents' topic shares")
    distance = jensen_shannon(share[[document]], share)[0]
    order = np.argsort(distance, kind="stable")
    order = order[order != document][:n]
    return pd.DataFrame({"document": order, "distance": distance[order]})
