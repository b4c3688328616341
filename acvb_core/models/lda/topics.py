"""Topics as probabilities, and their measures: documents, coherence, a map, agreement between runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from acvb_core.core.clusters import Order, order_by_size
from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Array, Posterior
from acvb_core.data.corpora.metadata import take_groups
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.evaluate.alignment import stability
from acvb_core.evaluate.ranking import check_topics, jensen_shannon, top_words

#: Words of each topic in the table of topics.
TABLE_WORDS = 50
#: A topic with fewer expected words of the data is empty: its probabilities come from the prior alone.
LEAST_TOKENS = 1.0


@dataclass(frozen=True, eq=False)
class Topics:
    """Posterior means."""

    word_probability: Array  #: shape (K, V); phi: rows sum to one
    document_share: Array  #: shape (D, K); theta: rows sum to one; of an empty document the prior's mean
    share: Array  #: shape (K,); of all tokens


def build_topics(posterior: Posterior) -> Topics:
    """Return the topics of a posterior (TNW07 eq. 19)."""
    return Topics(word_probability(posterior), document_share(posterior), topic_share(posterior))


def topics_in_use(posterior: Posterior) -> Order:
    """Return the topics (0-based) with at least one expected word of the data, largest first; at least the largest."""
    masses = posterior.masses()["topics"]
    # The counts of a stream may have another sum than the words that they represent.
    tokens = float(posterior["sizes"].sum() if "sizes" in posterior.arrays else masses.sum())
    # Rounding may have reduced a topic of one word.
    return order_by_size(masses, (LEAST_TOKENS - 1e-4) / max(tokens, LEAST_TOKENS))


def topic_share(posterior: Posterior) -> Array:
    """Return the share of each topic in all tokens, shape (K,)."""
    return share_masses(posterior.masses()["topics"])


def share_masses(totals: Array) -> Array:
    """Return the share of each topic in tokens, from its tokens, shape (K,)."""
    # A stream may have no counts: it leaves one token of each word out.
    return np.asarray(totals / totals.sum() if totals.any() else np.full(len(totals), 1.0 / len(totals)))


def word_probability(posterior: Posterior) -> Array:
    """Return phi_kw = (beta + n_wk) / (V beta + n_k), shape (K, V) (TNW07 eq. 19)."""
    return _shares(np.maximum(posterior["words"], 0.0).T + posterior.hyper["beta"])


def document_share(posterior: Posterior) -> Array:
    """Return theta_dk = (alpha_k + n_dk) / (sum alpha + n_d), shape (D, K) (TNW07 eq. 19)."""
    return _shares(np.maximum(posterior["documents"], 0.0) + posterior["alpha"])


def _shares(weights: Array) -> Array:
    """Return weights divided by the sums of their rows, in the precision of the weights.

    Sums are in double precision; with a large vocabulary, single precision would lose a thousandth.
    """
    return np.asarray(weights / weights.sum(axis=1, keepdims=True, dtype=np.float64), dtype=weights.dtype)


def word_table(
    probability: Array, vocabulary: NDArray[np.object_], n_words: int = TABLE_WORDS
) -> pd.DataFrame:
    """Return the `n_words` most probable words of each topic: topic (from 1), rank (from 1), word, probability.

    `probability`: shape (K, V), largest topic first; `vocabulary`: shape (V,).
    """
    n_topics, size = probability.shape
    shown = min(n_words, size)
    order = np.argsort(-probability, axis=1, kind="stable")[:, :shown]
    return pd.DataFrame(
        {
            "topic": np.repeat(np.arange(1, n_topics + 1), shown),
            "rank": np.tile(np.arange(1, shown + 1), n_topics),
            "word": vocabulary[order.ravel()],
            "probability": np.take_along_axis(probability, order, axis=1).ravel(),
        }
    )


def document_table(document_share: Array, corpus: Corpus) -> pd.DataFrame:
    """Return the share of each topic in each document: columns document, tokens, topic_1 … topic_K.

    A document without words has no shares (NaN), as its posterior is the prior.
    """
    frame = pd.DataFrame(document_share, columns=[f"topic_{k + 1}" for k in range(document_share.shape[1])])
    frame[corpus.lengths == 0] = np.nan
    frame.insert(0, "tokens", corpus.lengths)
    frame.insert(0, "document", corpus.documents)
    return frame


DocumentOrder = Literal["share", "tokens"]


def top_documents(
    document_share: ArrayLike,
    lengths: ArrayLike,
    topic: int,
    n: int = 10,
    *,
    by: DocumentOrder = "share",
    min_length: int = 1,
) -> pd.DataFrame:
    """Return the documents with the largest share of a topic, or the most tokens of it.

    `document_share`: shape (D, K).
    `lengths`: shape (D,); number of tokens of each document.
    `topic`: 0-based.
    `n`: most documents to return.
    `by`: share of the topic in the document, or expected tokens of it. Short documents often have one topic alone;
      ordering by tokens prefers long ones.
    `min_length`: documents with fewer tokens are left out.
    Returns: one row a document, ties in the order of the corpus: document (0-based), share (NaN without tokens),
      tokens (expected), length.
    """
    shares = np.asarray(document_share)
    length = np.asarray(lengths)
    share = shares[:, check_topics(topic, shares.shape[1])[0]] * (length > 0.0)
    if by not in ("share", "tokens"):
        raise ParameterError(f"Documents are ordered by share or tokens, not by {by!r}.")
    long_enough = np.flatnonzero(length >= min_length)
    tokens = share * length
    document = long_enough
    if len(long_enough):
        document = long_enough[top_words((share if by == "share" else tokens)[long_enough], n)]
    return pd.DataFrame(
        {
            "document": document,
            "share": np.where(length[document] > 0, share[document], np.nan),
            "tokens": tokens[document],
            "length": length[document],
        }
    )


#: Positions on an axis that differ by less than this share of its length count as equally far out.
_TIE = 1e-6


class TopicMap(NamedTuple):
    """Positions of topics on a plane."""

    #: Shape (K, 2); in units of the Jensen-Shannon distance (base 2); the mean is at the origin.
    positions: NDArray[np.float64]
    shown: float  #: share of the squared distances that the plane shows, between 0 and 1
    distances: NDArray[np.float64]  #: shape (K, K); the distances themselves


def topic_map(word_probability: ArrayLike) -> TopicMap:
    """Place topics on a plane by classical scaling of their Jensen-Shannon distances.

    `word_probability`: shape (K, V); distribution of each topic over words.
    """
    distances = jensen_shannon(word_probability)
    return TopicMap(*classical_scaling(distances), distances)


def classical_scaling(distances: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return points on a plane whose Euclidean distances approximate the given ones (Torgerson 1952).

    `distances`: shape (K, K); symmetric, zero on the diagonal.
    Returns `positions`: shape (K, 2); principal axes, the longer first, with mean zero. On each axis, the first of the
      points farthest out is positive, so that equal distances give equal positions.
    Returns `shown`: sum of the two largest eigenvalues over the sum of all positive ones; 1 if all points are equal.
    """
    n, squared = len(distances), distances**2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    values, vectors = values[::-1], vectors[:, ::-1]
    # Rounding leaves a little of eigenvalues that are zero.
    values = np.where(values > n * np.finfo(np.float64).eps * max(float(squared.max()), 0.0), values, 0.0)
    positions = np.zeros((n, 2))
    positions[:, :n] = vectors[:, :2] * np.sqrt(values[:2])
    for axis in positions.T:
        reach = np.abs(axis)
        if axis[int((reach >= reach.max() * (1.0 - _TIE)).argmax())] < 0.0:
            axis *= -1.0
    positions += 0.0  # no negative zeros
    total = float(values.sum())
    return positions, float(values[:2].sum()) / total if total > 0.0 else 1.0


Floats = NDArray[np.float64]


class Coherence(NamedTuple):
    """Measures of how often the top words of each topic are in the same documents; NaN if there is no pair of words."""

    #: Shape (K,); mean normalised pointwise mutual information of the pairs of top words, from -1 (never in the same
    #: document) through 0 (independent) to 1 (always together).
    npmi: Floats
    #: Shape (K,); mean over the pairs of log((D(v, u) + 1) / D(u)), where u ranks higher; nats.
    u_mass: Floats


def coherence(counts: Any, words: ArrayLike) -> Coherence:
    """Measure the coherence of topics over a corpus: two words belong together if documents use both.

    `counts`: shape (D, V); word counts of documents, including empty ones; only the presence of a word matters.
    `words`: shape (K, n); top words of each topic, best first (`ranking.top_words`). Words in no document are ignored.
    Returns: means over the pairs, so that different n are comparable (Mimno et al. take the sum).
    Reference: Bouma 2009; Lau, Newman and Baldwin 2014 (NPMI). Mimno et al. 2011, eq. 1 (u_mass).
    """
    top = np.asarray(words, dtype=np.int64)
    used, place = np.unique(top, return_inverse=True)
    # Only the columns of top words; column by column, since each topic needs a few of them.
    columns = sparse.csc_array(sparse.csr_array(counts)[:, used])
    columns.eliminate_zeros()
    npmi, u_mass = [], []
    for at in place.reshape(top.shape):
        # Dense: top words are in many documents, and single precision counts these exactly up to 2^24.
        chosen = np.zeros((columns.shape[0], len(at)), dtype=np.float32)
        for position, word in enumerate(at):
            chosen[columns.indices[columns.indptr[word] : columns.indptr[word + 1]], position] = 1.0
        together = (chosen.T @ chosen).astype(np.float64)
        alone = together.diagonal()
        higher, lower = np.triu_indices(len(at), 1)
        there = (alone[higher] > 0) & (alone[lower] > 0)
        higher, lower = higher[there], lower[there]
        both = together[higher, lower]
        share = np.array([alone[higher], alone[lower], both]) / columns.shape[0]
        npmi.append(_mean(_npmi(*share)))
        u_mass.append(_mean(np.log(both + 1.0) - np.log(alone[higher])))
    return Coherence(np.array(npmi), np.array(u_mass))


def _npmi(one: Floats, other: Floats, both: Floats) -> Floats:
    """Return log(p12 / (p1 p2)) / -log p12 of each pair."""
    out = np.full(len(both), -1.0)
    # Two words of every document are always together: this is no evidence, like independence.
    out[both >= 1.0] = 0.0
    inside = (both > 0.0) & (both < 1.0)
    log_joint = np.log(both[inside])
    out[inside] = (log_joint - np.log(one[inside]) - np.log(other[inside])) / -log_joint
    return out


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


def finite_mean(values: Floats) -> float:
    """Return the mean of the finite values, NaN if there is none."""
    return _mean(values[np.isfinite(values)])


def topic_diversity(words: ArrayLike) -> float:
    """Return the share of distinct words among the top words of all topics (Dieng, Ruiz and Blei 2020).

    `words`: shape (K, n).
    Returns: from 1 / K (all topics have the same top words) to 1 (no two topics share a top word).
    """
    top = np.asarray(words)
    return len(np.unique(top)) / top.size


def uniqueness(words: ArrayLike) -> Floats:
    """Return, for each topic, the mean over its top words of 1 / number of topics with this top word, shape (K,).

    `words`: shape (K, n); no word twice in a topic.
    Reference: Nan et al. 2019 ("topic uniqueness"). Its mean over the topics is `topic_diversity`.
    """
    top = np.asarray(words)
    _, place, times = np.unique(top, return_inverse=True, return_counts=True)
    out: Floats = (1.0 / times)[place].reshape(top.shape).mean(axis=1)
    return out


def mean_exclusivity(word_probability: ArrayLike, words: ArrayLike) -> Floats:
    """Return, for each topic, the mean over its top words of phi relative to the sum over topics, shape (K,).

    `word_probability`: shape (K, V); `words`: shape (K, n).
    """
    phi, top = np.asarray(word_probability, dtype=np.float64), np.asarray(words)
    own, total = np.take_along_axis(phi, top, axis=1), phi.sum(axis=0)[top]
    out: Floats = np.divide(own, total, out=np.zeros_like(own), where=total > 0.0).mean(axis=1)
    return out


#: Similarity of topics of two runs that count as the same; about half of their top words agree.
ALIKE = 0.6
#: Least Bhattacharyya coefficient (a similarity of 0.95) of a topic that repeats another topic of its run.
SAME = 0.998
#: Top words of a topic that are searched for in other runs.
TOP_WORDS = 10


def count_alike_topics(posteriors: Sequence[Posterior]) -> tuple[int, int]:
    """Return how many topics of the first run are in all the others, and how many topics it has.

    Empty topics, and topics that repeat a larger one (`SAME`), are not counted as found. Topics over different
    vocabularies cannot be compared and give (0, 0).
    """
    topics = [_read(posterior)[0] for posterior in posteriors]
    if len({one.shape[1] for one in topics}) > 1:
        return 0, 0
    back = (stability(topics).minimum >= ALIKE) & ~_find_repeats(topics[0])
    return int(back.sum()), len(topics[0])


def count_repeats(posterior: Posterior) -> int:
    """Return how many topics in use repeat a larger one (`SAME`)."""
    return int(_find_repeats(_read(posterior)[0]).sum())


def measure_spread(posteriors: Sequence[Posterior], vocabulary: NDArray[Any]) -> dict[str, pd.DataFrame]:
    """Return how the topics of the first run vary between runs, as the frames `topics` and `words`.

    topics: topic (from 1, in the order of the first posterior), share, low, high, found, runs.
    words: topic, rank, word, probability, low, high, in_top_ten, for the ten most probable words of each topic.

    A run has a topic if one of its topics has a similarity of at least `ALIKE`; `found` counts these of all `runs`,
    including the first. A topic that repeats a larger one (`SAME`) is not found in other runs. `low` and `high` are the
    range over the runs that have the topic; NaN if no other run has it. `in_top_ten` counts the runs in which the word
    is one of the topic's ten most probable words.

    `posteriors`: one or more, of runs on the same vocabulary.
    """
    phi, share = _read(posteriors[0], by_size=False)
    top, repeats = top_words(phi, TOP_WORDS), _find_repeats(phi)
    shares, probabilities = [share], [np.take_along_axis(phi, top, axis=1)]
    found, in_top = np.ones(len(phi), np.int64), np.ones(top.shape, np.int64)
    for posterior in posteriors[1:]:
        other, other_share = _read(posterior)
        pairs = stability([phi, other])
        alike, partner = (pairs.similarity[0] >= ALIKE) & ~repeats, pairs.partner[0]
        shares.append(np.where(alike, other_share[partner], np.nan))
        probabilities.append(np.where(alike[:, None], other[partner[:, None], top], np.nan))
        there = (top[:, :, None] == top_words(other, TOP_WORDS)[partner][:, None, :]).any(axis=2)
        found, in_top = found + alike, in_top + (alike[:, None] & there)
    numbers, n_words = np.arange(1, len(phi) + 1), top.shape[1]
    low, high = _range_over_runs(shares, found > 1)
    topics = {"topic": numbers, "share": share, "low": low, "high": high, "found": found}
    low, high = _range_over_runs(probabilities, np.broadcast_to(found[:, None] > 1, top.shape))
    words = {
        "topic": np.repeat(numbers, n_words),
        "rank": np.tile(np.arange(1, n_words + 1), len(phi)),
        "word": vocabulary[top.ravel()],
        "probability": probabilities[0].ravel(),
        "low": low.ravel(),
        "high": high.ravel(),
        "in_top_ten": in_top.ravel(),
    }
    return {"topics": pd.DataFrame(topics | {"runs": len(posteriors)}), "words": pd.DataFrame(words)}


def _read(posterior: Posterior, *, by_size: bool = True) -> tuple[Array, Array]:
    """Return the word probabilities of the topics in use, the largest first or in their order, and their shares."""
    used = topics_in_use(posterior) if by_size else np.sort(topics_in_use(posterior))
    share = topic_share(posterior)[used]
    return word_probability(posterior)[used], share / share.sum()


def _find_repeats(phi: Array) -> NDArray[np.bool_]:
    """Return which topics, shape (K, V), repeat an earlier one, shape (K,)."""
    root = np.sqrt(phi)
    return np.asarray((np.tril(root @ root.T, -1) >= SAME).any(axis=1))


def _range_over_runs(values: Sequence[Array], known: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return the least and the largest value over runs; NaN for unknown ones."""
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


#: Number of top words in the measures of a topic, and in the identification of a topic with a user's name.
MEASURED, IDENTIFYING = 10, 20


@dataclass(frozen=True, eq=False)
class TopicQuality:
    """The quality of each topic, arrays of shape (K,), and the share of distinct words among all top words."""

    npmi: NDArray[np.float64]
    u_mass: NDArray[np.float64]
    uniqueness: NDArray[np.float64]
    exclusivity: NDArray[np.float64]
    diversity: float


@dataclass(frozen=True, eq=False)
class TopicAnswer:
    """The topics of one posterior; topics are numbered from 1, words and documents from 0."""

    topics: Topics
    corpus: Corpus  #: the documents that can be shown: all, some of those on disk or not held out, those of a group
    data: Corpus | DiskCorpus  #: all documents of the run
    tokens: NDArray[
        np.float64
    ]  #: expected number of words of each topic in all documents of the run, shape (K,)

    @classmethod
    def of_result(cls, result: Any, /, **more: Any) -> Self:
        """Return the answer of a `Result`, with what a subclass has in addition."""
        prepared = result.prepared
        whole = isinstance(prepared.data, Corpus) and not prepared.spec.heldout_documents
        corpus = take_groups(prepared.data, result.groups) if whole else prepared.model.shown_documents
        tokens = np.asarray(topic_share(result.posterior) * prepared.data.n_tokens)
        return cls(prepared.model.topics(result.posterior), corpus, prepared.data, tokens, **more)

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return len(self.topics.share)

    @cached_property
    def identifying_words(self) -> NDArray[np.int64]:
        """Words that identify each topic, shape (K, n)."""
        return top_words(self.topics.word_probability, IDENTIFYING)

    @cached_property
    def index(self) -> dict[str, int]:
        """Number of each word."""
        return {word: number for number, word in enumerate(self.corpus.vocabulary)}

    @cached_property
    def map(self) -> TopicMap:
        """Positions of the topics on a plane."""
        return topic_map(self.topics.word_probability)

    @cached_property
    def quality(self) -> TopicQuality:
        """Coherence over the shown documents, and differences between the topics."""
        words = self.identifying_words[:, :MEASURED]
        return TopicQuality(
            *coherence(self.corpus.counts, words),
            uniqueness(words),
            mean_exclusivity(self.topics.word_probability, words),
            topic_diversity(words),
        )

    def mean_quality(self, name: str) -> float:
        """Return the mean over the topics of a measure of `TopicQuality`, NaN if no topic has a finite value."""
        return finite_mean(getattr(self.quality, name))

    def list_top_words(self, n: int) -> list[list[str]]:
        """Return the `n` most probable words of each topic."""
        vocabulary = self.corpus.vocabulary
        return [vocabulary[words].tolist() for words in top_words(self.topics.word_probability, n)]

    def find_words(self, text: str, most: int) -> list[int]:
        """Return at most `most` words that contain a text: the word itself first, then the most frequent ones."""
        low, vocabulary = text.lower(), self.corpus.vocabulary.tolist()
        words = [number for number, word in enumerate(vocabulary) if low and low in word.lower()]
        words.sort(key=lambda number: (vocabulary[number].lower() != low, -self.data.frequencies[number]))
        return words[:most]

    def topics_of_word(self, word: int, least: float) -> list[tuple[int, float, float]]:
        """Return the topics with at least a share `least` of a word's tokens, largest share first.

        Returns: topic, its share of the word's tokens, and the word's probability in it.
        """
        probability = self.topics.word_probability[:, word]
        share = self.topics.share * probability
        share = share / share.sum()
        order = np.argsort(-share, kind="stable")
        return [(int(k) + 1, float(share[k]), float(probability[k])) for k in order if share[k] >= least]

    def document_words(self, document: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the words of a document, the most frequent first, and their counts."""
        return frequent_words(self.corpus, document)

    def match_documents(self, text: str) -> NDArray[np.int64]:
        """Return the documents whose name or text contains a text, in either case.

        If the texts are not known, those with a word that contains it.
        """
        corpus, wanted = self.corpus, search_pattern(text)
        found = np.array([bool(wanted.search(str(name))) for name in corpus.documents], dtype=bool)
        if corpus.texts is None:
            words = np.array([bool(wanted.search(str(word))) for word in corpus.vocabulary], dtype=bool)
            found |= np.asarray((corpus.counts @ words.astype(np.int64)) > 0)
        else:
            found |= np.array([bool(wanted.search(one)) for one in corpus.texts], dtype=bool)
        return np.flatnonzero(found)

    def find_documents(self, topic: int, n: int, by: DocumentOrder, text: str = "") -> pd.DataFrame:
        """Return the rows of `top_documents` for documents that contain a text, the one with this name first."""
        shares, lengths = self.topics.document_share, self.corpus.lengths
        if not text:
            return top_documents(shares, lengths, topic - 1, n, by=by)
        matching = self.match_documents(text)
        if not len(matching):
            return pd.DataFrame({"document": matching, "share": [], "tokens": [], "length": matching})
        best = top_documents(shares[matching], lengths[matching], topic - 1, n, by=by, min_length=0)
        best = best.assign(document=matching[best["document"]])
        other = [str(self.corpus.documents[number]).lower() != text.lower() for number in best["document"]]
        return best.iloc[np.argsort(other, kind="stable")].reset_index(drop=True)

    @cached_property
    def label_shares(self) -> pd.DataFrame:
        """Share of each topic in the words of the documents of each known label; the largest label comes first."""
        labels: Any = self.corpus.labels
        shares = pd.DataFrame(self.topics.document_share * self.corpus.lengths[:, None])
        shares.columns = np.arange(1, self.n_topics + 1)
        sums = shares.groupby(np.asarray(labels, dtype=object), sort=False).sum()
        totals = sums.sum(axis=1)
        order = np.argsort(-totals.to_numpy(), kind="stable")
        positive = totals.iloc[order].where(lambda total: total > 0, np.nan)
        return sums.iloc[order].div(positive, axis=0).T


def search_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern of a text in either case, with any white space between its words."""
    return re.compile(r"\s+".join(map(re.escape, text.split())), re.IGNORECASE)


def frequent_words(corpus: Corpus, document: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the words (0-based) of a document, the most frequent first, and their counts."""
    counts = corpus.counts
    begin, end = counts.indptr[document], counts.indptr[document + 1]
    words, times = counts.indices[begin:end], counts.data[begin:end]
    order = np.argsort(-times, kind="stable")
    return words[order].astype(np.int64), times[order].astype(np.int64)


def share_vocabulary(answers: Sequence[TopicAnswer]) -> bool:
    """Return whether the topics of several answers have the same vocabulary."""
    first = answers[0].corpus.vocabulary
    return all(np.array_equal(answer.corpus.vocabulary, first) for answer in answers[1:])
