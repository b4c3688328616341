"""Names of topics, made of their words, and the columns of tables that have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from acvb_core.engine.result import Result
from acvb_core.evaluate.ranking import ranked_words, top_words
from acvb_core.models.lda.state import TOPICS
from acvb_core.models.lda.topics import IDENTIFYING, word_probability

if TYPE_CHECKING:
    import pandas as pd

#: Words that a name consists of, and those that it is chosen from.
_NAMED, _TRIED = 3, 12
#: Letters at the beginning by which two words are forms of one word: image and images.
_STEM = 4


def name_parts(result: Result) -> dict[str, tuple[str, ...]]:
    """Return a name for every topic: its words that are frequent and exclusive (FREX), one of several forms."""
    phi, data = word_probability(result.posterior), result.prepared.data
    if not len(phi):
        return {TOPICS: ()}
    ranked = ranked_words(phi, data.frequencies, data.vocabulary, by="frex", n=_TRIED)
    names: list[str] = []
    for _, words in ranked.groupby("topic", sort=True)["word"]:
        chosen = choose_words(list(map(str, words)), _NAMED)
        # Two topics with the same words would have one name.
        while " ".join(chosen) in names and len(chosen) < len(words):
            chosen = choose_words(list(map(str, words)), len(chosen) + 1)
        names.append(" ".join(chosen))
    return {TOPICS: tuple(names)}


def choose_words(words: Sequence[str], n: int) -> list[str]:
    """Return the first `n` words that are no other forms of one before; if they are too few, some that are."""
    chosen: list[str] = []
    for word in words:
        if not any(_are_alike(word, other) for other in chosen):
            chosen.append(word)
    return [*chosen, *(word for word in words if word not in chosen)][:n]


def _are_alike(one: str, other: str) -> bool:
    """Return whether two words begin alike, but for the last letter of the shorter one."""
    shared = max(min(len(one), len(other)) - 1, _STEM)
    return one[:shared] == other[:shared]


def mark_parts(result: Result) -> dict[str, list[list[int]]]:
    """Return the words by which each topic is recognised: its most probable ones."""
    marks: list[list[int]] = top_words(word_probability(result.posterior), IDENTIFYING).tolist()
    return {TOPICS: marks}


def add_names(tables: Mapping[str, pd.DataFrame], names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the tables with the names of topics beside their numbers."""
    topics = tables["topics"].copy()
    texts = np.array(names["topics"], dtype=object)[topics["topic"].to_numpy() - 1]
    topics.insert(1, "name", texts)
    return {**tables, "topics": topics}
