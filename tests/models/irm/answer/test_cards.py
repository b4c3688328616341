"""The names of clusters and what they are said to be, against numbers counted pair by pair."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from acvb_core.data.relation import Network, Relation
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.irm.answer.cards import ClusterCards, describe_found
from acvb_core.models.irm.answer.contrasts import compare_clusters, count_strong_links, write_ratio
from acvb_core.models.irm.answer.naming import are_readable, name_parts
from tests.loops import for_each

KINDS = {"two sides": None, "directed": Network(True), "undirected": Network(False)}
#: Link probabilities of three groups of rows with three groups of columns.
STRENGTHS = np.array([[0.9, 0.05, 0.4], [0.1, 0.8, 0.05], [0.3, 0.1, 0.7]])
SIZES = (14, 10, 8)


def found(kind: str, *, counts: bool = False, labels: list[str] | None = None) -> Result:
    """A run on links, or weights, of three clear groups; its clusters are as good as hard."""
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(3), SIZES)
    strengths = STRENGTHS + STRENGTHS.T if kind == "undirected" else STRENGTHS
    network = KINDS[kind]
    if counts:
        links = rng.poisson(3.0 * strengths[groups][:, groups])
    else:
        links = (rng.random((len(groups), len(groups))) < strengths[groups][:, groups]).astype(int)
    if network is not None:
        links = links * (1 - np.eye(len(groups), dtype=int))
        links = links if network.directed else np.triu(links)
    relation = Relation.build(links, threshold=0, network=network, row_labels=labels)
    model = {"two sides": "irm"}.get(kind, "network")
    model = {"irm": "poisson", "network": "poisson-network"}[model] if counts else model
    unit = {"unit": 1.0, "degree": "none"} if counts else {}
    relation = relation if counts else replace(relation, weights=None)
    return fit(relation, "cvb0", model=model, k_rows=3, init="spectral", seed=0, heldout=0.0, **unit)


def pairs_of(result: Result, domain: str, end: str) -> np.ndarray:
    """The known pairs of objects, 1 for each, with those of the domain as rows."""
    known = 1.0 - result.prepared.data.missing.toarray()
    return known.T if domain == "cols" or end == "from" else known


def test_a_cluster_without_links_to_and_from_another_names_it_once() -> None:
    links = np.kron(np.eye(2, dtype=int), np.ones((12, 12), dtype=int)) - np.eye(24, dtype=int)
    result = fit(Relation.build(links, network=Network(True)), "cvb0", k_rows=2, init="spectral", heldout=0.0)
    said = ClusterCards(result, "rows").describe(1)
    assert said.endswith(f"hardly any to or from “2 · {result.names['rows'][1]}”.")


@for_each("kind, counts", list(product(KINDS, (False, True))))
def test_a_cluster_is_compared_with_all_other_objects(kind: str, counts: bool) -> None:
    result = found(kind, counts=counts)
    shape = result.posterior["rows"].shape[1]
    for domain in result.posterior.averaged:
        own = result.posterior.labels(domain)
        other = (
            own if kind != "two sides" else result.posterior.labels("cols" if domain == "rows" else "rows")
        )
        for contrasts in compare_clusters(result, domain):
            known = pairs_of(result, domain, contrasts.end)
            if counts:  # without regard to activity, an exposure is a share of the overall mean
                known = known * float(result.prepared.model.observations(result.posterior).link_exposures[0])
            for k, m in product(range(shape), range(contrasts.rate.shape[1])):
                pairs = known * (other == m)
                rates = contrasts.rate[own][:, other]
                others, every = (rates * pairs)[own != k].sum() / pairs[own != k].sum(), (rates * pairs).sum()
                assert contrasts.others[k, m] == pytest.approx(others, rel=5e-3)
                base = every / pairs.sum() if counts else others
                assert contrasts.ratio[k, m] == pytest.approx(contrasts.rate[k, m] / base, rel=5e-3)
            links = result.prepared.data.links.toarray().astype(float)
            links = links.T if contrasts.end == "from" else links
        if kind != "directed":
            strong = (links * contrasts.is_strong[own][:, other]).sum(axis=1)
            assert np.allclose(count_strong_links(result, domain)[strong > 0], strong[strong > 0])


def test_a_sentence_says_what_is_clear() -> None:
    cards = ClusterCards(found("undirected"), "rows")
    block = next(block for block in cards.blocks(1) if block.other == 1)
    said = cards.describe(1)
    assert said.startswith(f"14 nodes: {write_ratio(block.ratio)} as many links with its own nodes ")
    unclear = [block.other for block in cards.blocks(1) if not block.is_clear]
    assert not any(f"“{other} · " in said for other in unclear)
    names = cards.result.names["rows"]
    assert describe_found(cards.result).startswith(f"3 clusters of 32 nodes: “1 · {names[0]}” (14), “2 · ")


def test_nothing_is_said_of_groups_that_are_none() -> None:
    links = np.random.default_rng(0).random((30, 30)) < 0.3
    relation = Relation.build(np.triu(links, 1), network=Network(False))
    result = fit(
        relation, "cvb0", k_rows=2, init="random", merge=False, split=False, max_sweeps=1, heldout=0.0
    )
    cards = ClusterCards(result, "rows")
    assert len(cards.sizes) == 2
    assert "What stands out" not in describe_found(result)
    assert not any(each.is_strong.any() for each in cards.contrasts)  # though ratios are above 1
    assert {cards.describe(k).split(": ")[1] for k in (1, 2)} == {
        "no block differs clearly from the overall mean."
    }


def test_ratios_in_words() -> None:
    words = {250.0: "over 100 times", 12.4: "12 times", 3.14: "3.1 times", 0.48: "half", 0.21: "a fifth"}
    assert {ratio: write_ratio(ratio) for ratio in words} == words


def test_names_are_short_and_different_and_of_words_if_there_are_some() -> None:
    words = [f"{letter * 25} number" for letter in "abcdefghijklmnopqrstuvwxyzABCDEF"]
    result = found("two sides", labels=words)
    names = name_parts(result)
    assert all(len(name) <= 40 for own in names.values() for name in own)
    assert all(len(set(own)) == len(own) for own in names.values())
    typical = words[int(count_strong_links(result, "rows")[result.posterior.labels("rows") == 0].argmax())]
    assert names["rows"][0].startswith(typical[:10])
    # The columns have numbers for names: they are named by the rows that are linked to them.
    assert all(name.startswith("links from ") for name in names["cols"])
    given = replace(result, given_names={"rows": ("Kids", None, None)}).names
    assert sum(name == "links from Kids" for name in given["cols"]) == 1
    same = found("two sides", labels=["customer " + "x" * 30 + f" {i}" for i in range(32)])
    assert len(set(name_parts(same)["rows"])) == 3


def test_what_paths_have_in_common_is_written_once() -> None:
    groups = np.repeat(["pandas.io", "scipy", "numpy/core"], SIZES)
    result = found("undirected", labels=[f"{group}.module{i}" for i, group in enumerate(groups)])
    names = name_parts(result)["rows"]
    assert [name.split(": module")[0] for name in names] == ["pandas.io", "scipy", "numpy/core"]
    assert all(name.endswith(" …") and len(name) <= 40 for name in names)
    numbers = name_parts(found("undirected", labels=[f"3.{i + 100}" for i in range(sum(SIZES))]))["rows"]
    assert all(name.startswith("3.") for name in numbers)


def test_ids_are_no_words() -> None:
    ids = (["31", "8", "23"], ["C1023", "C55", "C7"], [f"customer {i}" for i in range(20)], ["E1", "E2", "a"])
    assert not any(are_readable(np.array(labels, dtype=object)) for labels in ids)
    assert are_readable(np.array(["Valjean", "Javert", "Mme. Hucheloup", "Labarre 2"], dtype=object))
