"""Features: what a run found in a table of numbers, each feature's meaning, who has it, objects step by step, files."""

from __future__ import annotations

import streamlit as st

from pages.ui.shared.guard import guard

guard()

from acvb_core.engine.job import Job  # noqa: E402
from acvb_core.engine.result import Result  # noqa: E402
from pages.ui.lfm.feature_detail import CHOSEN, overview, settings  # noqa: E402
from pages.ui.lfm.feature_files import offers  # noqa: E402
from pages.ui.lfm.feature_parts import OBJECT, all_features, all_objects, course, one_object  # noqa: E402
from pages.ui.lfm.feature_view import FeatureView, view_of  # noqa: E402
from pages.ui.shared import format as say  # noqa: E402
from pages.ui.shared.empty import comparison_button, empty_state  # noqa: E402
from pages.ui.shared.failures import contain_failure  # noqa: E402
from pages.ui.shared.models import FACES  # noqa: E402
from pages.ui.shared.picking import answer, heading, jobs_of, key_of, pick, take_away  # noqa: E402
from pages.ui.shared.refresh import refresh  # noqa: E402
from pages.ui.shared.workspace import Workspace, current  # noqa: E402

FOLLOW_SECONDS = 2.0
PARTS = ("All features", "All objects", "One object", "Course of the run")
# As many panels side by side as there is room for.
STYLE = """
<style>
.st-key-feature_panels, .st-key-carrier_panels { display: grid; gap: 1rem 1.5rem; align-items: start; }
.st-key-feature_panels { grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); }
.st-key-carrier_panels { grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); }
.st-key-feature_panels > div, .st-key-carrier_panels > div { width: 100% !important; min-width: 0; }
.feature-head { display: flex; align-items: center; gap: 0.6rem; font-size: 1.35rem; line-height: 1.7rem; }
.feature-head span { min-width: 2rem; padding: 0 0.4rem; border-radius: 1rem; text-align: center; font-weight: 600;
  font-size: 1.05rem; box-sizing: border-box; }
.feature-head strong { font-weight: 600; }
</style>
"""


def nothing_yet(workspace: Workspace) -> None:
    """Say why there are no features, and where to get some."""
    dataset = workspace.dataset
    table = dataset is not None and dataset.model == "lfm"

    def actions() -> None:
        if table:
            st.page_link("pages/run.py", label="Start a run", icon=":material/play_arrow:")
        else:
            if dataset is not None and jobs_of(workspace, dataset.model):
                face = FACES[dataset.model]
                st.page_link(face.page, label=face.page_label, icon=face.page_icon)
            st.page_link("pages/data.py", label="Choose a table", icon=":material/dataset:")
        comparison_button(workspace, "lfm", primary=not table)

    if table:
        text = (
            "Start a run on the Run page: it finds what objects have or have not, and what each of it adds."
        )
    elif dataset is not None:
        text = (
            "The data in use are no table of numbers. Features are found in tables whose rows are objects and whose "
            "columns are numbers; cells may be missing."
        )
    else:
        text = "A run explains the rows of a table of numbers by features. Choose a table first, or take the sample's."
    empty_state("No features yet", text, icon=":material/layers:", actions=actions)


def no_feature(view: FeatureView) -> None:
    """Say that the run ended without a feature."""
    empty_state(
        "No feature",
        "The columns are explained by their means: the baseline of each, and noise around it. Whatever features the "
        "run began with, none held an object or more. Try another method or another seed; hiding fewer cells leaves "
        "more to learn from.",
        icon=":material/layers_clear:",
        actions=lambda: st.page_link("pages/run.py", label="Start another run", icon=":material/play_arrow:"),
    )
    course(view)


@st.fragment
def body(view: FeatureView, job: Job, result: Result) -> None:
    """Draw all that follows the chosen feature and the units, and nothing else is drawn again."""
    feature, units = settings(view)
    overview(view, feature, units)
    part = st.segmented_control(
        "Part of the page",
        PARTS,
        default=PARTS[0],
        required=True,
        key="features_part",
        label_visibility="collapsed",
    )
    if part == PARTS[1]:
        all_objects(view, key_of(job, result))
    elif part == PARTS[2]:
        one_object(view)
    elif part == PARTS[3]:
        course(view)
    else:
        all_features(view, feature, units)


def follow(job: Job, result: Result) -> None:
    """Have the page drawn anew while the run goes on, unless that is switched off."""
    if not job.inspect().status.active or not st.toggle("Follow the run", True, key="features_follow"):
        return
    shown = key_of(job, result)

    def watch() -> None:
        now = answer(job)
        if now is not None and key_of(job, now) != shown:
            st.rerun()

    refresh(watch, FOLLOW_SECONDS)


workspace = current()
st.title("Features", anchor=False)
st.html(STYLE)
job, result = pick(workspace, "features", ("lfm",), nothing_yet)
if st.session_state.get("features_shown") != job.id:
    st.session_state["features_shown"] = job.id
    st.session_state[CHOSEN] = 1
    st.session_state[OBJECT] = 0
view = view_of(job, result)
heading(
    job,
    view.data.name,
    view.data.size_text,
    say.count(view.n_features, "feature"),
    say.count(result.snapshot.sweep, "sweep"),
)
follow(job, result)
if view.n_features:
    body(view, job, result)
else:
    no_feature(view)
with contain_failure("list of files"):
    take_away(result, offers(result))
