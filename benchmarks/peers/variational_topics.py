"""scikit-learn and gensim: variational Bayes of topics, fitted again for every number of passes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.peers.answers import Answer, Clock
from benchmarks.peers.gibbs_topics import word_probability
from benchmarks.peers.trials import Trial


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
