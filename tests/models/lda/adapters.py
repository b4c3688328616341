"""Bridges between the oracles' dense cases and the package's own types."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from acvb_core.core.protocols import Posterior, Responsibilities
from acvb_core.models.lda.cvb import CollapsedLda, CollapsedState, SweepBuffers, sum_counts
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.kernels import Counts
from acvb_core.models.lda.model import LdaModel
from acvb_core.models.lda.state import BlockPartition, Tokens, build_posterior
from acvb_core.models.lda.vb import VariationalLda, VariationalState
from tests.oracles.dense_lda import Statistics, Triplets, entropy, expected_counts
from tests.oracles.lda_cases import LdaCase

Order = Literal["zeroth", "second"]
ORDERS: tuple[Order, Order] = ("zeroth", "second")


def entries_of(triplets: Triplets) -> Tokens:
    """Return entries (documents in order) as the kernels read them, a pair's several entries kept apart."""
    assert (np.diff(triplets.documents) >= 0).all()
    pointers = np.searchsorted(triplets.documents, np.arange(triplets.shape[0] + 1))
    words = triplets.words.astype(np.int32)
    return Tokens(pointers.astype(np.int64), words, triplets.counts.astype(np.float32), triplets.shape[1])


def hyper_of(case: LdaCase) -> Concentrations:
    return Concentrations(np.asarray(case.alpha, dtype=np.float64), float(case.beta))


def collapsed(case: LdaCase, order: Order, **options: Any) -> CollapsedLda:
    """Return CVB0 or CVB on a case, nothing learned and nothing dropped unless asked for."""
    settings = {"learn": False, "shrink": 0.0} | options
    return CollapsedLda(entries_of(case.triplets), case.size, hyper_of(case), order=order, **settings)


def state_of(case: LdaCase, order: Order, age: int = 0, learning: bool = False) -> CollapsedState:
    """Return a case's responsibilities as a state."""
    tokens, q = entries_of(case.triplets), np.ascontiguousarray(case.gamma, dtype=np.float32)
    buffers = SweepBuffers(q)
    buffers.age = age
    variances = sum_counts(BlockPartition.cut(tokens), q, spread=True) if order == "second" else None
    return CollapsedState(
        buffers, sum_counts(BlockPartition.cut(tokens), q), variances, hyper_of(case), age, learning
    )


def counts_of(case: LdaCase) -> Counts:
    """Return a case's expected counts in double precision."""
    return Counts(*expected_counts(case.triplets, case.gamma))


def variational(case: LdaCase, **options: Any) -> VariationalLda:
    settings = {"learn": False, "shrink": 0.0} | options
    return VariationalLda(entries_of(case.triplets), case.size, hyper_of(case), **settings)


def variational_state(case: LdaCase, age: int = 0, learning: bool = False) -> VariationalState:
    return VariationalState(
        counts_of(case), entropy(case.triplets, case.gamma), hyper_of(case), age, learning
    )


def model_of(case: LdaCase) -> LdaModel:
    return LdaModel(case.corpus)


def given_of(case: LdaCase) -> Responsibilities:
    """Return a case's responsibilities as a method hands them out."""
    q = np.ascontiguousarray(case.gamma, dtype=np.float32)
    return Responsibilities(q, case.triplets.counts.astype(np.float32))


def posterior_of_case(case: LdaCase) -> Posterior:
    """Return what a case's responsibilities say."""
    return build_posterior(counts_of(case).by_word, hyper_of(case), counts_of(case).by_document)


def assert_counts(found: Counts, wanted: Statistics, **slack: float) -> None:
    """Compare all three kinds of counts."""
    np.testing.assert_allclose(found.by_document, wanted.documents, **slack)
    np.testing.assert_allclose(found.by_word, wanted.words, **slack)
    np.testing.assert_allclose(found.totals, wanted.topics, **slack)
