"""Known labels and numbers of the objects: which clusters clearly have more or less of them than the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from acvb_core.engine.result import Result
from acvb_core.models.irm.answer.known import LEVEL, compare_labels, compare_medians
from acvb_core.models.irm.scores import count_samples
from acvb_core.views.parts import plain_name
from pages.ui.shared import format as say
from pages.ui.shared.charts import name_width
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import Key, offer_table, show_download

_HELP = (
    "**Clear**: the p-value, adjusted for the number of all comparisons (Holm), is below 0.05. Labels are compared by "
    "Fisher's exact test, numbers by the rank-sum test of Mann and Whitney. If the run has samples, the intervals and "
    "tests take into account that the clusters are uncertain."
)
#: Columns of the table of labels, and of that of numbers.
_LABELS = [
    "shown",
    "label",
    "share",
    "others",
    "ratio",
    "difference",
    "low",
    "high",
    "p_holm",
    "clear",
    "count",
]
_NUMBERS = ["shown", "median", "others", "p_holm", "clear", "count"]


def has_labels(result: Result, domain: str) -> bool:
    """Return whether the objects of a domain may have known labels."""
    return bool(result.prepared.data.labels_of(domain))


def compare_known(key: Key, domain: str, result: Result) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return how the clusters differ in known labels, and in known numbers; empty without any."""
    if not has_labels(result, domain):
        return pd.DataFrame(), pd.DataFrame()
    return _compare(key, domain, result)


@st.cache_resource(show_spinner="Comparing the clusters with known labels", max_entries=16)
def _compare(key: Key, domain: str, _result: Result) -> tuple[pd.DataFrame, pd.DataFrame]:
    return compare_labels(_result, domain), compare_medians(_result, domain)


@contain_failure("part of the page")
def show_effects(key: Key, domain: str, attribute: str, result: Result) -> None:
    """Draw which clusters have more or less of the labels of an attribute than the others, or larger numbers."""
    labels, medians = compare_known(key, domain, result)
    own = {name: table for name, table in (("labels", labels), ("numbers", medians)) if len(table)}
    chosen = {name: table[table["attribute"] == attribute] for name, table in own.items()}
    chosen = {name: table for name, table in chosen.items() if len(table)}
    if not chosen:
        return
    table = next(iter(chosen.values()))
    clear = int((table["p_holm"] < LEVEL).sum())
    compared = say.count(len(table), "comparison")
    text = f"{clear:,} of {compared} with the other clusters {'is' if clear == 1 else 'are'} clear."
    if not count_samples(result.posterior):
        text += " The clusters are taken as certain, as this run has no samples."
    st.caption(text, help=_HELP)
    shown = st.toggle("Only clear differences", clear > 0, key=f"label_clear_{domain}") if clear else False
    table = table[table["p_holm"] < LEVEL] if shown else table
    _show_table(table, result.names[domain])
    for name, whole in own.items():
        end = f"{name}-by-cluster.csv"
        show_download(result, offer_table(f"Known {name} by cluster", end, whole.copy))


def _show_table(table: pd.DataFrame, names: Sequence[str]) -> None:
    """Draw some comparisons of clusters with the others."""
    texts = [plain_name(int(k), names) for k in table["cluster"]]
    table = table.assign(shown=texts, clear=table["p_holm"] < LEVEL)
    share = "percent" if "label" in table else "%.6g"
    points: dict[str, Any] = {
        "format": "percent",
        "help": "Difference of the two shares, with its 95 % interval.",
    }
    st.dataframe(
        table,
        hide_index=True,
        column_order=_LABELS if "label" in table else _NUMBERS,
        key="label_effects",
        height=min(420, 38 + 35 * len(table)),
        column_config={
            "shown": st.column_config.TextColumn("Cluster", width=name_width()),
            "label": st.column_config.TextColumn("Label", width=name_width()),
            "count": st.column_config.NumberColumn(
                "Objects", format="%.4g", help="Mean over the samples of the run."
            ),
            "share": st.column_config.NumberColumn("In the cluster", format="percent"),
            "median": st.column_config.NumberColumn("Median", format=share),
            "others": st.column_config.NumberColumn("In the others", format=share),
            "ratio": st.column_config.NumberColumn(
                "Ratio", format="%.2f", help="Objects to those expected by chance."
            ),
            "difference": st.column_config.NumberColumn("Difference", **points),
            "low": st.column_config.NumberColumn("From", **points),
            "high": st.column_config.NumberColumn("To", **points),
            "p_holm": st.column_config.NumberColumn("Adjusted p", format="%.2g"),
            "clear": st.column_config.CheckboxColumn("Clear"),
        },
    )
