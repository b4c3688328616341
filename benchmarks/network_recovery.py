"""Planted clusters found again, and the result of a start from the truth itself.

    python -m benchmarks.network_recovery [--draws 5 --seeds 5 --method acvb0 --cases net8,sparse,planted]

net8: 2,000 nodes, undirected, 8 groups, density 0.011: six groups linked within (0.07), two linked only with each
other (0.03), four pairs of groups somewhat linked (0.012), the rest hardly (0.003); 10 % of the pairs held out.
sparse: 1,892 objects, directed, 30 groups, density 0.006, strengths from a Gamma(0.2): one domain, and two domains from
60 clusters; nothing held out. planted: every method on 1000 x 1500, 7 x 6 blocks, 10 % of the entries held out.

One line a run: processor seconds of the run, clusters, adjusted Rand index, held-out log likelihood per entry, lower
bound. "truth" is the same method started from the planted groups, without moves. graph-tool's stochastic block model
(best of 5 by description length, held-out pairs as no links) runs beside it on net8 where it is installed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from acvb_core import fit
from acvb_core.data.relation import Network, Relation
from acvb_core.engine.machine import one_thread
from acvb_core.engine.prepared import prepare_run
from acvb_core.evaluate.agreement import agreement
from acvb_core.evaluate.split import hold_out
from acvb_core.models.irm.state import block_counts
from acvb_core.registry import methods_of
from acvb_core.samples.planted_relations import synth2
from benchmarks.harness import make_parser, print_rows
from benchmarks.peers.answers import PeerAbsentError
from benchmarks.peers.clusters import ask_graph_tool

Truth = dict[str, np.ndarray]
_TRUTH_SWEEPS = 100


def net8(draw: int) -> tuple[Relation, Truth]:
    """Return the network and its groups."""
    rng = np.random.default_rng(draw)
    groups = rng.integers(8, size=2000)
    strength = np.full((8, 8), 0.003)
    strength[range(6), range(6)] = 0.07
    for k, other, value in ((0, 1, 0.012), (2, 3, 0.012), (4, 5, 0.012), (0, 2, 0.012), (6, 7, 0.03)):
        strength[k, other] = strength[other, k] = value
    links = np.triu(rng.random((2000, 2000)) < strength[groups][:, groups], 1)
    return Relation.build(links, name="net8", network=Network(directed=False)), {"rows": groups}


def sparse_directed(draw: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the links and the groups."""
    rng = np.random.default_rng(draw)
    groups = rng.integers(30, size=1892)
    strength = rng.gamma(0.2, 1.0, (30, 30))
    strength = np.minimum(strength * 0.006 / strength.mean(), 0.9)
    return rng.random((1892, 1892)) < strength[groups][:, groups], groups


def line(case: str, run: str, found: Any, truth: Truth) -> dict[str, Any]:
    """Return the row of a run in the table."""
    last = found.snapshot
    return {
        "case": case,
        "run": run,
        "verdict": str(found.verdict),
        "cpu_seconds": last.cpu_seconds,
        "sweeps": last.sweep,
        "clusters": "x".join(map(str, last.effective_k.values())),
        **{f"ari_{domain}": agreement(truth[domain], found.labels(domain))["ari"] for domain in truth},
        "heldout_clusters": None if last.heldout is None else last.heldout.log_likelihood,
        "lower_bound": last.lower_bound,
    }


def from_truth(case: str, relation: Relation, truth: Truth, **options: Any) -> dict[str, Any]:
    """Sweep CVB0 from the planted groups, without moves."""
    prepared = prepare_run(relation, "cvb0", {"merge": False, "split": False}, **options)
    algorithm: Any = prepared.algorithm
    with one_thread():
        state = algorithm.init(np.random.default_rng(0))
        q = {domain: np.eye(int(labels.max()) + 1)[labels] for domain, labels in truth.items()}
        ones, entries = block_counts(prepared.train, q, algorithm.layout)
        state = replace(state, q=q, ones=ones, entries=entries)
        for sweep in range(_TRUTH_SWEEPS):
            state, _ = algorithm.sweep(state, np.random.default_rng(sweep))
    posterior, model = algorithm.posterior(state), prepared.model
    scores = None
    if prepared.heldout is not None:
        scores = model.score(model.predict(posterior, prepared.heldout), prepared.heldout)
    return {
        "case": case,
        "run": "truth",
        "clusters": "x".join(str(array.shape[1]) for array in q.values()),
        **{f"ari_{d}": agreement(truth[d], posterior.labels(d))["ari"] for d in truth},
        "heldout_clusters": None if scores is None else scores.log_likelihood,
        "lower_bound": model.lower_bound(posterior),
    }


def graph_tool(relation: Relation, truth: Truth) -> dict[str, Any] | None:
    """Return graph-tool's best of 5 on the training links; None if it is not installed."""
    try:
        reply = ask_graph_tool(hold_out(relation, 0.1, 0).train, 0)
    except PeerAbsentError:
        return None
    labels = reply["labels"]
    found = {"clusters": len(set(labels)), "ari_rows": agreement(truth["rows"], labels)["ari"]}
    return {"case": "net8", "run": "graph-tool, best of 5", "cpu_seconds": reply["cpu_seconds"], **found}


def runs(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Give the lines of all runs."""
    if "net8" in options.cases:
        for draw in range(options.draws):
            relation, truth = net8(draw)
            case = f"net8 draw {draw}"
            for seed in range(options.seeds):
                found = fit(relation, options.method, seed=seed, heldout=0.1, init=options.init)
                yield line(case, f"seed {seed}", found, truth)
            yield from_truth(case, relation, truth, heldout=0.1)
            peer = graph_tool(relation, truth) if draw == 0 else None
            if peer is not None:
                yield peer
    if "sparse" in options.cases:
        links, groups = sparse_directed(0)
        for seed in range(options.seeds):
            two = Relation.build(links, name="sparse, two domains")
            found = fit(two, options.method, seed=seed, k_rows=60, k_cols=60, init=options.init)
            yield line("sparse, two domains", f"seed {seed}", found, {"rows": groups, "cols": groups})
        yield from_truth("sparse, two domains", two, {"rows": groups, "cols": groups})
        one = Relation.build(links & ~np.eye(len(links), dtype=bool), network=Network())
        for seed in range(options.seeds):
            found = fit(one, options.method, seed=seed, init=options.init)
            yield line("sparse, one", f"seed {seed}", found, {"rows": groups})
        yield from_truth("sparse, one", one, {"rows": groups})
    if "planted" in options.cases:
        for draw in range(options.draws):
            planted = synth2(draw)
            truth = {"rows": planted.row_clusters, "cols": planted.column_clusters}
            for method in methods_of("irm"):
                found = fit(planted.relation, method.name, seed=draw, heldout=0.1)
                yield line(f"planted draw {draw}", method.name, found, truth)


def main() -> None:
    parser = make_parser(
        __doc__, draws=5, seeds=5, init="gibbs", method="acvb0", cases=["net8", "sparse", "planted"]
    )
    frame = pd.DataFrame(runs(parser.parse_args()))
    print_rows(frame, ".5g")
    summary = frame[frame["run"] != "truth"].groupby("case", sort=False)
    print(summary[["cpu_seconds"]].sum().join(summary[["ari_rows", "heldout_clusters", "lower_bound"]].min()))


if __name__ == "__main__":
    main()
