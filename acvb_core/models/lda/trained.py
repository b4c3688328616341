"""Trained topics, which other runs continue with new documents or by another method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from acvb_core.core.clusters import rearrange
from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Array, Posterior
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.evaluate.heldout import Completion
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.kernels import Floats, Singles
from acvb_core.models.lda.state import TOPICS, padded_zeros
from acvb_core.models.lda.topics import topics_in_use, word_probability, word_table
from acvb_core.models.lda.transform import FixedTopics

#: The last extension of each corpus, so that runs that continue from the same topics have the same split.
_extended: WeakKeyDictionary[Any, tuple[list[str], Any]] = WeakKeyDictionary()


@dataclass(frozen=True, repr=False, eq=False)
class TrainedTopics:
    """Topics, and how they were trained.

    Attributes
    ----------
    posterior : Posterior
        With at least the arrays `words` and `alpha`; from a stream, also the arrays to continue it.
    vocabulary : ndarray of str (object dtype), shape (V,)
    sizes : ndarray, shape (V,)
        Tokens of each word that the topics represent.
    documents : float
        Number of documents that the topics represent.
    name : str
        The user's name of the corpus.
    method : str
        Name in the registry.
    fingerprint : str
        Fingerprint of the corpus.
    tokeniser : Tokeniser or None
        The tokeniser of its texts.
    values : mapping
        Settings of the method.
    """

    posterior: Posterior
    vocabulary: NDArray[Any]
    sizes: Floats
    documents: float
    name: str
    method: str
    fingerprint: str = ""
    tokeniser: Tokeniser | None = None
    values: Mapping[str, Any] | None = None

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return len(self.posterior["alpha"])

    @property
    def label(self) -> str:
        """The topics in words."""
        used = len(topics_in_use(self.posterior))
        some = "" if used == self.n_topics else f" ({used:,} in use)"
        return f"{self.n_topics:,} topics{some} of {self.name} by {self.method}"

    @property
    def concentrations(self) -> Concentrations:
        """The final hyper-parameters."""
        alpha = np.asarray(self.posterior["alpha"], dtype=np.float64)
        return Concentrations(alpha, self.posterior.hyper["beta"])

    @property
    def word_probability(self) -> Array:
        """Probabilities of the words in each topic, shape (K, V)."""
        return word_probability(self.posterior)

    @cached_property
    def posterior_by_size(self) -> Posterior:
        """The posterior of the topics in use, the largest first."""
        return rearrange(self.posterior, {TOPICS: topics_in_use(self.posterior)})

    @property
    def topics(self) -> pd.DataFrame:
        """Words of the topics: topic (from 1, largest first), rank, word, probability."""
        return word_table(word_probability(self.posterior_by_size), self.vocabulary)

    @property
    def fixed_topics(self) -> FixedTopics:
        """The topics for reading new documents, the largest first."""
        phi, alpha = word_probability(self.posterior_by_size), self.posterior_by_size["alpha"]
        return FixedTopics(phi, alpha, self.vocabulary, self.tokeniser, self.name)

    def __repr__(self) -> str:
        return f"TrainedTopics({self.label}, {len(self.vocabulary):,} words)"

    def transform(self, documents: Corpus | Sequence[str]) -> pd.DataFrame:
        """Return the topic shares of documents, the topics fixed (see `FixedTopics.transform`)."""
        return self.fixed_topics.transform(documents)

    def completion(
        self, documents: Corpus | Sequence[str], observed: float = 0.8, seed: int = 0
    ) -> Completion:
        """Return how well the topics complete documents (see `FixedTopics.completion`)."""
        return self.fixed_topics.completion(documents, observed, seed)

    @property
    def implied(self) -> dict[str, Any]:
        """Settings of every method that continues these topics."""
        return {"k": self.n_topics}

    def check(self, n_topics: int) -> None:
        """Raise a ParameterError if this is not the number of topics."""
        if n_topics != self.n_topics:
            raise ParameterError(
                f"k is {n_topics:,}, but there are {self.label} to continue from; give k={self.n_topics}."
            )

    def find_places(self, vocabulary: NDArray[Any]) -> NDArray[np.int64]:
        """Return the number of each word of another vocabulary, -1 for unknown words."""
        place = {word: w for w, word in enumerate(self.vocabulary)}
        return np.array([place.get(word, -1) for word in vocabulary], dtype=np.int64)

    def extend_data(self, data: Any) -> Any:
        """Return a corpus whose vocabulary includes all the words of the topics."""
        words = self.words_missing_from(data.vocabulary).tolist()
        if not words:
            return data
        known = _extended.get(data)
        if known is None or known[0] != words:
            known = _extended[data] = (words, data.with_words(words))
        return known[1]

    def words_missing_from(self, vocabulary: NDArray[Any]) -> NDArray[Any]:
        """Return the words that another vocabulary does not have."""
        there = set(vocabulary)
        return np.array([word for word in self.vocabulary if word not in there], dtype=object)

    def counts_at(self, places: NDArray[np.int64]) -> Singles:
        """Return the counts of words by their numbers (`find_places`), zero for unknown words."""
        counts = padded_zeros((len(places), self.n_topics), np.float32)
        known = places >= 0
        counts[known] = np.maximum(self.posterior["words"][places[known]], 0.0)
        return counts


def check_start(start: Any) -> None:
    """Raise a ParameterError if a run is to continue from anything but trained topics."""
    if not isinstance(start, TrainedTopics):
        raise ParameterError(
            f"start is a {type(start).__name__}; give trained topics: load_model(path) of a file, "
            "trained_topics(result) of a result."
        )


def trained_topics(result: Any) -> TrainedTopics:
    """Return what a finished run leaves to continue from.

    Parameters
    ----------
    result : Result
        Of a model with topics.

    Raises
    ------
    ParameterError
        The run has no topics.
    """
    prepared = result.prepared
    posterior = result.snapshot.posterior
    if TOPICS not in posterior.n_clusters() or "words" not in posterior.arrays:
        raise ParameterError(f"model {prepared.spec.model!r} has no topics to continue from.")
    arrays = {name: array for name, array in posterior.arrays.items() if name != "documents"}
    axes = {name: posterior.axes[name] for name in arrays}
    posterior = Posterior(arrays, axes, ("words",), (), posterior.hyper, normalised=False)
    train = prepared.train
    sizes, documents = train.frequencies.astype(np.float64), float(train.n_documents)
    if "sizes" in arrays:
        sizes, documents = np.asarray(arrays["sizes"], dtype=np.float64), float(arrays["documents_met"][0])
    settings = prepared.spec
    return TrainedTopics(
        posterior, train.vocabulary, sizes, documents, prepared.data.name, settings.method, train.fingerprint,
        prepared.data.tokeniser, dict(settings.values),
    )  # fmt: skip
