"""The clusters of a run as cards: name, what sets each apart, typical members, known labels; one of them in detail."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from acvb_core.core.display import cut_label
from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.models.irm.answer.cards import FIRM, ClusterCards, describe_found
from acvb_core.models.irm.answer.known import describe_labels
from acvb_core.views.parts import plain_name
from pages.ui.irm.label_effects import compare_known
from pages.ui.shared.charts import PartChoice, name_width
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import Key, choose_way, show_rename

#: The cluster that is shown in detail.
CLUSTER = PartChoice("blocks", "cluster")
SIDES = {"rows": "Rows", "cols": "Columns"}
#: Cards that are drawn before the user asks for all, members that a card names, and characters of one.
_CARDS, _TYPICAL, _LONGEST = 6, 6, 40
# As many cards side by side as there is room for.
_STYLE = """
<style>
.st-key-cluster_cards { display: grid; gap: 1rem; align-items: start; }
.st-key-cluster_cards { grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr)); }
.st-key-cluster_cards > div { width: 100% !important; min-width: 0; }
.st-key-cluster_cards .cluster-head { font-size: 1.1rem; line-height: 1.4rem; }
.st-key-cluster_cards [data-testid="stText"] { white-space: pre-wrap; overflow-wrap: anywhere; }
</style>
"""


@st.cache_resource(show_spinner=False, max_entries=16)
def build_cards(key: Key, domain: str, _result: Result) -> ClusterCards:
    """Return the clusters of one side of a run."""
    return ClusterCards(_result, domain)


@st.cache_resource(show_spinner=False, max_entries=16)
def describe_clusters(key: Key, _result: Result) -> str:
    """Return what a run found, in sentences."""
    return describe_found(_result)


@contain_failure("part of the page")
def show_cards(job: Job, key: Key, result: Result) -> None:
    """Draw the clusters of one side as cards, and one of them in detail."""
    domain = "rows"
    if "cols" in result.posterior.n_clusters():
        domain = str(choose_way("Clusters of", SIDES, "card_domain", persist_state="session"))
    cards = build_cards(key, domain, result)
    labels, medians = compare_known(key, domain, result)
    st.html(_STYLE)
    used = [number for number, size in enumerate(cards.sizes, 1) if size]
    every = f"cards_all_{key[0]}_{domain}"
    shown = used if len(used) <= _CARDS or st.session_state.get(every) else used[:_CARDS]
    with st.container(key="cluster_cards"):
        for number in shown:
            with st.container(border=True, gap="xsmall", key=f"card_{domain}_{number}"):
                _show_card(job, cards, number, describe_labels(labels, medians, number))
    if len(shown) < len(used):
        st.button(
            f"Show all {len(used):,} clusters",
            key="cards_all",
            icon=":material/expand_more:",
            on_click=st.session_state.__setitem__,
            args=(every, True),
        )
    st.caption(
        "A block is named if its 95 % interval does not contain the overall rate. Typical members have most links in "
        "what sets their cluster apart."
    )
    with st.expander("One cluster in detail", icon=":material/table_rows:", key="card_detail"):
        _show_detail(cards)


def _show_card(job: Job, cards: ClusterCards, number: int, known: str) -> None:
    """Draw one cluster."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.html(CLUSTER.head_html(number, cards.names), width="stretch")
        show_rename(job, cards.result, cards.domain, number, f"Name of cluster {number}")
    st.text(cards.describe(number))
    members = cards.list_members(number)
    typical = [cut_label(name, _LONGEST) for name in members["label"][:_TYPICAL]]
    st.text(f"Typical: {', '.join(typical)}{', …' if len(members) > len(typical) else ''}")
    together = members["probability"]
    if together.notna().all():
        firm = int((together >= FIRM).sum())
        st.caption(f"{firm:,} of {len(members):,} have a firm place.")
    if known:
        st.text(known)


def _show_detail(cards: ClusterCards) -> None:
    """Draw the blocks and the members of one cluster in tables."""
    number = CLUSTER.show(len(cards.names), lambda one: plain_name(one, cards.names, long=True), width=320)
    blocks, members = st.tabs(["Blocks", "Members"])
    with blocks, contain_failure("table"):
        _show_blocks(cards, number)
    with members, contain_failure("table"):
        _show_members(cards, number)


def _show_blocks(cards: ClusterCards, number: int) -> None:
    """Draw the blocks of a cluster, those first that set it apart most."""
    names = cards.result.names[cards.other_domain]
    lines = [
        {
            "with": plain_name(block.other, names),
            "direction": {"to": "out", "from": "in"}.get(block.end, ""),
            "ratio": block.ratio,
            "rate": block.rate,
            "low": block.low,
            "high": block.high,
            "usual": block.base,
            "clear": block.is_clear,
        }
        for block in cards.blocks(number)
    ]
    number_format = "%.3g" if cards.is_counted else "percent"
    usual = "Expected rate" if cards.is_counted else "Link probability of others"
    order = ["with", "ratio", "clear", "rate", "low", "high", "usual"]
    if len(cards.contrasts) > 1:
        order.insert(1, "direction")
    st.dataframe(
        pd.DataFrame(lines),
        hide_index=True,
        column_order=order,
        key="card_blocks",
        height=min(248, 38 + 35 * len(lines)),
        column_config={
            "with": st.column_config.TextColumn("With cluster", width=name_width()),
            "direction": st.column_config.TextColumn("Links", help="From this cluster (out) or to it (in)."),
            "ratio": st.column_config.NumberColumn("Ratio", format="%.3g", help=f"To: {usual.lower()}."),
            "clear": st.column_config.CheckboxColumn(
                "Clear", help="The 95 % interval does not contain the rate of all objects."
            ),
            "rate": st.column_config.NumberColumn(
                "× expected" if cards.is_counted else "Link probability", format=number_format
            ),
            "low": st.column_config.NumberColumn("From", format=number_format, help="95 % interval."),
            "high": st.column_config.NumberColumn("To", format=number_format, help="95 % interval."),
            "usual": st.column_config.NumberColumn(usual, format=number_format),
        },
    )


def _show_members(cards: ClusterCards, number: int) -> None:
    """Draw the members of a cluster, the most typical first."""
    members = cards.list_members(number)
    sampled = members["probability"].notna().any()
    labelled = (members["label"] != members["object"].astype(str)).any()
    help: dict[str, Any] = {"help": "How often it is with the other members of its cluster over the samples."}
    st.dataframe(
        members,
        hide_index=True,
        column_order=[
            "object",
            *(["label"] if labelled else []),
            "typical_links",
            *(["probability"] if sampled else []),
            "given_clusters",
        ],
        key="card_members",
        height=min(248, 38 + 35 * len(members)),
        column_config={
            "object": st.column_config.TextColumn(cards.count_word(1).capitalize(), width=name_width()),
            "label": st.column_config.TextColumn("Known label", width=name_width()),
            "typical_links": st.column_config.NumberColumn(
                "Sum of typical weights" if cards.is_weighted else "Typical links",
                format="localized",
                help="Links in the blocks that have clearly more links than others.",
            ),
            "probability": st.column_config.ProgressColumn(
                "With its cluster", min_value=0.0, max_value=1.0, format="percent", **help
            ),
            "given_clusters": st.column_config.NumberColumn("Given these clusters", format="percent"),
        },
    )
