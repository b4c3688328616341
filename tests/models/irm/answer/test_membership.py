"""The reasons for an object's cluster, against the log joint probability with the object moved."""

from __future__ import annotations

from itertools import product

import numpy as np

from acvb_core.core.protocols import Posterior
from acvb_core.models.irm.answer.membership import Evidence, share_company_of, weigh_clusters
from acvb_core.models.irm.gibbs import LABELS
from acvb_core.models.irm.scores import STRENGTHS, share_company
from tests.loops import for_each
from tests.models.irm import adapters as irm
from tests.models.poisson import adapters as poisson
from tests.oracles import dense_irm, dense_network, dense_poisson
from tests.oracles.cases import random_case
from tests.oracles.network_cases import KINDS as NETWORKS
from tests.oracles.network_cases import random_network_case
from tests.oracles.poisson_cases import KINDS, random_count_case

KIND = {"links": ("two domains", *NETWORKS), "counts": tuple(KINDS)}
CASES = [(of, kind) for of, kinds in KIND.items() for kind in kinds]
SHAPE, SIZES = (8, 7), (3, 4)


def evidence_and_joint(of: str, kind: str, seed: int) -> list[tuple[Evidence, np.ndarray]]:
    """The evidence of every object, and the log joint probability with the object in each cluster."""
    if of == "counts":
        case = random_count_case(seed, kind, SHAPE, SIZES, hard=True)
        q, relation, state = case.q, poisson.relation_of(case.data), poisson.state_of(case)

        def joint(z: list[np.ndarray]) -> float:
            return dense_poisson.log_joint(case.data, z, *case.hyper, case.sizes)

    elif kind in NETWORKS:
        network = random_network_case(seed, kind, SHAPE[0], SIZES[0], hard=True)
        q, relation, state = (network.q,), irm.relation_of(network.data), irm.state_of(network)

        def joint(z: list[np.ndarray]) -> float:
            return dense_network.log_joint(network.data, *z, *network.hyper, size=network.size)

    else:
        two = random_case(seed, SHAPE, SIZES, hard=True, per_block=True)
        q, relation, state = (two.q1, two.q2), irm.relation_of(two.data), irm.state_of(two)

        def joint(z: list[np.ndarray]) -> float:
            return dense_irm.log_joint(two.data, *z, *two.hyper, sizes=two.sizes)

    found = []
    for side, domain in enumerate(("rows", "cols")[: len(q)]):
        for at in range(len(q[side])):
            labels = [part.argmax(axis=1) for part in q]
            moved = np.empty(q[side].shape[1])
            for k in range(len(moved)):
                labels[side][at] = k
                moved[k] = joint(labels)
            found.append((weigh_clusters(relation, state, domain, at), moved))
    return found


@for_each("of, kind", CASES)
def test_log_odds_are_those_of_moving_the_object(of: str, kind: str) -> None:
    for evidence, joint in evidence_and_joint(of, kind, seed=3):
        assert np.allclose(evidence.totals - evidence.totals[0], joint - joint[0], atol=1e-11)


def test_expected_links_are_those_of_a_member() -> None:
    """Of one object that is like the others of its cluster, which has one link probability with each other cluster."""
    case = random_case(1, (40, 30), (2, 3), hard=True, missing=0.0)
    links = np.zeros((40, 30))
    for k, m in product(range(2), range(3)):
        inside = np.ix_(case.q1[:, k] > 0, case.q2[:, m] > 0)
        links[inside] = (np.arange(links[inside].size).reshape(links[inside].shape) % 4 <= k + m).astype(
            float
        )
    case = case._replace(data=case.data._replace(x=links), a=1e-6, b=1e-6)
    evidence = weigh_clusters(irm.relation_of(case.data), irm.state_of(case), "cols", 0)
    own = case.q2[0].argmax()
    others = (case.q2[:, own] > 0) & (np.arange(30) != 0)
    wanted = [links[np.ix_(case.q1[:, k] > 0, others)].mean() * case.q1[:, k].sum() for k in range(2)]
    assert np.allclose(evidence.expected[0, own], wanted, atol=1e-4)
    assert np.allclose(evidence.entries[0].ones, case.q1.T @ links[:, 0])


def test_company_with_its_own_cluster_is_that_of_the_table() -> None:
    rng = np.random.default_rng(0)
    q = np.eye(4)[[*rng.integers(0, 3, 19), 3]]
    samples = rng.integers(0, 4, (7, 20)).astype(np.uint16)
    posterior = Posterior(
        {"rows": q, LABELS.format("rows"): samples, STRENGTHS: np.zeros((7, 1, 1))},
        {"rows": (None, "rows"), LABELS.format("rows"): (None, None), STRENGTHS: (None, None, None)},
        ("rows",),
    )
    table = share_company(posterior, "rows")
    for at, own in enumerate(q.argmax(axis=1)):
        shares = share_company_of(posterior, "rows", at)
        assert np.isclose(shares[own], table[at])
        met = [np.mean([s[at] == s[j] for s in samples]) for j in np.flatnonzero(q[:, 0] > 0) if j != at]
        assert np.isclose(shares[0], np.mean(met))
