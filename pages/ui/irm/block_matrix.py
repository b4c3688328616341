"""The matrix of a relation: sorted by cluster and as it was read, of several runs, and as a picture on Home."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from acvb_core.data.relation import Relation
from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.models.irm.figures.arrangement import (
    Arrangement,
    Window,
    arrange_as_read,
    arrange_excerpt,
    arrange_result,
)
from acvb_core.models.irm.figures.blocks import (
    arrange_sample,
    before_after_figures,
    block_figure,
    block_figures,
)
from acvb_core.models.irm.scores import sides
from acvb_core.samples.catalogue import SAMPLES, load_sample
from acvb_core.views.theme import CHART_CONFIG, Figure
from pages.ui.shared import format as say
from pages.ui.shared.answer_page import ComparedRuns, show_sweeps
from pages.ui.shared.charts import show_figure
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.model_pages import Picture
from pages.ui.shared.picking import Key
from pages.ui.shared.refresh import is_narrow

CHART: dict[str, Any] = {
    **CHART_CONFIG,
    "modeBarButtonsToRemove": ["lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
}


@st.cache_resource(show_spinner=False, max_entries=8)
def sort_relation(key: Key, _result: Result) -> Arrangement:
    """Return a run's relation sorted by its clusters."""
    return arrange_result(_result)


@st.cache_resource(show_spinner=False, max_entries=4)
def draw_unsorted(key: str, narrow: bool, weighted: bool, _relation: Relation) -> Figure:
    """Return the picture of a relation as it was read."""
    return block_figure(arrange_as_read(_relation, weighted=weighted), narrow=narrow)


def current_window(job: Job, arrangement: Arrangement) -> Window | None:
    """Return the part of the matrix that is enlarged, None if all of it is shown."""
    kept: tuple[str, Window] | None = st.session_state.get("blocks_window")
    window = kept[1] if kept and kept[0] == job.id else None
    if window and (window[1] > arrangement.rows.n or window[3] > arrangement.columns.n):
        return None
    return window


def show_matrix(job: Job, arrangement: Arrangement) -> None:
    """Draw the matrix sorted by cluster, or the part of it that was enlarged."""
    turn = st.session_state.setdefault("blocks_turn", 0)
    key = f"blocks_sorted_{turn}"
    window = current_window(job, arrangement)

    def enlarge() -> None:
        boxes = st.session_state[key].selection.box
        part = arrangement.select_window(boxes[0]) if boxes else None
        if part is not None:
            st.session_state["blocks_window"] = (job.id, part)
            # A new key is a new chart: the box that was drawn on the old one is gone.
            st.session_state["blocks_turn"] = turn + 1

    def reset() -> None:
        st.session_state["blocks_window"] = None
        st.session_state["blocks_turn"] = turn + 1

    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="zoom"):
        if window:
            st.button("Show everything", icon=":material/zoom_out_map:", key="blocks_reset", on_click=reset)
            st.text(
                f"Rows {window[0] + 1:,} to {window[1]:,} of {arrangement.rows.n:,}, columns {window[2] + 1:,} to "
                f"{window[3]:,} of {arrangement.columns.n:,}, in sorted order",
                width="content",
            )
        else:
            st.caption(
                "Draw a box in the sorted matrix to enlarge it. Hover over a block to see its numbers."
            )
    alt = "The links, with the objects sorted by cluster; lines are the clusters' borders."
    figure = block_figure(arrangement, window=window, narrow=is_narrow())
    show_figure(figure, key, alt, config=CHART, on_select=enlarge, selection_mode="box")


def show_sweep_by_sweep(key: Key, result: Result) -> None:
    """Draw the matrix as it was sorted after each of the sweeps that were kept."""
    final = sort_relation(key, result)

    def draw(sweep: int, excerpt: Mapping[str, Any], chart: str) -> None:
        then = sort_then(key, sweep, result, excerpt)
        shares = [
            say.percent(round(float((one.clusters == last.clusters).mean()), 3))
            for one, last in ((then.rows, final.rows), (then.columns, final.columns))
        ]
        sizes = [say.count(int((side.sizes > 0).sum()), "cluster") for side in (then.rows, then.columns)]
        if then.one:
            text = (
                f"{sizes[0]}; {shares[0]} of the {final.rows.n:,} objects are in the cluster of the answer."
            )
        else:
            text = (
                f"{sizes[0]} of rows and {sizes[1]} of columns; {shares[0]} of the rows and {shares[1]} of the columns "
                "are in the cluster of the answer."
            )
        st.caption(text)
        with st.container(width=620):
            alt = f"The links, with the objects sorted by their clusters after sweep {sweep:,}."
            show_figure(lambda: block_figure(then, size=500, narrow=is_narrow()), chart, alt)

    show_sweeps(result, "blocks", draw)


@st.cache_resource(show_spinner=False, max_entries=64)
def sort_then(key: Key, sweep: int, _result: Result, _excerpt: Mapping[str, Any]) -> Arrangement:
    """Return a run's relation as it was sorted after a sweep."""
    return arrange_excerpt(sort_relation(key, _result), sides(_result.posterior), _excerpt)


def show_unsorted(arrangement: Arrangement) -> None:
    """Draw the matrix as it was read."""
    relation = arrangement.relation
    alt = "The same links, with the objects in the order of the file."
    names = hash((*relation.row_labels, *relation.column_labels))
    key = f"{relation.fingerprint}{relation.name}{names}"
    unsorted = draw_unsorted(key, is_narrow(), arrangement.weighted, relation)
    with st.container(width=620):
        show_figure(unsorted, "blocks_unsorted", alt)


# As many panels side by side as there is room for.
_SIDE_BY_SIDE = """
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
    st.html(_SIDE_BY_SIDE)
    st.subheader("Blocks side by side", anchor=False)
    with st.container(key="compare_matrices"):
        drawn = zip(draw_matrices(runs.keys, runs.results), runs.labels, strict=True)
        for number, (figure, label) in enumerate(drawn):
            with st.container(gap="xsmall", key=f"compare_matrix_{number}"):
                st.text(label)
                alt = f"The relation sorted by the clusters of {label}."
                show_figure(figure, f"compare_matrix_chart_{number}", alt)
    weighted = {
        sort_relation(key, result).weighted for key, result in zip(runs.keys, runs.results, strict=True)
    }
    scale = "All on one colour scale."
    if len(weighted) > 1:
        scale = "Links are on one colour scale, and weights of Poisson block models on another."
    st.caption(
        f"{scale} Clusters have the numbers, colours and places of those of the first run that they share most objects "
        "with."
    )


_SAMPLE = "les_miserables"


def draw_picture(result: Result | None) -> Picture:
    """Return the picture of a run, or else that of the sample."""
    if result is not None:
        name = f"The newest run on {result.prepared.data.name}"
        return Picture(*before_after_figures(arrange_result(result)), name)
    figures = before_after_figures(arrange_sample(load_sample(_SAMPLE).relation))
    return Picture(*figures, f"{SAMPLES[_SAMPLE].title}: {SAMPLES[_SAMPLE].origin}")
