"""The comparison of runs on relations: their blocks on one scale."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from acvb_core.engine.result import Result
from acvb_core.models.irm.figures.arrangement import arrange_result
from acvb_core.models.irm.figures.blocks import block_figures
from acvb_core.views.theme import Figure
from pages.ui.shared.answer_page import ComparedRuns
from pages.ui.shared.charts import show_figure
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import Key

# As many panels side by side as there is room for.
_STYLE = """
<style>
.st-key-compare_matrices { display: grid; gap: 1rem 1.5rem; align-items: start; }
.st-key-compare_matrices { grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); }
.st-key-compare_matrices > div { width: 100% !important; min-width: 0; }
</style>
"""


@st.cache_resource(show_spinner=False, max_entries=8)
def draw_matrices(keys: tuple[Key, ...], _results: Sequence[Result]) -> list[Figure]:
    """Return the sorted matrix of each run, all on one colour scale."""
    return block_figures([arrange_result(result) for result in _results])


@contain_failure()
def compare_blocks(runs: ComparedRuns) -> None:
    """Draw the blocks of some runs beside each other."""
    st.html(_STYLE)
    st.subheader("Blocks side by side", anchor=False)
    with st.container(key="compare_matrices"):
        for number, (figure, label) in enumerate(
            zip(draw_matrices(runs.keys, runs.results), runs.labels, strict=True)
        ):
            with st.container(gap="xsmall", key=f"compare_matrix_{number}"):
                st.text(label)
                alt = f"The relation sorted by the clusters of {label}."
                show_figure(figure, f"compare_matrix_chart_{number}", alt)
    st.caption(
        "All on one colour scale. Each run numbers its clusters by size, so cluster 1 may differ from run to run."
    )
