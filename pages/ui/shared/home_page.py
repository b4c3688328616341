"""Home: what the program does, the sample comparison at one press, and the recent runs."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd
import streamlit as st

from acvb_core.engine.job import Job
from pages.ui.shared import format as say
from pages.ui.shared.absent import show_deleted_runs, show_store_notices
from pages.ui.shared.empty import show_comparison_button
from pages.ui.shared.model_pages import all_model_pages, answer_pages, pages_of_run
from pages.ui.shared.workspace import current_workspace

RECENT = 8
STEPS_BEFORE = (
    ("pages/data.py", "Data", ":material/dataset:", "Take a sample, or upload {data}."),
    (
        "pages/run.py",
        "Run",
        ":material/show_chart:",
        "Start methods side by side; pause, stop or extend each at will.",
    ),
)
STEPS_AFTER = (
    (
        "pages/compare.py",
        "Compare",
        ":material/compare_arrows:",
        "Hold the runs against each other: scores, and what they agree on.",
    ),
)
METHODS_TEXT = (
    "Bayesian inference methods do this, among them the averaged ones, whose convergence is guaranteed, ones that "
    "stream through more texts than fit into memory, and ones that find the number of features by themselves. You "
    "watch them converge side by side, compare what they found and how well they predict, and take the answer with you."
)


def tabulate_runs(jobs: list[Job], unsaved: Collection[str]) -> pd.DataFrame:
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
                "State": say.describe_state(job, seen).text + (", not saved" if job.id in unsaved else ""),
                "Passes": 0.0 if last is None else round(last.passes or last.sweep, 2),
                "Found": "" if last is None else pages_of_run(job).write_parts(last.effective_k),
                "CPU time": "" if last is None else say.duration(last.cpu_seconds),
                "Started": say.ago(job.created),
            }
        )
    return pd.DataFrame(rows)


def show_home() -> None:
    """Draw the page."""
    workspace = current_workspace()
    models = list(all_model_pages().values())
    st.title("Find " + ", ".join(pages.promise for pages in models if pages.promise), anchor=False)
    st.markdown(" ".join([*(pages.introduction for pages in models), METHODS_TEXT]), width=760)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        for pages in models:
            show_comparison_button(workspace, pages.model)
        st.page_link("pages/guide.py", label="Read the Guide", icon=":material/menu_book:")
    st.space("small")
    _show_steps()
    st.space("small")
    st.subheader("Recent runs", anchor=False)
    show_store_notices()
    show_deleted_runs(workspace)
    if unreadable := len(workspace.unreadable):
        st.warning(
            f"{say.count(unreadable, 'run')} could not be read. The Run page says why.",
            icon=":material/warning:",
        )
    jobs = workspace.jobs
    if jobs:
        st.dataframe(tabulate_runs(jobs, workspace.unsaved), hide_index=True, key="recent_runs")
        if len(jobs) > RECENT:
            st.caption(f"The newest {RECENT} of {len(jobs):,}; the Run page has them all.")
    else:
        with st.container(border=True, key="no_runs"):
            st.caption(
                "None yet. Run one of the samples above, or choose your own data first. Runs go on when you close the "
                "tab, and you find them here when you come back."
            )


def _show_steps() -> None:
    """Draw a card for each step from the data to the comparison of runs."""
    names = [say.uncapitalise(pages.data_name) for pages in all_model_pages().values()]
    answers = [pages.answer for pages in answer_pages().values()]
    steps = [
        *STEPS_BEFORE,
        *((page.path, page.title, page.icon, page.step) for page in answers),
        *STEPS_AFTER,
    ]
    with st.container(key="steps"):
        for path, title, icon, text in steps:
            with st.container(border=True, height="stretch", gap="xsmall", key=f"step_{title}"):
                st.page_link(path, label=f"**{title}**", icon=icon)
                st.caption(text.format(data=f"{', '.join(names[:-1])} or {names[-1]}"))
