"""Corpora drawn from known topics: what inference should find again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.data.corpus import Corpus
from acvb_core.errors import ParameterError

#: Side of the pictures that `bars` draws.
BARS_SIDE = 5


@dataclass(frozen=True, eq=False)
class PlantedTopics:
    """A corpus and the truth it was drawn from.

    Attributes
    ----------
    corpus : Corpus, shape (n_documents, n_words)
    phi : float64 array, shape (n_topics, n_words)
        Probability of each word in each topic; a topic's sum to 1.
    theta : float64 array, shape (n_documents, n_topics)
        Probability of each topic in each document; a document's sum to 1.
    document_topics : int32 array, shape (n_documents, n_topics)
        How many tokens of each document were drawn from each topic.
    word_topics : int32 array, shape (n_words, n_topics)
        How many tokens of each word were.
    """

    corpus: Corpus
    phi: NDArray[np.float64]
    theta: NDArray[np.float64]
    document_topics: NDArray[np.int32]
    word_topics: NDArray[np.int32]

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return len(self.phi)


def planted_topics(
    n_documents: int,
    n_words: int,
    n_topics: int,
    length: float,
    alpha: float,
    beta: float,
    seed: int,
    *,
    name: str = "planted topics",
) -> PlantedTopics:
    """Draw a corpus from latent Dirichlet allocation.

    Each topic is a Dirichlet(beta) over the words, each document has a Dirichlet(alpha) over the topics and a
    Poisson number of tokens (it may be 0), and each token draws its topic, then its word. The vocabulary has every
    word, whether it is drawn or not: "w0", "w1", …

    Parameters
    ----------
    n_documents, n_words, n_topics : int
    length : float
        Tokens that a document has on average.
    alpha, beta : float
        Parameters of the symmetric Dirichlet distributions.
    seed : int

    Raises
    ------
    ParameterError
        A size below 1, a length or parameter that is not above 0, or no token was drawn at all.

    References
    ----------
    Blei, Ng, Jordan, *Latent Dirichlet Allocation*, JMLR 3, 2003, §3.
    """
    _check(n_documents, n_words, n_topics, length, alpha, beta, seed)
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(n_words, beta), size=n_topics)
    theta = rng.dirichlet(np.full(n_topics, alpha), size=n_documents)
    lengths = rng.poisson(length, n_documents)
    return _drawn(phi, theta, lengths, rng, [f"w{i}" for i in range(n_words)], name)


def topics_10(seed: int = 0) -> PlantedTopics:
    """Return the papers' small synthetic corpus: 500 documents, 1,000 words, 10 topics.

    The sizes are those of Ishiguro, Sato, Ueda, JMLR 18, 2017. The rest is ours: about 100 tokens a document and
    alpha = beta = 0.1, so that a document is about a few topics and a topic has a few hundred words.
    """
    return planted_topics(500, 1_000, 10, 100, 0.1, 0.1, seed, name="topics_10")


def topics_40(seed: int = 0) -> PlantedTopics:
    """Return the papers' large synthetic corpus: 1,500 documents, 5,000 words, 40 topics; else as `topics_10`."""
    return planted_topics(1_500, 5_000, 40, 100, 0.1, 0.1, seed, name="topics_40")


def bars(
    seed: int = 0, *, n_documents: int = 1_000, length: float = 100, alpha: float = 1.0
) -> PlantedTopics:
    """Draw the bars: pictures of 5 x 5 pixels, each a mixture of rows and columns.

    A word is a pixel ("r1c1" is the first of the first row), a topic a row or a column, all five of its pixels as
    likely: topics 1 to 5 are the rows, 6 to 10 the columns. Documents have `length` tokens each.

    Raises
    ------
    ParameterError
        A size below 1, or a length or `alpha` that is not above 0.

    References
    ----------
    Griffiths, Steyvers, *Finding scientific topics*, PNAS 101, 2004: 1,000 pictures of 100 tokens, alpha = 1.
    """
    side = BARS_SIDE
    _check(n_documents, side * side, 2 * side, length, alpha, 1.0, seed)
    rng = np.random.default_rng(seed)
    pixels = np.arange(side * side)
    rows, columns = np.divmod(pixels, side)
    line = np.arange(side)[:, None]
    phi = np.vstack([rows == line, columns == line]) / side
    theta = rng.dirichlet(np.full(2 * side, alpha), size=n_documents)
    lengths = np.full(n_documents, round(length))
    words = [f"r{row + 1}c{column + 1}" for row, column in zip(rows, columns, strict=True)]
    return _drawn(phi, theta, lengths, rng, words, "bars")


def _drawn(
    phi: NDArray[np.float64],
    theta: NDArray[np.float64],
    lengths: NDArray[np.int64],
    rng: np.random.Generator,
    words: list[str],
    name: str,
) -> PlantedTopics:
    """Draw each token's topic from its document, then its word from the topic."""
    n_topics, n_words = phi.shape
    document_topics = rng.multinomial(lengths, theta).astype(np.int32)
    word_topics = np.zeros((n_words, n_topics), dtype=np.int32)
    counts = sparse.csr_array((len(theta), n_words), dtype=np.int64)
    for topic in range(n_topics):
        tokens = document_topics[:, topic]
        drawn = rng.choice(n_words, size=int(tokens.sum()), p=phi[topic])
        word_topics[:, topic] = np.bincount(drawn, minlength=n_words)
        document = np.repeat(np.arange(len(theta)), tokens)
        ones = np.ones(len(drawn), dtype=np.int64)
        counts = counts + sparse.csr_array((ones, (document, drawn)), shape=counts.shape)
    if not counts.nnz:
        raise ParameterError("No token was drawn: ask for more documents, or longer ones.")
    names = [f"d{i}" for i in range(len(theta))]
    corpus = Corpus.build(counts, vocabulary=words, documents=names, name=name)
    return PlantedTopics(corpus, phi, theta, document_topics, word_topics)


def _check(
    n_documents: int, n_words: int, n_topics: int, length: float, alpha: float, beta: float, seed: int
) -> None:
    if min(n_documents, n_words, n_topics) < 1:
        raise ParameterError(
            f"Numbers of documents, words and topics must be at least 1, not {n_documents}, {n_words}, {n_topics}."
        )
    if not all(np.isfinite(value) and value > 0 for value in (length, alpha, beta)):
        raise ParameterError(f"Length, alpha and beta must be above 0, not {length}, {alpha}, {beta}.")
    if seed < 0:
        raise ParameterError(f"Seeds must be at least 0, not {seed}.")
