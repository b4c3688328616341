"""Documents that have most of a topic."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from acvb_core.core.errors import ParameterError
from acvb_core.evaluate.ranking import check_topics, top_words

DocumentOrder = Literal["share", "tokens"]


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
      share (NaN if it has no tokens), tokens (expected), length.
    """
    shares = np.asarray(document_share)
    length = np.asarray(lengths)
    share = shares[:, check_topics(topic, shares.shape[1])[0]] * (length > 0.0)
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
            "share": np.where(length[document] > 0, share[document], np.nan),
            "tokens": tokens[document],
            "length": length[document],
        }
    )
