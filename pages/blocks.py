"""Blocks: what a run found, as a sorted matrix, as strengths, as lists of who belongs where, and as files."""

from __future__ import annotations

import streamlit as st

from pages.ui.guard import guard

guard()

from typing import Any  # noqa: E402

from acvb_core.data.relation import Relation  # noqa: E402
from acvb_core.engine.job import Job  # noqa: E402
from acvb_core.engine.result import Result  # noqa: E402
from acvb_core.registry import model_row  # noqa: E402
from acvb_core.store import export  # noqa: E402
from acvb_core.views.arrangement import Arrangement, Window, arranged, as_read  # noqa: E402
from acvb_core.views.block_png import block_png  # noqa: E402
from acvb_core.views.blocks import block_figure, size_figure, strength_figure  # noqa: E402
from acvb_core.views.theme import CHART_CONFIG, STILL_CONFIG, Figure, to_html  # noqa: E402
from pages.ui import format as say  # noqa: E402
from pages.ui.empty import comparison_button, empty_state  # noqa: E402
from pages.ui.models import FACES  # noqa: E402
from pages.ui.picking import Offer, answer, heading, jobs_of, pick, take_away, wait_for_answer  # noqa: E402
from pages.ui.workspace import Workspace, current  # noqa: E402

CHART: dict[str, Any] = {
    **CHART_CONFIG,
    "modeBarButtonsToRemove": ["lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
}
STILL: dict[str, Any] = dict(STILL_CONFIG)
# As many panels side by side as there is room for.
STYLE = """
<style>
.st-key-matrices, .st-key-summary { display: grid; gap: 1rem 1.5rem; align-items: start; }
.st-key-matrices { grid-template-columns: repeat(auto-fit, minmax(27rem, 1fr)); }
.st-key-summary { grid-template-columns: repeat(auto-fit, minmax(25rem, 1fr)); }
.st-key-matrices > div, .st-key-summary > div { width: 100% !important; min-width: 0; }
</style>
"""
DOMAINS = {"rows": "Rows", "cols": "Columns"}


def nothing_yet(workspace: Workspace) -> None:
    dataset = workspace.dataset
    has_data = dataset is not None and dataset.model == "irm"

    def actions() -> None:
        if has_data:
            st.page_link("pages/run.py", label="Start a run", icon=":material/play_arrow:")
        else:
            if dataset is not None:
                face = FACES[dataset.model]
                st.page_link(face.page, label=face.page_label, icon=face.page_icon)
            st.page_link("pages/data.py", label="Choose data", icon=":material/dataset:")
        comparison_button(workspace, primary=dataset is None)

    empty_state(
        "No blocks yet",
        "A run sorts your rows and columns into clusters, and this page shows the blocks they make."
        + (
            " Start one on the Run page."
            if has_data
            else " Choose a relation first, or watch the sample comparison."
            if dataset is None
            else " The data in use are texts: theirs are topics."
        ),
        icon=":material/grid_view:",
        actions=actions,
    )


@st.cache_resource(show_spinner=False, max_entries=8)
def sorted_relation(key: tuple[str, int], _result: Result) -> Arrangement:
    return arranged(_result)


@st.cache_resource(show_spinner=False, max_entries=4)
def unsorted_figure(key: str, height: int, _relation: Relation) -> Figure:
    return block_figure(as_read(_relation), height=height)


def about(job: Job, result: Result) -> None:
    relation, clusters = result.problem.data, result.posterior.n_clusters()
    heading(
        job,
        relation.name,
        say.shape(*relation.shape),
        f"{relation.n_ones:,} links",
        f"{clusters['rows']} × {clusters['cols']} clusters",
        say.count(result.snapshot.sweep, "sweep"),
    )
    if result.full_domains:
        names = model_row(result.problem.settings.model).domains
        full = " and ".join(names[domain] for domain in result.full_domains)
        st.caption(f"All the {full} that were allowed are in use: a run that may use more could fit better.")


def matrices(job: Job, arrangement: Arrangement) -> Window | None:
    """Draw the matrix sorted and as read; return the part that is enlarged."""
    turn = st.session_state.setdefault("blocks_turn", 0)
    key = f"blocks_sorted_{turn}"
    kept: tuple[str, Window] | None = st.session_state.get("blocks_window")
    window = kept[1] if kept and kept[0] == job.id else None
    if window and (window[1] > arrangement.rows.n or window[3] > arrangement.columns.n):
        window = None

    def enlarge() -> None:
        boxes = st.session_state[key].selection.box
        part = arrangement.selected(boxes[0]) if boxes else None
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
            st.caption("Draw a box in the sorted matrix to enlarge it; point at a block for its numbers.")
    figure = block_figure(arrangement, window=window)
    with st.container(key="matrices"):
        with st.container(key="matrix_sorted"):
            st.subheader("Sorted by cluster", anchor=False)
            st.plotly_chart(
                figure, key=key, theme=None, config=CHART, on_select=enlarge, selection_mode="box",
                alt="The relation with rows and columns sorted by cluster; lines are the clusters' borders.",
            )  # fmt: skip
        with st.container(key="matrix_read"):
            st.subheader("As it was read", anchor=False)
            relation = arrangement.relation
            height = int(figure["layout"]["height"])
            st.plotly_chart(
                unsorted_figure(relation.fingerprint + relation.name, height, relation), key="blocks_unsorted",
                theme=None, config=STILL, alt="The same relation with rows and columns in the order of the file.",
            )  # fmt: skip
    return window


def summary(result: Result) -> None:
    with st.container(key="summary"):
        with st.container(key="summary_strengths"):
            st.subheader("Strength of the blocks", anchor=False)
            st.plotly_chart(
                strength_figure(result, height=500), key="blocks_strengths", theme=None, config=STILL,
                alt="Posterior mean of the link probability of every block.",
            )  # fmt: skip
        with st.container(key="summary_sizes"):
            st.subheader("Sizes of the clusters", anchor=False)
            for domain in DOMAINS:
                st.plotly_chart(
                    size_figure(result, domain, height=242), key=f"blocks_sizes_{domain}", theme=None, config=STILL,
                    alt=f"Number of objects in each cluster of the {DOMAINS[domain].lower()}.",
                )  # fmt: skip


@st.fragment
def members(result: Result) -> None:
    st.subheader("Who belongs where", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="member_filters"):
        domain = st.segmented_control(
            "Objects",
            list(DOMAINS),
            format_func=DOMAINS.get,
            default="rows",
            required=True,
            key="member_domain",
        )
        wanted = st.text_input("Search", key="member_search", placeholder="part of a name", width=260)
        n_clusters = result.posterior.n_clusters()[domain]
        clusters = st.multiselect(
            "Clusters",
            range(1, n_clusters + 1),
            key=f"member_clusters_{domain}",
            placeholder="all",
            width=320,
        )
    table = result.rows if domain == "rows" else result.columns
    shown = table
    if wanted:
        shown = shown[shown["object"].astype(str).str.contains(wanted.strip(), case=False, regex=False)]
    if clusters:
        shown = shown[shown["cluster"].isin(clusters)]
    st.dataframe(
        shown,
        hide_index=True,
        key="members",
        height=min(420, 38 + 35 * max(len(shown), 1)),
        column_config={
            "object": st.column_config.TextColumn("Object", width="medium"),
            "cluster": st.column_config.NumberColumn("Cluster", width="small"),
            "probability": st.column_config.ProgressColumn(
                "Probability of it", min_value=0.0, max_value=1.0, format="%.3f"
            ),
            "entropy": st.column_config.NumberColumn(
                "Entropy (nats)", format="%.4f", help="0 when the cluster is certain."
            ),
        },
    )
    st.caption(f"{len(shown):,} of {say.count(len(table), 'object')}")


def files(result: Result, arrangement: Arrangement, window: Window | None) -> None:
    title = f"{result.problem.data.name}: {result.problem.label}"

    def soft(domain: str) -> str:
        return export.csv_text(export.responsibilities_frame(result, domain))

    def page() -> str:
        return to_html(block_figure(arrangement, window=window, height=900), title)

    def picture() -> bytes:
        return block_png(arrangement, title=title, window=window)

    take_away(
        result,
        [
            Offer("Row clusters", "rows.csv", "text/csv", lambda: export.csv_text(result.rows)),
            Offer("Column clusters", "columns.csv", "text/csv", lambda: export.csv_text(result.columns)),
            Offer(
                "Responsibilities of the rows", "responsibilities-rows.csv", "text/csv", lambda: soft("rows")
            ),
            Offer(
                "Responsibilities of the columns",
                "responsibilities-columns.csv",
                "text/csv",
                lambda: soft("cols"),
            ),
            Offer("Block strengths", "blocks.csv", "text/csv", lambda: export.csv_text(result.blocks)),
            Offer("Matrix, interactive", "matrix.html", "text/html", page),
            Offer("Matrix, picture", "matrix.png", "image/png", picture),
            Offer("The run", "run.json", "application/json", lambda: export.run_json(result)),
        ],
    )


workspace = current()
st.title("Blocks", anchor=False)
jobs = [job for job in jobs_of(workspace, "irm") if answer(job) is not None]
if not jobs:
    if jobs_of(workspace, "irm"):
        wait_for_answer("blocks")
    else:
        nothing_yet(workspace)
    st.stop()
st.html(STYLE)
job = pick(jobs, "blocks")
result = answer(job)
if result is not None:
    arrangement = sorted_relation((job.id, result.snapshot.sweep), result)
    about(job, result)
    enlarged = matrices(job, arrangement)
    summary(result)
    members(result)
    files(result, arrangement, enlarged)
