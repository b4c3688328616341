"""Document completion: how well a document's first words predict its other ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from acvb_core.data.corpus import Corpus
from acvb_core.data.word_split import hold_out_tokens
from acvb_core.errors import DataError
from acvb_core.evaluate.distributions import distributions
from acvb_core.evaluate.heldout import score_words

#: From the observed word counts, csr (D, V), to the topic shares of the documents, (D, K).
Infer = Callable[[sparse.csr_array], ArrayLike]

#: Numbers that are held at once while probabilities are added up.
_AT_ONCE = 4_000_000


class Completion(NamedTuple):
    """How well the other part of the documents was predicted.

    Attributes
    ----------
    log_likelihood : float
        Mean log probability of a token, in nats. NaN when there was none to predict.
    perplexity : float
        exp(-log_likelihood): as uncertain as a choice among so many words.
    tokens : int
        Number of tokens predicted.
    documents : int
        Number of documents they stand in; one of a single token has none to predict.
    """

    log_likelihood: float
    perplexity: float
    tokens: int
    documents: int


def document_completion(
    corpus: Corpus, word_probability: ArrayLike, infer: Infer, *, observed: float = 0.8, seed: int = 0
) -> Completion:
    """Score topics on documents they were not learnt from.

    Parameters
    ----------
    corpus : Corpus
        The test documents, over the vocabulary of the topics.
    word_probability : array, shape (K, V)
        Distribution of each topic over words, as learnt.
    infer : callable
        Gives the topic shares of documents, (D, K), from the counts of the observed tokens, csr (D, V).
    observed : float
        Share of each document's tokens that is observed; drawn uniformly.
    seed : int
        The same seed observes the same tokens.

    References
    ----------
    Wallach et al. 2009 §5 ("document completion"); SN15 §9.
    """
    phi = distributions(word_probability, n_words=corpus.n_words)
    split = hold_out_tokens(corpus, 1.0 - observed, seed)
    theta = distributions(infer(split.train.counts), "the documents' topic shares")
    if theta.shape != (corpus.n_documents, len(phi)):
        raise DataError(
            f"topic shares of the shape {theta.shape} were inferred for {corpus.n_documents:,} documents and "
            f"{len(phi):,} topics",
            remedy="Infer one row for each document, one column for each topic.",
        )
    rest = split.heldout
    if not rest.n:
        return Completion(math.nan, math.nan, 0, 0)
    # A word that no topic of its document has is infinitely unlikely: an answer, not a fault.
    with np.errstate(divide="ignore"):
        found = score_words(mixture(theta, phi, rest.documents, rest.words), rest.counts)
    return Completion(found.log_likelihood, found.perplexity, rest.n, len(np.unique(rest.documents)))


def mixture(
    document_share: NDArray[Any], word_probability: NDArray[Any], documents: NDArray[Any], words: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the sum over topics of theta_dk phi_kw for pairs of document and word, shape (n,).

    Parameters
    ----------
    document_share : ndarray, shape (D, K)
    word_probability : ndarray, shape (K, V)
    documents, words : ndarrays of int, shape (n,)
    """
    out = np.empty(len(documents))
    by_word = np.ascontiguousarray(word_probability.T)
    step = max(1, _AT_ONCE // len(word_probability))
    for start in range(0, len(out), step):
        part = slice(start, start + step)
        out[part] = np.einsum("ik,ik->i", document_share[documents[part]], by_word[words[part]])
    return out
