"""The lower part of the Features page: all features, all objects, one object, the range over seeds, the history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from acvb_core.engine.job import Job
from acvb_core.models.lfm.features import ALIKE, ObjectSteps, are_in_order
from acvb_core.models.lfm.figures.feature_course import feature_course_figure, read_features_then
from acvb_core.models.lfm.figures.features import feature_images_figure, feature_matrix_figure
from acvb_core.models.lfm.figures.objects import reconstruction_bars_figure, reconstruction_images_figure
from acvb_core.models.lfm.figures.pictures import Units
from acvb_core.models.lfm.figures.tables import weight_map_figure
from acvb_core.views.parts import stack_panels
from acvb_core.views.theme import Figure
from pages.ui.lfm.feature_view import FEATURE, FeatureView
from pages.ui.lfm.overview_table import MOST_KNOWN
from pages.ui.shared import format as say
from pages.ui.shared.answer_page import MORE_SEEDS, measure_seeds, show_sweeps
from pages.ui.shared.charts import show_clickable_figure, show_figure
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import Key, choose_one
from pages.ui.shared.refresh import is_narrow
from pages.ui.shared.workspace import current_workspace

#: Most objects of which one is chosen in a list; of more, its name is entered.
MOST_IN_LIST = 3_000
#: Most features whose map is made higher, so that the numbers of its scale have room.
FEW = 5
#: Pictures side by side in a narrow window, and the room for them, beside their scale.
_NARROW: dict[str, Any] = {"across": 3, "page": 260}
OBJECT = "features_object"
_LEGEND_LINE = 21  # pixels
#: What runs of FAB add where their seeds hardly matter.
_ALIKE_STARTS = (
    " With an automatic start, many runs begin with the independent components of the table, which are nearly the same "
    "for each seed. So their agreement says little. Runs with a *random* start show more of what is uncertain."
)
#: How ranges over runs are written.
_RANGES: Any = {
    name: st.column_config.NumberColumn(format="percent", width="small")
    for name in ("Share", "Lowest", "Highest")
} | {
    "Samples": st.column_config.NumberColumn(
        format="percent", width="small", help="Share of the kept samples of this run that have the feature."
    ),
    "Runs": st.column_config.TextColumn(width="small", help="Runs that have the feature, this one included."),
    "Columns": st.column_config.TextColumn(width="large"),
}
_WEIGHTS: Any = {
    "Standard deviation": st.column_config.NumberColumn(
        help="Of the weight within this run: given the features that this run found."
    )
}
#: Changes of features in a run, by their column in its history.
_CHANGES = {"dropped": "dropped", "merged": "merged", "turned": "flipped (absence shown as presence)"}


@contain_failure()
def show_all_features(view: FeatureView, feature: int, units: Units) -> None:
    """Draw all features on one scale: as pictures if the columns are pixels, else as a map of weights."""
    image = view.data.image
    if image is None:
        ordered = are_in_order(view.data.columns)
        key = "features_map_of_ordered" if ordered else "features_map_clustered"
        clustered = st.toggle("Group similar columns", not ordered, key=key, persist_state="session")
        figure = weight_map_figure(
            view.weights, view.data.columns, shares=view.shares, names=view.names, clustered=clustered,
            standardised=view.fitted.standardise, upright=is_narrow(),
            height=340 if view.n_features <= FEW and not is_narrow() else None,
        )  # fmt: skip
        show_figure(figure, "feature_map")
        return
    weights = view.weights if units == "sd" else view.own_weights
    figure = feature_images_figure(
        weights,
        view.shares,
        image,
        baseline=view.baseline,
        units=units,
        selected=feature,
        names=view.names,
        **(_NARROW if is_narrow() else {}),
    )
    show_clickable_figure(
        figure,
        f"feature_images_{view.run}_{FEATURE.turn}",
        "All features as pictures, and the baseline.",
        FEATURE.keep_click,
        view.n_features,
        hidden=("select2d", "lasso2d", "autoScale2d", "zoom2d", "pan2d"),
    )
    st.caption("Click a picture to see its feature above.")


@contain_failure()
def show_all_objects(view: FeatureView, key: Key) -> None:
    """Draw which objects have which features, sorted."""
    figure, kinds = _draw_matrix(key, view)
    alt = "Objects by features, sorted so that objects with the same features stand together."
    show_figure(figure, "feature_matrix", alt)
    st.caption(
        f"Filled: the object has the feature (probability of 1/2 or more). The {view.data.n_rows:,} objects have "
        f"{say.count(kinds, 'combination')} of features."
    )


@st.cache_resource(show_spinner=False, max_entries=8)
def _draw_matrix(key: Key, _view: FeatureView) -> tuple[Figure, int]:
    """Return the figure, and the number of combinations of features."""
    figure = feature_matrix_figure(
        _view.objects, _view.data.rows, labels=_view.data.labels, feature_names=_view.names
    )
    return figure, _view.n_combinations


@contain_failure()
def show_object(view: FeatureView) -> None:
    """Draw how the features make up an object that is chosen."""
    row = _choose_row(view)
    if row is None:
        return
    steps, name = view.steps(row), str(view.data.rows[row])
    label = "" if view.data.labels is None else str(view.data.labels[row])
    known = pd.DataFrame({heading: column[[row]] for heading, column in view.data.metadata.items()}).astype(
        str
    )
    with st.container(gap="xsmall"):
        if label:
            st.text(f"Known group: {label}")
        for heading in known.columns[:MOST_KNOWN]:
            st.text(f"{heading}: {known[heading][0].removesuffix(' 00:00:00')}")
    if view.data.image is not None:
        figure = reconstruction_images_figure(steps, view.data.image, name=name)
    else:
        figure = reconstruction_bars_figure(steps, view.data.columns, name=name)
        if is_narrow():
            _give_legend_room(figure)
    alt = "The object: the baseline, what each of its features adds, and what is left over."
    show_figure(figure, "feature_reconstruction", alt)
    with st.expander("In numbers", icon=":material/table:", key="reconstruction_table"):
        st.dataframe(list_steps(view, steps, row), hide_index=True, key="reconstruction_numbers", height=380)
        n_hidden = int(view.hidden_cells(row).sum())
        if n_hidden:
            was = "was" if n_hidden == 1 else "were"
            st.caption(f"{say.count(n_hidden, 'cell')} of this object {was} hidden from the run.")


def _give_legend_room(figure: Figure) -> None:
    """Have a figure for a phone a line for each name of its legend."""
    more = _LEGEND_LINE * sum(bool(trace.name and trace.showlegend) for trace in figure.data)
    figure.layout.height += more
    figure.layout.margin.b += more


def list_steps(view: FeatureView, steps: ObjectSteps, row: int) -> pd.DataFrame:
    """Return a line for each column: value, baseline, part of each feature, reconstruction, remainder, hidden."""
    parts: dict[str, Any] = {"column": view.data.columns, "value": steps.value, "baseline": steps.baseline}
    parts |= {f"+ {step.name}": step.added for step in steps.steps}
    parts |= {"reconstruction": steps.reconstruction, "left over": steps.residual}
    hidden = view.hidden_cells(row)
    return pd.DataFrame(parts | ({"hidden": hidden} if hidden.any() else {}))


def _choose_row(view: FeatureView) -> int | None:
    """Draw the choice of an object and return it (0-based), None if no object has that name."""
    rows = view.data.rows
    if len(rows) <= MOST_IN_LIST:
        return int(choose_one("Object", range(len(rows)), lambda row: str(rows[row]), OBJECT, width=320))
    label, key = f"Object, one of {len(rows):,}", f"{OBJECT}_name"
    wanted = st.text_input(label, str(rows[0]), key=key, width=320, persist_state="session")
    if wanted in rows:
        return int(rows.tolist().index(wanted))
    st.info("No object has this name.", icon=":material/search_off:")
    st.text(f"The first ones are {', '.join(map(str, rows[:5]))}.")
    return None


@contain_failure("part of the page")
def show_spread(job: Job, view: FeatureView, feature: int, units: Units) -> None:
    """Draw in how many runs from other seeds the features come back, and the range of their shares and weights."""
    spread = measure_seeds(current_workspace(), job, view.result)
    features, weights = spread["features"], spread["weights"]
    runs = int(features["runs"].iloc[0])
    if runs == 1:
        st.info(
            "These features come from one run, and another seed may find others. Shares, weights and probabilities on "
            f"this page are given this run's features. Press *Run {MORE_SEEDS} more seeds* above to see which features "
            "come back.",
            icon=":material/casino:",
        )
        if weights["sd"].isna().all():
            return
    else:
        alike = view.result.prepared.spec.values.get("init") in ("auto", "ica")
        st.caption(
            f"The features of this run, compared with {say.count(runs - 1, 'run')} from other seeds. Rely less on "
            f"features that few runs have.{_ALIKE_STARTS if alike else ''}",
            help=f"A run has a feature if the objects of one of its own correlate with it at {ALIKE:g} or more, or at "
            f"-{ALIKE:g} or less if it is flipped. Lowest and highest: over the runs that have the feature; – if only "
            "this run has it.",
        )
    table = pd.DataFrame(
        {
            "Feature": [view.write(k) for k in features["feature"]],
            "Runs": [f"{found:,} of {runs:,}" for found in features["found"]],
            "Samples": features["in_samples"],
            "Share": features["share"],
            "Lowest": features["low"],
            "Highest": features["high"],
            "Columns": [", ".join(view.strongest(k, own=units == "table")) for k in features["feature"]],
        }
    )
    height = min(460, 38 + 35 * len(table))
    known = table.dropna(axis=1, how="all")
    st.dataframe(
        known, hide_index=True, key="spread_features", height=height, column_config=_RANGES, placeholder="–"
    )
    st.text(f"The weights of {view.write(feature)}, strongest columns first")
    table = list_weights(view, weights, feature, units).dropna(axis=1, how="all")
    height = min(460, 38 + 35 * len(table))
    st.dataframe(
        table, hide_index=True, key="spread_weights", height=height, column_config=_WEIGHTS, placeholder="–"
    )


def list_weights(view: FeatureView, weights: pd.DataFrame, feature: int, units: Units) -> pd.DataFrame:
    """Return the weights of a feature with their range over the runs, strongest columns first, in some units."""
    chosen = weights[weights["feature"] == feature].reset_index(drop=True)
    numbers = chosen[["weight", "low", "high", "sd"]]
    if units == "sd" and view.sd is not None:
        numbers = numbers.div(view.sd, axis=0)
    order = view.strongest_columns(feature, len(chosen))
    names = {"weight": "Weight", "low": "Lowest", "high": "Highest", "sd": "Standard deviation"}
    return pd.concat([chosen["column"].rename("Column"), numbers.rename(columns=names)], axis=1).iloc[order]


@contain_failure()
def show_course(view: FeatureView) -> None:
    """Draw the number of features and the likelihoods, sweep by sweep."""
    history = view.result.state.history
    figure = feature_course_figure(history, view.result.prepared.spec.method, height=320)
    if is_narrow():
        figure.layout = stack_panels(figure)
    show_figure(figure, "feature_course", "Features in use in each sweep, and log likelihoods.")
    counts = {text: int(pd.Series(history.column(kind)).sum()) for kind, text in _CHANGES.items()}
    changes = [f"{say.count(number, 'feature')} {text}" for text, number in counts.items() if number]
    st.caption(f"{say.join_names(changes)}." if changes else "No feature was dropped or merged.")
    st.subheader("Sweep by sweep", anchor=False)

    def draw(sweep: int, excerpt: Mapping[str, Any], chart: str) -> None:
        then = read_features_then(view.objects, excerpt)
        alt = f"Objects by features after sweep {sweep:,}, sorted so that objects with the same features are together."
        show_figure(lambda: feature_matrix_figure(then, view.data.rows, labels=view.data.labels), chart, alt)

    show_sweeps(view.result, "features", draw)
    st.caption("A feature has the number of the one in the answer that it shares most objects with.")
