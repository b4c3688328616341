"""`python -m acvb_core.warmup`: compiles every kernel into Numba's cache on disk, so that no first run waits for it."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from acvb_core.data.corpus import Corpus
from acvb_core.data.corpus_readers import load_corpus
from acvb_core.data.disk_readers import read_to_disk
from acvb_core.data.readers import load_relation
from acvb_core.data.relation import Network, Relation
from acvb_core.data.table import Table
from acvb_core.data.table_readers import load_table
from acvb_core.engine.threads import one_thread
from acvb_core.evaluate.topic_map import topic_map
from acvb_core.irm.moves import MOVES_FROM
from acvb_core.lda.hyper import LEARN_FROM
from acvb_core.lda.model import LdaModel
from acvb_core.registry import methods_of, model_for
from acvb_core.rows import Method, ModelRow
from acvb_core.views.binning import count_in_bins

#: Two clusters of row objects, each linked to its own column objects.
_EDGES = "".join(f"r{i},c{j}\n" for i in range(12) for j in range(10) if (i < 6) == (j < 5) or i == j)
#: Two topics of five words each, the words of a document repeated now and then.
_WORDS = "".join(f"d{i},w{(i % 2) * 5 + j},{1 + (i + j) % 3}\n" for i in range(12) for j in range(5))

#: Enough for clusters to be merged and for hyper-parameters to be learned, which is not tried before.
_SWEEPS = max(MOVES_FROM, LEARN_FROM) + 1
#: Settings of each model under which a run is tiny.
_TINY: dict[str, dict[str, Any]] = {
    "network": {"k_rows": 3}, "irm": {"k_rows": 3, "k_cols": 3}, "lda": {"k": 3}, "lfm": {"k_max": 3},
}  # fmt: skip
#: Settings that decide which compiled functions are used: all their values are tried.
_VARIED = ("variance", "track")


def warm_up() -> int:
    """Use every compiled function once on tiny data.

    Returns
    -------
    int
        Number of runs made.
    """
    relation = _read_relation()
    everything = (relation, _network(), _read_corpus(), _read_table())
    runs = 0
    # Held-out entries are missing in the training data; without any, some sums take another way.
    for data, share in product(everything, (0.0, 0.2)):
        row = model_for(data)
        split = row.hold_out(data, share, 0)
        for method in methods_of(row.name):
            for values in _settings(method):
                _run(row, method, values, split.train, split.heldout)
                runs += 1
    _views(relation)
    return runs


def _settings(method: Method) -> Iterator[dict[str, Any]]:
    """Give the settings to try a method with."""
    known = {p.name: p for p in method.parameters}
    varied = [known[name] for name in _VARIED if name in known]
    tiny = _TINY[method.model]
    # Averaging begins at once: at these sizes responsibilities may take long to settle.
    if method.averaged and method.streams:
        tiny = tiny | {"burn_in_epochs": 0.0}
    elif "burn_in" in known:
        tiny = tiny | {"burn_in": 1}
    for chosen in product(*((True, False) if p.kind == "bool" else p.choices for p in varied)):
        yield tiny | {p.name: value for p, value in zip(varied, chosen, strict=True)}


def _run(row: ModelRow, method: Method, values: dict[str, Any], train: Any, heldout: Any) -> None:
    """Run a method for some sweeps and evaluate every diagnostic of its model."""
    inference, model = method.build(train, method.values(values)), row.build(train)
    state = inference.init(np.random.default_rng(0))
    for sweep in range(_SWEEPS):
        state, _ = inference.sweep(state, np.random.default_rng(sweep))
    posterior = inference.posterior(state)
    for given in (inference.responsibilities(state), None):
        model.lower_bound(posterior, given)
        model.extras(posterior, given, model.pseudo_loo(posterior, responsibilities=given))
    model.predict(posterior, heldout)
    if isinstance(model, LdaModel):
        model.transform(posterior, train)
        model.completion(posterior, train)


def _read_relation() -> Relation:
    """Return the tiny relation, read as people's files are: labels, values, repeated lines, many labels."""
    many = "a,b\n" + "".join(f"x{i},y{i}\n" for i in range(2000)) + "x0,y0\n"
    load_relation(many.encode(), name="many")
    load_relation(b"a,b,value\nx,y,1\nx,z,0\nw,z,3\n", name="values")
    load_relation(b"a,x,y\nu,1,0\nv,0,1\n", name="matrix", format="matrix")
    return load_relation(b"row,column\n" + _EDGES.encode(), name="warmup").relation


def _network() -> Relation:
    """Return a tiny network: two groups, and links between them. Other kinds of networks use the same functions."""
    ones = [[int(i != j and ((i < 5) == (j < 5) or i + j == 9)) for j in range(10)] for i in range(10)]
    return Relation.build(ones, name="warmup", network=Network())


def _read_corpus() -> Corpus:
    """Return the tiny corpus, read as people's files are."""
    with tempfile.TemporaryDirectory() as folder:  # documents out of order, which are sorted on disk
        read_to_disk(
            b"document,word,count\n" + b"a,x,2\nb,y,1\na,y,3\n", Path(folder) / "warmup", name="warmup"
        )
    return load_corpus(b"document,word,count\n" + _WORDS.encode(), name="warmup").corpus


def _read_table() -> Table:
    """Return a tiny table, read as people's files are: two features in four columns, and some noise."""
    values = np.random.default_rng(0).normal(size=(24, 4))
    values[::2, :2] += 4.0
    values[::3, 2:] += 4.0
    lines = "".join(",".join(map(str, row)) + "\n" for row in values.tolist())
    return load_table(b"a,b,c,d\n" + lines.encode(), name="warmup").table


def _views(relation: Relation) -> None:
    """Count the relation in bins, as its picture does, and map topics."""
    topic_map(np.full((2, 3), 1 / 3))
    row_bin, column_bin = (np.arange(n, dtype=np.int32) // 2 for n in relation.shape)
    count_in_bins(relation.ones, row_bin, column_bin, (int(row_bin[-1]) + 1, int(column_bin[-1]) + 1))


def main() -> int:
    """Compile, and say in one line how long it took."""
    begun = time.monotonic()
    with one_thread():
        runs = warm_up()
    sys.stdout.write(f"The kernels are compiled ({runs} runs, {time.monotonic() - begun:.1f} s).\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
