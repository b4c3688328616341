"""Groups planted in a relation are found from any starting number of clusters."""

from __future__ import annotations

import pytest

from acvb_core.data.relation import Relation
from acvb_core.engine.fitting import fit
from acvb_core.evaluate.agreement import agreement
from acvb_core.models.irm import spec as schedule
from acvb_core.samples.planted_relations import large_relation
from tests.loops import for_each
from tests.models.irm.moves.adapters import VARIATIONAL, Truth, mixed_network, two_domains
from tests.models.irm.network.test_one_domain import network


def directed_network(seed: int) -> tuple[Relation, Truth]:
    """Six groups with random strengths."""
    relation, labels = network([40] * 6, "directed", seed)
    return relation, {"rows": labels}


CASES = {"mixed": (mixed_network, 0.97), "directed": (directed_network, 0.99), "two": (two_domains, 0.99)}
N_GROUPS = {"mixed": 6, "directed": 6, "two": 4}


def check(case: str, method: str, k: int, **options: object) -> None:
    make, enough = CASES[case]
    relation, truth = make(1)
    sizes = {f"k_{domain}": k for domain in truth}
    found = fit(relation, method, **sizes, **options)
    assert found.snapshot.effective_k == dict.fromkeys(truth, N_GROUPS[case])
    for domain, labels in truth.items():
        assert agreement(labels, found.labels(domain))["ari"] > enough


@pytest.mark.parametrize("method", VARIATIONAL)
@for_each("case", list(CASES))
def test_groups_are_found_from_fewer_clusters_from_more_and_from_a_chain(method: str, case: str) -> None:
    few = N_GROUPS[case] // 2
    check(case, method, few, init="spectral")  # splits find the rest
    check(case, method, 15, init="spectral")  # merges
    check(case, method, 10, init="random")
    check(case, method, 15)
    relation, truth = CASES[case][0](1)
    alone = fit(relation, method, **{f"k_{domain}": few for domain in truth}, split=False, init="spectral")
    assert max(alone.snapshot.effective_k.values()) <= few


def test_splits_go_beyond_twice_the_starting_number_and_merges_remove_the_rest() -> None:
    for init in ("spectral", "gibbs"):
        check("mixed", "cvb0", N_GROUPS["mixed"] // 3, init=init)
    for case in CASES:
        check(case, "cvb0", 3)
    relation, _ = mixed_network(1)
    whole = fit(relation, "cvb0", k_rows=15, init="spectral", merge=False, split=False)
    assert whole.snapshot.effective_k["rows"] > 8


def test_large_relations_get_no_more_than_twice_the_clusters() -> None:
    """A sweep costs clusters times clusters for each object, and clusters for each link."""
    values = {"k_rows": 20, "split": True}
    small, _ = mixed_network(1)
    assert schedule.limit_clusters(small, values) == {"rows": small.shape[0] // 2}
    assert schedule.limit_clusters(small, values | {"split": False}) == {"rows": 20}
    assert schedule.limit_clusters(small, {"k_rows": 20}) == {}, "a sampler"
    both = {"k_rows": 40, "k_cols": 40, "split": True}
    limits = [
        schedule.limit_clusters(large_relation(n, 300, links, 8, 8, 1).relation, both)
        for n, links in ((50_000, 20_000), (4_000, 500_000), (4_000, 20_000))
    ]
    rows = [limit["rows"] for limit in limits]
    assert 80 == rows[0] < rows[1] < rows[2]
    assert [limit["cols"] for limit in limits] == [80, rows[1], 300 // 2]
