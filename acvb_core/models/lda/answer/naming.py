"""Names of topics, made of their words, and the columns of tables that have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from acvb_core.engine.result import Result
from acvb_core.evaluate.ranking import ranked_words, top_words
from acvb_core.models.lda.topics import IDENTIFYING, word_probability

if TYPE_CHECKING:
    import pandas as pd

#: Words that a name consists of.
_NAMED = 3


def name_parts(result: Result) -> dict[str, tuple[str, ...]]:
    """Return a name for every topic: its words that are frequent and exclusive (FREX)."""
    phi, data = word_probability(result.posterior), result.prepared.data
    if not len(phi):
        return {"topics": ()}
    ranked = ranked_words(phi, data.frequencies, data.vocabulary, by="frex", n=_NAMED)
    words = ranked.groupby("topic", sort=True)["word"].agg(lambda own: " ".join(map(str, own)))
    return {"topics": tuple(words.reindex(range(1, len(phi) + 1), fill_value=""))}


def mark_parts(result: Result) -> dict[str, list[list[int]]]:
    """Return the words by which each topic is recognised: its most probable ones."""
    marks: list[list[int]] = top_words(word_probability(result.posterior), IDENTIFYING).tolist()
    return {"topics": marks}


def add_names(tables: Mapping[str, pd.DataFrame], names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the tables with the names of topics beside their numbers."""
    topics = tables["topics"].copy()
    texts = np.array(names["topics"], dtype=object)[topics["topic"].to_numpy() - 1]
    topics.insert(1, "name", texts)
    return {**tables, "topics": topics}
