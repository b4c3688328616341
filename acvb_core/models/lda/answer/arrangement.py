"""Topics as a reader arranges them: merged, hidden, in an order of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Array, Posterior
from acvb_core.engine.result import Result
from acvb_core.models.lda.state import TOPICS

#: The topics of a run that make up each topic that is shown, from 1, in the order shown.
Groups = tuple[tuple[int, ...], ...]
#: Arrays whose sums over topics are those of the merged topic.
_SUMMED = ("documents", "words", "alpha", "gains")


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
    heldout = None if result.groups else prepared.heldout
    if heldout is not None:
        heldout = prepared.model.score(prepared.model.predict(arranged, heldout), heldout)
    last = replace(
        result.snapshot, posterior=arranged, effective_k={TOPICS: len(groups)}, heldout=heldout,
        lower_bound=None, pseudo_loo=None, extras={}, state=None, memory=None,
    )  # fmt: skip
    own = join_groups(result.arranged[TOPICS], groups) if result.arranged else groups
    return replace(result.with_state(snapshot=last), given_names={}, arranged={TOPICS: own})


def _add_up(posterior: Posterior, groups: Groups) -> Posterior:
    """Return the sums of topics in the arrays whose sums are those of a topic."""
    members = [np.array(group) - 1 for group in groups]

    def add(array: Array) -> Array:
        sums = [array[..., own].sum(axis=-1, dtype=np.float64) for own in members]
        return np.stack(sums, axis=-1).astype(array.dtype)

    of_topics = {name for name, axes in posterior.axes.items() if TOPICS in axes}
    summed: dict[str, Array] = {one: add(posterior[one]) for one in _SUMMED if one in of_topics}
    return posterior.with_arrays(summed, drop=tuple(of_topics - set(summed)))


def join_groups(groups: Sequence[Sequence[int]], tree_groups: Sequence[Sequence[int]]) -> Groups:
    """Return groups of the run's topics, joined as a tree of these groups (numbered from 1) says."""
    return tuple(tuple(topic for number in joined for topic in groups[number - 1]) for joined in tree_groups)
