"""The text that a line of an experiment keeps of a run's answer and of its course, and how alike answers are.

The table of runs holds all that the stability of a method and its curves follow from, so an experiment that goes on
after a restart, or a reader of its file, needs no run again.
"""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import chain, combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from acvb_core.core.clusters import pair_clusters
from acvb_core.engine.result import Result
from acvb_core.evaluate.agreement import agreement

#: Columns with a clustering (and its name), with the words of topics, and with scores over time.
LABELS, WORDS, COURSE = "labels_", "top_words", "scores_by_cpu_seconds"
#: Objects whose clusters are kept, spread evenly over all: more change the adjusted Rand index in the third digit.
_OBJECTS = 2_000
#: Words kept of a topic, and points of a course.
_WORDS, _POINTS = 10, 40


def describe_answer(result: Result) -> dict[str, str]:
    """Return the clusterings of a run, or the words of its topics; nothing of models with neither.

    A clustering is the clusters of the objects, from 1, with spaces between; topics are lists of words as JSON.
    """
    if "topics" in result.tables:
        best = result.tables["topics"].query("rank <= @_WORDS")
        return {WORDS: json.dumps([list(map(str, words)) for _, words in best.groupby("topic")["word"]])}
    answer = {}
    for domain in result.prepared.model_row.clusterings if result.posterior.normalised else ():
        labels = result.posterior.labels(domain)
        kept = np.linspace(0, len(labels) - 1, min(len(labels), _OBJECTS)).round().astype(np.int64)
        answer[LABELS + domain] = " ".join(map(str, labels[kept] + 1))
    return answer


def describe_course(result: Result, score: str) -> dict[str, str]:
    """Return a score over the CPU seconds of a run: pairs with a colon in them and spaces between."""
    history = result.history
    if score not in history:
        return {}
    known = history.loc[np.isfinite(history[score]), ["cpu_seconds", score]].to_numpy()
    if not len(known):
        return {}
    # Spread evenly over the logarithm of the place: early points tell most.
    places = np.unique(np.geomspace(1, len(known), min(_POINTS, len(known))).round().astype(np.int64)) - 1
    return {COURSE: " ".join(f"{seconds:.4g}:{value:.7g}" for seconds, value in known[places])}


def read_progress(text: str) -> NDArray[np.float64]:
    """Return what `describe_course` wrote, shape (n, 2)."""
    return np.array([[float(part) for part in pair.split(":")] for pair in text.split()])


def measure_stability(runs: pd.DataFrame) -> float:
    """Return how alike the answers of runs are, given as lines of the table of runs.

    The mean over all pairs of runs, and over what they cluster. Of clusterings it is the adjusted Rand index (1 the
    same, 0 as by chance); of topics, paired for the best sum, the share of top words in common (1 the same words, 0
    none). NaN for fewer than two answers.
    """
    values = [
        _compare_topics(one, other) if name == WORDS else _compare_labels(one, other)
        for name in runs
        if name == WORDS or str(name).startswith(LABELS)
        for one, other in combinations([text for text in runs[name] if isinstance(text, str)], 2)
    ]
    return float(np.mean(values)) if values else float("nan")


# An experiment is looked at again after every run, which adds few pairs.
@lru_cache(maxsize=20_000)
def _compare_labels(one: str, other: str) -> float:
    return agreement(one.split(), other.split())["ari"]


@lru_cache(maxsize=20_000)
def _compare_topics(one: str, other: str) -> float:
    """Return the mean Jaccard index of the top words of paired topics; a topic without a partner counts as 0."""
    topics = [json.loads(text) for text in (one, other)]
    number = {word: at for at, word in enumerate(dict.fromkeys(chain(*topics[0], *topics[1])))}
    has = [np.zeros((len(side), len(number))) for side in topics]
    for side, words_of in zip(has, topics, strict=True):
        for topic, words in enumerate(words_of):
            side[topic, [number[word] for word in words]] = 1.0
    common = has[0] @ has[1].T
    overlap = common / (has[0].sum(axis=1)[:, None] + has[1].sum(axis=1) - common)
    pairs = pair_clusters(overlap)
    return float(overlap[pairs.rows, pairs.columns].sum() / max(overlap.shape))
