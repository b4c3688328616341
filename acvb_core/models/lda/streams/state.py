"""The state of a streaming method between two windows of documents, and its buffers within one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Array, Posterior
from acvb_core.models.lda.kernels import Floats, Singles
from acvb_core.models.lda.state import TOPICS, padded_copy, padded_zeros


class Prior(NamedTuple):
    """Concentrations of the topics in a document, and what they are being learned from."""

    alpha: Singles  #: shape (K,)
    gains: Floats  #: shape (K,); weighted mean over documents of alpha_k g_k (see `kernels_prior`)
    sticks: Floats  #: shape (K,); log alpha0, then logit v_k of the stick breaking
    scalars: Floats  #: shape (2,); weighted mean of the denominators; documents seen

    @classmethod
    def begin(cls, alpha: Floats) -> Prior:
        """Return concentrations before anything is learned of them."""
        rest = np.cumsum(alpha[::-1])[::-1]
        share = np.clip(alpha[:-1] / rest[:-1], 1e-9, 1.0 - 1e-9)
        sticks = np.concatenate([[np.log(rest[0])], np.log(share) - np.log1p(-share)])
        return cls(alpha.astype(np.float32), np.zeros(len(alpha)), sticks, np.zeros(2))

    def buffers(self) -> Prior:
        """Return arrays of its own, to be written to."""
        alpha, gains, sticks, scalars = self
        return Prior(padded_copy(alpha), gains.copy(), padded_copy(sticks), padded_copy(scalars))


@dataclass(frozen=True, eq=False)
class StreamState:
    """After a window."""

    by_word: Singles  #: shape (V, K); expected counts n_wk of the topics, without the prior's beta
    totals: Floats  #: shape (K,); their sums
    steps: NDArray[np.int64]  #: shape (V,); how often each word's counts were brought up to date (SDM)
    #: Shape (V,); tokens of each word that the topics stand for: of the corpus, or those met so far.
    sizes: Floats
    #: `documents`, `tokens`: the same for documents and all tokens.
    documents: float
    tokens: float
    batches: int  #: minibatches so far (SVB, SCVB0)
    prior: Prior
    epoch: int = 0  #: whole passes done
    position: int = 0  #: documents done of the pass under way
    order: int = 0  #: what the order of the documents in the pass under way was drawn from
    #: What tells the topics of a word apart that is met for the first time is drawn from this (SDM).
    noise: int = 0
    gone: int = 0  #: documents gone through, all passes together
    renewal: Renewal | None = None  #: what the pass under way has renewed (SDM, from the second pass on)

    def posterior(self, beta: float) -> Posterior:
        """Return the posterior of topics and words; the state has none of the documents."""
        alpha = self.prior.alpha.astype(np.float64)
        # The later ones are what training goes on with.
        arrays: dict[str, tuple[Array, tuple[str | None, ...]]] = {
            "words": (self.by_word, (None, TOPICS)),
            "alpha": (alpha, (TOPICS,)),
            "gains": (self.prior.gains, (TOPICS,)),
            "steps": (self.steps, (None,)),
            "sizes": (self.sizes, (None,)),
            "course": (np.array([*self.prior.scalars, float(self.batches)]), (None,)),
            "documents_met": (np.array([self.documents]), (None,)),
        }
        return Posterior(
            {name: array for name, (array, _) in arrays.items()},
            {name: axes for name, (_, axes) in arrays.items()},
            averaged=("words",),
            hyper={"alpha_total": float(alpha.sum()), "beta": beta},
            normalised=False,
        )


@dataclass(frozen=True, eq=False)
class Renewal:
    """Counts of the pass under way alone, which take the place of those of the pass before."""

    #: Shape (V, K); sums of c q over the documents of the pass so far; part of the state's own counts.
    by_word: Singles
    tokens: Floats  #: shape (V,); how many tokens of each word these are

    @classmethod
    def begin(cls, by_word: Singles) -> Renewal:
        """Return the renewal at the beginning of a pass."""
        return cls(padded_zeros(by_word.shape, by_word.dtype), np.zeros(len(by_word)))

    @classmethod
    def none(cls, by_word: Singles) -> Renewal:
        """Return the renewal, without rows, of a pass that renews nothing."""
        return cls(np.zeros((0, by_word.shape[1]), by_word.dtype), np.zeros(0))

    def copy(self) -> Renewal:
        """Return arrays of its own, to be written to."""
        return Renewal(padded_copy(self.by_word), self.tokens.copy())


class StreamBuffers:
    """The arrays of a state while a window is gone through, and the window's sums.

    `by_word`, `totals`, `steps`, `sizes`, `documents`, `tokens`, `batches`, `prior`, `noise`, `gone`, `renewal`: as in
      `StreamState`.
    `scale`: factor by which `by_word` is to be multiplied.
    `loo`, `seen`: sum of the leave-one-out log probabilities of the window, and its tokens.
    `counting`: sizes are those met so far, and the documents are met for the first time.
    `batch`: sums of the mini-batch under way.
    """

    def __init__(self, state: StreamState) -> None:
        self._state = state
        self.by_word, self.totals = padded_copy(state.by_word), padded_copy(state.totals)
        self.steps, self.sizes = state.steps.copy(), state.sizes.copy()
        self.documents, self.tokens, self.batches = state.documents, state.tokens, state.batches
        self.prior, self.noise, self.gone = state.prior.buffers(), state.noise, state.gone
        self.renewal = None if state.renewal is None else state.renewal.copy()
        self.scale, self.loo, self.seen = 1.0, 0.0, 0.0
        self.counting = False
        self.batch: Any = None

    def build_state(self, epoch: int, position: int, order: int) -> StreamState:
        """Return the state after the window."""
        names = ("by_word", "totals", "steps", "sizes", "documents", "tokens", "batches", "prior", "gone")
        arrays = {name: getattr(self, name) for name in names}
        renewal = self.renewal if position else None
        return replace(self._state, epoch=epoch, position=position, order=order, renewal=renewal, **arrays)
