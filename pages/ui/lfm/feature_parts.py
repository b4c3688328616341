"""The lower part of the Features page: all features, all objects, one object step by step, the course of the run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from acvb_core.models.lfm.figures.feature_course import feature_course_figure
from acvb_core.models.lfm.figures.feature_images import feature_images_figure
from acvb_core.models.lfm.figures.feature_matrix import feature_matrix_figure
from acvb_core.models.lfm.figures.feature_words import Units
from acvb_core.models.lfm.figures.heat_maps import weight_map_figure
from acvb_core.models.lfm.figures.reconstruction_bars import reconstruction_bars_figure
from acvb_core.models.lfm.figures.reconstruction_images import reconstruction_images_figure
from acvb_core.models.lfm.reconstruction import ObjectSteps
from acvb_core.views.theme import CHART_CONFIG, STILL_CONFIG, Figure
from pages.ui.lda.topic_overview import clicked_topic
from pages.ui.lfm.feature_detail import CHOSEN, turn
from pages.ui.lfm.feature_view import FeatureView
from pages.ui.shared import format as say
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import Key, choose_one

#: Objects up to which one is chosen in a list; of more, its name is entered.
MOST_IN_LIST = 3_000
#: Features up to which their map is higher than it need be, for the numbers of its scale to have room.
FEW = 5
OBJECT = "features_object"
_STILL: dict[str, Any] = dict(STILL_CONFIG)
_CLICKS: dict[str, Any] = {
    **CHART_CONFIG,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d", "zoom2d", "pan2d"],
    "scrollZoom": False,
}


@contain_failure()
def show_all_features(view: FeatureView, feature: int, units: Units) -> None:
    """Draw all features on one scale: as pictures where the columns are pixels, else as a map of weights."""
    image = view.data.image
    if image is None:
        ordered = are_in_order(view.data.columns)
        clustered = st.toggle(
            "Similar columns side by side",
            not ordered,
            key="features_map_of_ordered" if ordered else "features_map_clustered",
            persist_state="session",
        )
        figure = weight_map_figure(
            view.weights, view.data.columns, shares=view.shares, clustered=clustered,
            standardised=view.fitted.standardise, height=340 if view.n_features <= FEW else None,
        )  # fmt: skip
        st.plotly_chart(figure, key="feature_map", theme=None, config=_STILL)
        return
    key = f"feature_images_{view.run}_{turn()}"

    def clicked() -> None:
        points = st.session_state[key].selection.points
        number = clicked_topic(points[0]) if points else None
        if number is not None and number <= view.n_features:
            st.session_state[CHOSEN] = number

    weights = view.weights if units == "sd" else view.own_weights
    figure = feature_images_figure(
        weights, view.shares, image, baseline=view.baseline, units=units, selected=feature
    )
    st.plotly_chart(
        figure, key=key, theme=None, config=_CLICKS, on_select=clicked, selection_mode="points",
        alt="All features as pictures, and the baseline.",
    )  # fmt: skip
    st.caption("Click a picture to see the feature above.")


def are_in_order(columns: Any) -> bool:
    """Whether the columns have an order that means something: their names are numbers, each above the last."""
    try:
        numbers = np.array([float(name) for name in columns])
    except ValueError:
        return False
    return len(numbers) > 1 and bool((np.diff(numbers) > 0).all())


@contain_failure()
def show_all_objects(view: FeatureView, key: Key) -> None:
    """Draw who has which feature, sorted."""
    figure, kinds = _draw_matrix(key, view)
    st.plotly_chart(
        figure, key="feature_matrix", theme=None, config=_STILL,
        alt="Objects by features, sorted so that objects with the same features stand together.",
    )  # fmt: skip
    st.caption(
        f"Dark: the object has the feature. {say.count(kinds, 'combination')} of features among "
        f"{view.data.n_rows:,} objects, at a probability of 1/2 or more."
    )


@st.cache_resource(show_spinner=False, max_entries=8)
def _draw_matrix(key: Key, _view: FeatureView) -> tuple[Figure, int]:
    """Return the figure, and how many combinations of features there are."""
    figure = feature_matrix_figure(_view.objects, _view.data.rows, labels=_view.data.labels)
    return figure, len(np.unique(np.packbits(_view.objects >= 0.5, axis=1), axis=0))


@contain_failure()
def show_object(view: FeatureView) -> None:
    """Draw how the features make up an object that is chosen."""
    row = _choose_row(view)
    if row is None:
        return
    steps, name = view.steps(row), str(view.data.rows[row])
    label = "" if view.data.labels is None else str(view.data.labels[row])
    if label:
        st.text(f"Known group: {label}")
    if view.data.image is not None:
        figure = reconstruction_images_figure(steps, view.data.image, name=name)
    else:
        figure = reconstruction_bars_figure(steps, view.data.columns, name=name)
    st.plotly_chart(
        figure, key="feature_reconstruction", theme=None, config=_STILL,
        alt="The object: the baseline, what each of its features adds, and what is left over.",
    )  # fmt: skip
    with st.expander("In numbers", icon=":material/table:", key="reconstruction_table"):
        st.dataframe(list_steps(view, steps, row), hide_index=True, key="reconstruction_numbers", height=380)
        held = int(np.isnan(view.fitted.values[row]).sum() - np.isnan(view.data.values[row]).sum())
        if held:
            st.caption(
                f"{say.count(held, 'cell')} of it {'was' if held == 1 else 'were'} hidden from the run."
            )


def list_steps(view: FeatureView, steps: ObjectSteps, row: int) -> pd.DataFrame:
    """Return a line for each column: value, baseline, what each feature adds, reconstruction, what is left, hidden."""
    parts: dict[str, Any] = {"column": view.data.columns, "value": steps.value, "baseline": steps.baseline}
    parts |= {f"+ {step.name}": step.added for step in steps.steps}
    parts |= {"reconstruction": steps.reconstruction, "left over": steps.residual}
    hidden = np.isnan(view.fitted.values[row]) & ~np.isnan(view.data.values[row])
    return pd.DataFrame(parts | ({"hidden": hidden} if hidden.any() else {}))


def _choose_row(view: FeatureView) -> int | None:
    """Draw the choice of an object and return it (0-based); None where there is none of that name."""
    rows = view.data.rows
    if len(rows) <= MOST_IN_LIST:
        return int(choose_one("Object", range(len(rows)), lambda row: str(rows[row]), OBJECT, width=320))
    wanted = st.text_input(
        f"Object, one of {len(rows):,}",
        str(rows[0]),
        key=f"{OBJECT}_name",
        width=320,
        persist_state="session",
    )
    found = np.flatnonzero(rows == wanted)
    if len(found):
        return int(found[0])
    st.info("There is no object of that name.", icon=":material/search_off:")
    st.text(f"The first ones are {', '.join(map(str, rows[:5]))}.")
    return None


@contain_failure()
def show_course(view: FeatureView) -> None:
    """Draw how many features there were from sweep to sweep, and what the likelihoods did."""
    result = view.result
    st.plotly_chart(
        feature_course_figure(result.diagnostics, result.problem.settings.method, height=320),
        key="feature_course", theme=None, config=_STILL,
        alt="Features alive, sweep by sweep, and log likelihoods.",
    )  # fmt: skip
    counts = {kind: int(np.nansum(result.diagnostics.column(kind))) for kind in ("dropped", "merged")}
    told = [f"{say.count(number, 'feature')} {kind}" for kind, number in counts.items() if number]
    st.caption(f"{' and '.join(told)} on the way." if told else "No feature was dropped or merged.")
