"""Compare: several runs side by side, in curves, scores, blocks and memberships."""

from __future__ import annotations

import streamlit as st

from pages.ui.guard import guard

guard()

from collections.abc import Sequence  # noqa: E402
from typing import Any  # noqa: E402

import pandas as pd  # noqa: E402

from acvb_core.engine.job import Job  # noqa: E402
from acvb_core.engine.result import Result  # noqa: E402
from acvb_core.views.arrangement import arranged  # noqa: E402
from acvb_core.views.blocks import block_figures  # noqa: E402
from acvb_core.views.comparison import agreement_figure, alluvial_figure, contingency_figure  # noqa: E402
from acvb_core.views.comparison_table import ComparisonTable, agreement_tables, comparison_table  # noqa: E402
from acvb_core.views.convergence import RunCurve, live_figure  # noqa: E402
from acvb_core.views.theme import STILL_CONFIG, Figure  # noqa: E402
from pages.ui import format as say  # noqa: E402
from pages.ui.empty import comparison_button, empty_state  # noqa: E402
from pages.ui.live_plot import live_plot  # noqa: E402
from pages.ui.workspace import Workspace, current  # noqa: E402

MOST_RUNS = 8
STILL: dict[str, Any] = dict(STILL_CONFIG)
DOMAINS = {"rows": "Rows", "cols": "Columns"}
AXES = {"sweep": "Sweeps", "cpu_seconds": "CPU seconds"}
Key = tuple[str, int]
# As many panels side by side as there is room for.
STYLE = """
<style>
.st-key-compare_matrices, .st-key-agreement { display: grid; gap: 1rem 1.5rem; align-items: start; }
.st-key-compare_matrices { grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); }
.st-key-agreement { grid-template-columns: repeat(auto-fit, minmax(25rem, 1fr)); }
.st-key-compare_matrices > div, .st-key-agreement > div { width: 100% !important; min-width: 0; }
</style>
"""


def too_few(workspace: Workspace, n: int) -> None:
    has_data = workspace.dataset is not None

    def actions() -> None:
        if has_data:
            st.page_link("pages/run.py", label="Start more runs", icon=":material/play_arrow:")
        else:
            st.page_link("pages/data.py", label="Choose data", icon=":material/dataset:")
        comparison_button(workspace, primary=not has_data)

    empty_state(
        "Nothing to compare yet",
        f"It takes two finished runs, and there {'is one' if n == 1 else 'are none'}. Start several methods, or one "
        "method from several seeds, on the same data.",
        icon=":material/compare_arrows:",
        actions=actions,
    )


@st.cache_resource(show_spinner=False, max_entries=24)
def result_of(key: Key, _job: Job) -> Result:
    return _job.result()


@st.cache_resource(show_spinner=False, max_entries=8)
def matrices_of(keys: tuple[Key, ...], _results: Sequence[Result]) -> list[Figure]:
    return block_figures([arranged(result) for result in _results])


@st.cache_resource(show_spinner=False, max_entries=16)
def agreements_of(
    keys: tuple[Key, ...], labels: tuple[str, ...], domain: str, _results: Sequence[Result]
) -> dict[str, pd.DataFrame]:
    return agreement_tables(_results, labels, domain)


def choose(workspace: Workspace, jobs: list[Job]) -> list[Job]:
    labels = say.run_labels(jobs)
    by_id = {job.id: job for job in jobs}
    dataset = workspace.dataset
    newest = (dataset.data if dataset else jobs[-1].problem.data).fingerprint
    alike = [job.id for job in jobs if job.problem.data.fingerprint == newest]
    if len(alike) < 2:
        alike = list(by_id)
    kept = st.session_state.get("compare_runs")
    if kept is not None:  # a run may have been removed since
        st.session_state["compare_runs"] = [job_id for job_id in kept if job_id in by_id]
    chosen = st.multiselect(
        "Runs",
        list(by_id),
        default=alike[-MOST_RUNS:] if kept is None else None,
        format_func=lambda job_id: labels.get(job_id, job_id),
        max_selections=MOST_RUNS,
        key="compare_runs",
        persist_state="session",
    )
    return [by_id[job_id] for job_id in by_id if job_id in chosen]


def curves(jobs: list[Job], labels: Sequence[str]) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.subheader("Curves", anchor=False)
        x = st.segmented_control(
            "Against", list(AXES), format_func=AXES.get, default="sweep", required=True, key="compare_x",
            label_visibility="collapsed",
        )  # fmt: skip
    runs = [
        RunCurve(
            id=job.id,
            label=label,
            method=job.problem.row.name,
            seed=job.problem.settings.seed,
            history=job.history,
            tolerance=job.problem.settings.values.get("tol"),
            heldout=job.problem.heldout is not None,
        )
        for job, label in zip(jobs, labels, strict=True)
    ]
    figure = live_figure(runs, x=x, uirevision=f"compare-{x}")
    live_plot(figure, key="compare_curves", height=int(figure["layout"]["height"]))


def scores(table: ComparisonTable) -> None:
    st.subheader("Scores", anchor=False)
    for note in table.notes:
        st.caption(note)

    def marks(_: pd.DataFrame) -> pd.DataFrame:
        return table.best.map(lambda best: "background-color: #D7EAF6; font-weight: 600" if best else "")

    shown = table.frame.style.format(table.formats, na_rep="–").apply(marks, axis=None)
    st.dataframe(shown, key="compare_table", height=38 + 35 * len(table.frame))
    if table.best.to_numpy().any():
        st.caption(
            "Shaded: the best of the values that may be held against each other. Log likelihoods in nats."
        )


def blocks(figures: Sequence[Figure], labels: Sequence[str]) -> None:
    st.subheader("Blocks on one scale", anchor=False)
    with st.container(key="compare_matrices"):
        for number, (figure, label) in enumerate(zip(figures, labels, strict=True)):
            with st.container(gap="xsmall", key=f"compare_matrix_{number}"):
                st.text(label)
                st.plotly_chart(
                    figure,
                    key=f"compare_matrix_chart_{number}",
                    theme=None,
                    config=STILL,
                    alt=f"The relation sorted by the clusters of {label}.",
                )
    st.caption(
        "Clusters are numbered by size in each run: cluster 1 of one run need not be cluster 1 of another."
    )


def memberships(keys: tuple[Key, ...], results: list[Result], labels: list[str]) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.subheader("How alike the clusterings are", anchor=False)
        domain = st.segmented_control(
            "Objects", list(DOMAINS), format_func=DOMAINS.get, default="rows", required=True, key="compare_domain",
            label_visibility="collapsed",
        )  # fmt: skip
    st.caption(
        "1: the same clusters, whatever their numbers. Adjusted Rand index: 0 is what chance would "
        "give. Normalised mutual information: 0 when one clustering tells nothing of the other."
    )
    tables = agreements_of(keys, tuple(labels), domain, results)
    with st.container(key="agreement"):
        for measure, values in tables.items():
            st.plotly_chart(
                agreement_figure(values, measure), key=f"agreement_{measure}", theme=None, config=STILL
            )
    st.subheader("Where the objects go", anchor=False)
    order = list(range(len(labels)))
    with st.container(horizontal=True, gap="medium", key="pair"):
        one = st.selectbox("From", order, index=0, format_func=labels.__getitem__, key="pair_one", width=300)
        other = st.selectbox(
            "To", order, index=1, format_func=labels.__getitem__, key="pair_other", width=300
        )
    pair = (results[one].labels(domain), results[other].labels(domain))
    names = (labels[one], labels[other])
    flows, counts = st.tabs(["Flow", "Table"])
    with flows:
        st.plotly_chart(alluvial_figure(*pair, names), key="alluvial", theme=None, config=STILL)
    with counts:
        st.plotly_chart(contingency_figure(*pair, names), key="contingency", theme=None, config=STILL)


workspace = current()
st.title("Compare", anchor=False)
finished = [job for job in workspace.jobs if job.inspect().verdict is not None]
if len(finished) < 2:
    too_few(workspace, len(finished))
    st.stop()
st.html(STYLE)
chosen = choose(workspace, finished)
if len(chosen) < 2:
    st.info("Choose two runs or more.", icon=":material/compare_arrows:")
    st.stop()
names = say.run_labels(finished)
labels = [names[job.id] for job in chosen]
keys = tuple((job.id, job.inspect().snapshot.sweep) for job in chosen)
results = [result_of(key, job) for key, job in zip(keys, chosen, strict=True)]
table = comparison_table(results, labels)
if not table.same_data:
    st.warning(table.notes[0], icon=":material/warning:")
curves(chosen, labels)
scores(table)
blocks(matrices_of(keys, results), labels)
if table.same_data:
    memberships(keys, results, labels)
