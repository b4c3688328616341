"""The domains along the two axes of the block counts, and which of the blocks are distinct."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.relation import Relation


@dataclass(frozen=True)
class Layout:
    """How the clusterings of a model lie along the sides of its relation."""

    #: Domain of the row objects and of the column objects; the same one where these are the same objects.
    axes: tuple[str, str] = ("rows", "cols")
    #: Blocks (k, l) and (l, k) are one, with one strength (undirected networks). The counts are stored as a symmetric
    #: matrix, each unordered pair of objects counted once.
    symmetric: bool = False

    @property
    def one_domain(self) -> bool:
        """Return whether one clustering serves both sides."""
        return self.axes[0] == self.axes[1]

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains, each once."""
        return self.axes[:1] if self.one_domain else self.axes

    def distinct(self, n_clusters: int) -> NDArray[np.float64]:
        """Return what a sum over blocks takes each of them by, shape (K, K) or (1, 1): 0 for a block's mirror image."""
        if not self.symmetric:
            return np.ones((1, 1))
        return np.triu(np.ones((n_clusters, n_clusters)))


#: Row objects and column objects have clusters of their own.
TWO_DOMAINS = Layout()
_DIRECTED, _UNDIRECTED = Layout(("rows", "rows")), Layout(("rows", "rows"), symmetric=True)


def network_layout(relation: Relation) -> Layout:
    """Return the layout of one clustering for both sides of a relation; without a `network` it counts as directed."""
    undirected = relation.network is not None and not relation.network.directed
    return _UNDIRECTED if undirected else _DIRECTED
