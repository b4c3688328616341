"""Features: the features of a run on a table, with their weights, their objects step by step, and files."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
import streamlit as st

from acvb_core.core.files import scratch_prefix
from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.models.lfm.answer.describe import describe_features
from acvb_core.store import export
from pages.ui.lfm.feature_detail import choose_settings, show_carriers, show_overview
from pages.ui.lfm.feature_parts import (
    OBJECT,
    show_all_features,
    show_all_objects,
    show_course,
    show_object,
    show_spread,
)
from pages.ui.lfm.feature_view import FEATURE, FeatureView, build_view
from pages.ui.running.take_away import show_files
from pages.ui.shared import format as say
from pages.ui.shared.answer_page import measure_seeds, open_answer, show_heading, show_parts
from pages.ui.shared.empty import show_empty_state
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.model_pages import pages_of_model
from pages.ui.shared.picking import (
    FileOffer,
    answer_key,
    offer_arrays,
    offer_run,
    offer_table,
)
from pages.ui.shared.workspace import current_workspace

# As many panels side by side as there is room for.
STYLE = """
<style>
.st-key-feature_panels, .st-key-carrier_panels { display: grid; gap: 1rem 1.5rem; align-items: start; }
.st-key-feature_panels { grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); }
.st-key-carrier_panels { grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); }
.st-key-feature_panels > div, .st-key-carrier_panels > div { width: 100% !important; min-width: 0; }
</style>
"""


def show_features() -> None:
    """Draw the page."""
    job, result = open_answer(pages_of_model("lfm").answer, STYLE, {FEATURE.key: 1, OBJECT: 0})
    view = build_view(job, result)
    show_heading(job, result, say.count(view.n_features, "feature"))
    if view.n_features:
        st.text(describe_features(result))
    if view.n_features:
        show_body(view, job, result)
    else:
        show_no_feature(view)
    with contain_failure("list of files"):
        workspace = current_workspace()  # files are made in a thread that knows no session
        show_files(job, result, list_files(result, lambda: measure_seeds(workspace, job, result)))


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
    show_overview(job, view, feature, units)
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


def list_files(result: Result, measure: Callable[[], Mapping[str, pd.DataFrame]]) -> list[FileOffer]:
    """Return the files of a run: its tables, the run itself, its arrays, and all of them in one archive."""

    def table(label: str, name: str) -> FileOffer:
        return offer_table(label, f"{name}.csv", lambda: result.tables[name])

    return [
        table("Weights of the features", "features"),
        offer_table("Features of the objects", "objects.csv", lambda: name_objects(result)),
        table("Baseline and noise of the columns", "columns"),
        offer_table("Features over the seeds", "seeds.csv", lambda: list_spread(result, measure())),
        offer_run(result),
        offer_arrays(result),
        FileOffer("Everything", "everything.zip", "application/zip", lambda: pack_everything(result)),
    ]


def name_objects(result: Result) -> pd.DataFrame:
    """Return the probability of each feature for each object, with the features' names in the heading."""
    return export.name_headings(result.objects, "feature", result.names["features"])


def list_spread(result: Result, spread: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return how far the features depend on the seed (`measure_spread`), one row for each feature and column."""
    features = spread["features"].rename(columns={"low": "share_low", "high": "share_high"})
    table = spread["weights"].merge(features, on="feature", how="left")
    table.insert(1, "name", [result.names["features"][feature - 1] for feature in table["feature"]])
    return table


def pack_everything(result: Result) -> bytes:
    """Return all files of a run as a zip archive."""
    out = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix=scratch_prefix()) as folder:
        paths = export.write_run(result, Path(folder))
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in paths:
                archive.write(path, path.name)
    return out.getvalue()
