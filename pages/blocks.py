"""Blocks: what a run found, as a sorted matrix or a graph, as strengths, lists, agreement, probable links and files."""

from __future__ import annotations

import streamlit as st

from pages.ui.shared.guard import guard

guard()

from typing import Any  # noqa: E402

from acvb_core.engine.job import Job  # noqa: E402
from acvb_core.engine.result import Result  # noqa: E402
from acvb_core.models.irm.figures.blocks import size_figure, strength_figure  # noqa: E402
from acvb_core.registry import model_row  # noqa: E402
from acvb_core.views.theme import STILL_CONFIG  # noqa: E402
from pages.ui.irm.block_clusters import clusters  # noqa: E402
from pages.ui.irm.block_files import offers  # noqa: E402
from pages.ui.irm.block_labels import agreement_section  # noqa: E402
from pages.ui.irm.block_links import link_prediction  # noqa: E402
from pages.ui.irm.block_matrix import enlarged_part, matrices, sorted_relation  # noqa: E402
from pages.ui.irm.block_members import members  # noqa: E402
from pages.ui.irm.block_network import network_view  # noqa: E402
from pages.ui.irm.known_labels import with_known_labels  # noqa: E402
from pages.ui.shared import format as say  # noqa: E402
from pages.ui.shared.empty import comparison_button, empty_state  # noqa: E402
from pages.ui.shared.failures import contain_failure  # noqa: E402
from pages.ui.shared.models import FACES, face_of, models_on  # noqa: E402
from pages.ui.shared.picking import heading, key_of, pick, take_away  # noqa: E402
from pages.ui.shared.workspace import Workspace, current  # noqa: E402

STILL: dict[str, Any] = dict(STILL_CONFIG)
# As many panels side by side as there is room for.
STYLE = """
<style>
.st-key-matrices, .st-key-summary { display: grid; gap: 1rem 1.5rem; align-items: start; }
.st-key-matrices { grid-template-columns: repeat(auto-fit, minmax(min(27rem, 100%), 1fr)); }
.st-key-summary { grid-template-columns: repeat(auto-fit, minmax(min(25rem, 100%), 1fr)); }
.st-key-matrices > div, .st-key-summary > div { width: 100% !important; min-width: 0; }
</style>
"""
MODELS = models_on("pages/blocks.py")
SIDES = {"rows": "rows", "cols": "columns"}
VIEWS = {"matrix": "Sorted matrix", "network": "Network"}


_IN_USE = {"lda": "texts: theirs are topics", "lfm": "a table of numbers: its runs find features"}


def nothing_yet(workspace: Workspace) -> None:
    dataset = workspace.dataset
    has_data = dataset is not None and dataset.model in MODELS

    def actions() -> None:
        if has_data:
            st.page_link("pages/run.py", label="Start a run", icon=":material/play_arrow:")
        else:
            if dataset is not None:
                face = FACES[dataset.model]
                st.page_link(face.page, label=face.page_label, icon=face.page_icon)
            st.page_link("pages/data.py", label="Choose data", icon=":material/dataset:")
        comparison_button(workspace, primary=dataset is None)
        comparison_button(workspace, "network", primary=False)

    what = "your nodes" if dataset is not None and dataset.model == "network" else "your rows and columns"
    empty_state(
        "No blocks yet",
        f"A run sorts {what} into clusters, and this page shows the blocks they make."
        + (
            " Start one on the Run page."
            if has_data
            else " Choose a relation or network first, or watch the sample comparison."
            if dataset is None
            else f" The data in use are {_IN_USE[dataset.model]}."
        ),
        icon=":material/grid_view:",
        actions=actions,
    )


def about(job: Job, result: Result) -> None:
    relation = result.problem.data
    size = [say.shape(*relation.shape), f"{relation.n_ones:,} links"]
    heading(
        job,
        relation.name,
        *(size if relation.network is None else [relation.size_text]),
        face_of(job).found(result.posterior.n_clusters()),
        say.count(result.snapshot.sweep, "sweep"),
    )
    if result.full_domains:
        names = model_row(result.problem.settings.model).domains
        full = " and ".join(names[domain] for domain in result.full_domains)
        st.caption(
            f"There are as many {full} as the run began with, or more: one that begins with more could fit better."
        )


def summary(result: Result) -> None:
    domains = result.posterior.n_clusters()
    height = 500 if len(domains) > 1 else 400
    with st.container(key="summary"):
        with st.container(key="summary_strengths"):
            st.subheader("Strength of the blocks", anchor=False)
            with contain_failure():
                st.plotly_chart(
                    strength_figure(result, height=height), key="blocks_strengths", theme=None, config=STILL,
                    alt="Posterior mean of the link probability of every block.",
                )  # fmt: skip
        with st.container(key="summary_sizes"):
            st.subheader("Sizes of the clusters", anchor=False)
            for domain in domains:
                whose = f" of the {SIDES[domain]}" if len(domains) > 1 else ""
                with contain_failure():
                    st.plotly_chart(
                        size_figure(result, domain, height=242 if len(domains) > 1 else height),
                        key=f"blocks_sizes_{domain}", theme=None, config=STILL,
                        alt=f"Number of objects in each cluster{whose}.",
                    )  # fmt: skip


workspace = current()
st.title("Blocks", anchor=False)
st.html(STYLE)
job, found = pick(workspace, "blocks", MODELS, nothing_yet)
key = key_of(job, found)
result = with_known_labels(workspace, key, found)
one = "cols" not in result.posterior.n_clusters()
about(job, result)
view = "matrix"
if one:
    view = st.segmented_control(
        "View", list(VIEWS), format_func=VIEWS.get, default="matrix", required=True, key="blocks_view",
        label_visibility="collapsed", persist_state="session",
    )  # fmt: skip
if view == "matrix":
    with contain_failure():
        matrices(job, sorted_relation(key, result))
else:
    network_view(key, result)
summary(result)
if one:
    with contain_failure("table"):
        clusters(result, sorted_relation(key, result))
members(result)
agreement_section(workspace, result)
link_prediction(key, result)
with contain_failure("list of files"):
    arrangement = sorted_relation(key, result)
    take_away(result, offers(key, result, arrangement, enlarged_part(job, arrangement)))
