"""Cost of a CVB0 sweep compared with the two SciPy products that every sweep must at least do, and the peak memory.

    python -m benchmarks.sweep_cost [--rows 10681 --cols 69878 --ones 10000000 --clusters 20 --sweeps 12 --model irm]

Prints one JSON object. Times are processor seconds of this thread, sweeps and products in turn (A B A B …), so
that a noisy machine slows both; the ratio is the median over the later sweeps, and that of the first stands beside
it. Peak memory counts from the moment the relation and its transpose are loaded.
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from acvb_core.core.parallel import use_threads
from acvb_core.engine.machine import one_thread
from acvb_core.engine.prepared import prepare_run
from acvb_core.evaluate.agreement import agreement
from acvb_core.samples.planted_relations import large_relation
from benchmarks.harness import MemoryWatch, make_parser, print_figures


def main() -> None:
    options = make_parser(
        __doc__,
        rows=10681,
        cols=69878,
        ones=10000000,
        clusters=20,
        sweeps=12,
        method="cvb0",
        init="spectral",
        model="irm",
    ).parse_args()

    planted = large_relation(options.rows, options.cols, options.ones, 15, 20, 1)
    relation = planted.relation
    turned = relation.transposed
    parts = [part for side in (relation.ones, turned.ones) for part in (side.indptr, side.indices, side.data)]
    csr_bytes = sum(part.nbytes for part in parts)
    x, xt = relation.ones.astype(np.float64), turned.ones.astype(np.float64)
    rng = np.random.default_rng(0)
    right = rng.random((options.cols, options.clusters))
    left = rng.random((options.rows, options.clusters))
    values = {"k_rows": options.clusters, "k_cols": options.clusters, "init": options.init}
    if options.model != "irm":
        values["degree"] = "corrected"
    prepared = prepare_run(relation, options.method, values, model=options.model)
    with one_thread(), use_threads(1):
        small = large_relation(200, 300, 5000, 3, 3, 0).relation
        warm = prepare_run(small, options.method, model=options.model)
        state = warm.algorithm.init(rng)
        warm.algorithm.sweep(state, rng)
        products, sweeps = [], []
        with MemoryWatch(seconds=0.002) as memory:
            before = time.thread_time()
            state = prepared.algorithm.init(np.random.default_rng([0, 0]))
            start_seconds = time.thread_time() - before
            for sweep in range(1, options.sweeps + 1):
                before = time.thread_time()
                x @ right, xt @ left
                products.append(time.thread_time() - before)
                before = time.thread_time()
                state, _ = prepared.algorithm.sweep(state, np.random.default_rng([0, sweep]))
                sweeps.append(time.thread_time() - before)
    ratios = [one / other for one, other in zip(sweeps, products, strict=True)]
    posterior = prepared.algorithm.posterior(state)
    print_figures(
        {
            "shape": list(relation.shape),
            "ones": relation.n_ones,
            "clusters": options.clusters,
            "model": options.model,
            "method": options.method,
            "ratio_first_sweep": ratios[0],
            "ratio_median": statistics.median(ratios),
            "ratio_worst": max(ratios),
            "sweep_seconds": sweeps,
            "products_seconds": statistics.median(products),
            "start_seconds": start_seconds,
            "csr_csc_mb": csr_bytes / 2**20,
            "peak_beyond_data_mb": memory.rise / 2**20,
            "estimated_mb": prepared.memory_bytes / 2**20,
            "effective_k": posterior.n_clusters(),
            "ari_rows": agreement(planted.row_clusters, posterior.labels("rows"))["ari"],
            "ari_cols": agreement(planted.column_clusters, posterior.labels("cols"))["ari"],
        }
    )


if __name__ == "__main__":
    main()
