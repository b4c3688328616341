"""Topics of documents that arrive one after another, in a program's own loop."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import ParameterError
from acvb_core.core.parameters import check_whole_number
from acvb_core.core.spec import MethodSpec
from acvb_core.data.corpora.tokenise import Tokeniser, WordFunction, as_tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.data.names import unique_names
from acvb_core.data.report import take_apart
from acvb_core.engine.machine import one_thread, refuse_too_large
from acvb_core.models.lda.documents import RenumberedSource, Source, as_source
from acvb_core.models.lda.online.stream import StreamMethod, StreamState, add_words
from acvb_core.models.lda.spec import MOST_IN_WINDOW
from acvb_core.models.lda.trained import TrainedTopics, check_start
from acvb_core.models.lda.transform import require_tokeniser
from acvb_core.registry import method_row, methods_of, model_row

MODEL = "lda"
#: Texts in a piece by default …
TEXTS = 2_000
#: … and the most characters of all its texts together.
MOST_LETTERS = 20_000_000
Documents = Iterable[str] | Iterable[Corpus | DiskCorpus] | Corpus | DiskCorpus
Piece = list[str] | Corpus | DiskCorpus
_WANTED = "give a list (or any iterator) of texts, a Corpus, or an iterator of corpora"
#: Settings of a run on a whole corpus, and their replacement in a stream.
_ELSEWHERE = {
    "epochs": "partial_fit reads its documents once; fit(documents, epochs=…) reads them more often",
    "totals": "sizes are those of the documents met so far; total_documents says how many there will be",
    "shards": "the documents of a stream are read one after another",
    "merges": "the documents of a stream are read one after another",
    "score_every": "perplexity(documents) scores at any time",
}


def _split_into_pieces(documents: Documents, size: int) -> Iterator[Piece]:
    """Yield `size` texts (0: 2,000) at a time, and corpora as they are.

    Documents with a length are all checked before the first piece.

    Raises ParameterError: one of them is neither a text nor a corpus.
    """
    documents = take_apart(documents)[0]
    if isinstance(documents, Corpus | DiskCorpus):
        return iter([documents])
    if isinstance(documents, str | bytes | Mapping) or hasattr(documents, "columns"):
        hint = "put a single text into a list" if isinstance(documents, str) else _WANTED
        raise ParameterError(f"documents is a {type(documents).__name__}; {hint}.")
    if not isinstance(documents, Iterable):
        raise ParameterError(f"documents is a {type(documents).__name__}; {_WANTED}.")
    if isinstance(documents, Sized):
        for number, one in enumerate(documents, 1):
            _check_document(one, number)
    return _batches(documents, size or TEXTS)


def _batches(documents: Iterable[Any], size: int) -> Iterator[Piece]:
    texts: list[str] = []
    letters = 0
    for number, one in enumerate(documents, 1):
        _check_document(one, number)
        text = isinstance(one, str)
        if texts and (not text or len(texts) == size or letters > MOST_LETTERS):
            yield texts
            texts, letters = [], 0
        if text:
            texts.append(one)
            letters += len(one)
        else:
            yield one
    if texts:
        yield texts


def _check_document(one: Any, number: int) -> None:
    if not isinstance(one, str | Corpus | DiskCorpus):
        value = f" ({one!r})" if one is None or isinstance(one, float) else ""
        counts = "; make a corpus of counts by Corpus.build(counts, vocabulary=…)" if np.ndim(one) else ""
        raise ParameterError(
            f"document {number:,} is a {type(one).__name__}{value}, not a text: {_WANTED}{counts}."
        )


def _settings_after(trained: TrainedTopics, method: str | None) -> tuple[str, dict[str, Any]]:
    """Return the method that continues trained topics, and the settings of the topics that it has."""
    ready = streaming_rows()
    own = trained.method if trained.method in ready else trained.method.removeprefix("a")
    name = method or (own if own in ready else "sdm")
    if name != own or name not in ready:
        return name, {}
    # The concentrations are those of the topics.
    known = {parameter.name for parameter in ready[name].parameters}
    known -= {"k", "shuffle", "alpha", "beta", *_ELSEWHERE}
    return name, {key: value for key, value in (trained.values or {}).items() if key in known}


def streaming_rows() -> dict[str, MethodSpec]:
    """Return the methods that can train piece by piece, by name."""
    return {row.name: row for row in methods_of(MODEL) if row.streams and not row.averaged}


class StreamingLda:
    """Topics learned from documents as they arrive: texts or word counts, a few or an endless stream.

    Each call of `partial_fit` continues from the last one. New words join the vocabulary. Sizes are those of the
    documents read so far.

    Parameters
    ----------
    method : str
        "sdm", "scvb0" or "svb".
    k : int
        Number of topics.
    tokeniser : Tokeniser or callable, optional
        How texts are split into words. Limits on word frequencies are ignored: they would need all the texts. Default:
        the tokeniser of the first corpus; for texts, the standard one.
    vocabulary : sequence of str, optional
        The only words to learn. Other words are left out and counted (`unknown_tokens`). Default: all words.
    seed : int
    total_documents : int, optional
        Number of documents that the stream will have, which weights each minibatch (SCVB0, SVB). SDM does not use it.
    name : str
        Name of the stream.
    check_memory : bool
        Refuse documents whose new words need more memory than is free.
    **values
        Settings of the method: `acvb_core.methods()` lists them. `window` is the number of texts read at a time (2,000
        by default). Documents are read in their order unless `shuffle` is set.

    Raises
    ------
    ParameterError
        The method does not stream, or a setting is unknown or out of range.

    Notes
    -----
    SDM updates the topics after each document, so its result does not depend on how the stream is cut into pieces. New
    words are an exception: they are numbered as they arrive. SVB and SCVB0 update the topics after each minibatch, and
    once more at the end of a piece if a smaller minibatch is left.

    Examples
    --------
    >>> model = StreamingLda("sdm", k=2, seed=1)
    >>> model.partial_fit(["a cat and a dog", "dogs chase cats"]).partial_fit(["a new word"])
    StreamingLda(method='sdm', k=2): 3 documents, 7 words
    """

    def __init__(
        self,
        method: str = "sdm",
        k: int = 20,
        *,
        tokeniser: Tokeniser | WordFunction | None = None,
        vocabulary: Sequence[str] | None = None,
        seed: int = 0,
        total_documents: int | None = None,
        name: str = "stream",
        check_memory: bool = True,
        **values: Any,
    ) -> None:
        ready = streaming_rows()
        if method_row(MODEL, method).name not in ready:
            raise ParameterError(
                f"method {method!r} cannot train piece by piece; choose one of {', '.join(ready)}."
            )
        for setting, instead in _ELSEWHERE.items():
            if setting in values:
                raise ParameterError(f"{setting} is not a setting of a stream: {instead}.")
        if total_documents is not None and method == "sdm":
            raise ParameterError(
                "sdm does not use total_documents: it counts the tokens of each word; leave it out."
            )
        self._row = ready[method]
        settings = {"shuffle": False, **values, "k": k, "totals": "running"}
        self._values: dict[str, Any] = dict(self._row.values(settings))
        self._total = (
            0.0 if total_documents is None else check_whole_number("total_documents", total_documents, 1)
        )
        self._fixed = _check_words(vocabulary, name)
        own = as_tokeniser(tokeniser)
        self._own_tokeniser = None if own is None else own.without_limits()
        self._start: TrainedTopics | None = None
        self.seed, self.name = check_whole_number("seed", seed, 0), name
        self._check_memory = check_memory
        self._reset()

    @classmethod
    def from_trained(
        cls,
        trained: TrainedTopics,
        *,
        method: str | None = None,
        seed: int = 0,
        total_documents: int | None = None,
        grow: bool = True,
        **values: Any,
    ) -> Self:
        """Return a stream that continues from trained topics (`trained_topics`, `load_model`).

        Parameters
        ----------
        trained : TrainedTopics
        method : str, optional
            Default: the method of the topics if it streams, otherwise "sdm".
        seed, total_documents
            As for a new stream.
        grow : bool
            New words join the vocabulary; otherwise they are left out and counted.
        **values
            Settings that replace those of the training. The concentrations are those of the topics.

        Raises
        ------
        ParameterError
            As for a new stream; `trained` has another type; or k is not the number of the topics.
        """
        check_start(trained)
        chosen, settings = _settings_after(trained, method)
        for name in ("alpha", "beta"):
            if name in values:
                raise ParameterError(f"{name} cannot be set here: it is that of the trained topics.")
        trained.check(values.pop("k", trained.n_topics))
        model = cls(
            chosen,
            trained.n_topics,
            tokeniser=trained.tokeniser,
            seed=seed,
            total_documents=total_documents,
            name=trained.name,
            **(settings | values),
        )
        model._start, model._fixed = trained, None if grow else trained.vocabulary
        model._reset()
        return model

    def _reset(self) -> None:
        """Forget everything that was learned, except the trained topics to start from."""
        self._tokeniser = self._own_tokeniser
        self._method: StreamMethod | None = None  # bound to the last piece
        self._state: StreamState | None = None  # after the last window; it may not have the last words yet
        self._documents = self._unknown = self._windows = 0
        self._loo = self._scored = 0.0
        words = self._fixed if self._start is None else self._start.vocabulary
        self._columns = {word: column for column, word in enumerate(() if words is None else words)}
        if self._start is not None:
            nothing = sparse.csr_array((0, len(self._columns)), dtype=np.int32)
            self._method = self._bind(as_source(Corpus(nothing, words, np.empty(0, object))))
            self._state = self._method.init(self._rng(0))
            self._documents = round(self._start.documents)

    def partial_fit(self, documents: Documents) -> Self:
        """Learn from further documents.

        Parameters
        ----------
        documents : iterable of str, Corpus, DiskCorpus, or iterable of corpora
            An iterator is read in pieces, so that it need not fit into memory.

        Raises
        ------
        ParameterError
            An element is no document (documents before it in an iterator were learned), the tokeniser for texts is
            unknown, or new words need more memory than is free.
        """
        self._read(documents, 0)
        return self

    def fit(self, documents: Documents, epochs: int = 1) -> Self:
        """Start again (from the trained topics, if any), and read the documents `epochs` times.

        Raises
        ------
        ParameterError
            As for `partial_fit`; or an iterator, which can be read only once, is given for several epochs.
        """
        epochs = check_whole_number("epochs", epochs, 1)
        if epochs > 1 and isinstance(documents, Iterable) and iter(documents) is documents:
            raise ParameterError(
                f"an iterator can be gone through once, not {epochs:,} times; give a list or a corpus."
            )
        self._reset()
        for epoch in range(epochs):
            self._read(documents, epoch)
        return self

    def _read(self, documents: Documents, epoch: int) -> None:
        self._loo = self._scored = 0.0
        if self._state is not None:
            self._state = replace(self._state, renewal=None)
        for piece in _split_into_pieces(documents, self._values["window"]):
            self._learn(self._count_words(piece), epoch)

    def _count_words(self, piece: Piece) -> Corpus | DiskCorpus:
        """Return a piece as counts of words."""
        if not isinstance(piece, list):
            if self._tokeniser is None and piece.tokeniser is not None:
                self._tokeniser = piece.tokeniser.without_limits()
            return piece
        if self._tokeniser is None:
            # If documents before were counts, this tokeniser could split texts into other words.
            self._tokeniser = require_tokeniser(None if self._documents else Tokeniser(), self.name)
        counted, none = self._tokeniser.select(piece), np.empty(0, dtype=object)
        return Corpus(counted.counts, counted.vocabulary, none, "texts", tokeniser=self._tokeniser)

    def _learn(self, corpus: Corpus | DiskCorpus, epoch: int) -> None:
        """Learn from a piece of the stream, for the first time in epoch 0; an interrupt loses one window at most."""
        if self._fixed is None:
            for word in corpus.vocabulary:
                self._columns.setdefault(word, len(self._columns))
        columns = np.array([self._columns.get(word, -1) for word in corpus.vocabulary], dtype=np.int32)
        source = RenumberedSource(as_source(corpus), columns, self._words(len(self._columns)))
        first = epoch == 0
        if first:
            self._unknown += source.unknown
        if not source.n_tokens:
            self._documents += source.n_documents if first else 0
            return
        if self._check_memory:
            self._refuse_too_large(corpus)
        with one_thread():
            method = self._method = self._bind(source)
            state = replace(self._grow_state(method), epoch=epoch, position=0)
            while state.epoch == epoch:
                self._windows += 1
                state, info = method.sweep(state, self._rng(self._windows))
                self._state = state
                if first:
                    self._documents += round(info.progress * source.n_documents)
                if info.pseudo_loo is not None:
                    self._loo += info.progress * info.pseudo_loo
                    self._scored += info.progress * source.n_tokens

    def _words(self, n: int) -> NDArray[Any]:
        """Return the first `n` words, shape (n,)."""
        words = np.empty(n, dtype=object)
        words[:] = list(self._columns)[:n]
        return words

    def _refuse_too_large(self, corpus: Corpus | DiskCorpus) -> None:
        """Raise ParameterError if the topics of new words need more memory than is free."""
        n_words, known = len(self._columns), 0 if self._state is None else len(self._state.by_word)
        if n_words > known:
            sizes = SimpleNamespace(n_words=n_words, n_pairs=corpus.n_pairs, n_documents=corpus.n_documents)
            model = model_row(MODEL)
            needed = model.memory(sizes, self._row.name, {**self._values, "epochs": 1.0})
            refuse_too_large(needed * (n_words - known) // n_words, model, self._row)

    def _bind(self, source: Source) -> StreamMethod:
        """Return the method bound to the documents of a source."""
        if self._start is None or self._row.build_from is None:
            method: Any = self._row.build(source, self._values)
        else:
            method = self._row.build_from(source, self._values, self._start)
        bound: StreamMethod = replace(method, window=MOST_IN_WINDOW, expected=float(self._total), piece=True)
        return bound

    def _grow_state(self, method: StreamMethod) -> StreamState:
        """Return the state with the new words, or the first state."""
        state = self._state
        if state is None:
            return method.init(self._rng(0))
        new = method.source.n_words - len(state.by_word)
        return add_words(state, method.start_rows(self._rng(self._windows, 1), new)) if new else state

    def _rng(self, *place: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *place])

    @property
    def documents_seen(self) -> int:
        """Documents learned from, including those of the trained topics; each counts once, in any number of epochs."""
        return self._documents

    @property
    def unknown_tokens(self) -> int:
        """Tokens left out because their words are not in the fixed vocabulary."""
        return self._unknown

    @property
    def loo_perplexity(self) -> float | None:
        """Perplexity of each word given the others of its document, in the last call (in `fit`, the last epoch)."""
        return math.exp(min(-self._loo / self._scored, 700.0)) if self._scored else None

    def trained_topics(self) -> TrainedTopics:
        """Return the topics learned so far: to save (`save_model`), or to continue from (`fit(…, start=…)`).

        Raises
        ------
        ParameterError
            Nothing was learned yet.
        """
        state, method = self._state, self._method
        if state is None or method is None:
            raise ParameterError("There are no topics yet: call partial_fit with documents first.")
        return TrainedTopics(
            method.posterior(state), self._words(len(state.by_word)), state.sizes, state.documents, name=self.name,
            method=self._row.name, tokeniser=self._tokeniser, values=dict(self._values),
        )  # fmt: skip

    @property
    def topics(self) -> pd.DataFrame:
        """Words of the topics: topic (from 1, the largest first), rank, word, probability."""
        return self.trained_topics().topics

    def transform(self, documents: Corpus | Sequence[str]) -> pd.DataFrame:
        """Return the topic shares of documents, without learning: document, tokens, unknown, topic_1 …"""
        return self.trained_topics().transform(documents)

    def perplexity(self, documents: Corpus | Sequence[str], observed: float = 0.8, seed: int = 0) -> float:
        """Return the perplexity of the rest of new documents, given a share of their words; lower is better.

        Unknown words are left out.
        """
        return self.trained_topics().completion(documents, observed, seed).perplexity

    def __repr__(self) -> str:
        words = 0 if self._state is None else len(self._state.by_word)
        return (
            f"StreamingLda(method={self._row.name!r}, k={self._values['k']}): {self.documents_seen:,} documents, "
            f"{words:,} words"
        )


def _check_words(vocabulary: Sequence[str] | None, name: str) -> Any:
    if vocabulary is None:
        return None
    if isinstance(vocabulary, str):
        raise ParameterError(f"vocabulary is {vocabulary!r}; give a list of words.")
    if not len(vocabulary):
        raise ParameterError("vocabulary has no words; give some, or None for all words that come.")
    return unique_names(vocabulary, len(vocabulary), "word", name)
