"""scikit-network, leidenalg and graph-tool: groups of a network. Pairs held out count as not linked for them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from acvb_core.data.relation import Relation
from benchmarks.peers.answers import Answer, Clock, PeerAbsentError
from benchmarks.peers.blocks import block_probability, degree_corrected_probability
from benchmarks.peers.trials import Trial

#: graph-tool is no package of PyPI; Debian's goes with the system's Python.
GRAPH_TOOL_PYTHON = os.environ.get("GRAPH_TOOL_PYTHON", "/usr/bin/python3")

#: Samples of graph-tool's posterior; a run of ours keeps 140 on such data.
SAMPLES = 140


def _edges(train: Relation) -> list[tuple[int, int]]:
    rows, columns = train.ones.nonzero()
    directed = train.network is not None and train.network.directed
    return [(int(i), int(j)) for i, j in zip(rows, columns, strict=True) if directed or i <= j]


def _count(labels: object) -> str:
    return f"{len(np.unique(np.asarray(labels)))} clusters"


def _answer(trial: Trial, labels: ArrayLike, seconds: float) -> Answer:
    predicted = block_probability(trial.train, labels, labels, trial.heldout)
    return Answer(predicted, seconds, _count(labels), labels)


def fit_louvain(trial: Trial, seed: int) -> Iterator[Answer]:
    """Group by scikit-network's Louvain."""
    from scipy import sparse
    from sknetwork.clustering import Louvain

    adjacency = sparse.csr_matrix(trial.train.ones.astype(float))
    with Clock() as clock:
        labels = Louvain(random_state=seed).fit_predict(adjacency)
    yield _answer(trial, labels, clock.seconds)


def fit_leiden(trial: Trial, seed: int) -> Iterator[Answer]:
    """Group by leidenalg, modularity, until nothing improves."""
    import igraph
    import leidenalg

    graph = igraph.Graph(trial.train.shape[0], _edges(trial.train), directed=trial.train.network.directed)
    with Clock() as clock:
        found = leidenalg.find_partition(
            graph, leidenalg.ModularityVertexPartition, n_iterations=-1, seed=seed
        )
    labels = found.membership
    yield _answer(trial, labels, clock.seconds)


def fit_graph_tool(trial: Trial, seed: int, *, degrees: bool, predict_by: str) -> Iterator[Answer]:
    """Group by graph-tool's minimize_blockmodel_dl, the best of five by description length, time of all five.

    Predict by these groups, or by the mean of what samples of its posterior predict, which take further time.
    """
    n_samples = SAMPLES if predict_by == "samples" else 0
    reply = ask_graph_tool(trial.train, seed, degrees=degrees, n_samples=n_samples)
    labels, held = reply["labels"], trial.heldout
    predictions = [
        degree_corrected_probability(trial.train, one, held)
        if degrees
        else block_probability(trial.train, one, one, held)
        for one in reply["samples"] or [labels]
    ]
    step = f"{_count(labels)}, graph-tool {reply['version']}"
    yield Answer(np.mean(predictions, axis=0), reply["cpu_seconds"], step, labels)


def ask_graph_tool(
    train: Relation, seed: int, *, degrees: bool = False, n_samples: int = 0
) -> dict[str, Any]:
    """Return what `graph_tool_script` finds, which another Python may run; PeerAbsentError without graph-tool."""
    about = {
        "n": train.shape[0],
        "edges": _edges(train),
        "directed": train.network is not None and train.network.directed,
    }
    question = {**about, "degrees": degrees, "samples": n_samples, "seed": seed}
    script = Path(__file__).with_name("graph_tool_script.py")
    try:
        done = subprocess.run(
            [GRAPH_TOOL_PYTHON, str(script)], input=json.dumps(question), capture_output=True, text=True
        )
    except OSError as error:
        raise PeerAbsentError(f"graph-tool: {error}") from error
    if "No module named 'graph_tool'" in done.stderr:
        raise PeerAbsentError(f"graph-tool is not installed for {GRAPH_TOOL_PYTHON} (python3-graph-tool)")
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["graph-tool said nothing"])[-1])
    reply: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return reply
