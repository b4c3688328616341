"""Link prediction: pairs that are probably linked though no link is known, and surprising links."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from acvb_core.data.relation import Relation
from acvb_core.engine.result import Result
from acvb_core.models.irm.scores import count_samples, sides
from acvb_core.views.parts import plain_name
from pages.ui.shared import format as say
from pages.ui.shared.charts import name_width
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import Key, choose_way, offer_table, show_download

MOST_PAIRS = 10_000
USUAL = 20
#: Most pairs, times samples, that are looked at without asking the user: a second or two.
QUICK = 300_000_000
LIKELY, SURPRISING = "Most likely missing links", "Most surprising links"
#: Columns of a table, as far as there are such.
_ORDER = (
    "row", "column", "tail", "count", "expected", "probability", "block_probability", "block_rate", "row_name",
    "column_name", "row_links", "column_links",
)  # fmt: skip
AMONG = {"unlinked": "pairs without a link", "missing": "unknown pairs"}


@st.fragment
def show_link_prediction(key: Key, result: Result) -> None:
    """Draw the tables of the most likely missing links and the most surprising links, and their files."""
    st.subheader("Link prediction", anchor=False)
    relation = result.prepared.data
    n_unknown, n_samples = relation.n_unknown, count_samples(result.posterior)
    among, averaged = "unlinked", False
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="link_controls"):
        number = st.number_input(
            "Pairs", 1, MOST_PAIRS, USUAL, key="link_number", persist_state="session", width=160,
            help="How many pairs each table lists.",
        )  # fmt: skip
        if n_unknown:
            among = choose_way(
                "Search missing links among",
                AMONG,
                "link_among",
                persist_state="session",
                help=f"The data do not say whether {say.count(n_unknown, 'pair')} are linked.",
            )
        if n_samples:
            choices = {True: f"Mean of {n_samples} samples", False: "Clusters shown"}
            text = "The samples are other clusterings that fit about as well, from the start of the run."
            averaged = choose_way("Predict by", choices, f"link_by_{key[0]}", help=text)
    if n_samples:
        st.caption(_compare_predictions(result))
    likely, surprising = st.tabs([LIKELY, SURPRISING])
    with likely:
        with contain_failure("table"):
            if among == "missing" or may_look_at_all(key, result, n_samples if averaged else 1):
                show_pairs(rank_likely_links(key, int(number), among, averaged, result), result, "likely")
        text = "Sorted by link probability. "
        if "expected" in result.blocks:
            text += "The expected weight takes into account how active both objects are, if that is corrected for."
        else:
            text += (
                "By the clusters alone, pairs of one block are about equally likely: the list then shows which blocks "
                "lack links, rather than which single pair does."
            )
        st.caption(text)
    with surprising:
        with contain_failure("table"):
            show_pairs(rank_surprising_links(key, int(number), averaged, result), result, "surprising")
        text = "Links that the clusters explain least. They may be errors, or the most interesting links. "
        if "expected" in result.blocks:
            text += "Either nearly no link was expected, or a much larger or smaller weight."
        else:
            text += (
                "If a pair is much less likely than its block, one of the two objects lies between clusters."
            )
        st.caption(text)


def _compare_predictions(result: Result) -> str:
    """Return how well both predict, as far as that is known; the scores do not choose, so they stay unbiased."""
    score = result.snapshot.heldout
    if score is None:
        return (
            "The mean over many clusterings predicts better than one clustering on most data. Hold out some links "
            "(Data page) to see by how much."
        )
    write = result.prepared.model_row.display.score.write
    averaged, alone = write(score.averaged_skill), write(score.skill)
    return (
        f"Skill on held-out pairs: {averaged} by the samples, {alone} by the clusters. The samples predict unless you "
        "choose otherwise. If you choose by these scores, the score of your choice is too optimistic."
    )


def may_look_at_all(key: Key, result: Result, n_samples: int) -> bool:
    """Return whether to look at all pairs: at once if that is quick, else when the user asks for it."""
    rows, columns = result.prepared.data.shape
    asked = f"link_all_{key[0]}"
    if rows * columns * n_samples <= QUICK or st.session_state.get(asked):
        return True
    st.caption(f"Scoring all {rows * columns:,} pairs takes a while.")

    def look() -> None:
        st.session_state[asked] = True

    st.button("Score all pairs", icon=":material/search:", key="link_look", on_click=look)
    return False


@st.cache_resource(show_spinner="Scoring all pairs", max_entries=8)
def rank_likely_links(key: Key, number: int, among: str, averaged: bool, _result: Result) -> pd.DataFrame:
    """Return the pairs without an observed link that are most likely to be links."""
    table: pd.DataFrame = _result.prepared.model_row.part("export").likely_links(
        _result, number, among, averaged
    )
    return table


@st.cache_resource(show_spinner=False, max_entries=8)
def rank_surprising_links(key: Key, number: int, averaged: bool, _result: Result) -> pd.DataFrame:
    """Return the links that were least expected."""
    table: pd.DataFrame = _result.prepared.model_row.part("export").surprising_links(
        _result, number, averaged
    )
    return table


def show_pairs(table: pd.DataFrame, result: Result, key: str) -> None:
    """Draw a table of pairs, and the button that downloads it."""
    if table.empty:
        st.info(
            "Every pair is linked already." if key == "likely" else "These data have no links.",
            icon=":material/link_off:",
        )
        return
    first, second = name_ends(result.prepared.data)
    top = max(float(table["probability"].max()), 1e-9)
    down, across = (result.names[domain] for domain in sides(result.posterior))
    shown = table.assign(
        row_name=[plain_name(number, down) for number in table["row_cluster"]],
        column_name=[plain_name(number, across) for number in table["column_cluster"]],
    )
    st.dataframe(
        shown,
        hide_index=True,
        column_order=[name for name in _ORDER if name in table],
        key=f"links_{key}",
        height=min(420, 38 + 35 * len(table)),
        column_config={
            "row": st.column_config.TextColumn(first, width=name_width()),
            "column": st.column_config.TextColumn(second, width=name_width()),
            "row_name": st.column_config.TextColumn(f"{first}: cluster", width=name_width()),
            "column_name": st.column_config.TextColumn(f"{second}: cluster", width=name_width()),
            "probability": st.column_config.ProgressColumn(
                "Link probability", min_value=0.0, max_value=top, format="%.4f"
            ),
            "block_probability": st.column_config.NumberColumn(
                "Block probability", format="%.4f", help="Link probability between the two clusters."
            ),
            "block_rate": st.column_config.NumberColumn(
                "Block rate",
                format="%.3g",
                help="Ratio of the count between the two clusters to the expected one.",
            ),
            "count": st.column_config.NumberColumn(
                "Weight", format="%g", help="The count that was observed."
            ),
            "expected": st.column_config.NumberColumn(
                "Expected weight", format="%.3g", help="The count that the model expects of this pair."
            ),
            "tail": st.column_config.NumberColumn(
                "Probability of such a weight",
                format="%.2g",
                help="Of this weight or one that is farther from the expected weight, in the same direction.",
            ),
            "row_links": st.column_config.NumberColumn(f"{first}: links"),
            "column_links": st.column_config.NumberColumn(f"{second}: links"),
        },
    )
    label = f"{say.count(len(table), 'pair')} as CSV"
    show_download(result, offer_table(label, f"{key}-links.csv", lambda: table))


def name_ends(relation: Relation) -> tuple[str, str]:
    """Return the names of the two ends of a link."""
    if relation.network is None:
        return "Row object", "Column object"
    return ("From", "To") if relation.network.directed else ("Node", "Other node")
