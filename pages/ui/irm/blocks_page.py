"""Blocks: the clusters of a run as a sorted matrix or a graph, strengths, lists, agreement, likely links and files."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.engine.job import Job
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.result import Result
from acvb_core.models.irm.export import responsibilities_frame
from acvb_core.models.irm.figures.arrangement import Arrangement, Window, cluster_table
from acvb_core.models.irm.figures.blocks import block_figure, block_png
from acvb_core.models.irm.figures.network_layout import why_too_large
from acvb_core.models.irm.figures.summaries import size_figure
from acvb_core.registry import model_row
from acvb_core.store import export
from acvb_core.store.export import add_known_labels, compare_known_labels
from acvb_core.views.theme import Figure, to_html
from pages.ui.irm.block_cards import describe_clusters, show_cards
from pages.ui.irm.block_levels import choose_level, show_tree
from pages.ui.irm.block_links import show_link_prediction
from pages.ui.irm.block_matrix import (
    current_window,
    show_matrix,
    show_sweep_by_sweep,
    show_unsorted,
    sort_relation,
)
from pages.ui.irm.block_members import show_certainty, show_clusters, show_members, write_range
from pages.ui.irm.block_names import apply_names, choose_names
from pages.ui.irm.block_network import draw_groups, draw_nodes, show_network
from pages.ui.irm.block_object import show_object
from pages.ui.irm.known_labels import join_known_labels, show_agreement
from pages.ui.irm.label_effects import has_labels
from pages.ui.running.take_away import show_files
from pages.ui.shared.answer_page import open_answer, show_heading, show_parts
from pages.ui.shared.charts import show_figure
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.model_pages import pages_of_model, pages_of_run
from pages.ui.shared.picking import FileOffer, Key, answer_key, choose_way, offer_table
from pages.ui.shared.refresh import is_narrow
from pages.ui.shared.workspace import Workspace, current_workspace

# As many panels side by side as there is room for.
STYLE = """
<style>
.st-key-blocks_top, .st-key-summary, .st-key-company { display: grid; gap: 1rem 1.5rem; align-items: start; }
.st-key-blocks_top { grid-template-columns: repeat(auto-fit, minmax(min(27rem, 100%), 1fr)); }
.st-key-summary, .st-key-company { grid-template-columns: repeat(auto-fit, minmax(min(25rem, 100%), 1fr)); }
.st-key-blocks_top > div, .st-key-summary > div, .st-key-company > div { width: 100% !important; min-width: 0; }
</style>
"""
SIDES = {"rows": "rows", "cols": "columns"}
VIEWS = {"matrix": "Sorted matrix", "network": "Network"}


def show_summary(result: Result) -> None:
    """Draw the strengths of the blocks and the sizes of the clusters."""
    domains = result.posterior.n_clusters()
    height = 500 if len(domains) > 1 else 400
    with st.container(key="summary"):
        with st.container(key="summary_strengths"):
            st.subheader("Strength of the blocks", anchor=False)
            with contain_failure():
                draw = result.prepared.model_row.part("figures.plots").strength_figure
                figure = draw(result, height=height, narrow=is_narrow())
                show_figure(figure, "blocks_strengths", f"{_name_strengths(result)[0]} of every block.")
        with st.container(key="summary_sizes"):
            st.subheader("Sizes of the clusters", anchor=False)
            for domain in domains:
                whose = f" of the {SIDES[domain]}" if len(domains) > 1 else ""
                with contain_failure():
                    sizes = size_figure(result, domain, height=242 if len(domains) > 1 else height)
                    alt = f"Number of objects in each cluster{whose}."
                    show_figure(sizes, f"blocks_sizes_{domain}", alt)
            if any(len(set(result.labels(domain).tolist())) < n for domain, n in domains.items()):
                st.caption(
                    "Each object counts in its most probable cluster. A cluster of size 0 is the most probable one of "
                    "no object."
                )


def _name_strengths(result: Result) -> tuple[str, str]:
    """Return what the strength of a block is called, and those of several."""
    if "expected" in result.blocks:
        return "Ratio of the count to the expected one", "Rates"
    return "Estimated link probability", "Link probabilities"


def show_blocks() -> None:
    """Draw the page."""
    job, answer = open_answer(pages_of_model("irm").answer, STYLE)
    workspace = current_workspace()
    own_key, own = join_known_labels(workspace, answer_key(job, answer), answer)
    sizes = own.posterior.n_clusters()
    show_heading(job, own, pages_of_run(job).write_parts(sizes) + write_range(own))
    with st.container():  # see `open_answer`
        names = choose_names(own)
        key, result = apply_names(*choose_level(job, own_key, own), names)
    with contain_failure("part of the page"):
        st.text(describe_clusters(key, result))  # it quotes names
    if about := pages_of_run(job).about_result(result):
        st.caption(about)
    _advise_more_clusters(workspace, own)
    _show_picture_and_names(job, key, result)
    parts = {
        "Clusters": lambda: show_cards(job, key, result),
        "Strengths and sizes": lambda: show_summary(result),
        "Coarser": lambda: show_tree(job, apply_names(own_key, own, names)[1]),
        "Members": lambda: show_members(result),
        "One object": lambda: show_object(key, result, own.prepared.data),
        "How firm?": lambda: show_certainty(result, sort_relation(key, result)),
        "Known labels": lambda: show_agreement(workspace, key, result, own.prepared.data),
        "Link prediction": lambda: show_link_prediction(key, result),
        "As read": lambda: show_unsorted(sort_relation(key, result)),
        "Sweep by sweep": lambda: show_sweep_by_sweep(*apply_names(own_key, own, names)),
    }
    show_parts("blocks_part", parts)
    with contain_failure("list of files"):
        arrangement = sort_relation(key, result)
        show_files(job, result, list_files(key, result, arrangement, current_window(job, arrangement)))


def _show_picture_and_names(job: Job, key: Key, result: Result) -> None:
    """Draw the sorted matrix, or the graph of a network, with the clusters and who is in them."""
    view = "matrix"
    if "cols" not in result.posterior.n_clusters():
        view = choose_way("View", VIEWS, "blocks_view", label_visibility="collapsed", persist_state="session")
    with st.container(key="blocks_top"):
        with st.container(gap="xsmall", key="blocks_picture"):
            if view == "matrix":
                with contain_failure():
                    show_matrix(job, sort_relation(key, result))
            else:
                show_network(key, result)
        with st.container(gap="xsmall", key="blocks_names"), contain_failure("table"):
            show_clusters(result, sort_relation(key, result))


def _advise_more_clusters(workspace: Workspace, result: Result) -> None:
    """Say that a run has all the clusters that it may have, and offer one that starts with twice as many."""
    if not result.full_domains:
        return
    row, settings = model_row(result.prepared.spec.model), result.prepared.spec
    full = " and ".join(f"{most:,} {row.domains[domain]}" for domain, most in result.full_domains.items())
    st.caption(f"All {full} that the run may have are in use. A run with more may fit better.")
    more = {row.caps[domain]: 2 * most for domain, most in result.full_domains.items()}
    values = {**settings.values, **more}
    numbers = " × ".join(f"{values[cap]:,}" for cap in row.caps.values())
    label = f"Run again from {numbers} clusters"
    if workspace.view_only or not st.button(label, icon=":material/replay:", key="blocks_more"):
        return
    same = {
        name: getattr(settings, name) for name in ("model", "seed", "heldout", "heldout_seed", "restarts")
    }
    try:
        workspace.add(prepare_run(result.prepared.data, settings.method, values, **same))
    except AcvbError as error:
        st.error("The run could not be started.", icon=":material/error:")
        st.text(str(error))
    else:
        st.switch_page("pages/run.py")


def list_files(key: Key, result: Result, arrangement: Arrangement, window: Window | None) -> list[FileOffer]:
    """Return the files; the pairs of the link prediction stand below their tables."""
    title = f"{result.prepared.data.name}: {result.label}"

    def soft(domain: str) -> Callable[[], pd.DataFrame]:
        return lambda: responsibilities_frame(result, domain)

    def page(label: str, end: str, draw: Callable[[], Figure]) -> FileOffer:
        return FileOffer(label, end, "text/html", lambda: to_html(draw(), title))

    def picture() -> bytes:
        return block_png(arrangement, window=window)

    one = "cols" not in result.posterior.n_clusters()
    if one:
        found = [
            offer_table("Nodes and their clusters", "nodes.csv", lambda: add_known_labels(result)),
            offer_table("Cluster probabilities", "responsibilities.csv", soft("rows")),
            offer_table("Clusters", "clusters.csv", lambda: cluster_table(arrangement)),
        ]
    else:
        found = [
            offer_table("Row clusters", "rows.csv", lambda: add_known_labels(result)),
            offer_table("Column clusters", "columns.csv", lambda: add_known_labels(result, "cols")),
            offer_table("Cluster probabilities of the rows", "responsibilities-rows.csv", soft("rows")),
            offer_table("Cluster probabilities of the columns", "responsibilities-columns.csv", soft("cols")),
        ]
    found.append(
        offer_table(f"{_name_strengths(result)[1]} of the blocks", "blocks.csv", lambda: result.blocks)
    )
    if any(has_labels(result, domain) for domain in SIDES):
        agreement = "Agreement with known labels"
        found.append(offer_table(agreement, "agreement.csv", lambda: compare_known_labels(result)))
    found += [
        page(
            "Matrix, interactive", "matrix.html", lambda: block_figure(arrangement, window=window, height=900)
        ),
        FileOffer("Matrix, picture", "matrix.png", "image/png", picture),
    ]
    if one:
        found.append(page("Clusters, interactive", "groups.html", lambda: draw_groups(key, None, result)))
    if one and why_too_large(result.prepared.data) is None:
        found.append(page("Nodes, interactive", "nodes.html", lambda: draw_nodes(key, None, result)))
    return [*found, FileOffer("The run", "run.json", "application/json", lambda: export.run_json(result))]
