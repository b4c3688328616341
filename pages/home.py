"""Home: what the program does, the sample comparison at one press, and the recent runs."""

from __future__ import annotations

import streamlit as st

from pages.ui.shared.guard import guard

guard()

from collections.abc import Collection  # noqa: E402

import pandas as pd  # noqa: E402

from acvb_core.engine.job import Job  # noqa: E402
from pages.ui.shared import format as say  # noqa: E402
from pages.ui.shared.absent import deleted_runs, store_notices  # noqa: E402
from pages.ui.shared.empty import comparison_button  # noqa: E402
from pages.ui.shared.models import FACES, face_of  # noqa: E402
from pages.ui.shared.workspace import current  # noqa: E402

RECENT = 8
STEPS = (
    (
        "pages/data.py",
        "Data",
        ":material/dataset:",
        "Take a sample, or upload a relation, a network, texts or a table of numbers.",
    ),
    (
        "pages/run.py",
        "Run",
        ":material/show_chart:",
        "Start methods side by side; pause, stop or extend each at will.",
    ),
    (
        "pages/blocks.py",
        "Blocks",
        ":material/grid_view:",
        "A relation or network: see it sorted by cluster, and who is in which.",
    ),
    (
        "pages/topics.py",
        "Topics",
        ":material/topic:",
        "Texts: read the topics, and the documents they are in.",
    ),
    (
        "pages/features.py",
        "Features",
        ":material/layers:",
        "A table of numbers: see what each feature means, and which objects have it.",
    ),
    (
        "pages/compare.py",
        "Compare",
        ":material/compare_arrows:",
        "Hold the runs against each other: scores, and what they agree on.",
    ),
)


def recent(jobs: list[Job], unsaved: Collection[str]) -> pd.DataFrame:
    """Return the newest runs first, one a line; those that could not be saved say so."""
    rows = []
    for job in reversed(jobs[-RECENT:]):
        seen = job.inspect()
        last = seen.snapshot
        rows.append(
            {
                "Method": job.problem.row.label,
                "Seed": job.problem.settings.seed,
                "Data": job.problem.data.name,
                "State": say.state_of(job, seen).text + (", not saved" if job.id in unsaved else ""),
                "Passes": 0.0 if last is None else round(last.passes or last.sweep, 2),
                "Found": "" if last is None else face_of(job).found(last.effective_k),
                "CPU time": "" if last is None else say.duration(last.cpu_seconds),
                "Started": say.ago(job.created),
            }
        )
    return pd.DataFrame(rows)


workspace = current()
st.title("Find the blocks in a relation, the topics in texts, the features in a table", anchor=False)
st.markdown(
    "Give it a table of who is linked to what, and it sorts rows and columns into clusters so that every **block** of "
    "the table is nearly full or nearly empty. Give it a **network**, and it finds the groups of nodes that are linked "
    "alike, and the links that are probably missing. Give it texts, and it finds the **topics** they are about: the "
    "words that go together, and how much of each topic is in which document. Give it a **table of numbers**, and it "
    "finds the **features** that objects have or have not, and what each adds to the columns. Bayesian inference "
    "methods do this, among them the averaged ones, whose convergence is guaranteed, ones that stream through more "
    "texts than fit into memory, and ones that find the number of features by themselves. You watch them converge "
    "side by side, compare what they found and how well they predict, and take the answer with you.",
    width=760,
)
with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
    for model in FACES:
        comparison_button(workspace, model)
    st.page_link("pages/guide.py", label="Read the Guide", icon=":material/menu_book:")
st.space("small")
with st.container(key="steps"):
    for page, label, icon, text in STEPS:
        with st.container(border=True, height="stretch", gap="xsmall", key=f"step_{label}"):
            st.page_link(page, label=f"**{label}**", icon=icon)
            st.caption(text)
st.space("small")
st.subheader("Recent runs", anchor=False)
store_notices()
deleted_runs(workspace)
jobs = workspace.jobs
if unreadable := len(workspace.unreadable):
    st.warning(
        f"{say.count(unreadable, 'run')} could not be read. The Run page says why.", icon=":material/warning:"
    )
if jobs:
    st.dataframe(recent(jobs, workspace.unsaved), hide_index=True, key="recent_runs")
    if len(jobs) > RECENT:
        st.caption(f"The newest {RECENT} of {len(jobs):,}; the Run page has them all.")
else:
    with st.container(border=True, key="no_runs"):
        st.caption(
            "None yet. Run one of the samples above, or choose your own data first. Runs go on when you close the "
            "tab, and you find them here when you come back."
        )
