"""What every method keeps to that finds topics."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from acvb_core.core.spec import MethodSpec
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.online.stream import Prior, StreamState
from acvb_core.registry import method_row
from tests.loops import for_each

from .cases import bits_of, built, course, data_of, methods_for

CORPORA = data_of("lda")
every_method = methods_for("lda")
AVERAGED = ("acvb0", "acvb")
COLLAPSED = (*AVERAGED, "cvb0", "cvb", "cvb_exact")


def asymmetric(state: Any, alpha: np.ndarray) -> Any:
    """Return a first state with other concentrations of the topics."""
    inner = getattr(state, "inner", state)
    if isinstance(inner, StreamState):
        changed = replace(inner, prior=Prior.begin(alpha))
    else:
        changed = replace(inner, hyper=Concentrations(alpha, inner.hyper.beta))
    return changed if inner is state else replace(state, inner=changed)


@every_method
def test_the_topics_dropped_are_the_small_ones(row: MethodSpec) -> None:
    """The same as in a run that keeps all, up to the first drop, of the topics that are small there."""
    corpus, alpha = CORPORA["planted"], np.linspace(0.02, 0.2, 15, dtype=np.float32).astype(np.float64)
    given = {"k": 15, "hyper": "fixed", "prior": "symmetric", "burn_in": 1000}
    twins = [built(row, corpus, **given, shrink=shrink) for shrink in (0.05, 0.0)]
    courses = [course(twin, 30, due=partial(asymmetric, alpha=alpha)) for twin in twins]
    for (state, info), (whole, _) in zip(*courses, strict=True):
        if info is not None and info.cluster_permutation is not None:
            break
        assert bits_of(twins[0].current(state)) == bits_of(twins[1].current(whole))
    else:
        assert "shrink" not in {parameter.name for parameter in row.parameters}
        return
    order, masses = info.cluster_permutation["topics"], twins[1].current(whole).masses()["topics"]
    np.testing.assert_array_equal(order, np.flatnonzero(masses >= 0.05 * corpus.n_tokens))
    np.testing.assert_array_equal(twins[0].current(state)["alpha"], alpha[order])
    rows, before = twins[0].responsibilities(state), twins[1].responsibilities(whole)
    if row.name in COLLAPSED:  # their tokens are left to others
        left = before.q[:, order] / before.q[:, order].sum(axis=1, keepdims=True)
        np.testing.assert_allclose(rows.q, left, rtol=1e-5)
        documents = np.repeat(np.arange(corpus.n_documents), np.diff(corpus.counts.indptr))
        counts = np.zeros((corpus.n_documents, len(order)))
        np.add.at(counts, documents, rows.weights[:, None] * left)
        np.testing.assert_allclose(twins[0].current(state)["documents"], counts, rtol=1e-5, atol=1e-5)


@for_each("track", [True, False])
@for_each("name", AVERAGED)
def test_change_of_the_mean_is_bounded(name: str, track: bool) -> None:
    """ACVB17 Lemma 1: at most 2 / s; and that of the counts is at most that of the responsibilities."""
    corpus, row = CORPORA["planted"], method_row("lda", name)
    algorithm = built(row, corpus, track=track, burn_in=1, hyper="fixed", shrink=0.0)
    for (before, _), (after, _) in pairwise(course(algorithm, 80)):
        phase = algorithm.phase(after)
        assert (algorithm.responsibilities(after) is not None) or not track
        if after.sweeps < 3:
            assert phase.mean_change is None
            continue
        assert phase.samples == after.sweeps - 1
        assert 0 <= phase.mean_change <= 2 / phase.samples * (1 + 1e-5)
        moved = sum(np.abs(after.mean[n] - before.mean[n]).sum(dtype=float) for n in ("documents", "words"))
        of_counts = moved / (2 * corpus.n_tokens)
        if track:
            assert of_counts <= phase.mean_change * (1 + 1e-3) + 1e-6
        else:
            assert phase.mean_change == pytest.approx(of_counts, rel=1e-3, abs=1e-7)
