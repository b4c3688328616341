"""Corpora and tables drawn from known topics and latent features, which inference should find again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpus import Corpus
from acvb_core.data.report import Fact, ReadReport
from acvb_core.data.table import Image, Table, pixel_names

Floats = NDArray[np.float64]

#: The blocks of `block_images`, 3 x 3 pixels row by row: a cross, a frame, a triangle, a T.
_BLOCKS = (".#.###.#.", "####.####", "#..##.###", "###.#..#.")


@dataclass(frozen=True, eq=False)
class PlantedTopics:
    """A corpus and the truth it was drawn from: probabilities, and how many tokens were drawn from each topic."""

    corpus: Corpus
    phi: Floats  # of each word in each topic, shape (n_topics, n_words)
    theta: Floats  # of each topic in each document, shape (n_documents, n_topics)
    document_topics: NDArray[np.int32]  # tokens of each document, shape (n_documents, n_topics)
    word_topics: NDArray[np.int32]  # tokens of each word, shape (n_words, n_topics)

    def with_report(self) -> tuple[Corpus, ReadReport]:
        """Return the corpus and what there is to tell of it."""
        from acvb_core.data.corpora.build import corpus_facts

        n = len(self.phi)
        facts = (Fact("topics", n, f"Drawn from {n} planted topics."), *corpus_facts(self.corpus))
        return self.corpus, ReadReport(self.corpus.name, facts)


@dataclass(frozen=True, eq=False)
class PlantedFeatures:
    """A table and the truth it was drawn from."""

    table: Table
    activations: Floats  # 1 where a row has a feature, else 0, shape (n_rows, n_features)
    weights: Floats  # what a feature adds to a row that has it, in the table's units, shape (n_features, n_columns)

    def with_report(self) -> tuple[Table, ReadReport]:
        """Return the table and what there is to tell of it."""
        table, n = self.table, len(self.weights)
        facts = (
            Fact("features", n, f"Drawn from {n} planted features."),
            Fact("rows", table.n_rows, f"{table.n_rows:,} rows."),
            Fact("columns", table.n_columns, f"{table.n_columns:,} columns of numbers."),
            Fact("missing", table.n_missing, "No cell is missing."),
        )
        return table, ReadReport(table.name, facts)


def planted_topics(
    n_documents: int, n_words: int, n_topics: int, length: float, alpha: float, beta: float, seed: int
) -> PlantedTopics:
    """Draw a corpus from latent Dirichlet allocation (Blei, Ng, Jordan, JMLR 3, 2003, §3).

    Each topic is a Dirichlet(beta) over the words, each document has a Dirichlet(alpha) over the topics and
    Poisson(length) tokens (there may be none), and each token draws its topic, then its word. The vocabulary has
    every word, whether it is drawn or not: "w0", "w1", …
    """
    _check_topics(n_documents, n_words, n_topics, length, alpha, beta)
    rng = _generator(seed)
    phi = rng.dirichlet(np.full(n_words, beta), size=n_topics)
    theta = rng.dirichlet(np.full(n_topics, alpha), size=n_documents)
    lengths = rng.poisson(length, n_documents)
    return draw_corpus(rng, phi, theta, lengths, [f"w{i}" for i in range(n_words)], f"topics_{n_topics}")


def topics_10(seed: int = 0) -> PlantedTopics:
    """Return the papers' small synthetic corpus: 500 documents, 1,000 words, 10 topics.

    The sizes are those of Ishiguro, Sato, Ueda, JMLR 18, 2017. The rest is ours: about 100 tokens a document and
    alpha = beta = 0.1, so that a document is about a few topics and a topic has a few hundred words.
    """
    return planted_topics(500, 1_000, 10, 100, 0.1, 0.1, seed)


def topics_40(seed: int = 0) -> PlantedTopics:
    """Return the papers' large synthetic corpus: 1,500 documents, 5,000 words, 40 topics; else as `topics_10`."""
    return planted_topics(1_500, 5_000, 40, 100, 0.1, 0.1, seed)


def bars(
    seed: int = 0, *, n_documents: int = 1_000, length: float = 100, alpha: float = 1.0
) -> PlantedTopics:
    """Draw the bars: pictures of 5 x 5 pixels, each a mixture of rows and columns.

    A word is a pixel ("r1c1" is the first of the first row), a topic a row or a column, all five of its pixels as
    likely: topics 1 to 5 are the rows, 6 to 10 the columns. Documents have `length` tokens each. Source: Griffiths,
    Steyvers, *Finding scientific topics*, PNAS 101, 2004 (1,000 pictures of 100 tokens, alpha = 1).
    """
    side = 5
    _check_topics(n_documents, side * side, 2 * side, length, alpha, 1.0)
    rng = _generator(seed)
    phi = np.vstack([np.repeat(np.eye(side), side, axis=1), np.tile(np.eye(side), side)]) / side
    theta = rng.dirichlet(np.full(2 * side, alpha), size=n_documents)
    lengths = np.full(n_documents, round(length))
    return draw_corpus(rng, phi, theta, lengths, pixel_names(side, side), "bars")


def draw_corpus(
    rng: Generator, phi: Floats, theta: Floats, lengths: NDArray[np.int64], words: list[str], name: str
) -> PlantedTopics:
    """Draw each token's topic from its document, then its word from the topic."""
    n_topics, n_words = phi.shape
    document_topics = rng.multinomial(lengths, theta).astype(np.int32)
    word_topics = np.zeros((n_words, n_topics), dtype=np.int32)
    counts = sparse.csr_array((len(theta), n_words), dtype=np.int64)
    for topic, tokens in enumerate(document_topics.T):
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


def planted_features(
    n_rows: int, n_columns: int, n_features: int, *, share: float = 0.5, noise: float = 1.0, seed: int = 0
) -> PlantedFeatures:
    """Draw a table from the latent feature model.

    Each row has each feature with probability `share`, independently; weights are standard normal, and every cell
    is the sum of its row's features' weights and normal noise of standard deviation `noise`. Source: Hayashi,
    Fujimaki, *Factorized Asymptotic Bayesian Inference for Latent Feature Models*, NIPS 26, 2013, §6.1.
    """
    if n_rows < 2 or min(n_columns, n_features) < 1:
        raise ParameterError(
            f"There must be at least 2 rows, 1 column and 1 feature, not {n_rows}, {n_columns}, {n_features}."
        )
    if not 0 < share < 1:
        raise ParameterError(f"The share must be between 0 and 1, not {share}.")
    rng = _generator(seed)
    weights = rng.standard_normal((n_features, n_columns))
    columns = [f"x{i + 1}" for i in range(n_columns)]
    return _draw_table(rng, weights, n_rows, share, noise, name="planted_features", columns=columns)


def features_5(seed: int = 0) -> PlantedFeatures:
    """Return a set like the artificial ones of Hayashi and Fujimaki: 500 rows, 30 columns, 5 features, noise 1."""
    return planted_features(500, 30, 5, seed=seed)


def block_images(n_rows: int = 1_000, *, noise: float = 0.3, seed: int = 0) -> PlantedFeatures:
    """Draw pictures of 6 x 6 pixels that are sums of four blocks, each there with probability 0.5.

    The blocks (a cross, a frame, a triangle, a T) overlap nowhere; their pixels are 1, the others 0, and normal
    noise of standard deviation `noise` is added. The columns are "r1c1" (the first pixel of the first row), "r1c2",
    … Source: Griffiths, Ghahramani, *Infinite latent feature models and the Indian buffet process*, NIPS 18, 2006, §6.
    """
    if n_rows < 2:
        raise ParameterError(f"There must be at least 2 rows, not {n_rows}.")
    quarters = np.eye(4).reshape(4, 2, 2)
    blocks = (np.reshape([pixel == "#" for pixel in block], (3, 3)) for block in _BLOCKS)
    weights = np.array([np.kron(*pair).ravel() for pair in zip(quarters, blocks, strict=True)])
    pixels = {"columns": pixel_names(6, 6), "image": Image.whole(6, 6)}
    return _draw_table(_generator(seed), weights, n_rows, 0.5, noise, name="block_images", **pixels)


def _draw_table(
    rng: Generator, weights: Floats, n_rows: int, share: float, noise: float, **options: Any
) -> PlantedFeatures:
    if not (math.isfinite(noise) and noise > 0):
        raise ParameterError(f"The noise must be above 0, not {noise}.")
    activations = (rng.random((n_rows, len(weights))) < share).astype(np.float64)
    values = activations @ weights
    values += noise * rng.standard_normal(values.shape)
    return PlantedFeatures(Table.build(values, **options), activations, weights)


def _check_topics(
    n_documents: int, n_words: int, n_topics: int, length: float, alpha: float, beta: float
) -> None:
    if min(n_documents, n_words, n_topics) < 1:
        raise ParameterError(
            f"Numbers of documents, words and topics must be at least 1, not {n_documents}, {n_words}, {n_topics}."
        )
    if not all(math.isfinite(value) and value > 0 for value in (length, alpha, beta)):
        raise ParameterError(f"Length, alpha and beta must be above 0, not {length}, {alpha}, {beta}.")


def _generator(seed: int) -> Generator:
    if seed < 0:
        raise ParameterError(f"Seeds must be at least 0, not {seed}.")
    return np.random.default_rng(seed)
