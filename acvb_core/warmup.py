"""`python -m acvb_core.warmup`: compiles every kernel into Numba's cache on disk, so that no first run waits for it."""

from __future__ import annotations

import sys
import time

import numpy as np

from acvb_core.data.readers import load_relation
from acvb_core.data.relation import Relation
from acvb_core.data.split import hold_out
from acvb_core.engine.threads import one_thread
from acvb_core.irm.sweeping import MERGE_FROM
from acvb_core.registry import METHODS, model_row
from acvb_core.views.binning import count_in_bins

#: Two clusters of row objects, each linked to its own column objects.
_EDGES = "".join(f"r{i},c{j}\n" for i in range(12) for j in range(10) if (i < 6) == (j < 5) or i == j)

#: Enough for clusters to be merged, which is not tried before.
_SWEEPS = MERGE_FROM + 1


def warm_up() -> int:
    """Use every compiled function once on a tiny relation.

    Returns
    -------
    int
        Number of runs made.
    """
    relation = _read()
    runs = 0
    # Held-out entries are missing in the training data; without any, some sums take another way.
    for share in (0.0, 0.2):
        split = hold_out(relation, share, 0)
        for method in METHODS:
            choices = next((p.choices for p in method.parameters if p.name == "variance"), (None,))
            for choice in choices:
                values = method.values({"k_rows": 3, "k_cols": 3} | ({"variance": choice} if choice else {}))
                inference = method.build(split.train, values)
                state = inference.init(np.random.default_rng(0))
                for sweep in range(_SWEEPS):
                    state, _ = inference.sweep(state, np.random.default_rng(sweep))
                posterior = inference.posterior(state)
                model = model_row(method.model).build(split.train)
                model.lower_bound(posterior)
                model.pseudo_loo(posterior)
                model.predict(posterior, split.heldout)
                runs += 1
    _views(relation)
    return runs


def _read() -> Relation:
    """Return the tiny relation, read as people's files are: labels, values, repeated lines, many labels."""
    many = "a,b\n" + "".join(f"x{i},y{i}\n" for i in range(2000)) + "x0,y0\n"
    load_relation(many.encode(), name="many")
    load_relation(b"a,b,value\nx,y,1\nx,z,0\nw,z,3\n", name="values")
    load_relation(b"a,x,y\nu,1,0\nv,0,1\n", name="matrix", format="matrix")
    return load_relation(b"row,column\n" + _EDGES.encode(), name="warmup").relation


def _views(relation: Relation) -> None:
    """Count the relation in bins, as its picture does."""
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
