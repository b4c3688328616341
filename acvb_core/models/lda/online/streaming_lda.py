"""Topics of documents that arrive one after the other, in a program's own loop."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
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
from acvb_core.engine.free_memory import refuse_too_large
from acvb_core.engine.threads import one_thread
from acvb_core.models.lda.documents import RenumberedSource, Source, as_source
from acvb_core.models.lda.online.stream import (
    GrowingVocabulary,
    StreamMethod,
    StreamState,
    add_words,
)
from acvb_core.models.lda.spec import MOST_IN_WINDOW
from acvb_core.models.lda.trained import TrainedTopics, check_start
from acvb_core.models.lda.transform import require_tokeniser
from acvb_core.registry import method_row, methods_of, model_row

#: Texts in a piece, unless a number is given …
TEXTS = 2_000
#: … and the most characters of all its texts together.
MOST_LETTERS = 20_000_000
Documents = Iterable[str] | Iterable[Corpus | DiskCorpus] | Corpus | DiskCorpus
Piece = list[str] | Corpus | DiskCorpus
_WANTED = "give a list (or any iterator) of texts, a Corpus, or an iterator of corpora"


def split_into_pieces(documents: Documents, size: int = 0) -> Iterator[Piece]:
    """Yield documents piece by piece: `size` texts at a time, corpora as they are.

    `documents`: documents with a length are all checked before the first piece.
    `size`: texts in a piece; 0 for 2,000.
    Raises ParameterError: something in it is neither a text nor a corpus.
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


def count_words(texts: list[str], tokeniser: Tokeniser) -> Corpus:
    """Return a corpus of texts, which may have no word in it, unlike a corpus that was loaded."""
    counted = tokeniser.select(texts)
    return Corpus(counted.counts, counted.vocabulary, np.empty(0, dtype=object), "texts", tokeniser=tokeniser)


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


class StreamingLda:
    """Topics learned from documents as they come: texts or word counts, a few or without end.

    A method of the registry that streams, in a loop of one's own: every call of `partial_fit` goes on from the last.
    New words join the vocabulary. Sizes are those of the documents met so far.

    Parameters
    ----------
    method : str
        "sdm", "scvb0" or "svb".
    k : int
        Number of topics.
    tokeniser : Tokeniser or callable, optional
        How texts are cut, its limits on how often a word must stand left out: they would need all the texts. By
        default that of the first corpus, or of texts the usual one.
    vocabulary : sequence of str, optional
        The words to know. Others are left out and counted (`unknown_tokens`). By default all words that come.
    seed : int
    total_documents : int, optional
        Documents that the stream will have in all (SCVB0, SVB), by which a minibatch is weighed from the start. SDM
        has no use for it.
    name : str
        What to call the stream.
    check_memory : bool
        Refuse documents whose new words need more memory than is free.
    **values
        Settings of the method: `acvb_core.methods()` lists them. `window` is how many texts are taken at a time
        (2,000 by default); documents are taken as they come unless `shuffle` is set.

    Raises
    ------
    ParameterError
        The method does not stream, or a setting is unknown or out of range.

    Notes
    -----
    Where a piece of the stream ends makes no difference to SDM, which changes the topics by every document, but for
    new words, which are numbered as they come. SVB and SCVB0 change them by whole minibatches, and at the end of a
    piece by what is left: pieces whose documents are no multiple of `batch` have a smaller one at their end.

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
        self._row = piecewise_method(method)
        self._values = stream_settings(self._row, k, values)
        self._total = check_total(total_documents, method)
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
            By default the one they were trained by, where it streams, or "sdm".
        seed, total_documents
            As for a new stream.
        grow : bool
            New words join the vocabulary; otherwise they are left out and counted.
        **values
            In place of the settings that they were trained with. The concentrations are those of the topics.

        Raises
        ------
        ParameterError
            As for a new stream; `trained` is something else; or another number of topics is asked for.
        """
        check_start(trained)
        chosen, settings = settings_after(trained, method)
        for name in ("alpha", "beta"):
            settings.pop(name, None)
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
        """Forget all that was learned, but the trained topics of the start."""
        self._tokeniser = self._own_tokeniser
        self._trainer = StreamTrainer(
            row=self._row,
            values=self._values,
            fixed=self._fixed,
            start=self._start,
            seed=self.seed,
            total=self._total,
            check_memory=self._check_memory,
        )

    def partial_fit(self, documents: Documents) -> Self:
        """Go on learning from further documents.

        Parameters
        ----------
        documents : iterable of str, Corpus, DiskCorpus, or iterable of corpora
            An iterator is taken in pieces, and never held as a whole.

        Raises
        ------
        ParameterError
            Something in it is no document (what an iterator gave before was learned from), or it is not known how
            texts are to be cut; or new words need more memory than is free.
        """
        self._go_through(documents, 0)
        return self

    def fit(self, documents: Documents, epochs: int = 1) -> Self:
        """Begin anew (from the trained topics, if there are any), and read the documents `epochs` times.

        Raises
        ------
        ParameterError
            As for `partial_fit`; or an iterator, which is used up after the first time, is to be gone through again.
        """
        epochs = check_whole_number("epochs", epochs, 1)
        if epochs > 1 and isinstance(documents, Iterable) and iter(documents) is documents:
            raise ParameterError(
                f"an iterator can be gone through once, not {epochs:,} times; give a list or a corpus."
            )
        self._reset()
        for epoch in range(epochs):
            self._go_through(documents, epoch)
        return self

    def _go_through(self, documents: Documents, epoch: int) -> None:
        self._trainer.begin_pass()
        for piece in split_into_pieces(documents, self._values["window"]):
            self._trainer.learn(self._count_words(piece), epoch)

    def _count_words(self, piece: Piece) -> Corpus | DiskCorpus:
        """Return a piece as counts of words."""
        if not isinstance(piece, list):
            if self._tokeniser is None and piece.tokeniser is not None:
                self._tokeniser = piece.tokeniser.without_limits()
            return piece
        if self._tokeniser is None:
            # After documents that were counts, texts could be cut into other words than these.
            self._tokeniser = require_tokeniser(None if self.documents_seen else Tokeniser(), self.name)
        return count_words(piece, self._tokeniser)

    @property
    def documents_seen(self) -> int:
        """Documents learned from, those of the topics gone on from included; each once, however many epochs."""
        return self._trainer.documents

    @property
    def unknown_tokens(self) -> int:
        """Tokens that were left out, as their words are not in the fixed vocabulary."""
        return self._trainer.unknown

    @property
    def loo_perplexity(self) -> float | None:
        """Perplexity of each word given the others of its document, in the last call (in `fit`, the last epoch)."""
        trainer = self._trainer
        return math.exp(min(-trainer.loo / trainer.n_scored, 700.0)) if trainer.n_scored else None

    def trained_topics(self) -> TrainedTopics:
        """Return the topics learned so far: to save (`save_model`), or to go on from (`fit(…, start=…)`).

        Raises
        ------
        ParameterError
            Nothing was learned yet.
        """
        state, method = self._trainer.state, self._trainer.method
        if state is None or method is None:
            raise ParameterError("There are no topics yet: call partial_fit with documents first.")
        vocabulary = self._trainer.words.first(len(state.by_word))
        return TrainedTopics(
            method.posterior(state),
            vocabulary,
            state.sizes,
            state.documents,
            name=self.name,
            method=self._row.name,
            tokeniser=self._tokeniser,
            values=dict(self._values),
        )

    @property
    def topics(self) -> pd.DataFrame:
        """Words of the topics: topic (from 1, the largest first, so that numbers change), rank, word, probability."""
        return self.trained_topics().topics

    def transform(self, documents: Corpus | Sequence[str]) -> pd.DataFrame:
        """Return the topic shares of documents, learning nothing: document, tokens, unknown, topic_1 …"""
        return self.trained_topics().transform(documents)

    def perplexity(self, documents: Corpus | Sequence[str], observed: float = 0.8, seed: int = 0) -> float:
        """Return how well the topics predict the rest of documents of which a share of the words is seen.

        Of documents that were not learned from; the lower the better. Words that are not known are left out.
        """
        return self.trained_topics().completion(documents, observed, seed).perplexity

    def __repr__(self) -> str:
        state = self._trainer.state
        words = 0 if state is None else len(state.by_word)
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
