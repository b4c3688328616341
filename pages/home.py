"""Home: what the program does, the sample comparison at one press, and the recent runs."""

from __future__ import annotations

import streamlit as st

from pages.ui.guard import guard

guard()

import pandas as pd  # noqa: E402

from acvb_core.engine.job import Job  # noqa: E402
from pages.ui import format as say  # noqa: E402
from pages.ui.empty import comparison_button  # noqa: E402
from pages.ui.workspace import current  # noqa: E402

RECENT = 8
STEPS = (
    (
        "pages/data.py",
        "Data",
        ":material/dataset:",
        "Take a sample, or upload an edge list, a matrix or a sparse file.",
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
        "See the table sorted by cluster, and who is in which.",
    ),
    (
        "pages/compare.py",
        "Compare",
        ":material/compare_arrows:",
        "Hold the runs against each other, and export them.",
    ),
)


def recent(jobs: list[Job]) -> pd.DataFrame:
    """Return the newest runs first, one a line."""
    rows = []
    for job in reversed(jobs[-RECENT:]):
        seen = job.inspect()
        last = seen.snapshot
        rows.append(
            {
                "Method": job.problem.row.label,
                "Seed": job.problem.settings.seed,
                "Data": job.problem.data.name,
                "State": say.state_of(job, seen).text,
                "Sweeps": 0 if last is None else last.sweep,
                "Clusters": "" if last is None else " × ".join(str(k) for k in last.effective_k.values()),
                "CPU time": "" if last is None else say.duration(last.cpu_seconds),
                "Started": say.ago(job.created),
            }
        )
    return pd.DataFrame(rows)


workspace = current()
st.title("Find the blocks in a relation", anchor=False)
st.markdown(
    "Give it a table of who is linked to what, and it sorts rows and columns into clusters so that every block of the "
    "table is nearly full or nearly empty. Six Bayesian inference methods do this, among them the averaged ones, whose "
    "convergence is guaranteed. You watch them converge side by side, compare what they found and how well they "
    "predict, and take the answer with you.",
    width=760,
)
with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
    comparison_button(workspace)
    st.page_link("pages/guide.py", label="Read the Guide", icon=":material/menu_book:")
st.space("small")
for column, (page, label, icon, text) in zip(st.columns(4), STEPS, strict=True):
    with column.container(border=True, height="stretch", gap="xsmall"):
        st.page_link(page, label=f"**{label}**", icon=icon)
        st.caption(text)
st.space("small")
st.subheader("Recent runs", anchor=False)
jobs = workspace.jobs
if jobs:
    st.dataframe(recent(jobs), hide_index=True, key="recent_runs")
    if len(jobs) > RECENT:
        st.caption(f"The newest {RECENT} of {len(jobs):,}; the Run page has them all.")
else:
    with st.container(border=True, key="no_runs"):
        st.caption(
            "None yet. Run the sample comparison above, or choose your own data first. Runs go on when you close the "
            "tab, and you find them here when you come back."
        )
