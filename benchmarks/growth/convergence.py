"""ACVB0 to convergence on a large synthetic relation with uneven degrees, as one JSON object.

python -m benchmarks.growth.convergence --rows 10681 --cols 69878 --ones 10000054
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time

import acvb_core
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.run import run
from acvb_core.evaluate.agreement import agreement
from acvb_core.samples.planted_relations import large_relation

#: Standard deviation of the logarithm of an object's degree within its cluster.
SKEW = 1.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--cols", type=int, required=True)
    parser.add_argument("--ones", type=int, required=True)
    parser.add_argument("--method", default="acvb0")
    parser.add_argument("--clusters", type=int, default=20)
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
    print(
        json.dumps(
            {
                "ones": planted.relation.n_ones,
                "cpu_seconds": seconds[-1],
                "start_seconds": seconds[0],
                "sweeps": last.sweep,
                "verdict": str(last.verdict),
                "clusters": [effective["rows"], effective["cols"]],
                "ari_rows": agreement(planted.row_clusters, labels["rows"])["ari"],
                "ari_cols": agreement(planted.column_clusters, labels["cols"])["ari"],
                "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "load_average": os.getloadavg()[0],
            }
        )
    )


if __name__ == "__main__":
    main()
