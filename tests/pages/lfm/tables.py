"""What the tests of the pages of tables share: a small table, runs on it, and the Features page with runs."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from acvb_core.data.table import Image, Table
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result

EVIL = "<b>x</b> ![i](http://example.org/x.png) $a$"
N, D = 80, 6


def small_table(seed: int = 0, *, missing: bool = True, **more: Any) -> Table:
    """Two features that come and go, in columns of very different units, with a known group and names of all kinds."""
    rng = np.random.default_rng(seed)
    z = rng.random((N, 2)) < (0.6, 0.3)
    weights = np.array([[4.0, 3.0, 0.0, 0.0, -3.0, 0.0], [0.0, 0.0, 5.0, -4.0, 0.0, 3.0]])
    scale = np.array([1.0, 1000.0, 1.0, 0.01, 1.0, 10.0])
    values = (z @ weights + 0.3 * rng.standard_normal((N, D))) * scale + 7.0
    if missing:
        values[0, 0] = np.nan
        values[5:8, 3] = np.nan
    rows = [f"object {i}" for i in range(N)]
    rows[1] = EVIL
    return Table.build(
        values,
        rows=rows,
        columns=["kilograms", "metres", "c", "d", "=1+1", EVIL],
        name="small",
        labels=["" if i == 2 else "both" if a and b else "other" for i, (a, b) in enumerate(z)],
        **more,
    )


def pictures() -> Table:
    """The same as pictures of 2 x 3 pixels, not standardised."""
    table = small_table(missing=False)
    return Table.build(table.values / 100, name="pixels", standardise=False, image=Image.whole(2, 3))


@cache
def fitted(method: str = "fab", seed: int = 0, **values: Any) -> Result:
    """A finished run on the small table, 20 % of its cells hidden."""
    return fit(small_table(), method, heldout=0.2, seed=seed, **values)
