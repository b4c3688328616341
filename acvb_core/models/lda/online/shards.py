"""Streams over shards: each shard reads its documents of a window, then the topics are merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Array, Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.models.lda.documents import Part, cut
from acvb_core.models.lda.kernels import Floats, Singles
from acvb_core.models.lda.online.kernels import EASE, FLOOR, LEAST, LEFT_TO_RIGHT, Prior
from acvb_core.models.lda.online.stream import Renewal, StreamMethod, StreamState, l1_change
from acvb_core.models.lda.spec import FROZEN, fit_turn
from acvb_core.shards.group import ShardGroup, tree_sum

#: A step of 1 would leave nothing of the counts, and 0 has no logarithm.
_ALL = 1.0 - 1e-16


class StreamShard:
    """Some documents of a stream (a `shards.host.Shard`); it stores nothing of a run."""

    def __init__(self, part: Part, method: StreamMethod) -> None:
        self.number = part.number
        self.method = replace(method, source=part)  # type: ignore[arg-type]

    def read(self, state: StreamState, documents: list[tuple[int, int]]) -> tuple[StreamState, float, float]:
        """Learn from documents of the shard.

        `documents`: the first document and the index after the last, for each shard.
        Returns the state, the sum of the leave-one-out log probabilities of the tokens, and the number of these.
        """
        buffers = self.method.read(state, state.order + self.number, documents[self.number])
        return buffers.build_state(state.epoch, 1, state.order), buffers.loo, buffers.seen

    def save(self) -> dict[str, Array]:
        """Return nothing: everything follows from the data."""
        return {}

    def restore(self, arrays: Any) -> None:
        """Change nothing."""


@dataclass(frozen=True, eq=False)
class ShardedStream(UnaveragedMethod):
    """A stream that several shards read at once (an `Algorithm`); a sweep is a window.

    The `position` of a state counts merges in the current epoch.
    """

    method: StreamMethod  #: bound to all documents
    corpus: Corpus | DiskCorpus
    n_shards: int = 1
    merges: int = 1  #: merges of the topics in a window; a window ends with the epoch

    @cached_property
    def parts(self) -> list[Part]:
        """The documents of each shard."""
        return cut(self.corpus, self.n_shards)

    @cached_property
    def group(self) -> ShardGroup:
        """The shards, opened on first use; all runs of this method share them."""
        bare = replace(self.method, source=None, trained=None, piece=True)  # type: ignore[arg-type]
        return ShardGroup([partial(StreamShard, part, bare) for part in self.parts])

    @cached_property
    def most_documents(self) -> int:
        """Most documents that a shard reads between two merges: whole minibatches."""
        return fit_turn(self.method.in_window, self.method.batch, self.n_shards * self.merges)

    @cached_property
    def largest(self) -> int:
        """Documents of the largest shard."""
        return max(part.n_documents for part in self.parts)

    @property
    def n_turns(self) -> int:
        """Merges in an epoch."""
        return -(-self.largest // self.most_documents)

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> StreamState:
        """Return the first state."""
        return self.method.init(rng, poll)

    def posterior(self, state: StreamState) -> Posterior:
        """Return the posterior of topics and words; it has no documents."""
        return self.method.posterior(state)

    def sweep(
        self, state: StreamState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[StreamState, SweepInfo]:
        """Read the next window; `rng` draws the order of an epoch at its start."""
        before, loo, seen, read = self.group.tally(), 0.0, 0.0, 0
        now = state if state.position else replace(state, order=int(rng.integers(2**62)))
        for _ in range(self.merges):
            poll()
            documents = self.find_documents(now.position)
            states, *sums = zip(*self.group.ask("read", now, documents), strict=True)
            after = merge(self.method, now, states)
            loo, seen = loo + tree_sum(sums[0]), seen + tree_sum(sums[1])
            read += sum(end - begin for begin, end in documents)
            turn = now.position + 1
            now = replace(after, position=turn)
            if turn == self.n_turns:
                now = replace(now, position=0, epoch=now.epoch + 1, renewal=None)
                break
        return now, SweepInfo(
            loo * self.method.source.n_tokens / seen if seen else None,
            None,
            read / self.method.n_documents,
            l1_change(now.by_word, state.by_word),
            **self.group.since(before),
        )

    def find_documents(self, turn: int) -> list[tuple[int, int]]:
        """Return the documents that each shard reads in a turn of an epoch; all shards finish the epoch together."""
        bounds, batch = [], self.method.batch
        for part in self.parts:
            n = part.n_documents
            each = self.most_documents
            if n < self.largest:
                each = -(-n // (self.n_turns * batch)) * batch
            bounds.append((min(turn * each, n), min((turn + 1) * each, n)))
        return bounds


def merge(method: StreamMethod, base: StreamState, states: Sequence[StreamState]) -> StreamState:
    """Return one state from those of several shards that continued from the same state.

    The steps of shard p keep the share k_p of the counts before. Shards that read one after another would keep
    k = prod_p k_p. So the moves are added and scaled by (1 - k) / sum_p (1 - k_p): small moves add up, and counts that
    every shard replaced become their mean. Renewed counts are sums over documents and are added as they are.
    """
    if len(states) == 1:
        return states[0]
    steps = tree_sum([after.steps - base.steps for after in states])
    batches = sum(after.batches - base.batches for after in states)
    renewal = _merge_renewals(base, [after.renewal for after in states])
    if renewal is not None:
        by_word = _renew(base, renewal)
    else:
        moved = tree_sum([after.by_word - base.by_word for after in states])
        before = method.count_steps(base)
        made = [method.count_steps(after) - before for after in states]
        rates = method.step_sizes(int((before + sum(made)).max(initial=0)))
        scale = scale_moves(rates, before, made)
        by_word = base.by_word + (moved * scale[:, None].astype(np.float32))
    return replace(
        base,
        by_word=by_word,
        totals=by_word.sum(axis=0, dtype=np.float64),
        steps=base.steps + steps,
        batches=base.batches + batches,
        prior=_merge_priors(method.rule, base.prior, [after.prior for after in states]),
        gone=base.gone + sum(after.gone - base.gone for after in states),
        renewal=renewal,
    )


def scale_moves(rates: Floats, before: NDArray[np.int64], made: list[NDArray[np.int64]]) -> Floats:
    """Return the factor of the sum of the shards' moves (see `merge`) for each count.

    `rates`: size of each step.
    `before`: steps of each count before; `made`: steps that each shard made.
    """
    left = np.concatenate([[0.0], np.cumsum(np.log1p(-np.minimum(rates, _ALL)))])

    def share(steps: NDArray[np.int64]) -> Floats:
        """Return the share of the counts that these steps replace."""
        return np.asarray(-np.expm1(left[before + steps] - left[before]))

    apart = tree_sum([share(steps) for steps in made])
    whole = share(np.sum(made, axis=0))
    return np.divide(whole, apart, out=np.ones(len(before)), where=apart > 0)


def _merge_renewals(base: StreamState, renewals: list[Renewal | None]) -> Renewal | None:
    """Return the sum of the counts that the shards renewed."""
    parts = [one for one in renewals if one is not None]
    if not parts:
        return None
    old = base.renewal or Renewal.begin(base.by_word)
    return Renewal(
        old.by_word + tree_sum([one.by_word - old.by_word for one in parts]),
        old.tokens + tree_sum([one.tokens - old.tokens for one in parts]),
    )


def _renew(base: StreamState, renewal: Renewal) -> Singles:
    """Return the renewed counts plus the rest of those of the epoch before."""
    old = base.renewal or Renewal.begin(base.by_word)
    left = np.maximum(base.sizes - renewal.tokens, 0.0) / np.maximum(base.sizes - old.tokens, 1.0)
    rest = np.maximum(base.by_word - old.by_word, np.float32(0))
    return np.asarray(rest * left[:, None].astype(np.float32) + renewal.by_word)


def _merge_priors(rule: int, base: Prior, priors: list[Prior]) -> Prior:
    """Return the concentrations after all shards; running means over documents are merged like the counts."""
    met = [int(prior.scalars[1] - base.scalars[1]) for prior in priors]
    if not sum(met):
        return base
    share = np.array(met) / sum(met)
    n = int(base.scalars[1])
    rates = np.maximum(LEAST, (2.0 + np.arange(n + sum(met))) ** -EASE)
    (scale,) = scale_moves(rates, np.array([n]), [np.array([one]) for one in met])
    gains = base.gains + scale * tree_sum([prior.gains - base.gains for prior in priors])
    below = base.scalars[0] + scale * sum(float(prior.scalars[0] - base.scalars[0]) for prior in priors)
    alpha = sum(part * prior.alpha.astype(np.float64) for part, prior in zip(share, priors, strict=True))
    if rule == LEFT_TO_RIGHT and n + sum(met) > FROZEN:
        alpha = np.maximum(gains / below, FLOOR)
    sticks = sum(part * prior.sticks for part, prior in zip(share, priors, strict=True))
    return Prior(
        np.asarray(alpha, np.float32), gains, np.asarray(sticks), np.array([below, float(n + sum(met))])
    )
