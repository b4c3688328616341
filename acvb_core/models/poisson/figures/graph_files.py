"""Relations of counts with their clusters as graph files: as those of links."""

from acvb_core.models.irm.figures.graph_files import graph_bytes

__all__ = ["graph_bytes"]
