"""Word blocks that rotate between workers (LightLDA, Yuan et al., WWW 2015), simulated in one process.

P workers hold the documents, and each of P blocks of the vocabulary is with one worker at a time: a sweep has P
rounds, after each of which the blocks move on. Counts of words are never behind; only the sums of the topics are, by a
round. A worker needs the topics of one block, V K / P numbers.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from acvb_core.core.protocols import Posterior
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import Shard
from acvb_core.evaluate.split import hold_out_documents
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.kernels import Counts, zeroth_order
from acvb_core.models.lda.model import LdaModel
from acvb_core.models.lda.start import random_responsibilities
from acvb_core.models.lda.state import Tokens, padded_copy, padded_zeros


class Cell:
    """The pairs of some documents with the words of one block."""

    def __init__(self, tokens: Tokens, begin: int, end: int, block: np.ndarray, q: np.ndarray) -> None:
        self.begin, self.end = begin, end
        pairs = slice(int(tokens.pointers[begin]), int(tokens.pointers[end]))
        inside = block[tokens.words[pairs]]
        before = np.concatenate([[0], np.cumsum(inside)])
        pointers = before[tokens.pointers[begin : end + 1] - pairs.start]
        self.documents = Shard(pointers, tokens.words[pairs][inside], tokens.counts[pairs][inside])
        self.q = padded_copy(q[pairs][inside])


def simulate(corpus: Corpus, k: int, workers: int, sweeps: int, seed: int = 0) -> tuple[list[float], int]:
    """Return the held-out perplexity after each sweep, and the largest number of words in a block."""
    split = hold_out_documents(corpus, 0.1, 0)
    tokens, model, hyper = (
        Tokens.of(split.train),
        LdaModel(split.train),
        Concentrations.symmetric(k, 5.0 / k, 0.01),
    )
    prior = hyper.singles(tokens.n_words)
    q = random_responsibilities(len(tokens.words), k, np.random.default_rng([seed, 0]))
    # Words in turn to the block with the fewest tokens, the most frequent first: workers wait for the largest.
    loads, owner = np.zeros(workers), np.zeros(tokens.n_words, dtype=int)
    for word in np.argsort(-split.train.frequencies, kind="stable"):
        owner[word] = int(loads.argmin())
        loads[owner[word]] += split.train.frequencies[word]
    bounds = np.linspace(0, tokens.n_documents, workers + 1).astype(int)
    cells = [
        [Cell(tokens, bounds[p], bounds[p + 1], owner == b, q) for b in range(workers)]
        for p in range(workers)
    ]
    by_document = padded_zeros((tokens.n_documents, k), np.float32)
    by_word, totals = padded_zeros((tokens.n_words, k), np.float32), np.zeros(k)
    for cell in (cell for row in cells for cell in row):
        weighted = cell.q * cell.documents.counts[:, None]
        places = np.repeat(np.arange(cell.begin, cell.end), np.diff(cell.documents.pointers))
        np.add.at(by_document, places, weighted)
        np.add.at(by_word, cell.documents.words, weighted)
        totals += weighted.sum(axis=0, dtype=np.float64)
    scores = []
    for _ in range(sweeps):
        for turn in range(workers):
            behind = totals.copy()
            for p in range(workers):
                cell, own = cells[p][(p + turn) % workers], behind.copy()
                counts = Counts(by_document[cell.begin : cell.end], by_word, own)
                zeroth_order(0, cell.end - cell.begin, cell.documents, cell.q, counts, prior)
                totals += own - behind
        arrays: dict[str, Any] = {"words": by_word.copy(), "alpha": hyper.alpha}
        axes = {"words": (None, "topics"), "alpha": ("topics",)}
        posterior = Posterior(arrays, axes, ("words",), hyper={"beta": hyper.beta}, normalised=False)
        scores.append(model.score(model.predict(posterior, split.heldout), split.heldout).perplexity)
    return scores, int(np.bincount(owner).max())


def compare(corpus: Corpus, k: int, sweeps: int, numbers: list[int]) -> None:
    """Print the held-out perplexity of several numbers of workers."""
    sys.stdout.write(f"{corpus.size_text}; K = {k}, {sweeps} sweeps, concentrations fixed\n")
    first = None
    for workers in numbers:
        scores, words = simulate(corpus, k, workers, sweeps)
        first = first or scores[-1]
        sys.stdout.write(
            f"P = {workers:3}: perplexity {scores[-1]:9.2f} at the end ({scores[-1] / first:.4f} of the first row's); "
            f"a worker holds the topics of {words:,} of {corpus.n_words:,} words\n"
        )
