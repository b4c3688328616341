"""Run by the Python that has graph-tool, which need not have this project: a network in as JSON, its groups out.

The first groups are the best of several starts by description length. Samples of the posterior follow if they are asked
for: groups after every tenth merge-split sweep from there.
"""

import json
import sys
import time

import graph_tool
import graph_tool.inference
import numpy

STARTS = 5
SWEEPS = 10  # between two samples
DROPPED = 20  # samples at the beginning


def main() -> None:
    question = json.load(sys.stdin)
    graph = graph_tool.Graph(directed=question["directed"])
    graph.add_vertex(question["n"])
    graph.add_edge_list(question["edges"])
    graph_tool.seed_rng(question["seed"])
    numpy.random.seed(question["seed"])  # noqa: NPY002 - graph-tool draws from it too
    begun = time.process_time()
    states = [
        graph_tool.inference.minimize_blockmodel_dl(graph, state_args={"deg_corr": question["degrees"]})
        for _ in range(STARTS)
    ]
    best = min(states, key=lambda state: state.entropy())
    labels, samples = best.get_blocks().a.tolist(), []
    if question["samples"]:
        for _ in range(DROPPED + question["samples"]):
            best.multiflip_mcmc_sweep(niter=SWEEPS)
            samples.append(best.get_blocks().a.tolist())
    seconds = time.process_time() - begun
    version = graph_tool.__version__.split()[0]
    found = {"labels": labels, "samples": samples[DROPPED:], "cpu_seconds": seconds, "version": version}
    print(json.dumps(found))


main()
