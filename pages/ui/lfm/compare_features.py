"""The comparison of runs on tables: pairs of the same feature in two runs, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from acvb_core.evaluate.alignment import number_partners
from acvb_core.models.lfm.features import ALIKE, FeatureMatch, match_features
from acvb_core.views.comparison import partner_name, similarity_figure
from pages.ui.lfm.feature_view import FeatureView, build_view
from pages.ui.shared import format as say
from pages.ui.shared.answer_page import ComparedRuns, choose_pair, describe_pairs
from pages.ui.shared.charts import show_figure
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import Key


@contain_failure("part of the page")
def compare_features(runs: ComparedRuns) -> None:
    """Draw the features that two runs share."""
    views = [build_view(job, result) for job, result in zip(runs.jobs, runs.results, strict=True)]
    if len(views) < 2 or not have_same_objects(views):
        return
    st.subheader("Which feature is which", anchor=False)
    one, other = choose_pair("features", runs.labels)
    if one == other:
        st.info("Choose two different runs.", icon=":material/compare_arrows:")
    else:
        pair = (views[one], views[other])
        show_pairs((runs.keys[one], runs.keys[other]), pair, (runs.labels[one], runs.labels[other]))


@st.cache_resource(show_spinner=False, max_entries=16)
def match_views(keys: tuple[Key, Key], _one: FeatureView, _other: FeatureView) -> FeatureMatch:
    """Return the features of two runs in pairs."""
    return match_features(_one.objects, _other.objects)


def have_same_objects(views: Sequence[FeatureView]) -> bool:
    """Return whether these runs are on the same objects."""
    first = views[0].data.rows.tolist()
    return all(view.data.rows.tolist() == first for view in views[1:])


@contain_failure()
def show_pairs(keys: tuple[Key, Key], both: tuple[FeatureView, FeatureView], runs: tuple[str, str]) -> None:
    """Draw the features of two runs in pairs: their similarity, and what they mean."""
    without = [run for run, view in zip(runs, both, strict=True) if not view.n_features]
    if without:
        st.caption(f"{say.join_names(without)} found no feature, so there is nothing to pair.")
        return
    match = match_views(keys, *both)
    matched, rest = describe_pairs("feature", match, int((match.alike >= ALIKE).sum()), runs)
    st.caption(
        f"The features of {runs[0]} and {runs[1]} are paired by the objects that have them. {matched} A pair counts as "
        f"the same feature at a correlation of {ALIKE:g} or more, or of -{ALIKE:g} or less if one is flipped (absence "
        f"shown as presence).{rest}"
    )
    alike, listed = st.tabs(["Similarity", "Pairs"])
    with alike:
        figure = similarity_figure(
            abs(match.correlations),
            match.one,
            match.other,
            runs,
            part="feature",
            measure="correlation, without its sign,",
            scale="size of the correlation",
            labels=both[0].names,
            other_labels=both[1].names,
        )
        show_figure(figure, "feature_similarity")
        st.caption(
            "Frames mark the pairs. A blue cell outside a frame: one run splits a feature that the other keeps whole. "
            "Features of the other run have the numbers of their partners."
        )
    with listed:
        config = st.column_config
        share = config.NumberColumn(format="percent", width="small")
        columns = {
            "Similarity": config.ProgressColumn(min_value=0.0, max_value=1.0, format="%.2f", width="small"),
            "Correlation": config.NumberColumn(format="%.2f", width="small"),
        }
        columns |= {"Share": share, "Its share": share}
        st.dataframe(list_pairs(match, both), hide_index=True, key="feature_pairs", column_config=columns)


def list_pairs(match: FeatureMatch, both: tuple[FeatureView, FeatureView]) -> pd.DataFrame:
    """Return the pairs with the columns in which they weigh most, the least similar first."""
    table = match.table()
    one, other = both
    numbers = number_partners(match.one, match.other, (one.n_features, other.n_features))
    return pd.DataFrame(
        {
            "Similarity": table["correlation"].abs(),
            "Feature": [one.write(k) for k in table["feature"]],
            "Strongest columns": [", ".join(one.strongest(k)) for k in table["feature"]],
            "Pairs with": [partner_name(k, numbers[k - 1], other.names) for k in table["other_feature"]],
            "Its own number": table["other_feature"],
            "Its strongest columns": [", ".join(other.strongest(k)) for k in table["other_feature"]],
            "Correlation": table["correlation"],
            "Share": one.shares[table["feature"] - 1],
            "Its share": other.shares[table["other_feature"] - 1],
        }
    )
