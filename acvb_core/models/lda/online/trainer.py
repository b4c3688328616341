"""Training on a stream, piece by piece: the state goes from one piece to the next, and new words join it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import ParameterError
from acvb_core.core.parameters import check_whole_number
from acvb_core.core.rows import MethodSpec
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.engine.free_memory import refuse_too_large
from acvb_core.engine.threads import one_thread
from acvb_core.models.lda.streams.growing import GrowingVocabulary, RenumberedSource, add_words
from acvb_core.models.lda.streams.limits import MOST_IN_WINDOW
from acvb_core.models.lda.streams.source import Source, as_source
from acvb_core.models.lda.streams.state import StreamState
from acvb_core.models.lda.streams.stream import StreamMethod
from acvb_core.models.lda.trained import TrainedTopics
from acvb_core.registry import method_row, methods_of, model_row

MODEL = "lda"
#: Settings of a run on a whole corpus, and what takes their place in a stream.
_ELSEWHERE = {
    "epochs": "partial_fit reads its documents once; fit(documents, epochs=…) reads them more often",
    "totals": "sizes are those of the documents met so far; total_documents says how many there will be",
    "shards": "the documents of a stream are read one after another",
    "merges": "the documents of a stream are read one after another",
    "score_every": "perplexity(documents) scores at any time",
}


@dataclass(kw_only=True)
class StreamTrainer:
    """Topics that are trained on one piece of a stream after the other."""

    row: MethodSpec
    values: dict[str, Any]  #: its settings
    fixed: NDArray[Any] | None  #: the only words to know
    start: TrainedTopics | None  #: topics of an earlier run
    seed: int
    total: float  #: documents that there will be in all; 0 where it is unknown
    check_memory: bool  #: refuse a piece whose new words need more memory than is free
    method: StreamMethod | None = None  #: bound to the last piece
    #: After the last window; the words that it knows are the first of `words`.
    state: StreamState | None = None
    #: `documents`, `unknown`: documents met, those of `start` included; tokens that were left out.
    documents: int = 0
    unknown: int = 0
    #: `loo`, `n_scored`: sum of leave-one-out log probabilities in this pass, and of how many tokens.
    loo: float = 0.0
    n_scored: float = 0.0
    n_windows: int = 0

    def __post_init__(self) -> None:
        start = self.start
        words = self.fixed if start is None else start.vocabulary
        self.words = GrowingVocabulary(() if words is None else words, self.fixed is not None)
        if start is not None:
            nothing = sparse.csr_array((0, len(self.words)), dtype=np.int32)
            self.method = self._bind_method(as_source(Corpus(nothing, start.vocabulary, np.empty(0, object))))
            self.state = self.method.init(self._rng(0))
            self.documents = round(start.documents)

    def begin_pass(self) -> None:
        """Begin the next pass, and its sums of the likelihood."""
        self.loo = self.n_scored = 0.0
        if self.state is not None:
            self.state = replace(self.state, renewal=None)

    def learn(self, corpus: Corpus | DiskCorpus, epoch: int) -> None:
        """Go through a piece of the stream, for the first time in epoch 0; an interrupt loses a window at most."""
        columns = self.words.columns(corpus.vocabulary)
        source = RenumberedSource(as_source(corpus), columns, self.words.first(len(self.words)))
        first = epoch == 0
        if first:
            self.unknown += source.unknown
        if not source.n_tokens:
            self.documents += source.n_documents if first else 0
            return
        if self.check_memory:
            self._refuse_too_large(corpus)
        with one_thread():
            method = self.method = self._bind_method(source)
            state = replace(self._grow_state(method), epoch=epoch, position=0)
            while state.epoch == epoch:
                self.n_windows += 1
                state, info = method.sweep(state, self._rng(self.n_windows))
                self.state = state
                if first:
                    self.documents += round(info.progress * source.n_documents)
                if info.pseudo_loo is not None:
                    self.loo += info.progress * info.pseudo_loo
                    self.n_scored += info.progress * source.n_tokens

    def _refuse_too_large(self, corpus: Corpus | DiskCorpus) -> None:
        """Raise ParameterError where the topics of new words need more memory than is free."""
        n_words, known = len(self.words), 0 if self.state is None else len(self.state.by_word)
        if n_words > known:
            sizes = SimpleNamespace(n_words=n_words, n_pairs=corpus.n_pairs, n_documents=corpus.n_documents)
            model = model_row(MODEL)
            needed = model.memory(sizes, self.row.name, {**self.values, "epochs": 1.0})
            refuse_too_large(needed * (n_words - known) // n_words, model, self.row)

    def _bind_method(self, source: Source) -> StreamMethod:
        """Return the method bound to the documents of a source."""
        if self.start is None or self.row.build_from is None:
            method: Any = self.row.build(source, self.values)
        else:
            method = self.row.build_from(source, self.values, self.start)
        bound: StreamMethod = replace(method, window=MOST_IN_WINDOW, expected=self.total, piece=True)
        return bound

    def _grow_state(self, method: StreamMethod) -> StreamState:
        """Return the state with the words that are new, or the first state."""
        if self.state is None:
            return method.init(self._rng(0))
        new = method.source.n_words - len(self.state.by_word)
        return (
            add_words(self.state, method.start_rows(self._rng(self.n_windows, 1), new)) if new else self.state
        )

    def _rng(self, *place: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *place])


def piecewise_methods() -> dict[str, MethodSpec]:
    """Return the methods that can train piece by piece, by name."""
    return {row.name: row for row in methods_of(MODEL) if row.streams and not row.averaged}


def piecewise_method(method: str) -> MethodSpec:
    """Return the row of a method that can train piece by piece."""
    ready = piecewise_methods()
    if method_row(MODEL, method).name not in ready:
        raise ParameterError(
            f"method {method!r} cannot train piece by piece; choose one of {', '.join(ready)}."
        )
    return ready[method]


def stream_settings(row: MethodSpec, k: int, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a method in a stream of unknown length."""
    for name, instead in _ELSEWHERE.items():
        if name in values:
            raise ParameterError(f"{name} is not a setting of a stream: {instead}.")
    return {**row.values({"shuffle": False, **values, "k": k, "totals": "running"})}


def settings_after(trained: TrainedTopics, method: str | None) -> tuple[str, dict[str, Any]]:
    """Return the method that continues trained topics, and those of their settings that it has."""
    ready = piecewise_methods()
    own = trained.method if trained.method in ready else trained.method.removeprefix("a")
    name = method or (own if own in ready else "sdm")
    if name != own or name not in ready:
        return name, {}
    known = {parameter.name for parameter in ready[name].parameters} - {"k", "shuffle", *_ELSEWHERE}
    return name, {key: value for key, value in (trained.values or {}).items() if key in known}


def check_total(total: int | None, method: str) -> float:
    """Return how many documents a stream will have, 0 where it is unknown."""
    if total is None:
        return 0.0
    if method == "sdm":
        raise ParameterError(
            "sdm does not use total_documents: it counts the tokens of each word; leave it out."
        )
    return float(check_whole_number("total_documents", total, 1))
