"""sparsebm and scikit-learn: clusters of both sides of a relation. Entries held out count as not linked for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.peers.answers import Answer, Clock
from benchmarks.peers.blocks import block_probability
from benchmarks.peers.trials import Trial

#: Numbers of clusters that scikit-learn is given.
SIZES = (2, 3, 4, 5, 6, 8, 12)


def fit_sparsebm(trial: Trial, seed: int) -> Iterator[Answer]:
    """Fit sparsebm's latent block model; it chooses the numbers of clusters."""
    import sparsebm
    from scipy import sparse

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
