"""tomotopy and lda: Gibbs samplers of topics, predictions averaged over the later half of the samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.peers.answers import Answer, Clock, Floats, mean_of_later_half
from benchmarks.peers.trials import Trial

#: Passes between two samples.
EVERY = 5


def word_probability(shares: Floats, topics: Floats, trial: Trial) -> Floats:
    """Return sum_k theta_dk phi_kw of each held-out pair of document and word, shape (n,).

    `shares`: shape (D, K); `topics`: shape (K, V).
    """
    return np.einsum("nk,nk->n", shares[trial.heldout.documents], topics.T[trial.heldout.words])


def _average(
    trial: Trial, passes: int, sample: Callable[[int], None], read: Callable[[], tuple[Floats, Floats]]
) -> Iterator[Answer]:
    clock, samples = Clock(), []
    for done in range(EVERY, passes + 1, EVERY):
        with clock:
            sample(EVERY)
        samples.append(word_probability(*read(), trial))
        yield Answer(mean_of_later_half(samples), clock.seconds, f"{done} passes")


def fit_tomotopy(
    trial: Trial, seed: int, *, k: int, alpha: float, beta: float, passes: int
) -> Iterator[Answer]:
    """Sample with tomotopy, one worker."""
    import tomotopy

    model = tomotopy.LDAModel(k=k, alpha=alpha, eta=beta, seed=seed)
    model.optim_interval = 0
    counts = trial.train.counts
    for d in range(counts.shape[0]):
        part = slice(counts.indptr[d], counts.indptr[d + 1])
        model.add_doc([str(word) for word in np.repeat(counts.indices[part], counts.data[part])])
    model.train(0)
    order = np.array([int(word) for word in model.used_vocabs])
    documents = list(model.docs)
    if len(documents) != counts.shape[0]:
        raise ValueError(f"it took {len(documents)} of {counts.shape[0]} documents")

    def read() -> tuple[Floats, Floats]:
        shares = np.array([document.get_topic_dist() for document in documents], dtype=float)
        # Words that only held-out tokens have: the prior alone.
        topics = np.zeros((k, counts.shape[1]))
        topics[:, order] = [model.get_topic_word_dist(topic) for topic in range(k)]
        return shares, topics

    return _average(trial, passes, lambda n: model.train(n, workers=1), read)


def fit_lda(trial: Trial, seed: int, *, k: int, alpha: float, beta: float, passes: int) -> Iterator[Answer]:
    """Sample with lda. Its `fit` gives the last sample alone, so its passes are called one by one, as `fit` does."""
    import logging

    import lda

    logging.getLogger("lda").setLevel(logging.ERROR)
    model = lda.LDA(n_topics=k, alpha=alpha, eta=beta, random_state=seed)
    randoms = np.random.RandomState(seed)
    uniforms = model._rands.copy()
    started = False

    def sample(n: int) -> None:
        nonlocal started
        if not started:
            model._initialize(trial.train.counts)
            started = True
        for _ in range(n):
            randoms.shuffle(uniforms)
            model._sample_topics(uniforms)

    def read() -> tuple[Floats, Floats]:
        shares, topics = model.ndz_ + alpha, model.nzw_ + beta
        return shares / shares.sum(axis=1, keepdims=True), topics / topics.sum(axis=1, keepdims=True)

    return _average(trial, passes, sample, read)
