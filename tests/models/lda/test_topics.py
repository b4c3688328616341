"""Topics: tables, measures, the map, empty topics, agreement between runs, and the data of pyLDAvis."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.engine.experiments.answers import combine
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.evaluate.ranking import jensen_shannon
from acvb_core.models.lda.export import arrays, pyldavis_data, pyldavis_json
from acvb_core.models.lda.grid import grid_row
from acvb_core.models.lda.text import lines
from acvb_core.models.lda.topics import (
    ALIKE,
    TABLE_WORDS,
    TopicAnswer,
    classical_scaling,
    coherence,
    count_alike_topics,
    count_repeats,
    document_table,
    mean_exclusivity,
    measure_spread,
    top_documents,
    topic_diversity,
    topic_map,
    uniqueness,
    word_table,
)
from acvb_core.models.lda.trained import trained_topics
from acvb_core.samples.planted_mixtures import planted_topics
from acvb_core.views.conclusion import describe_run

CORPUS = planted_topics(120, 60, 4, 60, 0.1, 0.05, 3).corpus


def test_tables(rng: np.random.Generator) -> None:
    phi, theta = rng.dirichlet(np.full(60, 0.1), size=4), rng.dirichlet(np.ones(4), size=120)
    table, place = word_table(phi, CORPUS.vocabulary), {word: w for w, word in enumerate(CORPUS.vocabulary)}
    for k, rows in table.groupby("topic"):
        np.testing.assert_array_equal(rows["probability"], np.sort(phi[k - 1])[::-1][:TABLE_WORDS])
        np.testing.assert_array_equal(phi[k - 1][[place[word] for word in rows["word"]]], rows["probability"])
    shares = document_table(theta, CORPUS)
    np.testing.assert_array_equal(shares[[f"topic_{k}" for k in range(1, 5)]], theta)
    assert shares["document"].tolist() == CORPUS.documents.tolist()


def test_top_documents_by_hand() -> None:
    share, lengths = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.9, 0.1]]), np.array([2, 10, 50, 4])
    assert top_documents(share, lengths, 0, 3)["document"].tolist() == [0, 3, 2]
    by_tokens = top_documents(share, lengths, 0, 3, by="tokens")
    assert by_tokens["document"].tolist() == [2, 3, 1]
    np.testing.assert_allclose(by_tokens["tokens"], [30, 3.6, 2])
    assert top_documents(share, lengths, 0, 10, min_length=4)["document"].tolist() == [3, 2, 1]
    for topic, by, message in ((0, "age", "'age'"), (-1, "share", "no topic 0"), (2, "share", "no topic 3")):
        with pytest.raises(ParameterError, match=message):
            top_documents(share, lengths, topic, by=by)  # type: ignore[arg-type]


# ----------------------------------------------------------------------------------------------------- coherence


def test_documents_are_found_by_their_names_texts_and_words() -> None:
    texts = ("The blue\n  Boat", "a boat", "blueboat", "nothing")
    corpus = load_corpus(list(texts), tokeniser=Tokeniser(min_documents=1, max_share=1.0)).data
    corpus = replace(corpus, documents=np.array(["x", "y", "z", "My Blue boat"], dtype=object))
    answer = TopicAnswer.of_result(fit(corpus, "cvb0", k=2, heldout=0.0))
    assert answer.match_documents("blue BOAT").tolist() == [0, 3]
    assert answer.match_documents("BOAT").tolist() == [0, 1, 2, 3]
    assert answer.match_documents("(").tolist() == []
    listed = answer.find_documents(1, 9, "share", "my blue boat")
    assert listed["document"].tolist() == [3]
    bare = replace(answer, corpus=replace(corpus, texts=None))
    assert bare.match_documents("blueb").tolist() == [2]
    assert bare.match_documents("lue").tolist() == [0, 2, 3]


def npmi(one: float, other: float, both: float) -> float:
    return math.log(both / (one * other)) / -math.log(both) if both else -1.0


def test_coherence_against_loops_over_documents(rng: np.random.Generator) -> None:
    counts = rng.poisson(0.4, size=(60, 25))
    top = np.array([rng.permutation(25)[:6] for _ in range(5)])

    def documents(*words: int) -> int:
        return int((counts[:, words] > 0).all(axis=1).sum())

    found = coherence(sparse.csr_array(counts), top)
    for k, words in enumerate(top):
        pairs = list(combinations(words, 2))  # the word that ranks higher first
        plain = [npmi(documents(a) / 60, documents(b) / 60, documents(a, b) / 60) for a, b in pairs]
        mimno = [math.log((documents(a, b) + 1) / documents(a)) for a, b in pairs]
        assert found.npmi[k] == pytest.approx(np.mean(plain), rel=1e-12)
        assert found.u_mass[k] == pytest.approx(np.mean(mimno), rel=1e-12)


def test_coherence_of_extremes() -> None:
    """Words always together, never together, in every document, and in no document; a zero that is stored."""
    counts = sparse.csr_array(np.array([[1, 1, 0, 1, 0], [1, 1, 0, 1, 0], [0, 0, 1, 1, 0]]))
    counts.data = np.append(counts.data, 0)
    counts = sparse.csr_array((counts.data, np.append(counts.indices, 0), [0, 3, 6, 9]), shape=(3, 5))
    assert coherence(counts, [[0, 1], [0, 2], [3, 0], [3, 3]]).npmi.tolist() == pytest.approx([1, -1, 0, 0])
    unused, pair = coherence(counts, [[4, 0, 1], [4, 0, 4]]), coherence(counts, [[0, 1]])
    assert (unused.npmi[0], unused.u_mass[0]) == (pair.npmi[0], pair.u_mass[0])
    alone = coherence(counts, [[0], [4]])
    assert np.isnan([unused.npmi[1], unused.u_mass[1], *alone.npmi, *alone.u_mass]).all()


def test_diversity_uniqueness_and_exclusivity_by_hand() -> None:
    top = [[0, 1, 2], [0, 3, 4], [0, 1, 5]]
    assert topic_diversity(top) == pytest.approx(6 / 9)
    np.testing.assert_allclose(
        uniqueness(top), [(1 / 3 + 1 / 2 + 1) / 3, (1 / 3 + 2) / 3, (1 / 3 + 1 / 2 + 1) / 3]
    )
    phi = [[0.5, 0.3, 0.2, 0.0], [0.1, 0.3, 0.0, 0.6]]
    np.testing.assert_allclose(
        mean_exclusivity(phi, [[0, 1], [3, 1]]), [(5 / 6 + 1 / 2) / 2, (1 + 1 / 2) / 2]
    )


# ------------------------------------------------------------------------------------------------------- the map


def between(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def test_scaling_finds_planted_points_and_the_share_that_it_shows(rng: np.random.Generator) -> None:
    points = rng.normal(size=(9, 2)) * [3.0, 1.0]
    found, shown = classical_scaling(between(points))
    np.testing.assert_allclose(between(found), between(points), atol=1e-10)
    assert shown == pytest.approx(1.0)
    # Principal axes: uncorrelated, the longer one first, the farthest point positive.
    assert found[:, 0] @ found[:, 1] == pytest.approx(0.0, abs=1e-10)
    assert found[:, 0].var() > found[:, 1].var()
    assert (found[np.abs(found).argmax(axis=0), [0, 1]] > 0).all()
    points = rng.normal(size=(12, 4)) * [4.0, 3.0, 2.0, 1.0]
    variance = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) ** 2
    assert classical_scaling(between(points))[1] == pytest.approx(variance[:2].sum() / variance.sum())


def test_map_of_few_and_of_permuted_topics(rng: np.random.Generator) -> None:
    phi, order = rng.dirichlet(np.full(30, 0.1), size=7), rng.permutation(7)
    np.testing.assert_allclose(topic_map(phi[order]).positions, topic_map(phi).positions[order], atol=1e-9)
    two = [[0.4, 0.6, 0.0], [0.0, 0.5, 0.5]]
    half = jensen_shannon(two)[0, 1] / 2
    np.testing.assert_allclose(topic_map(two).positions, [[half, 0], [-half, 0]], atol=1e-12)
    for alike in (np.full((4, 5), 0.2), [[0.4, 0.6]]):
        assert (topic_map(alike).positions.any(), topic_map(alike).shown) == (False, 1.0)


# ------------------------------------------------------------------------------------------- agreement between runs


def fit_seeds(k: int) -> list[Result]:
    return [fit(CORPUS, "cvb0", k=k, seed=seed, heldout=0.0) for seed in range(4)]


def test_repeated_topics_are_found_once() -> None:
    """Six short texts by CVB0: all topics are the same."""
    texts = ["river lake water", "water river boat", "lake boat river"]
    texts += ["bank money loan", "loan bank", "money bank"]
    runs = [fit(texts, "cvb0", k=4, seed=seed) for seed in range(3)]
    found = combine(runs).spread()["topics"]["found"].tolist()
    assert len(found) > 1
    assert found == [3, *[1] * (len(found) - 1)]
    assert count_alike_topics([run.posterior for run in runs]) == (1, len(found))
    assert count_repeats(runs[0].posterior) == len(found) - 1
    assert count_repeats(fit_seeds(4)[0].posterior) == 0


def similarity(p: np.ndarray, q: np.ndarray) -> float:
    """1 - Jensen-Shannon distance (base 2)."""
    middle = (p + q) / 2
    return 1.0 - math.sqrt((p * np.log2(p / middle)).sum() / 2 + (q * np.log2(q / middle)).sum() / 2)


def test_ranges_are_those_of_the_best_of_all_pairings() -> None:
    runs = fit_seeds(5)
    spread, posteriors = combine(runs).spread(), [run.posterior for run in runs]
    weights = [(p["words"] + p.hyper["beta"]).T for p in posteriors]
    phi = [rows / rows.sum(axis=1, keepdims=True) for rows in weights]
    mass = [p["words"].sum(axis=0) for p in posteriors]
    pairings = [tuple(range(5))]
    for other in phi[1:]:
        alike = np.array([[similarity(one, another) for another in other] for one in phi[0]])
        pairings.append(max(permutations(range(5)), key=lambda order: alike[range(5), order].sum()))
    for topic, row in enumerate(spread["topics"].itertuples()):
        partners = [(at, order[topic]) for at, order in enumerate(pairings)]
        partners = [(at, k) for at, k in partners if similarity(phi[0][topic], phi[at][k]) >= ALIKE]
        assert row.found == len(partners)
        words = spread["words"][spread["words"]["topic"] == topic + 1]
        first = CORPUS.vocabulary.tolist().index(words["word"].iloc[0])
        tops = [CORPUS.vocabulary[np.argsort(-phi[at][k], kind="stable")[:10]] for at, k in partners]
        wanted = [sum(word in top for top in tops) for word in words["word"]]
        assert words["in_top_ten"].tolist() == wanted
        if len(partners) > 1:
            shares = [mass[at][k] / mass[at].sum() for at, k in partners]
            chances = [phi[at][k][first] for at, k in partners]
            assert (row.low, row.high) == pytest.approx((min(shares), max(shares)), rel=1e-4)
            limits = words[["low", "high"]].iloc[0].tolist()
            assert limits == pytest.approx([min(chances), max(chances)], rel=1e-4)
    assert spread["topics"]["found"].max() > 1
    alone = measure_spread(posteriors[:1], CORPUS.vocabulary)
    assert all(frame[["low", "high"]].isna().all(axis=None) for frame in alone.values())


# -------------------------------------------------------------------------------------------------- empty topics

#: Two subjects with 30 words each, for ten topics.
_COUNTS = np.repeat([[6, 6, 6, 6, 6, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 6, 6, 6, 6, 6]], 3, axis=0)


def fit_short_texts(method: str, **values: Any) -> Result:
    words = np.array(list("abcdefghij"), dtype=object)
    return fit(Corpus.build(_COUNTS, vocabulary=words), method, k=10, heldout=0.0, **values)


def test_empty_topics_are_in_no_table_file_or_report() -> None:
    """The ten topics of a sampler that keeps every topic: most of them have no word."""
    empty = fit_short_texts("gibbs", hyper="fixed", alpha=0.001, max_sweeps=40, burn_in=20)
    used, posterior = empty.snapshot.effective_k["topics"], empty.snapshot.posterior
    assert 1 <= used < 5
    assert len(json.loads(pyldavis_json(empty))["topic.order"]) == used
    assert arrays(empty)["phi"].shape == (used, 10)
    assert trained_topics(empty).topics["topic"].max() == used
    assert grid_row(empty)["effective_k"] == used
    assert trained_topics(empty).n_topics == 10, "a run that continues has all of them"
    assert f"{used} of 10 topics in use" in describe_run(empty)
    assert f"{10 - used} of 10 topics are empty" in lines(empty)
    assert count_alike_topics([posterior, posterior]) == (used, used)


# ------------------------------------------------------------------------------------------------------- pyLDAvis


def test_pyldavis_against_its_definitions(rng: np.random.Generator) -> None:
    n_topics, n_words, shown = 4, 60, 7
    words = np.array([f"w{(7 * w) % n_words:02d}" for w in range(n_words)], dtype=object)
    phi, tokens = rng.dirichlet(np.full(n_words, 0.2), size=n_topics) + 1e-6, rng.uniform(50, 900, n_topics)
    phi[0, 3] = 0.0
    phi /= phi.sum(axis=1, keepdims=True)
    data = pyldavis_data(phi, tokens, words, shown)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert (data["R"], data["topic.order"]) == (shown, [1, 2, 3, 4])
    joint = tokens[:, None] * phi
    p = joint.sum(axis=0) / joint.sum()
    table = pd.DataFrame(data["tinfo"])
    with np.errstate(divide="ignore", invalid="ignore"):
        log_phi, given_word = np.log(phi), joint / joint.sum(axis=0)
        parts = given_word * np.log(given_word / (tokens / tokens.sum())[:, None])
    for k in range(n_topics):
        found, wanted = table[table["Category"] == f"Topic{k + 1}"], set()
        for lambda_ in np.linspace(0, 1, 101):
            relevance = log_phi[k] - (1 - lambda_) * np.log(p)
            wanted |= set(np.argsort(-relevance, kind="stable")[:shown])
        assert set(found["Term"]) == set(words[list(wanted)])
        at = [words.tolist().index(term) for term in found["Term"]]
        np.testing.assert_allclose(found["Freq"], joint[k, at])
        np.testing.assert_allclose(found["Total"], joint.sum(axis=0)[at])
        np.testing.assert_allclose(found["logprob"], log_phi[k, at], atol=6e-5)
        np.testing.assert_allclose(found["loglift"], log_phi[k, at] - np.log(p[at]), atol=6e-5)
    saliency = p * np.nan_to_num(parts).sum(axis=0)
    default, best = table[table["Category"] == "Default"], np.argsort(-saliency, kind="stable")[:shown]
    assert default["Term"].tolist() == words[best].tolist()
    rows = list(zip(data["token.table"]["Term"], data["token.table"]["Topic"], strict=True))
    assert rows == sorted(rows)
    used = np.flatnonzero(np.isin(words, table["Term"]))
    wanted = {
        (words[w], k + 1): round(joint[k, w]) / joint[:, w].sum()
        for w in used
        for k in np.flatnonzero(joint[:, w] >= 0.5)
    }
    assert dict(zip(rows, data["token.table"]["Freq"], strict=True)) == pytest.approx(wanted)
