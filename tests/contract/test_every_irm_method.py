"""What every method keeps to that clusters relations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from acvb_core.core.clusters import order_by_size
from acvb_core.core.errors import ParameterError
from acvb_core.core.spec import MethodSpec
from acvb_core.data.relation import Relation
from acvb_core.registry import model_row
from acvb_core.samples.planted_relations import planted_relation, sparse_relation

from .cases import CASES, built, course, data_of, known, last_of, methods_for
from .cases_network import network_of
from .test_every_method import assert_posterior

every_method = methods_for("irm", "network")
every_counted_too = methods_for("irm", "network", "poisson", "poisson-network")


#: Data on which a prior of its own for each block is learned.
PER_BLOCK = {
    "irm": ("planted", "mostly missing", "links only"),
    "network": (
        "directed", "undirected", "self-links, undirected", "mostly missing", "complete", "star", "two cliques",
    ),
}  # fmt: skip


def drawn(row: MethodSpec) -> list[Relation]:
    """Return data of the method's model with clear clusters: of networks one of either kind."""
    if "k_cols" in known(row, {"k_cols": 3}):
        return [planted_relation(60, 50, 3, 3, 5).relation]
    links = sparse_relation(5, 60, 3, 0.3).relation.ones.toarray()
    return [network_of(links | links.T, directed=directed) for directed in (True, False)]


@every_counted_too
def test_order_is_the_one_the_sweep_applied(row: MethodSpec) -> None:
    """Clusters far apart keep their objects, so that each new cluster can be told from its members."""
    if row.sampled or row.name == "vb":  # VB sorts only where that does not lower its bound
        return
    for relation in drawn(row):
        algorithm = built(
            row, relation, k_rows=3, k_cols=3, smoothing=0.0, merge=False, split=False, burn_in=1000, unit=1.0
        )
        state = last_of(algorithm, 5)
        inner = getattr(state, "inner", state)
        rows = np.ascontiguousarray(inner.q["rows"][:, ::-1])
        both = (slice(None, None, -1),) * inner.layout.axes.count("rows")  # axes that are the rows' clusters
        ones, entries = (np.ascontiguousarray(counts[both]) for counts in (inner.ones, inner.entries))
        turned = replace(inner, q={**inner.q, "rows": rows}, ones=ones, entries=entries)
        start = turned if inner is state else replace(state, inner=turned)
        after, info = algorithm.sweep(start, np.random.default_rng(9))
        assert info.cluster_permutation is not None
        sizes = rows.sum(axis=0)
        assert len(set(np.round(sizes))) == 3
        assert info.cluster_permutation["rows"].tolist() == order_by_size(sizes).tolist()
        moved = rows[:, info.cluster_permutation["rows"]]
        np.testing.assert_allclose(algorithm.current(after)["rows"], moved, atol=0.1)


@every_method
def test_per_block_prior_stays_finite(row: MethodSpec) -> None:
    for name in PER_BLOCK[row.model]:
        relation = data_of(row.model)[name]
        if row.sampled:
            with pytest.raises(ParameterError, match="hyper"):
                built(row, relation, hyper="per-block")
            continue
        algorithm, model = built(row, relation, hyper="per-block"), model_row(row.model).build(relation)
        for state, _ in course(algorithm, 50):
            posterior = algorithm.posterior(state)
            assert_posterior(posterior, row, relation, True)
            if set(posterior.n_clusters().values()) != {1}:
                assert posterior.axes["a"] == posterior.axes["b"] == model.layout.axes, name
                for prior in (posterior["a"], posterior["b"]) if model.layout.symmetric else ():
                    np.testing.assert_allclose(prior, prior.T, rtol=1e-9)
            assert np.isfinite(model.lower_bound(posterior)), name
        CASES[row.model].check_tables(model.tables(posterior), relation, posterior)
