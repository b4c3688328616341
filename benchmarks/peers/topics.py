"""Topics by tomotopy and lda (Gibbs samplers), and by scikit-learn and gensim (variational Bayes)."""

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


def _numbers_of_passes(most: int) -> Iterator[int]:
    passes = 1
    while passes <= most:
        yield passes
        passes *= 2


def fit_sklearn(
    trial: Trial, seed: int, *, k: int, alpha: float, beta: float, passes: int
) -> Iterator[Answer]:
    """Fit LatentDirichletAllocation, batch."""
    from sklearn.decomposition import LatentDirichletAllocation

    for number in _numbers_of_passes(passes):
        model = LatentDirichletAllocation(
            k, doc_topic_prior=alpha, topic_word_prior=beta, max_iter=number, random_state=seed
        )
        with Clock() as clock:
            model.fit(trial.train.counts)
        topics = model.components_ / model.components_.sum(axis=1, keepdims=True)
        predicted = word_probability(model.transform(trial.train.counts), topics, trial)
        yield Answer(predicted, clock.seconds, f"{number} passes")


def fit_gensim(
    trial: Trial, seed: int, *, k: int, alpha: float, beta: float, passes: int
) -> Iterator[Answer]:
    """Fit LdaModel as it is by default: 2,000 documents at a time; with fewer it predicts far worse."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    corpus = list(Sparse2Corpus(trial.train.counts.tocsc(), documents_columns=False))
    for number in _numbers_of_passes(passes):
        with Clock() as clock:
            model = LdaModel(
                corpus,
                num_topics=k,
                id2word={word: str(word) for word in range(trial.train.counts.shape[1])},
                alpha=np.full(k, alpha),
                eta=beta,
                passes=number,
                eval_every=None,
                random_state=seed,
            )
        shares, _ = model.inference(corpus)
        shares = shares / shares.sum(axis=1, keepdims=True)
        yield Answer(word_probability(shares, model.get_topics(), trial), clock.seconds, f"{number} passes")
