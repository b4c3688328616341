"""Names of clusters: those of links."""

from acvb_core.models.irm.answer.naming import add_names, mark_parts, name_parts

__all__ = ["add_names", "mark_parts", "name_parts"]
