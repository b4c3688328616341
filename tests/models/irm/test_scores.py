"""Pairs that stand out, against an answer in which every probability is written down, and results of samples."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Posterior
from acvb_core.data.relation import Network, Relation
from acvb_core.models.irm import scores as links
from acvb_core.models.irm.gibbs import count_blocks, one_hot
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import Layout
from acvb_core.models.irm.scores import (
    SampledPairs,
    SampledStrengths,
    count_sampled_clusters,
    likely_links,
    measure_company,
    share_company,
    surprising_links,
)
from tests.loops import for_each
from tests.models.irm.adapters import layout_of

NETWORKS = {
    "two sides": None,
    "directed": Network(directed=True),
    "undirected": Network(directed=False),
    "directed, self-links": Network(directed=True, self_links=True),
    "undirected, self-links": Network(directed=False, self_links=True),
}


def posterior_of(rows: np.ndarray, cols: np.ndarray | None = None) -> Posterior:
    arrays = {"rows": rows} if cols is None else {"rows": rows, "cols": cols}
    return Posterior(arrays, {name: (None, name) for name in arrays}, tuple(arrays))


def case(
    kind: str, seed: int = 0, n: int = 23, *, two: bool = False, hard: bool = False
) -> tuple[Relation, Posterior, np.ndarray]:
    """A relation with missing entries, responsibilities and strengths, all drawn."""
    rng = np.random.default_rng(seed)
    network = NETWORKS[kind]
    shape = (n, n if network is not None else n - 6)
    ones = rng.random(shape) < 0.2
    missing = (rng.random(shape) < 0.15) & ~ones
    if network is not None and not network.self_links:
        np.fill_diagonal(ones, False)
    if network is not None and not network.directed:
        ones, missing = np.triu(ones), np.triu(missing)
        missing &= ~(ones | ones.T)
    relation = Relation.build(ones, missing, network=network)
    two = two or network is None

    def responsibilities(objects: int, k: int) -> np.ndarray:
        q = rng.dirichlet(np.full(k, 0.3), objects)
        return np.eye(k)[q.argmax(axis=1)] if hard else q

    rows = responsibilities(shape[0], 3)
    cols = responsibilities(shape[1], 4) if two else None
    strengths = rng.random((3, 4 if two else 3))
    if network is not None and not network.directed and not two:
        strengths = (strengths + strengths.T) / 2
    return relation, posterior_of(rows, cols), strengths


def dense(
    relation: Relation, posterior: Posterior, strengths: np.ndarray, wanted: str, largest: bool = True
) -> list[tuple[float, int, int]]:
    """Every pair of one sort with its probability, in the order that is asked for."""
    rows = posterior["rows"]
    one = "cols" not in posterior.arrays
    cols = rows if one else posterior["cols"]
    ones, missing = relation.ones.toarray(), relation.missing.toarray()
    found = []
    for i, j in product(*map(range, relation.shape)):
        network = relation.network
        if network is not None and ((i == j and not network.self_links) or (not network.directed and j < i)):
            continue
        sort = "missing" if missing[i, j] else "linked" if ones[i, j] else "unlinked"
        if sort != wanted:
            continue
        p = rows[i] @ strengths @ cols[j]
        if one and i == j:
            p = sum(rows[i, k] * strengths[k, k] for k in range(rows.shape[1]))
        found.append((float(p), i, j))
    sign = -1 if largest else 1
    return sorted(found, key=lambda item: (sign * round(item[0], 12), item[1], item[2]))


def pairs_of(table: pd.DataFrame) -> list[tuple[int, int]]:
    return [(int(i), int(j)) for i, j in zip(table["row"], table["column"], strict=True)]


@for_each("kind, two, hard", product(NETWORKS, [False, True], [False, True]))
def test_pairs_that_stand_out_are_those_of_the_dense_answer(
    kind: str, two: bool, hard: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In bands of two rows or all at once; hard clusters give every pair of a block one probability."""
    relation, posterior, strengths = case(kind, two=two, hard=hard)
    monkeypatch.setattr(links, "_CELLS_AT_ONCE", 4_000_000 if two else 60)
    for among in ("missing", "unlinked"):
        expected = dense(relation, posterior, strengths, among)
        for n in (0, 7, 10_000):
            table = likely_links(relation, posterior, strengths, n, among=among)  # type: ignore[arg-type]
            assert pairs_of(table) == [(i, j) for _, i, j in expected[:n]]
            assert table["probability"].to_numpy() == pytest.approx(
                [p for p, _, _ in expected[:n]], rel=1e-12
            )
    expected = dense(relation, posterior, strengths, "linked", largest=False)
    table = surprising_links(relation, posterior, strengths, 9)
    assert pairs_of(table) == [(i, j) for _, i, j in expected[:9]]
    assert table["probability"].to_numpy() == pytest.approx([p for p, _, _ in expected[:9]], rel=1e-12)
    assert len(surprising_links(relation, posterior, strengths, 10_000)) == relation.n_links


def test_a_line_describes_both_objects() -> None:
    ones = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
    missing = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0]])
    relation = Relation.build(ones, missing, row_labels=["ann", "bob", "cid"], network=Network(directed=True))
    q = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    strengths = np.array([[0.1, 0.2], [0.3, 0.4]])
    line = likely_links(relation, posterior_of(q), strengths).iloc[0]
    assert (line["row"], line["column"]) == ("cid", "bob")
    assert (line["row_cluster"], line["column_cluster"]) == (1, 2)
    assert line["probability"] == pytest.approx(0.5 * (0.2 * 0.1 + 0.8 * 0.2) + 0.5 * (0.2 * 0.3 + 0.8 * 0.4))
    assert line["block_probability"] == 0.2
    assert (line["row_links"], line["column_links"]) == (0, 1)


def test_what_cannot_be_answered_is_refused() -> None:
    relation, posterior, strengths = case("directed")
    with pytest.raises(ParameterError, match="at least 0"):
        likely_links(relation, posterior, strengths, -1)
    with pytest.raises(ParameterError, match="'zeros'"):
        likely_links(relation, posterior, strengths, among="zeros")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="blocks"):
        surprising_links(relation, posterior, strengths[:2])


def with_samples(kind: str) -> tuple[Relation, Posterior, Layout]:
    """A posterior with three samples of other numbers of clusters; object 0 is alone in its cluster."""
    relation, posterior, _ = case(kind, n=11)
    layout = layout_of(relation)
    rng = np.random.default_rng(4)
    arrays, axes = dict(posterior.arrays), dict(posterior.axes)
    for domain, n in zip(layout.domains, relation.shape, strict=False):
        arrays[domain] = one_hot(np.append(3, np.append(np.arange(3), rng.integers(3, size=n - 4))))
        drawn = [np.append(np.arange(k), rng.integers(k, size=n - k)) for k in (2, 4, 4)]
        arrays[f"sampled_{domain}"] = np.array(drawn, dtype=np.int16)
        axes[f"sampled_{domain}"] = (None, None)
    levels = rng.random((3, 4, 4))
    arrays["sampled_strengths"], axes["sampled_strengths"] = (
        (levels + levels.transpose(0, 2, 1)) / 2,
        (None,) * 3,
    )
    return relation, Posterior(arrays, axes, layout.domains), layout


@for_each("kind", list(NETWORKS))
def test_strengths_from_samples_average_the_pairs_of_each_block(kind: str) -> None:
    """They equal the mean over every pair of the posterior means of each sample's own blocks."""
    relation, posterior, layout = with_samples(kind)
    hyper = Hyper.single_prior(1.0, 50.0, 80.0, layout.domains)
    found = SampledStrengths.of(relation, posterior, hyper, layout)
    rows, cols = (posterior.labels(domain) for domain in layout.axes)
    expected = np.zeros((4, 4))
    for at in range(3):
        labels = {domain: posterior[f"sampled_{domain}"][at].astype(np.int64) for domain in layout.domains}
        ones, entries = count_blocks(relation, labels, layout)
        strengths = (50.0 + ones) / (130.0 + entries)
        dense = strengths[np.ix_(*(labels[domain] for domain in layout.axes))]
        is_pair = np.ones(dense.shape, dtype=bool)
        if relation.network is not None and not relation.network.self_links:
            np.fill_diagonal(is_pair, False)
        for k, m in product(range(4), range(4)):
            inside = np.outer(rows == k, cols == m)
            shown = inside & is_pair if (inside & is_pair).any() else inside
            expected[k, m] += dense[shown].mean() / 3
    np.testing.assert_allclose(found.mean, expected, rtol=1e-9)
    assert (found.low < expected).all()
    assert (expected < found.high).all()


def test_company_is_counted_over_samples_and_members() -> None:
    _, posterior, _ = with_samples("two sides")
    own, samples = posterior.labels("rows"), posterior["sampled_rows"]
    for i, share in enumerate(share_company(posterior, "rows")):
        others = np.flatnonzero((own == own[i]) & (np.arange(len(own)) != i))
        met = [drawn[j] == drawn[i] for drawn in samples for j in others]
        alone = [(drawn == drawn[i]).sum() == 1 for drawn in samples]
        assert share == pytest.approx(np.mean(met if len(others) else alone))
    counts = {name: list(n) for name, n in count_sampled_clusters(posterior).items()}
    assert counts == {"rows": [2, 4, 4], "cols": [2, 4, 4]}
    met = (samples[:, :, None] == samples[:, None]).mean(axis=0)
    np.testing.assert_allclose(measure_company(posterior, "rows", np.arange(len(own))), met)
    some, rest = np.arange(len(own)) < 4, np.arange(len(own)) >= 4
    found = measure_company(posterior, "rows", rest.astype(np.int64))
    assert found[0, 1] == pytest.approx(met[some][:, rest].mean())
    assert found[0, 0] == pytest.approx((met[some][:, some].sum() - 4) / 12)


@pytest.fixture(scope="module")
def sampled() -> SampledPairs:
    rng = np.random.default_rng(1)
    arrays = {
        "cols": np.ones((17, 1)),
        "sampled_rows": rng.integers(5, size=(7, 23)).astype(np.int16),
        "sampled_cols": rng.integers(4, size=(7, 17)).astype(np.int16),
        "sampled_strengths": rng.random((7, 5, 4)).astype(np.float32),
    }
    return SampledPairs(Posterior(arrays, {n: (None,) * a.ndim for n, a in arrays.items()}, ("cols",)))


def _average(sampled: SampledPairs, i: int, j: int) -> float:
    zipped = zip(sampled.strengths, sampled.rows[:, i], sampled.columns[:, j], strict=True)
    return float(np.mean([strengths[k, m] for strengths, k, m in zipped]))


@for_each("at_once", [50, 20_000_000])
def test_pairs_and_bands_are_means_over_samples(
    sampled: SampledPairs, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acvb_core.models.irm.scores._AT_ONCE", at_once)
    rows, columns = np.array([0, 22, 5, 5]), np.array([16, 0, 3, 3])
    expected = [_average(sampled, i, j) for i, j in zip(rows, columns, strict=True)]
    np.testing.assert_allclose(sampled.of(rows, columns), expected, rtol=1e-6)
    expected = [[_average(sampled, i, j) for j in range(3, 17)] for i in range(4, 11)]
    np.testing.assert_allclose(sampled.band(4, 11, 3), expected, rtol=1e-6)


@for_each("kind", ["two sides", "undirected"])
def test_links_are_predicted_by_the_samples_unless_asked_otherwise(kind: str) -> None:
    relation, plain, strengths = case(kind, n=11)
    _, posterior, _ = with_samples(kind)
    samples = {name: posterior[name] for name in posterior.arrays if name.startswith("sampled_")}
    posterior = plain.with_arrays(samples, axes={name: (None,) * of.ndim for name, of in samples.items()})
    for table in (
        likely_links(relation, posterior, strengths, 300, among="missing"),
        likely_links(relation, posterior, strengths, 300, among="unlinked"),
        surprising_links(relation, posterior, strengths, 300),
    ):
        pairs = zip(table["row"], table["column"], strict=True)
        expected = [_average(SampledPairs(posterior), int(i), int(j)) for i, j in pairs]
        assert expected
        np.testing.assert_allclose(table["probability"], expected, rtol=1e-6)
    alone = likely_links(relation, posterior, strengths, 300, averaged=False)
    assert alone.equals(likely_links(relation, plain, strengths, 300))
