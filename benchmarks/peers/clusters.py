"""Clusters by other packages, and predictions that follow from clusters; held-out pairs are no links for them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from acvb_core.data.relation import Relation
from acvb_core.evaluate.split import HeldOut
from benchmarks.peers.answers import Answer, Clock, Floats, PeerAbsentError
from benchmarks.peers.trials import Trial


def block_probability(train: Relation, rows: ArrayLike, columns: ArrayLike, heldout: HeldOut) -> Floats:
    """Return (links + density) / (pairs + 1) of the block of each held-out pair, shape (n,).

    Links and pairs are the observed ones; `rows`, `columns`: cluster of each object.
    """
    first, second = _number(rows), _number(columns)
    links = _sum_blocks(train.ones, first, second)
    pairs = np.outer(np.bincount(first), np.bincount(second)) - _sum_blocks(train.missing, first, second)
    strength = (links + links.sum() / pairs.sum()) / (pairs + 1.0)
    return strength[first[heldout.rows], second[heldout.columns]]


def degree_corrected_probability(
    train: Relation, clusters: ArrayLike, heldout: HeldOut, *, weights: bool = False
) -> Floats:
    """Return 1 - exp(-lambda_ij) of each held-out pair, shape (n,), with lambda_ij = d_i d_j e_rs / (d_r d_s).

    d: links of an object (out of i, into j), and of all objects of a cluster; e: links between two clusters, scaled
    up for pairs that are not observed. Karrer and Newman 2011, eq. 14. `weights`: links count as often as they weigh.
    """
    labels = _number(clusters)
    counts = train.links if weights else train.ones
    out, into = (np.asarray(counts.sum(axis=axis), dtype=float) for axis in (1, 0))
    n_pairs = train.shape[0] * (train.shape[0] - 1)
    diagonal = int(train.missing.diagonal().sum())
    seen = n_pairs / max(n_pairs - (train.missing.nnz - diagonal), 1)
    links = _sum_blocks(counts, labels, labels) * seen
    of_rows, of_columns = np.bincount(labels, out), np.bincount(labels, into)
    rate = links / np.maximum(np.outer(of_rows, of_columns), 1.0)
    first, second = heldout.rows, heldout.columns
    return -np.expm1(-out[first] * into[second] * rate[labels[first], labels[second]])


def _number(labels: ArrayLike) -> NDArray[np.int64]:
    return np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.int64)


def _sum_blocks(matrix: sparse.csr_array, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Floats:
    place = matrix.tocoo()
    sums = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(sums, (rows[place.row], columns[place.col]), place.data)
    return sums


#: Numbers of clusters that scikit-learn is given.
SIZES = (2, 3, 4, 5, 6, 8, 12)


def fit_sparsebm(trial: Trial, seed: int) -> Iterator[Answer]:
    """Fit sparsebm's latent block model; it chooses the numbers of clusters."""
    import sparsebm

    np.random.seed(seed)  # noqa: NPY002 - what the package draws from
    links = sparse.csr_matrix(trial.train.ones.astype(float))
    with Clock() as clock:
        found = sparsebm.ModelSelection("LBM", plot=False, use_gpu=False).fit(links).best
    rows, columns = found.row_labels, found.column_labels
    predicted = block_probability(trial.train, rows, columns, trial.heldout)
    yield Answer(predicted, clock.seconds, _sizes(rows, columns), rows)


def fit_sklearn(trial: Trial, seed: int, *, name: str) -> Iterator[Answer]:
    """Fit a biclustering of scikit-learn for several numbers of clusters; each is an answer with its own time.

    Objects without links, which it cannot take, are one cluster more.
    """
    from sklearn import cluster

    links = trial.train.ones
    used_rows = np.flatnonzero(np.diff(links.indptr))
    used_columns = np.flatnonzero(np.bincount(links.indices, minlength=links.shape[1]))
    dense = links.toarray()[np.ix_(used_rows, used_columns)].astype(float)
    for size in SIZES:
        if size >= min(dense.shape):
            break
        model: Any = getattr(cluster, name)(n_clusters=size, random_state=seed)
        with Clock() as clock:
            model.fit(dense)
        rows = np.full(links.shape[0], -1)
        columns = np.full(links.shape[1], -1)
        rows[used_rows], columns[used_columns] = model.row_labels_, model.column_labels_
        predicted = block_probability(trial.train, rows, columns, trial.heldout)
        yield Answer(predicted, clock.seconds, _sizes(rows, columns), rows)


def _sizes(rows: Any, columns: Any) -> str:
    return f"{len(np.unique(rows))} x {len(np.unique(columns))} clusters"


#: graph-tool is no package of PyPI; Debian's goes with the system's Python.
GRAPH_TOOL_PYTHON = os.environ.get("GRAPH_TOOL_PYTHON", "/usr/bin/python3")

#: Samples of graph-tool's posterior; a run of ours keeps 140 on such data.
SAMPLES = 140


def _edges(train: Relation, *, weights: bool = False) -> list[tuple[int, int]]:
    """Return the links, with `weights` each as often as it weighs."""
    links = (train.links if weights else train.ones).tocoo()
    directed = train.network is not None and train.network.directed
    times = links.data.astype(int)
    return [
        pair
        for pair, n in zip(zip(links.row.tolist(), links.col.tolist(), strict=True), times, strict=True)
        for _ in range(n if directed or pair[0] <= pair[1] else 0)
    ]


def _count(labels: object) -> str:
    return f"{len(np.unique(np.asarray(labels)))} clusters"


def _answer(trial: Trial, labels: ArrayLike, seconds: float) -> Answer:
    predicted = block_probability(trial.train, labels, labels, trial.heldout)
    return Answer(predicted, seconds, _count(labels), labels)


def fit_louvain(trial: Trial, seed: int) -> Iterator[Answer]:
    """Group by scikit-network's Louvain."""
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
        kind = leidenalg.ModularityVertexPartition
        found = leidenalg.find_partition(graph, kind, n_iterations=-1, seed=seed)
    yield _answer(trial, found.membership, clock.seconds)


def fit_graph_tool(
    trial: Trial, seed: int, *, degrees: bool, predict_by: str, weights: bool = False
) -> Iterator[Answer]:
    """Group by graph-tool's minimize_blockmodel_dl, the best of five by description length, time of all five.

    Predict by these groups, or by the mean of what samples of its posterior predict, which take further time.
    `weights`: a link of weight 3 is three links.
    """
    n_samples = SAMPLES if predict_by == "samples" else 0
    reply = ask_graph_tool(trial.train, seed, degrees=degrees, weights=weights, n_samples=n_samples)
    labels, held = reply["labels"], trial.heldout
    predictions = [
        degree_corrected_probability(trial.train, one, held, weights=weights)
        if degrees
        else block_probability(trial.train, one, one, held)
        for one in reply["samples"] or [labels]
    ]
    step = f"{_count(labels)}, graph-tool {reply['version']}"
    yield Answer(np.mean(predictions, axis=0), reply["cpu_seconds"], step, labels)


def ask_graph_tool(
    train: Relation, seed: int, *, degrees: bool = False, weights: bool = False, n_samples: int = 0
) -> dict[str, Any]:
    """Return what `graph_tool_script` finds, which another Python may run; PeerAbsentError without graph-tool."""
    directed = train.network is not None and train.network.directed
    question = {"n": train.shape[0], "edges": _edges(train, weights=weights), "directed": directed}
    question |= {"degrees": degrees, "samples": n_samples, "seed": seed}
    script = Path(__file__).with_name("graph_tool_script.py")
    command = [GRAPH_TOOL_PYTHON, str(script)]
    try:
        done = subprocess.run(command, input=json.dumps(question), capture_output=True, text=True)
    except OSError as error:
        raise PeerAbsentError(f"graph-tool: {error}") from error
    if "No module named 'graph_tool'" in done.stderr:
        raise PeerAbsentError(f"graph-tool is not installed for {GRAPH_TOOL_PYTHON} (python3-graph-tool)")
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["graph-tool said nothing"])[-1])
    reply: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return reply
