"""LDA for the engine: lower bound, pseudo leave-one-out score, predictions, result tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln, polygamma, xlogy

from acvb_core.core.clusters import rearrange
from acvb_core.core.parallel import map_together
from acvb_core.core.protocols import (
    AnyResponsibilities,
    Array,
    Poll,
    Posterior,
    RemoteResponsibilities,
    Responsibilities,
    no_poll,
)
from acvb_core.core.spec import Values, WarmUp
from acvb_core.data.corpora.metadata import take_groups
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.evaluate.heldout import Completion, WordScore, pair_products, score_words
from acvb_core.evaluate.split import HeldOutWords
from acvb_core.models.lda.cvb import sum_counts
from acvb_core.models.lda.documents import StoredRows
from acvb_core.models.lda.exact import ExactResponsibilities, collapsed_excess
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.kernels import (
    Counts,
    DocumentTerms,
    document_terms,
    entropies,
    leave_one_out,
    log_gamma_gain,
    trigamma_sum,
)
from acvb_core.models.lda.spec import LEARN_FROM
from acvb_core.models.lda.state import TOPICS, BlockPartition, Piece, Tokens
from acvb_core.models.lda.topics import (
    Topics,
    build_topics,
    document_share,
    document_table,
    measure_spread,
    share_masses,
    topic_map,
    topics_in_use,
    word_probability,
    word_table,
)
from acvb_core.models.lda.trained import TrainedTopics
from acvb_core.models.lda.transform import FixedTopics, fold_in, infer_topic_counts

#: Documents of a corpus on disk that are shown.
SHOWN = 2_000
#: (document, word) pairs that are added up at a time.
_PIECE = 1 << 20
_NO_RESPONSIBILITIES = np.zeros((0, 1), np.float32)


@dataclass(frozen=True, eq=False)
class LdaModel:
    """Bound, predictions and tables of a posterior of LDA on one corpus, in memory or on disk (a `Model`)."""

    corpus: Corpus
    domains: tuple[str, ...] = (TOPICS,)
    groups: tuple[tuple[str, str], ...] = ()  #: that documents must be in to be shown: column and group

    @cached_property
    def tokens(self) -> Tokens:
        """The corpus as the kernels read it."""
        return Tokens.of(self.corpus)

    @cached_property
    def most_evidence(self) -> float:
        """The largest possible log probability of the words (nats): by the frequencies in each document itself."""
        counts, lengths = self.tokens.counts, self.corpus.lengths.astype(np.float64)
        # In pieces, as arrays of the length of the corpus would count as memory of the run.
        pieces = (counts[at : at + _PIECE].astype(np.float64) for at in range(0, len(counts), _PIECE))
        of_words = sum(float(xlogy(piece, piece).sum()) for piece in pieces)
        return of_words - float(xlogy(lengths, lengths).sum())

    def lower_bound(
        self, posterior: Posterior, responsibilities: AnyResponsibilities | None = None
    ) -> float | None:
        """Return the variational lower bound of log p(words) in nats, at the best q(theta), q(phi).

        sum_d [lB(alpha + n_d) - lB(alpha)] + sum_k [lB(beta + n_.k) - lB(beta)] + sum c H(q), where lB is the log of
        the multivariate beta function. None if the entropy of the responsibilities is unknown.
        """
        terms = self._document_terms(posterior, responsibilities)
        if terms is None or terms.entropy is None:
            return None
        by_word, beta = np.ascontiguousarray(posterior["words"]), posterior.hyper["beta"]
        all_beta = by_word.shape[0] * beta
        joint = terms.gain + log_gamma_gain(by_word, np.full(by_word.shape[1], beta))
        joint -= terms.lengths
        joint -= float((gammaln(_totals(by_word) + all_beta) - gammaln(all_beta)).sum())
        return joint + terms.entropy

    def _document_terms(
        self, posterior: Posterior, responsibilities: AnyResponsibilities | None
    ) -> DocumentTerms | None:
        """Return the sums over documents, from the shards if the posterior has no documents; None if unknown."""
        if "documents" in posterior.arrays:
            entropy = self._entropy(posterior, responsibilities)
            counts = np.ascontiguousarray(posterior["documents"])
            return None if entropy is None else document_terms(counts, posterior["alpha"], entropy)
        if not isinstance(responsibilities, RemoteResponsibilities):
            return None
        terms: DocumentTerms | None = responsibilities.ask("document_terms", posterior["alpha"])
        if terms is not None and "entropy" in posterior.arrays:
            return terms._replace(entropy=float(posterior["entropy"].sum()))
        return terms

    def _counts(self, posterior: Posterior) -> tuple[Counts, Array, Array]:
        """Return the counts of a posterior, alpha, and beta for each topic."""
        by_word, alpha = np.ascontiguousarray(posterior["words"]), posterior["alpha"]
        counts = Counts(np.ascontiguousarray(posterior["documents"]), by_word, _totals(by_word))
        return counts, alpha, np.full(len(alpha), posterior.hyper["beta"])

    def _entropy(self, posterior: Posterior, responsibilities: AnyResponsibilities | None) -> float | None:
        if "entropy" in posterior.arrays:
            return float(posterior["entropy"].sum())
        if not isinstance(responsibilities, Responsibilities):
            return None
        q, weights, _ = responsibilities

        def add_up(piece: Piece) -> float:
            return float(entropies(piece.begin, piece.end, piece.pairs.pointers, weights, q))

        return sum(map_together(add_up, self._cells(responsibilities).pieces(q.shape[1])))

    def _cells(self, responsibilities: AnyResponsibilities | None) -> BlockPartition:
        """Return the pairs in the order of the responsibilities."""
        return BlockPartition.of(self.tokens, getattr(responsibilities, "layout", None) or 1)

    def pseudo_loo(
        self, posterior: Posterior, poll: Poll = no_poll, responsibilities: AnyResponsibilities | None = None
    ) -> float | None:
        """Return the sum over tokens of the log probability of each given all others, in nats.

        The responsibilities of the token are subtracted from all counts; if they are unknown, those that the counts
        imply at zeroth order. None for a posterior without documents.
        """
        if "documents" not in posterior.arrays:
            if not isinstance(responsibilities, RemoteResponsibilities):
                return None
            words, alpha = _singles(posterior["words"]), posterior["alpha"]
            loo: float | None = responsibilities.ask("leave_one_out", words, alpha, posterior.hyper["beta"])
            return loo
        q = responsibilities.q if isinstance(responsibilities, Responsibilities) else _NO_RESPONSIBILITIES
        by_word = _singles(posterior["words"])
        counts = Counts(_singles(posterior["documents"]), by_word, by_word.sum(axis=0, dtype=np.float64))
        cells, alpha = self._cells(responsibilities), posterior["alpha"]
        prior = Concentrations(alpha, posterior.hyper["beta"]).singles(self.tokens.n_words)

        def add_up(piece: Piece) -> float:
            return float(leave_one_out(*piece, q, counts, prior))

        found = map_together(add_up, cells.pieces(len(alpha)), poll)
        return sum(found) + cells.length_terms(alpha.sum())

    def extras(
        self,
        posterior: Posterior,
        responsibilities: AnyResponsibilities | None = None,
        pseudo_loo: float | None = None,
        lower_bound: float | None = None,
    ) -> dict[str, float]:
        """Return the leave-one-out perplexity and, if the responsibilities are known, the collapsed bound.

        Exact expectations also give the error of this second-order bound. The collapsed bound is NaN if it exceeds
        every possible log probability of the words: its expansion broke down.
        """
        extras = {}
        if pseudo_loo is not None:
            extras["loo_perplexity"] = math.exp(min(-pseudo_loo / self.corpus.n_tokens, 700.0))
        if isinstance(responsibilities, Responsibilities):
            second = self.collapsed_bound(posterior, responsibilities, lower_bound)
            is_possible = second <= self.most_evidence + 1e-6 * self.corpus.n_tokens  # rounding
            extras["collapsed_bound"] = second if is_possible else math.nan
            if isinstance(responsibilities, ExactResponsibilities):
                extras["bound_error"] = second - self.exact_bound(posterior, responsibilities, lower_bound)
        return extras

    def exact_bound(
        self, posterior: Posterior, responsibilities: Responsibilities, lower_bound: float | None = None
    ) -> float:
        """Return E log p(words, topics of tokens) + H(q) <= log p(words), in nats (TNW07 eq. 12), for small corpora."""
        counts, alpha, _ = self._counts(posterior)
        hyper, variances = Concentrations(alpha, posterior.hyper["beta"]), self._variances(responsibilities)
        excess = collapsed_excess(self.tokens, responsibilities.q, counts, variances, hyper)
        return self._known_bound(posterior, responsibilities, lower_bound) + excess

    def collapsed_bound(
        self, posterior: Posterior, responsibilities: Responsibilities, lower_bound: float | None = None
    ) -> float:
        """Return E log p(words, topics of tokens) + H(q) to second order, in nats (TNW07, their Figure 1).

        E lgamma(c + n) is taken as lgamma(c + E n) + psi1(c + E n) Var n / 2. This approximation can exceed
        log p(words) if counts are small, unlike `lower_bound`.
        """
        variances = self._variances(responsibilities)
        counts, alpha, beta = self._counts(posterior)
        all_beta = counts.by_word.shape[0] * posterior.hyper["beta"]
        total = trigamma_sum(counts.by_document, alpha, variances.by_document)
        total += trigamma_sum(counts.by_word, beta, variances.by_word)
        total -= float((polygamma(1, counts.totals + all_beta) * variances.totals).sum())
        return self._known_bound(posterior, responsibilities, lower_bound) + 0.5 * total

    def _variances(self, responsibilities: Responsibilities) -> Counts:
        return sum_counts(self._cells(responsibilities), responsibilities.q, spread=True)

    def _known_bound(
        self, posterior: Posterior, responsibilities: Responsibilities, lower_bound: float | None
    ) -> float:
        bound = self.lower_bound(posterior, responsibilities) if lower_bound is None else lower_bound
        return 0.0 if bound is None else bound

    def predict(self, posterior: Posterior, heldout: HeldOutWords) -> Array:
        """Return p(word | document) = sum_k theta_dk phi_kw of each held-out (document, word) pair.

        Shares of held-out documents, and of all documents if the posterior has none, follow from their seen words with
        the topics fixed (`fold_in`).
        """
        phi, alpha = word_probability(posterior), posterior["alpha"]
        if heldout.seen is not None:
            shares = fold_in(heldout.seen.counts, phi, alpha)
        elif "documents" in posterior.arrays:
            shares = document_share(posterior)
        else:
            shares = fold_in(self.corpus.counts, phi, alpha)
        return pair_products(_singles(shares), _singles(phi.T), heldout.documents, heldout.words)

    def fixed_topics(self, posterior: Posterior) -> FixedTopics:
        """Return the topics for reading new documents."""
        phi, corpus = word_probability(posterior), self.corpus
        return FixedTopics(phi, posterior["alpha"], corpus.vocabulary, corpus.tokeniser, corpus.name)

    def transform(self, posterior: Posterior, documents: Corpus | Sequence[str]) -> pd.DataFrame:
        """Return the topic shares of new documents, the topics fixed (see `FixedTopics.transform`)."""
        return self.fixed_topics(posterior).transform(documents)

    def completion(
        self, posterior: Posterior, documents: Corpus | Sequence[str], observed: float = 0.8, seed: int = 0
    ) -> Completion:
        """Return how well the topics complete new documents (see `FixedTopics.completion`)."""
        return self.fixed_topics(posterior).completion(documents, observed, seed)

    def score(self, probability: Array, heldout: HeldOutWords) -> WordScore:
        """Return the scores of predictions."""
        return score_words(probability, heldout.counts)

    @cached_property
    def shown_documents(self) -> Corpus:
        """The documents whose topics are shown: all, or 2,000 random ones of a corpus on disk; those in the groups."""
        shown = self.corpus
        if isinstance(shown, DiskCorpus):
            shown = shown.sample(min(SHOWN, shown.n_documents))
        return take_groups(shown, self.groups)

    def count_in_use(self, posterior: Posterior) -> dict[str, int]:
        """Return the number of topics that are not empty."""
        return {TOPICS: len(topics_in_use(posterior))}

    def complete_posterior(self, posterior: Posterior) -> Posterior:
        """Return the posterior of the topics in use, with the counts of the documents, computed if it has none."""
        used = topics_in_use(posterior)
        if len(used) < posterior.n_clusters()[TOPICS]:
            posterior = rearrange(posterior, {TOPICS: used})
        if "documents" in posterior.arrays:
            return posterior
        counts = infer_topic_counts(
            self.shown_documents.counts, word_probability(posterior), posterior["alpha"]
        )
        return posterior.with_arrays({"documents": counts}, axes={"documents": (None, TOPICS)})

    def take_excerpt(self, posterior: Posterior) -> dict[str, Array]:
        """Return the first words of each topic in use, shape (K, 10), -1 if it has fewer, and its tokens."""
        used = topics_in_use(posterior)
        tokens = posterior["words"].sum(axis=0, dtype=np.float32)[used]
        return {"words": _find_first_words(posterior["words"])[used], "tokens": tokens}

    def spread(self, posteriors: Sequence[Posterior]) -> dict[str, pd.DataFrame]:
        """Return how the topics of the first run vary between runs (see `measure_spread`)."""
        return measure_spread(posteriors, self.corpus.vocabulary)

    def topics(self, posterior: Posterior) -> Topics:
        """Return the topics in probabilities; their shares are those in the documents that are shown of groups."""
        posterior = self.complete_posterior(posterior)
        topics = build_topics(posterior)
        if not self.groups:
            return topics
        return replace(topics, share=share_masses(posterior["documents"].sum(axis=0, dtype=np.float64)))

    def tables(self, posterior: Posterior) -> dict[str, pd.DataFrame]:
        """Return the frames `topics` and `documents` (see `topics.word_table`, `topics.document_table`)."""
        topics = self.topics(posterior)
        return {
            "topics": word_table(topics.word_probability, self.corpus.vocabulary),
            "documents": document_table(topics.document_share, self.shown_documents),
        }


def _totals(by_word: Array) -> Array:
    """Return the tokens of each topic; rounding may leave a sum below zero."""
    return np.maximum(by_word.sum(axis=0, dtype=np.float64), 0.0)


def _singles(counts: Array) -> Array:
    return np.ascontiguousarray(counts, dtype=np.float32)


#: Words of a topic in an excerpt, and the share of all words that gives a lower limit of their counts.
_FIRST_WORDS, _SOME = 10, 4


def _find_first_words(counts: Array) -> Array:
    """Return the words (from 0) of the highest counts of each topic, shape (K, 10), -1 where a topic has no more.

    `counts`: shape (V, K). The tenth count among some of the words is no larger than that among all.
    """
    some = counts[::_SOME]
    least = np.full(counts.shape[1], 1 if counts.dtype.kind in "iu" else 1e-30, dtype=counts.dtype)
    if len(some) >= _FIRST_WORDS:
        least = np.maximum(least, np.partition(some, len(some) - _FIRST_WORDS, axis=0)[-_FIRST_WORDS])
    word, topic = np.divmod(np.flatnonzero(counts >= least), counts.shape[1])
    order = np.lexsort((-counts[word, topic], topic))
    word, topic = word[order], topic[order]
    rank = np.arange(len(topic)) - np.searchsorted(topic, topic)
    first = np.full((counts.shape[1], _FIRST_WORDS), -1, dtype=np.int32)
    among = rank < _FIRST_WORDS
    first[topic[among], rank[among]] = word[among]
    return first


def tiny_corpus() -> tuple[Corpus, Values]:
    """Return two topics of five words each, some repeated in a document, and the settings of a run."""
    counts = [[(1 + (i + j) % 3) * (i % 2 == j // 5) for j in range(10)] for i in range(12)]
    return Corpus.build(counts, name="tiny"), {"k": 3}


def start_from(method: str, values: Values, posterior: Posterior, train: Corpus) -> TrainedTopics:
    """Return the topics of a run as those that another run continues from."""
    sizes, documents = train.frequencies.astype(np.float64), float(train.n_documents)
    return TrainedTopics(posterior, train.vocabulary, sizes, documents, train.name, method, values=values)


def use_model(model: Any, posterior: Posterior, train: Corpus) -> None:
    """Use the topics for other documents, and responsibilities in half the memory."""
    rows = StoredRows(Tokens.of(train), 3, short=True)
    for piece in rows.pieces():
        rows.put(piece)
    model.transform(posterior, train)
    model.completion(posterior, train)


def use_figures() -> None:
    """Place topics on a map."""
    topic_map(np.full((2, 3), 1 / 3))


#: The concentrations are learned in the last sweep.
CASES = {"lda": WarmUp(tiny_corpus, LEARN_FROM + 1, use_model, use_figures, start_from)}
