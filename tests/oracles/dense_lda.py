"""Dense reference of latent Dirichlet allocation (LDA): textbook formulas in plain NumPy, to check faster code.

Nothing here is incremental: whenever counts are needed they are counted afresh, and leave-one-out counts are those of
a corpus with one token less.
Convention: ``gamma`` is (n_pairs, K), its rows sum to one, and each of the c tokens of a pair has the pair's row;
``alpha`` is (K,), ``beta`` one number. Statistics come in three kinds: of documents (D, K), words (V, K), topics (K,).
Papers: TNW07 = Teh, Newman, Welling, NIPS 19 (2007); AWST09 = Asuncion, Welling, Smyth, Teh, UAI 2009.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, logsumexp, polygamma, xlogy

from tests.oracles.dense_irm import Array

Integers = NDArray[np.int64]
Function = Callable[[Array], Array]


class Triplets(NamedTuple):
    """A corpus as (document, word, count) entries; ``shape`` is (D, V). A pair may have several entries."""

    documents: Integers
    words: Integers
    counts: Integers
    shape: tuple[int, int]

    @property
    def lengths(self) -> Integers:
        """Tokens of each document (D,)."""
        return np.bincount(self.documents, self.counts, self.shape[0]).astype(np.int64)

    def of_document(self, d: int) -> list[int]:
        """Entries of document ``d`` in order of word."""
        entries = np.flatnonzero(self.documents == d)
        return [int(p) for p in entries[np.argsort(self.words[entries], kind="stable")]]

    def without_token(self, p: int) -> Triplets:
        """The corpus without one of the tokens of entry ``p``: same entries, one count lower (perhaps 0)."""
        counts = self.counts.copy()
        counts[p] -= 1
        return self._replace(counts=counts)


class Tokens(NamedTuple):
    """A corpus token by token: the document and the word of each."""

    documents: Integers
    words: Integers
    shape: tuple[int, int]


class Statistics(NamedTuple):
    """One number for each document and topic (D, K), word and topic (V, K), and topic (K,)."""

    documents: Array
    words: Array
    topics: Array


def tokens_of(triplets: Triplets) -> Tokens:
    """Every token of every entry, in the order of the entries."""
    documents = np.repeat(triplets.documents, triplets.counts)
    return Tokens(documents, np.repeat(triplets.words, triplets.counts), triplets.shape)


def gathered(operation: np.ufunc, triplets: Triplets, values: Array) -> Statistics:
    """Values of the entries (n_pairs, K), put together for each document, for each word, and for all."""
    rows = (triplets.documents, triplets.words, np.zeros_like(triplets.words))
    found = [np.full((n, values.shape[1]), float(operation.identity)) for n in (*triplets.shape, 1)]
    for out, row in zip(found, rows, strict=True):
        operation.at(out, row, values)
    return Statistics(found[0], found[1], found[2][0])


def expected_counts(triplets: Triplets, gamma: Array) -> Statistics:
    """n_dk, n_wk and n_k: sums of c gamma over the entries of a document, a word, and all."""
    return gathered(np.add, triplets, triplets.counts[:, None] * gamma)


def count_variances(triplets: Triplets, gamma: Array) -> Statistics:
    """v_dk, v_wk and v_k: the same sums of c gamma (1 - gamma)."""
    return expected_counts(triplets, gamma * (1 - gamma))


def presence(triplets: Triplets, gamma: Array) -> Statistics:
    """P(n > 0) = 1 - prod (1 - gamma)^c of every count."""
    absent = gathered(np.multiply, triplets, (1 - gamma) ** triplets.counts[:, None])
    return Statistics(*(1 - part for part in absent))


def priors(alpha: Array, beta: float, n_words: int) -> tuple[Array, float, float]:
    """What is added to each kind of count: alpha, beta, V beta."""
    return alpha, beta, n_words * beta


def log_multivariate_beta(a: Array) -> float:
    """log B(a) = sum lgamma(a) - lgamma(sum a)."""
    return float(gammaln(a).sum() - gammaln(a.sum()))


def log_joint(tokens: Tokens, z: Integers, alpha: Array, beta: float) -> float:
    """log p(x, z) with theta and phi integrated out: a Dirichlet-multinomial for each document and topic."""
    n_documents, n_words = tokens.shape
    total = 0.0
    for d in range(n_documents):
        n_d = np.bincount(z[tokens.documents == d], minlength=len(alpha))
        total += log_multivariate_beta(alpha + n_d) - log_multivariate_beta(alpha)
    for k in range(len(alpha)):
        n_k = np.bincount(tokens.words[z == k], minlength=n_words)
        total += log_multivariate_beta(beta + n_k) - log_multivariate_beta(np.full(n_words, beta))
    return total


def gibbs_conditional(tokens: Tokens, z: Integers, i: int, alpha: Array, beta: float) -> Array:
    """p(z_i = k | z without i, x) (K,), from ratios of joints; z[i] itself is not looked at."""
    tried = [np.where(np.arange(len(z)) == i, k, z) for k in range(len(alpha))]
    return _normalise(np.array([log_joint(tokens, one, alpha, beta) for one in tried]))


def poisson_binomial(probabilities: Array) -> Array:
    """P(n = 0), …, P(n = N) of the number n of successes among N independent trials."""
    law = np.ones(1)
    for p in probabilities:
        failed, succeeded = np.append(law * (1 - p), 0.0), np.append(0.0, law * p)
        law = failed + succeeded
    return law


def expectations(f: Function, triplets: Triplets, gamma: Array, alpha: Array, beta: float) -> Statistics:
    """Exact E f(alpha_k + n_dk), E f(beta + n_wk), E f(V beta + n_k) under independent labels (TNW07 appendix)."""
    n_documents, n_words = triplets.shape
    size = gamma.shape[1]

    def expectation(c: float, chosen: NDArray[np.bool_], k: int) -> float:
        law = poisson_binomial(np.repeat(gamma[chosen, k], triplets.counts[chosen]))
        return float(law @ f(c + np.arange(len(law))))

    every = np.ones(len(triplets.counts), dtype=bool)
    documents = [
        [expectation(alpha[k], triplets.documents == d, k) for k in range(size)] for d in range(n_documents)
    ]
    words = [[expectation(beta, triplets.words == w, k) for k in range(size)] for w in range(n_words)]
    topics = [expectation(n_words * beta, every, k) for k in range(size)]
    return Statistics(
        np.reshape(documents, (n_documents, size)), np.reshape(words, (n_words, size)), np.array(topics)
    )


def second_order(
    f: Function, f2: Function, triplets: Triplets, gamma: Array, alpha: Array, beta: float
) -> Statistics:
    """f(c + E n) + f''(c + E n) Var n / 2 in place of E f(c + n); ``f2`` is f''."""
    n, v = expected_counts(triplets, gamma), count_variances(triplets, gamma)
    terms = zip(priors(alpha, beta, triplets.shape[1]), n, v, strict=True)
    return Statistics(*(f(c + mean) + 0.5 * f2(c + mean) * var for c, mean, var in terms))


def plug_in(f: Function, triplets: Triplets, gamma: Array, alpha: Array, beta: float) -> Statistics:
    """f(c + E n) in place of E f(c + n)."""
    n = expected_counts(triplets, gamma)
    return Statistics(
        *(f(c + mean) for c, mean in zip(priors(alpha, beta, triplets.shape[1]), n, strict=True))
    )


def presence_weighted(f: Function, triplets: Triplets, gamma: Array, alpha: Array, beta: float) -> Statistics:
    """P(n > 0) f(c + E n / P(n > 0)) + P(n = 0) f(c) in place of E f(c + n)."""
    n, present = expected_counts(triplets, gamma), presence(triplets, gamma)
    result = []
    for c, mean, p in zip(priors(alpha, beta, triplets.shape[1]), n, present, strict=True):
        mean_if_present = mean / np.where(p > 0, p, 1.0)
        result.append(p * f(c + mean_if_present) + (1 - p) * f(c + np.zeros_like(mean)))
    return Statistics(*result)


def entropy(triplets: Triplets, gamma: Array) -> float:
    """H(q) of all tokens: each of the c tokens of an entry adds the entropy of its row."""
    return float(-np.sum(triplets.counts * xlogy(gamma, gamma).sum(axis=1)))


def _log_joint_of(log_gammas: Statistics, triplets: Triplets, alpha: Array, beta: float) -> float:
    """log p(x, z) with lgamma(c + n) of every uncertain count as given; lengths of documents are certain."""
    n_documents, n_words = triplets.shape
    size = len(alpha)
    by_document = log_gammas.documents.sum() - gammaln(alpha.sum() + triplets.lengths).sum()
    by_topic = log_gammas.words.sum() - log_gammas.topics.sum()
    constants = n_documents * log_multivariate_beta(alpha)
    constants += size * log_multivariate_beta(np.full(n_words, beta))
    return float(by_document + by_topic - constants)


def lower_bound(triplets: Triplets, gamma: Array, alpha: Array, beta: float) -> float:
    """The variational bound at the best q(theta), q(phi) for this gamma: expected counts plugged in, and H."""
    log_gammas = plug_in(gammaln, triplets, gamma, alpha, beta)
    return _log_joint_of(log_gammas, triplets, alpha, beta) + entropy(triplets, gamma)


def collapsed_bound_exact(triplets: Triplets, gamma: Array, alpha: Array, beta: float) -> float:
    """E log p(x, z) + H(gamma): between ``lower_bound`` and log p(x) (TNW07 section 3)."""
    log_gammas = expectations(gammaln, triplets, gamma, alpha, beta)
    return _log_joint_of(log_gammas, triplets, alpha, beta) + entropy(triplets, gamma)


def collapsed_bound_second_order(triplets: Triplets, gamma: Array, alpha: Array, beta: float) -> float:
    """The collapsed bound to second order. No bound: it may lie above log p(x) where counts are small."""
    log_gammas = second_order(gammaln, lambda x: polygamma(1, x), triplets, gamma, alpha, beta)
    return _log_joint_of(log_gammas, triplets, alpha, beta) + entropy(triplets, gamma)


def _normalise(log_weights: Array) -> Array:
    return np.exp(log_weights - logsumexp(log_weights))


def cvb0_update(
    triplets: Triplets, gamma: Array, p: int, alpha: Array, beta: float, totals_from: Array | None = None
) -> tuple[Array, float]:
    """CVB0 of one token of entry ``p`` (AWST09): the new row, and the predictive probability of the token.

    The predictive is sum_k (alpha_k + n_dk) / (n_d + sum alpha) (beta + n_wk) / (V beta + n_k), all without this one
    token. ``totals_from`` is the gamma that gives n_k (default: ``gamma``).
    """
    rest = triplets.without_token(p)
    d, w = rest.documents[p], rest.words[p]
    n = expected_counts(rest, gamma)
    n_k = n.topics if totals_from is None else expected_counts(rest, totals_from).topics
    weights = (alpha + n.documents[d]) * (beta + n.words[w]) / (rest.shape[1] * beta + n_k)
    return weights / weights.sum(), float(weights.sum() / (rest.lengths[d] + alpha.sum()))


def cvb_update(
    triplets: Triplets, gamma: Array, p: int, alpha: Array, beta: float, totals_from: Array | None = None
) -> tuple[Array, float]:
    """Second-order CVB of one token of entry ``p`` (TNW07 eq. 18), and the predictive probability of CVB0.

    ``totals_from`` is the gamma that gives n_k and v_k (default: ``gamma``).
    """
    rest = triplets.without_token(p)
    d, w = rest.documents[p], rest.words[p]
    n, v = expected_counts(rest, gamma), count_variances(rest, gamma)
    totals = gamma if totals_from is None else totals_from
    n_k, v_k = expected_counts(rest, totals).topics, count_variances(rest, totals).topics
    a, b, t = alpha + n.documents[d], beta + n.words[w], rest.shape[1] * beta + n_k
    correction = -v.documents[d] / (2 * a**2) - v.words[w] / (2 * b**2) + v_k / (2 * t**2)
    row = _normalise(np.log(a) + np.log(b) - np.log(t) + correction)
    return row, float(np.sum(a * b / t) / (rest.lengths[d] + alpha.sum()))


def cvb_exact_update(triplets: Triplets, gamma: Array, p: int, alpha: Array, beta: float) -> Array:
    """The update that CVB and CVB0 approximate, for one token of entry ``p`` (TNW07 eq. 15 and appendix).

    Proportional to exp{ E log(alpha_k + n_dk) + E log(beta + n_wk) - E log(V beta + n_k) } without this one token.
    """
    rest = triplets.without_token(p)
    logs = expectations(np.log, rest, gamma, alpha, beta)
    return _normalise(logs.documents[rest.documents[p]] + logs.words[rest.words[p]] - logs.topics)


def _sweep(
    update: Callable[..., tuple[Array, float]],
    triplets: Triplets,
    gamma: Array,
    alpha: Array,
    beta: float,
    frozen_nk: bool = True,
) -> tuple[Array, float]:
    """Update every entry once, documents in order, words in order within each; every new row is used at once.

    With ``frozen_nk`` the totals n_k (and v_k) are those at the start of the document, less one token's old gamma of
    the entry at hand. Without it they are always up to date.
    Returns the new gamma and the pseudo leave-one-out log likelihood: c log predictive summed on the way.
    """
    gamma, pseudo = gamma.copy(), 0.0
    for d in range(triplets.shape[0]):
        at_start = gamma.copy()
        for p in triplets.of_document(d):
            row, predictive = update(triplets, gamma, p, alpha, beta, at_start if frozen_nk else gamma)
            gamma[p] = row
            pseudo += float(triplets.counts[p] * np.log(predictive))
    return gamma, pseudo


cvb0_sweep = partial(_sweep, cvb0_update)
cvb_sweep = partial(_sweep, cvb_update)


def cells_sweep(
    update: Callable[..., tuple[Array, float]],
    triplets: Triplets,
    gamma: Array,
    alpha: Array,
    beta: float,
    parts: tuple[Integers, Integers],
) -> tuple[Array, float]:
    """Update every entry once, in P phases of P cells; ``parts`` are those of each document and of each word.

    In phase s cell i has document part i and word part (i + s) mod P. The totals are those at the start of the phase,
    with the cell's own changes up to the start of the document.
    """
    gamma, pseudo, (of_document, of_word) = gamma.copy(), 0.0, parts
    n_parts = int(of_document.max()) + 1
    for phase in range(n_parts):
        at_phase = gamma.copy()
        for i in range(n_parts):
            inside = of_document[triplets.documents] == i
            inside &= of_word[triplets.words] == (i + phase) % n_parts
            for d in np.flatnonzero(of_document == i):
                at_start = np.where(inside[:, None], gamma, at_phase)
                for p in triplets.of_document(d):
                    if inside[p]:
                        gamma[p], predictive = update(triplets, gamma, p, alpha, beta, at_start)
                        pseudo += float(triplets.counts[p] * np.log(predictive))
    return gamma, pseudo


def pseudo_loo(triplets: Triplets, gamma: Array, alpha: Array, beta: float) -> float:
    """Sum over tokens of the log predictive of CVB0, every count that of ``gamma`` less one token."""
    terms = [
        c * np.log(cvb0_update(triplets, gamma, p, alpha, beta)[1]) for p, c in enumerate(triplets.counts)
    ]
    return float(sum(terms))


def vb_sweep(triplets: Triplets, gamma: Array, alpha: Array, beta: float, inner: int = 1) -> Array:
    """Variational Bayes: gamma prop. to exp{ psi(alpha + n_dk) + psi(beta + n_wk) - psi(V beta + n_k) }.

    n_wk and n_k are those of ``gamma`` as it was before the sweep; n_dk is counted afresh before each of the ``inner``
    passes over a document, and all entries of the document change together.
    """
    n = expected_counts(triplets, gamma)
    log_phi = digamma(beta + n.words) - digamma(triplets.shape[1] * beta + n.topics)
    gamma = gamma.copy()
    for d in range(triplets.shape[0]):
        for _ in range(inner):
            log_theta = digamma(alpha + expected_counts(triplets, gamma).documents[d])
            for p in triplets.of_document(d):
                gamma[p] = _normalise(log_theta + log_phi[triplets.words[p]])
    return gamma


def minka_step(
    expected: Callable[..., Statistics], triplets: Triplets, gamma: Array, alpha: Array, beta: float
) -> tuple[Array, float]:
    """One fixed-point step for alpha (K,) and beta, both from the old values.

    ``expected`` gives E psi(c + n) of the uncertain counts: ``expectations``, ``presence_weighted`` or ``plug_in``.
    The length of a document is certain. A topic without any token gets alpha_k = 0.
    """
    n_words, total = triplets.shape[1], alpha.sum()
    psi = expected(digamma, triplets, gamma, alpha, beta)
    by_topic = np.sum(psi.documents - digamma(alpha), axis=0)
    by_length = np.sum(digamma(total + triplets.lengths) - digamma(total))
    by_word = np.sum(psi.words - digamma(beta))
    by_total = n_words * np.sum(psi.topics - digamma(n_words * beta))
    return alpha * by_topic / by_length, float(beta * by_word / by_total)


#: Minka's step with every term of an uncertain count weighted by P(n > 0), n_k included.
weighted_minka_step = partial(minka_step, presence_weighted)


def estimates(triplets: Triplets, gamma: Array, alpha: Array, beta: float) -> tuple[Array, Array]:
    """Point estimates: topics of documents theta (D, K), rows sum to one; words of topics phi (V, K), columns do."""
    n = expected_counts(triplets, gamma)
    theta = (alpha + n.documents) / (alpha.sum() + triplets.lengths)[:, None]
    return theta, (beta + n.words) / (triplets.shape[1] * beta + n.topics)


def predict(triplets: Triplets, gamma: Array, alpha: Array, beta: float) -> Array:
    """Probability of every word as the next token of every document (D, V), from the point estimates."""
    theta, phi = estimates(triplets, gamma, alpha, beta)
    return theta @ phi.T
