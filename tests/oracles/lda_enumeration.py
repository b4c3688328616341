"""Exact answers for LDA on a few tokens, by going through every assignment of tokens to topics.

Few means 8 tokens in 2 topics or so: there are K**N assignments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from tests.oracles.dense_irm import Array
from tests.oracles.dense_lda import (
    Integers,
    Statistics,
    Tokens,
    Triplets,
    expected_counts,
    log_joint,
    tokens_of,
)
from tests.oracles.enumeration import label_probabilities, label_vectors


class LdaTable(NamedTuple):
    """log p(x, z) of every z: labels (L, N), log joint (L,); ``entry`` (N,) is the triplet of each token."""

    tokens: Tokens
    entry: Integers
    labels: Integers
    log_joint: Array


def joint_table(triplets: Triplets, alpha: Array, beta: float) -> LdaTable:
    """log p(x, z) of all assignments of tokens to topics. x is the sequence of tokens, not its counts alone."""
    tokens = tokens_of(triplets)
    labels = label_vectors(len(tokens.words), len(alpha))
    logs = np.array([log_joint(tokens, z, alpha, beta) for z in labels])
    return LdaTable(tokens, np.repeat(np.arange(len(triplets.counts)), triplets.counts), labels, logs)


def log_evidence(table: LdaTable) -> float:
    """log p(x)."""
    return float(logsumexp(table.log_joint))


def posterior(table: LdaTable) -> Array:
    """p(z | x) of every assignment (L,)."""
    return np.exp(table.log_joint - log_evidence(table))


def token_marginals(table: LdaTable, size: int) -> Array:
    """p(z_i = k | x) of every token (N, K)."""
    return np.stack([posterior(table) @ (table.labels == k) for k in range(size)], axis=1)


def counts_of_labels(tokens: Tokens, z: Integers, size: int) -> Statistics:
    """n_dk, n_wk and n_k of one assignment."""
    ones = np.ones(len(z), dtype=np.int64)
    return expected_counts(Triplets(tokens.documents, tokens.words, ones, tokens.shape), np.eye(size)[z])


def posterior_counts(table: LdaTable, size: int) -> Statistics:
    """Exact E[n_dk | x], E[n_wk | x], E[n_k | x]."""
    sums = None
    for z, probability in zip(table.labels, posterior(table), strict=True):
        terms = [probability * n for n in counts_of_labels(table.tokens, z, size)]
        sums = terms if sums is None else [a + b for a, b in zip(sums, terms, strict=True)]
    assert sums is not None
    return Statistics(*sums)


def probabilities_under(table: LdaTable, gamma: Array) -> Array:
    """q(z) of every assignment (L,) with each token's labels drawn from its entry's row of ``gamma``."""
    return label_probabilities(table.labels, gamma[table.entry])


def expected_log_joint(table: LdaTable, gamma: Array) -> float:
    """E_q log p(x, z) over all assignments."""
    return float(probabilities_under(table, gamma) @ table.log_joint)


def exact_update(triplets: Triplets, gamma: Array, p: int, alpha: Array, beta: float) -> Array:
    """gamma of one token of entry ``p`` that is best for the collapsed bound, the other tokens being as they are.

    Proportional to exp E_q log p(x, z with this token in topic k).
    """
    table = joint_table(triplets, alpha, beta)
    token = int(np.flatnonzero(table.entry == p)[0])
    rows = gamma[table.entry]
    log_weights = np.zeros(len(alpha))
    for k in range(len(alpha)):
        rows[token] = np.eye(len(alpha))[k]
        log_weights[k] = label_probabilities(table.labels, rows) @ table.log_joint
    return np.exp(log_weights - logsumexp(log_weights))
