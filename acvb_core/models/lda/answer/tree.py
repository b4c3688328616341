"""The tree of topics by the words that they share, and fewer topics along it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Array
from acvb_core.engine.result import Result
from acvb_core.evaluate.ranking import jensen_shannon
from acvb_core.models.lda.answer.arrangement import Groups, arrange_topics
from acvb_core.models.lda.state import TOPICS
from acvb_core.models.lda.topics import word_probability

#: Suggested numbers of topics, at most.
_SUGGESTED = 4


class TopicTree:
    """Topics joined step by step, those with the most similar words first (average linkage).

    `word_probability`: shape (K, V); the topics' distributions over words.
    The height of a step is the mean Jensen-Shannon distance (base 2) between the topics of the two that are joined.
    """

    def __init__(self, word_probability: Array) -> None:
        from scipy.cluster.hierarchy import linkage  # slow to import
        from scipy.spatial.distance import squareform

        self.n_topics = len(word_probability)
        #: As scipy has it: a row for each step, with the two that are joined, the height and the number of topics.
        self.steps: NDArray[np.float64] = np.empty((0, 4))
        if self.n_topics > 1:
            distances = jensen_shannon(word_probability)
            self.steps = linkage(squareform(distances, checks=False), "average")

    @classmethod
    def of_result(cls, result: Result) -> TopicTree:
        """Return the tree of a run's topics."""
        return cls(word_probability(result.posterior))

    @property
    def heights(self) -> NDArray[np.float64]:
        """The height of each step, shape (K - 1,), never falling."""
        return self.steps[:, 2]

    def cut(self, n_groups: int) -> Groups:
        """Return the topics in so many groups, each where its first topic is."""
        joined: dict[int, tuple[int, ...]] = {at: (at + 1,) for at in range(self.n_topics)}
        for step in range(self.n_topics - max(min(n_groups, self.n_topics), 1)):
            one, other = (joined.pop(int(child)) for child in self.steps[step, :2])
            joined[self.n_topics + step] = tuple(sorted(one + other))
        return tuple(sorted(joined.values()))

    @cached_property
    def order(self) -> list[int]:
        """The topics (from 1) along the tree, so that no two of its branches cross."""
        branches: dict[int, list[int]] = {at: [at + 1] for at in range(self.n_topics)}
        for step, (one, other) in enumerate(self.steps[:, :2].astype(int).tolist()):
            branches[self.n_topics + step] = branches.pop(one) + branches.pop(other)
        return next(iter(branches.values()))

    def suggest(self) -> list[int]:
        """Return numbers of topics, fewer than all and at least 2, before which the height rises most: at most 4."""
        # Going from k groups to k - 1 costs heights[K - k]; the step before, to k, cost heights[K - k - 1].
        numbers = range(2, self.n_topics)
        rises = {
            k: float(self.heights[self.n_topics - k] - self.heights[self.n_topics - k - 1]) for k in numbers
        }
        best = sorted(numbers, key=lambda k: (-rises[k], k))[:_SUGGESTED]
        return sorted(k for k in best if rises[k] > 0.0)


def coarsen(result: Result, numbers: Mapping[str, int], corrected: bool | None = None) -> Result:
    """Return a result with so many topics, those with the most similar words joined (`Result.coarsen`).

    `numbers`: of "topics"; at most as many as there are. `corrected`: has no meaning for topics.
    Raises ParameterError: the number of something else, or less than one topic.
    """
    k = numbers.get(TOPICS, 0)
    if numbers.keys() != {TOPICS} or k < 1 or corrected is not None:
        given = ", ".join(
            [*(f"{name}={number}" for name, number in numbers.items()), f"corrected={corrected}"]
        )
        raise ParameterError(f"Topics are joined by coarsen(topics=K), K at least 1, not by {given}.")
    return arrange_topics(result, TopicTree.of_result(result).cut(k))
