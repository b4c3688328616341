"""ACVB0 to convergence on a large synthetic relation with uneven degrees, as one JSON object.

python -m benchmarks.growth.convergence --rows 10681 --cols 69878 --ones 10000054
"""

from __future__ import annotations

import time

import acvb_core
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.run import run
from acvb_core.evaluate.agreement import agreement
from acvb_core.samples.planted_relations import large_relation
from benchmarks.harness import make_parser, print_figures

#: Standard deviation of the logarithm of an object's degree within its cluster.
SKEW = 1.0


def main() -> None:
    parser = make_parser(__doc__, method="acvb0", clusters=20)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--cols", type=int, required=True)
    parser.add_argument("--ones", type=int, required=True)
    options = parser.parse_args()
    acvb_core.fit(
        large_relation(200, 300, 5_000, 3, 3, 0).relation, options.method
    )  # compiled before times are taken
    planted = large_relation(options.rows, options.cols, options.ones, 15, 20, 1, skew=SKEW)
    values = {"k_rows": options.clusters, "k_cols": options.clusters}
    begun, seconds = time.process_time(), []
    for last in run(prepare_run(planted.relation, options.method, values)):  # noqa: B007 (the last is the answer)
        seconds.append(time.process_time() - begun)
    labels = {side: last.posterior.labels(side) for side in ("rows", "cols")}
    effective = last.posterior.n_clusters()
    print_figures(
        {
            "ones": planted.relation.n_ones,
            "cpu_seconds": seconds[-1],
            "start_seconds": seconds[0],
            "sweeps": last.sweep,
            "verdict": str(last.verdict),
            "clusters": [effective["rows"], effective["cols"]],
            "ari_rows": agreement(planted.row_clusters, labels["rows"])["ari"],
            "ari_cols": agreement(planted.column_clusters, labels["cols"])["ari"],
        },
        indent=None,
    )


if __name__ == "__main__":
    main()
