"""Topics as a reader arranges them: merged, hidden, in an order of their own, and fewer of them along a tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Array, Posterior
from acvb_core.engine.result import Result
from acvb_core.evaluate.ranking import jensen_shannon
from acvb_core.models.lda.state import TOPICS
from acvb_core.models.lda.topics import word_probability

#: The topics of a run that make up each topic that is shown, from 1, in the order shown.
Groups = tuple[tuple[int, ...], ...]
#: Arrays whose sums over topics are those of the merged topic.
_SUMMED = ("documents", "words", "alpha")
#: Suggested numbers of topics, at most.
_SUGGESTED = 4


class TopicEdit(NamedTuple):
    """One change of the topics that are shown; they are named by topics of the run, from 1, that they contain.

    kind: "merge" adds the later topics to the first one. "hide" leaves them out. "move" puts the first one before the
      second, or at the end if there is no second.
    """

    kind: str
    topics: tuple[int, ...]


def group_topics(edits: Iterable[TopicEdit], n_topics: int) -> Groups:
    """Return the topics that are left after some edits of `n_topics` topics.

    An edit of a topic that was hidden before, or that would hide the last one, changes nothing.
    Raises ParameterError: an edit of another kind, or of a topic that the run does not have.
    """
    groups: list[tuple[int, ...]] = [(topic,) for topic in range(1, n_topics + 1)]
    for kind, topics in edits:
        if kind not in ("merge", "hide", "move") or not all(1 <= topic <= n_topics for topic in topics):
            raise ParameterError(f"{kind} {topics} is no change of {n_topics:,} topics.")
        found = [group for topic in topics for group in groups if topic in group]
        chosen = list(dict.fromkeys(found))
        if not chosen:
            continue
        first, others = chosen[0], [group for group in groups if group not in chosen]
        if kind == "hide":
            groups = others or groups
        elif kind == "merge":
            merged = tuple(topic for group in chosen for topic in group)
            groups = [merged if group == first else group for group in groups if group not in chosen[1:]]
        else:
            rest = [group for group in groups if group != first]
            at = rest.index(chosen[1]) if len(chosen) > 1 else len(rest)
            groups = [*rest[:at], first, *rest[at:]]
    return tuple(groups)


def arrange_topics(result: Result, groups: Groups) -> Result:
    """Return a result whose topics are sums of a run's topics; the others are left out.

    Expected tokens of words and documents and the concentrations are added up. So a merged topic has the words of its
    parts, weighted by their sizes, and a document's share of it is the sum of their shares. The held-out score is that
    of the arranged topics. The bound and other diagnostics of the run are not known of them.

    `groups`: of the topics as `result` numbers them.
    Raises ParameterError: a topic is in no group of the run, or in two.
    """
    posterior = result.posterior
    n_topics = len(posterior["alpha"])
    named = [topic for group in groups for topic in group]
    if not groups or len(set(named)) < len(named) or not set(named) <= set(range(1, n_topics + 1)):
        raise ParameterError(f"{groups} are no groups of {n_topics:,} topics, each in one of them at most.")
    if groups == tuple((topic,) for topic in range(1, n_topics + 1)):
        return result
    arranged, prepared = _add_up(posterior, groups), result.prepared
    heldout = prepared.heldout
    if heldout is not None:
        heldout = prepared.model.score(prepared.model.predict(arranged, heldout), heldout)
    last = replace(
        result.snapshot, posterior=arranged, effective_k={TOPICS: len(groups)}, heldout=heldout,
        lower_bound=None, pseudo_loo=None, extras={}, state=None, memory=None,
    )  # fmt: skip
    return replace(result.with_state(snapshot=last), given_names={}, arranged={TOPICS: groups})


def _add_up(posterior: Posterior, groups: Groups) -> Posterior:
    """Return the sums of topics in the arrays whose sums are those of a topic."""
    members = [np.array(group) - 1 for group in groups]

    def add(array: Array) -> Array:
        sums = [array[..., own].sum(axis=-1, dtype=np.float64) for own in members]
        return np.stack(sums, axis=-1).astype(array.dtype)

    of_topics = {name for name, axes in posterior.axes.items() if TOPICS in axes}
    summed: dict[str, Array] = {one: add(posterior[one]) for one in _SUMMED if one in of_topics}
    return posterior.with_arrays(summed, drop=tuple(of_topics - set(summed)))


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


def join_groups(groups: Groups, tree_groups: Sequence[Sequence[int]]) -> Groups:
    """Return groups of the run's topics, joined as a tree of these groups (numbered from 1) says."""
    return tuple(tuple(topic for number in joined for topic in groups[number - 1]) for joined in tree_groups)


def describe_groups(groups: Groups, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return, for each topic that is made of several, its number, and those it is made of, with their names."""
    return [
        {"topic": number, "of": list(group), "names": [names[topic - 1] for topic in group]}
        for number, group in enumerate(groups, start=1)
        if len(group) > 1
    ]
