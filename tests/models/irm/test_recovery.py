"""Groups planted in a relation are found whatever number of clusters a run begins with."""

from __future__ import annotations

import pytest

from acvb_core.engine.fitting import fit
from acvb_core.evaluate.agreement import agreement
from tests.models.irm.moves.adapters import VARIATIONAL, directed_network, mixed_network, two_domains

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


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", VARIATIONAL)
def test_from_half_the_groups_splits_find_the_rest(method: str, case: str) -> None:
    check(case, method, N_GROUPS[case] // 2, init="spectral")
    # It is the splits: without them there are no more than at first.
    relation, truth = CASES[case][0](1)
    sizes = {f"k_{domain}": N_GROUPS[case] // 2 for domain in truth}
    alone = fit(relation, method, **sizes, split=False, init="spectral")
    assert max(alone.snapshot.effective_k.values()) <= N_GROUPS[case] // 2


def test_splits_at_most_double_the_clusters_that_a_run_begins_with() -> None:
    relation, truth = mixed_network(1)
    found = fit(relation, "cvb0", **{f"k_{domain}": 2 for domain in truth}, init="spectral")
    assert found.snapshot.effective_k == dict.fromkeys(truth, 4)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", VARIATIONAL)
def test_from_too_many_clusters_merges_find_the_groups(method: str, case: str) -> None:
    check(case, method, 15, init="spectral")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("method", "k"), [(method, 15) for method in VARIATIONAL] + [("cvb0", 3)])
def test_from_a_chain_the_groups_are_found(method: str, case: str, k: int) -> None:
    """The chain is the same for all methods: one of them shows that it finds more clusters than it begins with."""
    check(case, method, k)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", VARIATIONAL)
def test_from_a_random_start_the_groups_are_found(method: str, case: str) -> None:
    check(case, method, 10, init="random")


def test_without_moves_too_many_clusters_stay_too_many() -> None:
    relation, _ = mixed_network(1)
    assert (
        fit(relation, "cvb0", k_rows=15, init="spectral", merge=False, split=False).snapshot.effective_k[
            "rows"
        ]
        > 8
    )


@pytest.mark.parametrize("method", ["cvb0", "vb"])
def test_splits_go_up_to_twice_the_clusters_a_run_begins_with_and_no_further(method: str) -> None:
    relation, _ = mixed_network(1)
    widths: list[int] = []
    fit(relation, method, k_rows=2, watch=lambda _, snapshot: widths.append(snapshot.effective_k["rows"]))
    assert max(widths) == 4 < N_GROUPS["mixed"]
