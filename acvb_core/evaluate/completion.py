"""Document completion: how well a document's first words predict its other ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.data.corpus import Corpus
from acvb_core.evaluate.corpus_split import hold_out_tokens
from acvb_core.evaluate.distributions import distributions
from acvb_core.evaluate.heldout import score_words
from acvb_core.evaluate.products import pair_products

#: From the observed word counts, csr (D, V), to the topic shares of the documents, (D, K).
Infer = Callable[[sparse.csr_array], ArrayLike]


class Completion(NamedTuple):
    """How well the other part of the documents was predicted."""

    #: Mean log probability of a token, in nats. NaN when there was none to predict.
    log_likelihood: float
    perplexity: float  #: exp(-log_likelihood): as uncertain as a choice among so many words
    tokens: int  #: number of tokens predicted
    documents: int  #: number of documents they stand in; one of a single token has none to predict


def document_completion(
    corpus: Corpus, word_probability: ArrayLike, infer: Infer, *, observed: float = 0.8, seed: int = 0
) -> Completion:
    """Score topics on documents they were not learnt from.

    `corpus`: the test documents, over the vocabulary of the topics.
    `word_probability`: shape (K, V); distribution of each topic over words, as learnt.
    `infer`: gives the topic shares of documents, (D, K), from the counts of the observed tokens, csr (D, V).
    `observed`: share of each document's tokens that is observed; drawn uniformly.
    `seed`: the same seed observes the same tokens.
    Reference: Wallach et al. 2009 §5 ("document completion"); SN15 §9.
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
        score = score_words(pair_products(theta, phi.T, rest.documents, rest.words), rest.counts)
    return Completion(score.log_likelihood, score.perplexity, rest.n, len(np.unique(rest.documents)))
