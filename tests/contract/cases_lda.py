"""Corpora for the contract, those with next to nothing in them included, and what holds on any of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from acvb_core.core.protocols import Array, Posterior
from acvb_core.data.corpus import Corpus
from acvb_core.evaluate.split import HeldOutWords
from acvb_core.models.lda.online.stream import StreamState
from acvb_core.models.lda.spec import FROZEN, LEARN_FROM
from acvb_core.samples.planted_mixtures import planted_topics

from .closeness import all_between, assert_close


def corpus(counts: Any) -> Corpus:
    return Corpus.build(np.asarray(counts))


class LdaCases:
    """Corpora, and what any posterior of one keeps to."""

    small: ClassVar[dict[str, Any]] = {"k": 3, "window": 10, "batch": 5, "burn_in_epochs": 0.5}
    usual = "planted"
    variations: tuple[dict[str, Any], ...] = (
        {},
        {"track": False},
        {"shrink": 0.0, "hyper": "fixed"},
        {"hyper": "fixed"},
        {"inner": 3},
        {"totals": "running", "prior": "paper"},
        {"prior": "symmetric", "shuffle": False},
        {"renew": False, "early_passes": 0},
        {"preset": "paper"},
    )
    fixed = (
        {"hyper": "fixed", "prior": "symmetric", "alpha": 0.7, "beta": 0.3, "shrink": 0.0},
        {"alpha_total": 3 * 0.7, "beta": 0.3},
    )
    learned: ClassVar[dict[str, Any]] = {"hyper": "minka", "alpha": 0.7, "beta": 0.3, "burn_in": 15}
    sizes = tuple({"k": k} for k in (1, 2, 3, 7, 16, 40))
    pieces = tuple(f"acvb_core.models.lda.{name}.chunk_pairs" for name in ("state", "gibbs", "online.stream"))
    whole = LEARN_FROM + 2
    fewest = 1
    has_loo = True
    most_evidence = 0.0
    approximate = ("collapsed_bound",)

    def data(self) -> dict[str, Corpus]:
        some = planted_topics(25, 30, 3, 12, 0.2, 0.1, 4).corpus
        dense = some.counts.toarray()
        gaps = dense.copy()
        gaps[[0, 7, 8, 24]] = 0
        unused = np.zeros((25, 40), dtype=int)
        unused[:, 5:35] = dense
        return {
            "planted": some,
            "empty documents": corpus(gaps),
            "words never used": corpus(unused),
            "one document": corpus([[3, 1, 0, 2, 7]]),
            "one word": corpus([[3], [0], [1], [8]]),
            "one token": corpus([[0, 0], [0, 1], [0, 0]]),
            "documents of one token": corpus(np.eye(6, 5, dtype=int)),
            "one document, one word": corpus([[9]]),
            "very long counts": corpus([[200_000, 3, 0], [0, 50_000, 1], [1, 0, 0]]),
            "everything at once": corpus([[0, 0, 0, 0], [1, 0, 0, 0], [0, 30_000, 0, 2], [0, 0, 0, 0]]),
        }

    def arrays(self, data: Corpus) -> list[np.ndarray]:
        return [data.counts.data, data.counts.indices, data.counts.indptr]

    def everything(self, data: Corpus) -> HeldOutWords:
        documents, words = (index.ravel().astype(np.int32) for index in np.indices(data.shape))
        return HeldOutWords(documents, words, np.ones(len(words), np.int32))

    def check(self, posterior: Posterior, data: Corpus, swept: bool) -> None:
        assert not posterior.normalised
        (k,) = posterior.n_clusters().values()
        assert posterior["alpha"].shape == (k,)
        assert (posterior["alpha"] > 0).all()
        assert set(posterior.hyper) == {"alpha_total", "beta"}
        assert_close(posterior.hyper["alpha_total"], posterior["alpha"].sum())
        if "documents" in posterior.arrays:
            self.check_counts(posterior, data, k, swept)
        else:
            self.check_stream(posterior, data, k)

    def check_stream(self, posterior: Posterior, data: Corpus, k: int) -> None:
        """Check what a stream has: estimates of the counts of words, and nothing of documents."""
        assert posterior.averaged == ("words",)
        assert posterior["words"].shape == (data.n_words, k)
        assert posterior["words"].dtype == np.float32
        assert all((array >= 0).all() for array in posterior.arrays.values())
        assert (posterior["sizes"] <= data.frequencies).all()
        assert posterior["documents_met"] <= data.n_documents

    def check_counts(self, posterior: Posterior, data: Corpus, k: int, swept: bool) -> None:
        """Check that counts of documents and words add up to the tokens of each."""
        assert {"documents", "words"} <= set(posterior.averaged)
        lengths, frequencies = data.lengths, data.frequencies
        for name, sizes in (("documents", lengths), ("words", frequencies)):
            counts = posterior[name]
            assert counts.shape == (len(sizes), k)
            # What is left of a count in single precision when all that it was made of has gone.
            slack = 1e-6 * sizes.max() + 1e-6
            assert (counts >= -slack).all()
            # The methods of a first state without responsibilities have no counts of words yet.
            if swept or name == "documents":
                assert_close(counts.sum(axis=1), sizes, rtol=3e-6, atol=slack)

    def check_tables(self, tables: dict[str, Any], data: Corpus, posterior: Posterior) -> None:
        assert set(tables) == {"topics", "documents"}
        # Topics that hold a word, or if none does the largest; a stream may have no counts yet.
        masses = posterior.masses()["topics"]
        tokens = posterior["sizes"].sum() if "sizes" in posterior.arrays else masses.sum()
        expected = masses * (tokens / masses.sum()) if masses.any() else np.ones(len(masses))
        k = max(int((expected > 0.9999).sum()), 1)
        topics, documents = tables["topics"], tables["documents"]
        assert sorted(set(topics["topic"])) == list(range(1, k + 1))
        assert set(topics["word"]) <= set(data.vocabulary)
        for _, one in topics.groupby("topic"):
            assert one["rank"].tolist() == list(range(1, min(50, data.n_words) + 1))
            assert one["probability"].is_monotonic_decreasing
            assert one["word"].is_unique
            assert all_between(one["probability"], 0, 1 + 1e-6)
            if data.n_words <= 50:
                assert_close(one["probability"].sum(), 1.0, rtol=1e-5)
        assert list(documents.columns) == ["document", "tokens", *(f"topic_{i + 1}" for i in range(k))]
        assert documents["document"].tolist() == data.documents.tolist()
        assert documents["tokens"].tolist() == data.lengths.tolist()
        shares = documents.drop(columns=["document", "tokens"]).to_numpy()
        assert np.isnan(shares[data.lengths == 0]).all()
        assert (shares[data.lengths > 0] >= 0).all()
        assert_close(shares[data.lengths > 0].sum(axis=1), 1.0, rtol=1e-5)

    def check_predictions(self, probability: Array, data: Corpus) -> None:
        by_document = probability.reshape(data.shape)
        assert (by_document > 0).all()
        assert_close(by_document.sum(axis=1), 1.0, rtol=1e-5)

    def medium(self) -> tuple[Corpus, dict[str, Any], int]:
        return planted_topics(4_000, 3_000, 10, 100, 0.1, 0.1, 1).corpus, {"k": 100}, 4

    def wide(self) -> tuple[Corpus, list[dict[str, Any]], list[dict[str, Any]]]:
        wide = planted_topics(2_000, 3_000, 8, 40, 0.1, 0.1, 1).corpus
        far = {"max_sweeps": 11}  # past the first step of the hyper-parameters
        own: list[dict[str, Any]] = [{"k": 20} | far, {"k": 5} | far, {"k": 20, "track": False} | far]
        own += [{"k": 20, "hyper": "fixed"}, {"k": 5, "cells": 4} | far]
        return wide, [*own, {"k": 20, "epochs": 0.2}, {"k": 5, "epochs": 0.2, "window": 700}], []

    def due_for_moves(self, state: Any) -> Any:
        inner = getattr(state, "inner", state)
        if not isinstance(inner, StreamState):
            return state
        # Concentrations are learned from now on.
        learning = inner.prior._replace(scalars=np.array([inner.prior.scalars[0], FROZEN + 1.0]))
        due = replace(inner, prior=learning)
        return due if inner is state else replace(state, inner=due)
