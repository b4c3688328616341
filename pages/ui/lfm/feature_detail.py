"""The upper part of the Features page: the list of features, and one of them: its weights, and its objects."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from acvb_core.engine.job import Job
from acvb_core.models.lfm.answer.describe import describe_feature
from acvb_core.models.lfm.figures.features import (
    feature_image_figure,
    feature_profile_figure,
    feature_weights_figure,
)
from acvb_core.models.lfm.figures.pictures import Units, diverging_colours, image_uri, largest, turn_lightness
from acvb_core.views.theme import Figure
from pages.ui.lfm.feature_view import FEATURE, FeatureView, show_picture_row
from pages.ui.lfm.overview_table import MOST_KNOWN, shape_columns
from pages.ui.shared import format as say
from pages.ui.shared.charts import name_width, show_figure
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import choose_way, show_rename
from pages.ui.shared.refresh import is_narrow

#: Objects that are listed, and shown as pictures; columns with a bar, and most columns that are all drawn below.
MOST_LISTED, PICTURES, USUAL_BARS, MOST_PROFILE = 50, 12, 20, 5_000
#: Characters of the longest number of an object.
LONG_NUMBER = 8
_UNITS: dict[Units, str] = {"table": "the columns' units", "sd": "standard deviations"}


def choose_settings(view: FeatureView) -> tuple[int, Units]:
    """Draw what is chosen for the whole page; return the feature (from 1) and the units of weights."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="feature_settings"):
        feature = FEATURE.show(view.n_features, view.write, width=260)
        units: Units = "table"
        if view.sd is not None:
            text = (
                "A weight is what a feature adds to a column. Choose standard deviations to compare columns in "
                "different units."
            )
            units = choose_way("Weights in", _UNITS, "features_units", persist_state="session", help=text)
    return feature, units


def show_overview(job: Job, view: FeatureView, feature: int, units: Units) -> None:
    """Draw the list of features beside the one that is chosen."""
    with st.container(key="feature_panels"):
        with st.container(key="feature_list", gap="xsmall"):
            st.subheader(f"{say.count(view.n_features, 'feature')}", anchor=False)
            st.caption("Most frequent first. Click one to see it.")
            _show_list(view, units)
        with st.container(key="feature_detail", gap="xsmall"):
            _show_heading(job, view, feature)
            _show_weights(view, feature, units)


def list_features(view: FeatureView, units: Units) -> pd.DataFrame:
    """Return a line for each feature: number, picture of a table of pixels, share, objects, strongest columns."""
    numbers = range(1, view.n_features + 1)
    columns = {"feature": list(numbers), "name": view.names, "share": view.shares, "objects": view.counts}
    frame = pd.DataFrame(columns)
    image = view.data.image
    if image is not None:
        weights = view.weights if units == "sd" else view.own_weights
        end = largest(weights)
        pictures = [diverging_colours(image.picture(w, fill=0.0), end) for w in weights]
        if st.context.theme.type == "dark":
            pictures = [turn_lightness(picture) for picture in pictures]
        frame.insert(1, "picture", [image_uri(picture, 80) for picture in pictures])
    frame["columns"] = [", ".join(view.strongest(k, own=units == "table")) for k in numbers]
    return frame


@contain_failure("table")
def _show_list(view: FeatureView, units: Units) -> None:
    frame = list_features(view, units)
    # In a narrow window the share says it.
    frame = frame.drop(columns="objects") if is_narrow() else frame.assign(objects=frame["objects"].round())
    key = f"feature_table_{view.run}_{FEATURE.turn}"

    def keep_click() -> None:
        cells = st.session_state[key].selection.cells
        if cells and cells[0][0] < len(frame):
            FEATURE.keep_click(cells[0][0] + 1)

    pictures = "picture" in frame
    high = 56 if pictures else 35
    st.dataframe(
        frame,
        hide_index=True,
        key=key,
        on_select=keep_click,
        selection_mode="single-cell",
        row_height=high,
        height=min(560, 38 + high * len(frame)),
        column_config={
            "feature": st.column_config.NumberColumn("Feature", width=62),
            "name": st.column_config.TextColumn("Name", width=name_width()),
            "picture": st.column_config.ImageColumn("Weights", width=64),
            "share": _progress("Share", "percent", 95, "Share of the objects that have the feature."),
            "objects": st.column_config.NumberColumn("Objects", format="localized", width=70),
            "columns": st.column_config.TextColumn("Strongest columns", width="large"),
        },
    )


def _progress(label: str, form: str, width: Any, help: str | None = None) -> Any:
    """Return a column of bars from 0 to 1."""
    return st.column_config.ProgressColumn(
        label, min_value=0.0, max_value=1.0, format=form, width=width, help=help
    )


@contain_failure("part of the page")
def _show_heading(job: Job, view: FeatureView, feature: int) -> None:
    """Draw the feature's number and name, the button that renames it, and what it is in a sentence."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.html(FEATURE.head_html(feature, view.names), width="content")
        show_rename(job, view.result, "features", feature, f"Name of feature {feature}")
    st.text(describe_feature(view, feature))


@contain_failure()
def _show_weights(view: FeatureView, feature: int, units: Units) -> None:
    alt = f"What feature {feature} adds to the columns."
    show_figure(draw_weights(view, feature, units), "feature_weights", alt)
    if view.data.image is None and USUAL_BARS < view.data.n_columns <= MOST_PROFILE:
        figure = feature_profile_figure(
            view.weights[feature - 1], view.data.columns, feature, sd=view.sd, units=units
        )
        show_figure(_replace_title(figure, feature, "All columns"), "feature_profile")


def draw_weights(view: FeatureView, feature: int, units: Units) -> Figure:
    """Return the weights of a feature (from 1) as a picture if the columns are pixels, else as bars."""
    at, table = feature - 1, view.data
    if table.image is None:
        bars = feature_weights_figure(
            view.weights[at], table.columns, feature, sd=view.sd, units=units, n=USUAL_BARS
        )
        return _replace_title(bars, feature, "Strongest columns")
    weights = view.weights if units == "sd" else view.own_weights
    picture = feature_image_figure(
        weights[at], table.image, feature, columns=table.columns, limit=largest(weights), units=units
    )
    return _replace_title(picture, feature, "Weights of the pixels")


def _replace_title(figure: Figure, feature: int, title: str) -> Figure:
    """Return a figure with another title, as the feature's number stands above it already."""
    heading = figure.layout.title
    heading.text = heading.text.replace(f"<b>Feature {feature}</b>", f"<b>{title}</b>")
    return figure


def list_carriers(view: FeatureView, feature: int) -> pd.DataFrame:
    """Return the objects that carry a feature most, by name, with what else is known of them."""
    carriers = view.carriers(feature, MOST_LISTED)
    numbers = carriers["object"].tolist()
    frame = pd.DataFrame({"object": view.data.rows[numbers], "probability": carriers["probability"]})
    if carriers["strength"].notna().any():
        frame["strength"] = carriers["strength"]
    if view.data.labels is not None:
        frame["group"] = view.data.labels[numbers]
    for at, (name, column) in enumerate(list(view.data.metadata.items())[:MOST_KNOWN], start=1):
        frame.insert(at, f"known {name}" if name in frame else name, column[numbers])
    return frame


@contain_failure("part of the page")
def show_carriers(view: FeatureView, feature: int) -> None:
    """Draw the objects that carry the feature most, and how frequent it is in each known group."""
    if view.data.image is not None:
        carriers = view.carriers(feature, PICTURES)
        numbers, labels = carriers["object"].tolist(), view.data.labels
        groups = [""] * len(numbers) if labels is None else labels[numbers]
        pairs = zip(carriers["probability"], groups, strict=True)
        texts = [f"{p:.2f}{f' · {group}' if group else ''}" for p, group in pairs]
        show_picture_row(view.data, numbers, texts)
    with st.container(key="carrier_panels"):
        with st.container(gap="xsmall"):
            listed = list_carriers(view, feature)
            config, is_named = st.column_config, listed["object"].str.len().max() > LONG_NUMBER
            strength = "How strongly its known cells show it: 1 as much as the weights say, 0 not at all."
            st.dataframe(
                listed,
                hide_index=True,
                key="feature_carriers",
                height=min(320, 38 + 35 * len(listed)),
                column_config={
                    **shape_columns(listed),
                    "object": config.TextColumn("Object", width=name_width() if is_named else "small"),
                    "probability": _progress("Probability", "%.2f", "small"),
                    "strength": config.NumberColumn("Strength", format="%.2f", width="small", help=strength),
                    "group": config.TextColumn("Known group", width="small"),
                },
            )
            st.caption(f"Up to {MOST_LISTED} objects, those most likely to have this feature first.")
        if view.data.labels is not None:
            with st.container(gap="xsmall"):
                groups = view.group_shares(feature)
                st.dataframe(
                    groups,
                    hide_index=True,
                    key="feature_groups",
                    height=min(320, 38 + 35 * len(groups)),
                    column_config={
                        "group": st.column_config.TextColumn("Known group", width=name_width()),
                        "share": _progress("Have this feature", "percent", name_width()),
                        "objects": st.column_config.NumberColumn(
                            "Objects", format="localized", width="small"
                        ),
                    },
                )
                st.caption(
                    "Share of objects in each known group that have it. The run did not use the groups."
                )
