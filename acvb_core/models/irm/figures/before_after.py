"""A relation as it was read beside the same relation sorted by cluster, small and without names."""

from __future__ import annotations

import numpy as np

from acvb_core.data.relation import Relation
from acvb_core.models.irm.figures.arrangement import Arrangement, arrange_as_read, arrange_network
from acvb_core.models.irm.figures.blocks import block_figure
from acvb_core.samples.catalogue import read_sample_groups
from acvb_core.views.theme import Figure

_PIXELS = 600


def arrange_sample(relation: Relation) -> Arrangement:
    """Return a sample network sorted by the clusters that its stored run found."""
    groups = read_sample_groups(relation.name)
    clusters = np.array([groups[str(name)] - 1 for name in relation.row_labels], dtype=np.int64)
    return arrange_network(relation, clusters, int(clusters.max()) + 1)


def before_after_figures(arrangement: Arrangement, height: int = 300) -> tuple[Figure, Figure]:
    """Return the relation of an arrangement in the order it was read, and sorted."""
    return _draw_bare(arrange_as_read(arrangement.relation), height), _draw_bare(arrangement, height)


def _draw_bare(arrangement: Arrangement, height: int) -> Figure:
    figure = block_figure(arrangement, size=_PIXELS, height=height, legend=False)
    layout = figure["layout"]
    layout |= {"height": height, "margin": {"l": 14, "r": 6, "t": 14, "b": 6, "pad": 0}, "dragmode": False}
    layout["annotations"] = []
    for axis in ("xaxis", "yaxis"):
        layout[axis] |= {"showticklabels": False, "title": None, "fixedrange": True}
    return figure
