"""The number of topics: the same runs with several numbers, and their measures."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from acvb_core.core.display import write_number
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.engine.job import Job
from acvb_core.models.lda.figures.topics import MEASURES, best_k, choose_k_figure
from acvb_core.views.parts import stack_panels
from pages.ui.lda.how_many_form import show_form
from pages.ui.lda.how_many_runs import (
    build_table,
    collect_finished,
    collect_rows,
    describe_grid,
    find_best_run,
    find_jobs,
    group_grids,
    label_grids,
    topic_number,
)
from pages.ui.shared import format as say
from pages.ui.shared.charts import show_figure
from pages.ui.shared.empty import describe_answer_page, show_comparison_button, show_empty_state
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import choose_one, open_run
from pages.ui.shared.refresh import is_narrow, refresh
from pages.ui.shared.style import MARKED
from pages.ui.shared.workspace import Workspace, current_workspace

REFRESH_SECONDS = 1.0
INTRODUCTION = """
You choose the number of topics. Try several numbers, each with more than one seed, and see where the measures stop
improving. If they agree on a number, take it. If they disagree, read the topics and decide.
"""

# benchmarks/topic_choice.py measures whether leave-one-out perplexity may choose the number (docs/measured.md).
LOO_TEXT = (
    "**Leave-one-out perplexity**: how well each word is predicted from all others. It needs nothing held out. Do not "
    "choose the number of topics by it: it keeps falling after held-out perplexity has turned, because each word's "
    "topic was chosen with that word in view. It shows where more topics gain little."
)

HELDOUT_TEXT = (
    "**Held-out perplexity**: how well hidden words are predicted; 1,000 means as uncertain as a choice among 1,000 "
    "words. It often keeps improving with more topics than anybody would want to read."
)

NPMI_TEXT = (
    "**Coherence (NPMI)**, normalised pointwise mutual information: how often the ten most probable words of a topic "
    "occur in the same documents. It comes closest to what people call a clear topic, and usually favours few topics. "
    "Check the diversity, too: topics that repeat each other can be coherent."
)

#: By the measure's name in the table of a grid.
MEASURE_TEXTS: dict[str, str] = {
    "loo_perplexity": LOO_TEXT,
    "heldout_perplexity": HELDOUT_TEXT,
    "npmi": NPMI_TEXT,
}

#: Columns of the table: heading, format, and 1 if higher is better, -1 if lower, else 0.
COLUMNS: dict[str, tuple[str, str | Callable[[float], str], int]] = {
    "k": ("Topics", "{:,.0f}", 0),
    "seed": ("Seed", "{:.0f}", 0),
    "state": ("State", "{}", 0),
    "sweeps": ("Sweeps", "{:,.0f}", 0),
    "cpu_seconds": ("CPU s", write_number, 0),
    "loo_perplexity": ("Leave-one-out perplexity", write_number, -1),
    "heldout_perplexity": ("Held-out perplexity", write_number, -1),
    "npmi": ("NPMI", write_number, 1),
    "u_mass": ("u_mass", write_number, 1),
    "diversity": ("Diversity", write_number, 1),
    "effective_k": ("In use", "{:,.0f}", 0),
}


def show_nothing_to_try(workspace: Workspace) -> None:
    """Draw the page without texts."""
    dataset = workspace.dataset

    def actions() -> None:
        st.page_link("pages/data.py", label="Choose texts", icon=":material/dataset:")
        show_comparison_button(workspace, "lda")

    show_empty_state(
        "Nothing to try yet",
        "This page is for texts, and for counts of words in documents. "
        + ("Choose some first." if dataset is None else describe_answer_page(dataset.model)),
        icon=":material/stacked_line_chart:",
        actions=actions,
    )


def show_measures(group: list[Job]) -> None:
    """Draw the progress and the measures of the runs, again and again while they run."""
    busy = any(job.inspect().status.active for job in group)

    def panel() -> None:
        active = [job for job in group if job.inspect().status.active]
        if busy and not active:
            st.rerun()
        if active:
            show_progress(group, active)
        table = build_table(group)
        if len(table):
            with contain_failure():
                figure = choose_k_figure(table, height=330)
                if is_narrow():
                    figure.layout = stack_panels(figure)
                show_figure(figure, "grid_figure", "Measures by number of topics.")
            warn_at_edge(table)
            explain_measures(group)
        show_runs(group)

    refresh(panel, REFRESH_SECONDS if busy else None)


def show_progress(group: list[Job], active: list[Job]) -> None:
    """Draw the number of runs that have ended."""
    done = len(group) - len(active)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.progress(done / len(group), text=f"{done:,} of {say.count(len(group), 'run')} done", width=420)
        if not current_workspace().view_only and st.button(
            "Stop the rest", icon=":material/stop:", key="grid_stop"
        ):
            for job in active:
                job.stop()


def warn_at_edge(table: pd.DataFrame) -> None:
    """Say which measures are best at the largest number that was tried, as a larger one may be better."""
    largest = int(table["k"].max())
    titles = [
        say.uncapitalise(title)
        for name, (title, _, _) in MEASURES.items()
        if table[name].notna().any() and best_k(table, name) == largest
    ]
    if titles:
        st.caption(
            f"Best at the largest number tried: {', '.join(titles)}. A larger number may be better still."
        )


def explain_measures(group: list[Job]) -> None:
    """Draw an explanation of each measure."""
    held_out = group[0].prepared.heldout is not None
    with st.container(key="grid_words"):
        for name, text in MEASURE_TEXTS.items():
            if held_out or name != "heldout_perplexity":
                with st.container(gap=None, key=f"grid_word_{name}"):
                    st.caption(text)
    prepared = group[0].prepared
    if prepared.model_row.on_disk(prepared.data):
        st.caption("The documents are on disk, so coherence is measured on a random sample of them.")
    if not held_out:
        st.caption("Nothing was held out of these runs, so they have no held-out perplexity.")


@contain_failure("table")
def show_runs(group: list[Job]) -> None:
    """Draw one line for each run: its measures once it has ended, its progress before."""
    ended, lines = collect_rows(group), []
    for job in group:
        seen = job.inspect()
        line = ended.get(job.id) or {
            "k": topic_number(job),
            "seed": job.prepared.spec.seed,
            "sweeps": 0 if seen.snapshot is None else seen.snapshot.sweep,
            "cpu_seconds": 0.0 if seen.snapshot is None else seen.snapshot.cpu_seconds,
        }
        lines.append(line | {"state": say.describe_state(seen.outline).text})
    table = pd.DataFrame(lines, columns=list(COLUMNS))
    table = table.sort_values(["k", "seed"], kind="stable", ignore_index=True)
    columns = dict(COLUMNS)
    if group[0].prepared.row.streams:  # a sweep of a stream is a window
        columns["sweeps"] = ("Windows", *COLUMNS["sweeps"][1:])
    best = {
        heading: (sign * table[name].astype(float)).max() * sign
        for name, (heading, _, sign) in columns.items()
        if sign and table[name].notna().sum() > 1
    }
    forms = {heading: form for heading, form, _ in columns.values()}
    table.columns = list(forms)

    def shade(column: pd.Series) -> list[str]:
        wanted = best.get(str(column.name))
        return [MARKED if wanted is not None and value == wanted else "" for value in column]

    shown = table.style.format(forms).apply(shade)
    st.dataframe(shown, hide_index=True, key="grid_table", height=38 + 35 * len(table), placeholder="–")
    st.caption("Shaded: the best run by each measure. Rings in the figures: the best mean over the seeds.")


def choose_topics(group: list[Job]) -> None:
    """Draw the choice of a number whose topics are shown, once all runs have ended."""
    numbers = sorted({topic_number(job) for job, _ in collect_finished(group)})
    if not numbers or any(job.inspect().status.active for job in group):
        return
    table = build_table(group)
    best = {name: best_k(table, name) for name in MEASURES if table[name].notna().any()}
    first = best.get("heldout_perplexity") or best.get("loo_perplexity") or numbers[0]

    def label(k: int) -> str:
        by = [say.uncapitalise(MEASURES[name][0]) for name, number in best.items() if number == k]
        return f"{k:,} topics" + (f" (best {', '.join(by)})" if by else "")

    key = f"grid_k_{group[0].id}"
    st.session_state.setdefault(key, first)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="grid_go"):
        k = choose_one("Look at the topics of", numbers, label, key, width=420)
        if st.button("See the topics", icon=":material/topic:", key="grid_see"):
            chosen = find_best_run(group, k)
            if chosen is not None:
                open_run(chosen)


STYLE = """
<style>
.st-key-grid_words { display: grid; gap: 0.5rem 1.5rem; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); }
.st-key-grid_words > div { width: 100% !important; min-width: 0; }
</style>
"""


def show_how_many() -> None:
    """Draw the page."""
    workspace = current_workspace()
    st.title("How many topics?", anchor=False)
    dataset = workspace.dataset
    if dataset is None or not isinstance(dataset.data, Corpus | DiskCorpus):
        show_nothing_to_try(workspace)
        st.stop()
    st.html(STYLE)
    st.markdown(INTRODUCTION, width=860)
    if not workspace.view_only:
        with st.container(border=True, key="grid_form"):
            show_form(workspace, dataset, dataset.data)
    grids = group_grids(find_jobs(workspace, dataset))
    if not grids:
        st.caption(
            "No such runs yet."
            if workspace.view_only
            else "Press Start. The measures appear here as the runs end. You can leave the page meanwhile."
        )
        st.stop()
    groups = {group[0].id: group for group in grids}
    chosen = grids[0]
    if len(grids) > 1:
        chosen = groups[choose_one("Runs to compare", list(groups), label_grids(grids).__getitem__, "grid")]
    else:
        st.caption(describe_grid(chosen))
    show_measures(chosen)
    choose_topics(chosen)
