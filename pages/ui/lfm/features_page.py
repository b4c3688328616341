"""Features: the features of a run on a table, with their weights, their objects step by step, and files."""

from __future__ import annotations

import streamlit as st

from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from pages.ui.lfm.feature_detail import choose_settings, show_carriers, show_overview
from pages.ui.lfm.feature_files import list_files
from pages.ui.lfm.feature_parts import (
    OBJECT,
    show_all_features,
    show_all_objects,
    show_course,
    show_object,
    show_spread,
)
from pages.ui.lfm.feature_view import FEATURE, FeatureView, build_view
from pages.ui.shared import format as say
from pages.ui.shared.answer_page import measure_seeds, open_answer, show_heading, show_parts
from pages.ui.shared.empty import show_empty_state
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.model_pages import pages_of_model
from pages.ui.shared.picking import answer_key, read_answer, show_files
from pages.ui.shared.refresh import refresh
from pages.ui.shared.workspace import current_workspace

FOLLOW_SECONDS = 2.0
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


def show_features() -> None:
    """Draw the page."""
    job, result = open_answer(pages_of_model("lfm").answer, STYLE, {FEATURE.key: 1, OBJECT: 0})
    view = build_view(job, result)
    show_heading(job, result, say.count(view.n_features, "feature"))
    follow_run(job, result)
    if view.n_features:
        show_body(view, job, result)
    else:
        show_no_feature(view)
    with contain_failure("list of files"):
        show_files(result, list_files(result, lambda: measure_seeds(current_workspace(), job, result)))


def show_no_feature(view: FeatureView) -> None:
    """Say that the run ended without a feature."""
    show_empty_state(
        "No feature",
        "The run found no feature. Each column is explained by its baseline (its mean) and noise. Try another "
        "method or another seed, or hide fewer cells so that there is more to learn from.",
        icon=":material/layers_clear:",
        actions=lambda: st.page_link("pages/run.py", label="Start another run", icon=":material/play_arrow:"),
    )
    show_course(view)


@st.fragment
def show_body(view: FeatureView, job: Job, result: Result) -> None:
    """Draw all that follows the chosen feature and the units, and nothing else is drawn again."""
    feature, units = choose_settings(view)
    show_overview(view, feature, units)
    show_parts(
        "features_part",
        {
            "Who has it": lambda: show_carriers(view, feature),
            "All features": lambda: show_all_features(view, feature, units),
            "All objects": lambda: show_all_objects(view, answer_key(job, result)),
            "One object": lambda: show_object(view),
            "How sure?": lambda: show_spread(job, view, feature, units),
            "History of the run": lambda: show_course(view),
        },
    )


def follow_run(job: Job, result: Result) -> None:
    """Have the page drawn anew while the run continues, unless that is switched off."""
    if not job.inspect().status.active or not st.toggle("Follow the run", True, key="features_follow"):
        return
    shown = answer_key(job, result)

    def watch() -> None:
        now = read_answer(job)
        if now is not None and answer_key(job, now) != shown:
            st.rerun()

    refresh(watch, FOLLOW_SECONDS)
