"""Coarser clusters of counts: those of links."""

from acvb_core.models.irm.answer.tree import coarsen

__all__ = ["coarsen"]
