"""The clusters of a run of counts with a line each, and its links with their clusters: as those of links."""

from acvb_core.models.irm.answer.summary import (
    ANNOTATED,
    TITLES,
    annotate_data,
    compare_parts,
    describe_parts,
    summarise_parts,
    write_arrangement,
)

__all__ = [
    "ANNOTATED",
    "TITLES",
    "annotate_data",
    "compare_parts",
    "describe_parts",
    "summarise_parts",
    "write_arrangement",
]
