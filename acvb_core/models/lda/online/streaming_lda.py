"""Topics of documents that come one after the other, in a program's own loop."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Self

import pandas as pd

from acvb_core.core.errors import ParameterError
from acvb_core.core.parameters import check_whole_number
from acvb_core.data.corpora.tokenise import Tokeniser, WordFunction, as_tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.data.names import unique_names
from acvb_core.models.lda.online.pieces import Documents, Piece, count_words, split_into_pieces
from acvb_core.models.lda.online.trainer import (
    StreamTrainer,
    check_total,
    piecewise_method,
    settings_after,
    stream_settings,
)
from acvb_core.models.lda.trained import TrainedTopics, check_start
from acvb_core.models.lda.transform import require_tokeniser


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
