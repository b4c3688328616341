"""The table of a network's clusters: size, density, the closest other cluster, and the nodes with most links."""

from __future__ import annotations

import numpy as np
import pandas as pd

from acvb_core.models.irm.figures.arrangement import Arrangement

#: Nodes that are named.
_NAMED = 5


def cluster_table(arrangement: Arrangement) -> pd.DataFrame:
    """Return one line for each cluster of a network that has nodes.

    Returns: cluster, nodes, inside (posterior mean of the link probability inside), most_linked_to (the other cluster
      with the highest link probability, from this one if links have a direction), to_it (that probability), names (of
      the nodes with most links).
    """
    assert arrangement.strengths is not None
    strengths, side = arrangement.strengths.mean, arrangement.rows
    lines = []
    for k in np.flatnonzero(side.sizes):
        size = int(side.sizes[k])
        others = np.where(side.sizes == 0, -1.0, strengths[k])
        others[k] = -1.0
        best = int(others.argmax())
        other = others[best] >= 0
        first = int(side.borders[k])
        names = side.labels[side.order[first : first + min(_NAMED, size)]]
        lines.append(
            {
                "cluster": int(k) + 1,
                "nodes": size,
                "inside": float(strengths[k, k]),
                "most_linked_to": best + 1 if other else None,
                "to_it": float(others[best]) if other else None,
                "names": ", ".join(map(str, names)) + (", …" if size > _NAMED else ""),
            }
        )
    return pd.DataFrame(lines).astype({"most_linked_to": "Int64"})
