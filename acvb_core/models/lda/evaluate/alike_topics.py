"""Topics that come back in other runs, and how far their shares and words spread over the runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from acvb_core.core.protocols import Array, Posterior
from acvb_core.evaluate.ranking import top_words
from acvb_core.evaluate.stability import stability
from acvb_core.models.lda.topics import topic_share, topics_in_use, word_probability

#: Similarity of topics that count as the same: about half of their top words are, and more of the frequent ones.
ALIKE = 0.6
#: Bhattacharyya coefficient of two topics of one run from which on they are one topic twice: a similarity of 0.95. The
#: second is not found again anywhere.
SAME = 0.998
#: Top words of a topic that are looked for in other runs.
TOP_WORDS = 10


def count_alike_topics(posteriors: Sequence[Posterior]) -> tuple[int, int]:
    """Return how many topics of the first run come back in all the others, and how many it has.

    Empty topics do not count. Of topics that are all but the same (`SAME`), only the largest comes back. Topics over
    different words cannot be compared: that gives (0, 0).
    """
    topics = [_read(posterior)[0] for posterior in posteriors]
    if len({one.shape[1] for one in topics}) > 1:
        return 0, 0
    back = (stability(topics).minimum >= ALIKE) & ~_find_repeats(topics[0])
    return int(back.sum()), len(topics[0])


def count_repeats(posterior: Posterior) -> int:
    """Return how many topics in use are all but the same as a larger one (`SAME`)."""
    return int(_find_repeats(_read(posterior)[0]).sum())


def measure_spread(posteriors: Sequence[Posterior], vocabulary: NDArray[Any]) -> dict[str, pd.DataFrame]:
    """Return how far the topics of the first run depend on the run, as the frames `topics` and `words`.

    topics: topic (from 1, largest first), share, low, high, found, runs.
    words: topic, rank, word, probability, low, high, in_top_ten, for the ten most probable words of each topic.

    A topic is found in a run that has a topic with a similarity of `ALIKE` or more; `found` counts these runs, the
    first included, of the number in `runs`. A topic that repeats a larger one of its run (`SAME`) is found nowhere
    else. `low` and `high` are the least and the largest value over the runs that have the topic; NaN where no other run
    has it. `in_top_ten` counts the runs in which the topic has the word among its ten most probable ones.

    `posteriors`: of runs on the same words, as their methods gave them; one or more.
    """
    phi, share = _read(posteriors[0])
    top, repeats = top_words(phi, TOP_WORDS), _find_repeats(phi)
    shares, probabilities = [share], [np.take_along_axis(phi, top, axis=1)]
    found, in_top = np.ones(len(phi), np.int64), np.ones(top.shape, np.int64)
    for posterior in posteriors[1:]:
        other, other_share = _read(posterior)
        pairs = stability([phi, other])
        alike, partner = (pairs.similarity[0] >= ALIKE) & ~repeats, pairs.partner[0]
        shares.append(np.where(alike, other_share[partner], np.nan))
        probabilities.append(np.where(alike[:, None], other[partner[:, None], top], np.nan))
        there = (top[:, :, None] == top_words(other, TOP_WORDS)[partner][:, None, :]).any(axis=2)
        found, in_top = found + alike, in_top + (alike[:, None] & there)
    numbers, n_words = np.arange(1, len(phi) + 1), top.shape[1]
    low, high = _range_over_runs(shares, found > 1)
    topics = {"topic": numbers, "share": share, "low": low, "high": high, "found": found}
    low, high = _range_over_runs(probabilities, np.broadcast_to(found[:, None] > 1, top.shape))
    words = {
        "topic": np.repeat(numbers, n_words),
        "rank": np.tile(np.arange(1, n_words + 1), len(phi)),
        "word": vocabulary[top.ravel()],
        "probability": probabilities[0].ravel(),
        "low": low.ravel(),
        "high": high.ravel(),
        "in_top_ten": in_top.ravel(),
    }
    return {"topics": pd.DataFrame(topics | {"runs": len(posteriors)}), "words": pd.DataFrame(words)}


def _read(posterior: Posterior) -> tuple[Array, Array]:
    """Return the word probabilities of the topics in use, the largest first, and their shares."""
    used = topics_in_use(posterior)
    share = topic_share(posterior)[used]
    return word_probability(posterior)[used], share / share.sum()


def _find_repeats(phi: Array) -> NDArray[np.bool_]:
    """Return which topics, shape (K, V), are all but the same as one before them, shape (K,)."""
    root = np.sqrt(phi)
    return np.asarray((np.tril(root @ root.T, -1) >= SAME).any(axis=1))


def _range_over_runs(values: Sequence[Array], known: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return the least and the largest value over runs, NaN where it is not known."""
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)
