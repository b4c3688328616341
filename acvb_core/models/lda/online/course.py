"""What a stream has learned so far, and how it goes on: words that join, states from piece to piece."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import ParameterError
from acvb_core.core.rows import Method
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk_corpus import DiskCorpus
from acvb_core.engine.free_memory import refuse_too_large
from acvb_core.engine.threads import one_thread
from acvb_core.models.lda.streams.growing import GrowingVocabulary, RenumberedSource, add_words
from acvb_core.models.lda.streams.source import Source, as_source
from acvb_core.models.lda.streams.state import StreamState
from acvb_core.models.lda.streams.stream import MOST_IN_WINDOW, StreamMethod
from acvb_core.models.lda.trained import TrainedTopics
from acvb_core.registry import method_row, methods_of, model_row

MODEL = "lda"
#: Settings of a run that has its documents at hand, and what there is here in their place.
_ELSEWHERE = {
    "epochs": "partial_fit goes through its documents once; fit(documents, epochs=…) more often",
    "totals": "sizes are those of the documents met so far; total_documents says how many there will be",
    "score_every": "ask perplexity(documents) when you want to know",
}


class Course:
    """The course of a stream.

    Parameters
    ----------
    row : Method
    values : mapping
        Its settings.
    fixed : ndarray of str, optional
        The only words to know.
    start : TrainedTopics, optional
        What to go on from.
    seed : int
    expected : float
        Documents that there will be in all; 0 where nobody knows.
    check_memory : bool
        Refuse a piece whose new words need more memory than is free.

    Attributes
    ----------
    method : StreamMethod or None
        Bound to the last piece.
    state : StreamState or None
        After the last window; the words that it knows are the first of `words`.
    documents, unknown : int
        Documents gone through for the first time, those of `start` included; tokens that were left out.
    loo, scored : float
        Sum of leave-one-out log probabilities, and of how many tokens, since `rest`.
    """

    def __init__(
        self,
        row: Method,
        values: Mapping[str, Any],
        fixed: NDArray[Any] | None,
        start: TrainedTopics | None,
        seed: int,
        expected: float,
        check_memory: bool,
    ) -> None:
        self._row, self._values, self._start = row, dict(values), start
        self._seed, self._expected, self._windows = seed, expected, 0
        self._check_memory = check_memory
        words = fixed if start is None else start.vocabulary
        self.words = GrowingVocabulary(() if words is None else words, fixed is not None)
        self.documents = self.unknown = 0
        self.method: StreamMethod | None = None
        self.state: StreamState | None = None
        self.rest()
        if start is not None:
            nothing = sparse.csr_array((0, len(self.words)), dtype=np.int32)
            self.method = self._bound(as_source(Corpus(nothing, start.vocabulary, np.empty(0, dtype=object))))
            self.state = self.method.init(self._rng(0))
            self.documents = round(start.documents)

    def rest(self) -> None:
        """Begin the sums of the likelihood anew, and the next pass."""
        self.loo = self.scored = 0.0
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
        if self._check_memory:
            self._refuse_too_large(corpus)
        with one_thread():
            method = self.method = self._bound(source)
            state = replace(self._known(method), epoch=epoch, position=0)
            while state.epoch == epoch:
                self._windows += 1
                state, info = method.sweep(state, self._rng(self._windows))
                self.state = state
                if first:
                    self.documents += round(info.progress * source.n_documents)
                if info.pseudo_loo is not None:
                    self.loo += info.progress * info.pseudo_loo
                    self.scored += info.progress * source.n_tokens

    def _refuse_too_large(self, corpus: Corpus | DiskCorpus) -> None:
        """Raise ParameterError where the topics of new words need more memory than is free."""
        n_words, known = len(self.words), 0 if self.state is None else len(self.state.by_word)
        if n_words > known:
            sizes = SimpleNamespace(n_words=n_words, n_pairs=corpus.n_pairs, n_documents=corpus.n_documents)
            model = model_row(MODEL)
            needed = model.memory(sizes, self._row.name, {**self._values, "epochs": 1.0})
            refuse_too_large(needed * (n_words - known) // n_words, model, self._row)

    def _bound(self, source: Source) -> StreamMethod:
        """Return the method on a source."""
        if self._start is None or self._row.build_from is None:
            method: Any = self._row.build(source, self._values)
        else:
            method = self._row.build_from(source, self._values, self._start)
        bound: StreamMethod = replace(method, window=MOST_IN_WINDOW, expected=self._expected, piece=True)
        return bound

    def _known(self, method: StreamMethod) -> StreamState:
        """Return the state with all the words that are known by now."""
        if self.state is None:
            return method.init(self._rng(0))
        new = method.source.n_words - len(self.state.by_word)
        return (
            add_words(self.state, method.start_rows(self._rng(self._windows, 1), new)) if new else self.state
        )

    def _rng(self, *place: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, *place])


def ready_rows() -> dict[str, Method]:
    """Return the methods that can go on piece by piece, by name."""
    return {row.name: row for row in methods_of(MODEL) if row.streams and not row.averaged}


def checked_row(method: str) -> Method:
    """Return the row of a method that can go on piece by piece."""
    found = method_row(MODEL, method)
    ready = ready_rows()
    if found.name not in ready:
        raise ParameterError(
            f"method {method!r} does not go on document by document; choose one of {', '.join(ready)}."
        )
    return found


def checked_values(row: Method, k: int, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a method in a stream whose sizes nobody knows."""
    for name, instead in _ELSEWHERE.items():
        if name in values:
            raise ParameterError(f"{name} is no setting here: {instead}.")
    return {**row.values({"shuffle": False, **values, "k": k, "totals": "running"})}


def values_of(trained: TrainedTopics, method: str | None) -> tuple[str, dict[str, Any]]:
    """Return the method that trained topics go on by, and those of their settings that it has."""
    ready = ready_rows()
    own = trained.method if trained.method in ready else trained.method.removeprefix("a")
    name = method or (own if own in ready else "sdm")
    if name != own or name not in ready:
        return name, {}
    known = {parameter.name for parameter in ready[name].parameters} - {"k", "shuffle", *_ELSEWHERE}
    return name, {key: value for key, value in (trained.values or {}).items() if key in known}


def checked_total(total: int | None, method: str) -> float:
    """Return how many documents a stream will have, 0 where nobody knows."""
    if total is None:
        return 0.0
    if method == "sdm":
        raise ParameterError(
            "total_documents is of no use to sdm, which counts the tokens of each word; leave it out."
        )
    if isinstance(total, bool) or not isinstance(total, int | np.integer) or total < 1:
        raise ParameterError(f"total_documents is {total!r}; it must be a whole number, at least 1.")
    return float(total)
