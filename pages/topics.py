"""Topics: what a run found in a corpus, as a map and words, in its documents and new texts, by measures, as files."""

from __future__ import annotations

import streamlit as st

from pages.ui.shared.guard import guard

guard()

import io  # noqa: E402

import numpy as np  # noqa: E402

from acvb_core.engine.result import Result  # noqa: E402
from acvb_core.store import export  # noqa: E402
from pages.ui.lda import topic_files  # noqa: E402
from pages.ui.lda.topic_documents import documents  # noqa: E402
from pages.ui.lda.topic_list import all_topics, known_labels, quality  # noqa: E402
from pages.ui.lda.topic_overview import CHOSEN, overview, settings  # noqa: E402
from pages.ui.lda.topic_try import try_text  # noqa: E402
from pages.ui.lda.topic_view import TopicView, names_of, view_of  # noqa: E402
from pages.ui.shared import format as say  # noqa: E402
from pages.ui.shared.empty import comparison_button, empty_state  # noqa: E402
from pages.ui.shared.failures import contain_failure  # noqa: E402
from pages.ui.shared.models import models_on  # noqa: E402
from pages.ui.shared.picking import Offer, heading, jobs_of, pick, take_away  # noqa: E402
from pages.ui.shared.workspace import Workspace, current  # noqa: E402

PARTS = ("All topics", "Documents", "Quality")
LABELS, TRY = "Known labels", "Try a text"
# As many panels side by side as there is room for.
STYLE = """
<style>
.st-key-topic_panels, .st-key-document_panels, .st-key-quality_charts, .st-key-try_panels {
  display: grid; gap: 1rem 1.5rem; align-items: start; }
.st-key-topic_panels { grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); }
.st-key-document_panels, .st-key-quality_charts, .st-key-try_panels {
  grid-template-columns: repeat(auto-fit, minmax(min(27rem, 100%), 1fr)); }
.st-key-topic_panels > div, .st-key-document_panels > div, .st-key-quality_charts > div, .st-key-try_panels > div {
  width: 100% !important; min-width: 0; }
.topic-head { display: flex; align-items: center; gap: 0.6rem; font-size: 1.35rem; line-height: 1.7rem; }
.topic-head span { min-width: 2rem; padding: 0 0.4rem; border-radius: 1rem; text-align: center; font-weight: 600;
  font-size: 1.05rem; box-sizing: border-box; }
.topic-head strong { font-weight: 600; overflow-wrap: anywhere; }
.document-name { font-size: 1.1rem; font-weight: 600; overflow-wrap: anywhere; }
</style>
"""


def nothing_yet(workspace: Workspace) -> None:
    """Say why there are no topics, and where to get some."""
    dataset = workspace.dataset
    corpus = dataset is not None and dataset.model == "lda"
    blocks = bool(jobs_of(workspace, *models_on("pages/blocks.py")))
    table = dataset is not None and dataset.model == "lfm"

    def actions() -> None:
        if corpus:
            st.page_link("pages/run.py", label="Start a run", icon=":material/play_arrow:")
        else:
            if table:
                st.page_link("pages/features.py", label="See the features", icon=":material/layers:")
            elif blocks:
                st.page_link("pages/blocks.py", label="See the blocks", icon=":material/grid_view:")
            st.page_link("pages/data.py", label="Choose texts", icon=":material/dataset:")
        comparison_button(workspace, "lda", primary=not corpus)

    if corpus:
        text = "Start a run on the Run page: it finds out which words go together, and which documents they are in."
    elif table:
        text = (
            "The data in use are a table: its runs find features, and the Features page shows them. Topics are found "
            "in texts, or in counts of words in documents."
        )
    elif blocks or dataset is not None:
        text = (
            "The data in use are a relation or network: its runs find blocks, and the Blocks page shows them. Topics "
            "are found in texts, or in counts of words in documents."
        )
    else:
        text = (
            "A run finds out which words of your texts go together. Choose texts first, or take the sample's."
        )
    empty_state("No topics yet", text, icon=":material/topic:", actions=actions)


@st.fragment
def body(view: TopicView) -> None:
    """Draw all that follows the chosen topic and the order of the words, and nothing else is drawn again."""
    names = names_of(view)
    topic, order = settings(view, names)
    overview(view, names, topic, order)
    parts = [*PARTS, *([LABELS] if view.corpus.labels is not None else []), TRY]
    part = st.segmented_control(
        "Part of the page",
        parts,
        default=parts[0],
        required=True,
        key="topics_part",
        label_visibility="collapsed",
    )
    if part == "Documents":
        documents(view, names, topic)
    elif part == "Quality":
        quality(view, names)
    elif part == LABELS and view.corpus.labels is not None:
        known_labels(view, names)
    elif part == TRY:
        try_text(view, names, topic)
    else:
        all_topics(view, names, topic, order)


@contain_failure("list of files")
def files(view: TopicView) -> None:
    result = view.result

    def words() -> str:
        table, names = result.topics, names_of(view)
        if any(names):
            table = table.assign(name=[names[topic - 1] or "" for topic in table["topic"]])
        return export.csv_text(table)

    def arrays() -> bytes:
        out = io.BytesIO()
        np.savez_compressed(out, allow_pickle=False, **export.posterior_arrays(result))
        return out.getvalue()

    table, data = "text/csv", "application/json"
    take_away(
        result,
        [
            Offer("Words of the topics", "topics.csv", table, words),
            *topic_files.of_documents(view),
            Offer("For pyLDAvis", "pyldavis.json", data, lambda: export.pyldavis_json(result)),
            Offer("The run", "run.json", data, lambda: export.run_json(result)),
            Offer("Arrays", "posterior.npz", "application/octet-stream", arrays),
            topic_files.model(result),
        ],
    )
    topic_files.about(view)


def _how_far(result: Result) -> str:
    last = result.snapshot
    return say.epochs(last.passes) if result.problem.row.streams else say.count(last.sweep, "sweep")


workspace = current()
st.title("Topics", anchor=False)
st.html(STYLE)
job, result = pick(workspace, "topics", ("lda",), nothing_yet)
if st.session_state.get("topics_shown") != job.id:
    st.session_state["topics_shown"] = job.id
    st.session_state[CHOSEN] = 1
view = view_of(job, result)
heading(
    job,
    result.problem.data.name,
    result.problem.data.size_text,
    say.count(view.n_topics, "topic"),
    _how_far(result),
)
body(view)
files(view)
