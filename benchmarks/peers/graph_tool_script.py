"""Run by the Python that has graph-tool, which need not have this project: a network in as JSON, its groups out."""

import json
import sys
import time

import graph_tool
import graph_tool.inference
import numpy

STARTS = 5


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
    seconds = time.process_time() - begun
    labels = [int(best.get_blocks()[vertex]) for vertex in graph.vertices()]
    version = graph_tool.__version__.split()[0]
    print(json.dumps({"labels": labels, "cpu_seconds": seconds, "version": version}))


main()
