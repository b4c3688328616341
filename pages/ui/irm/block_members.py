"""The clusters of a run, its objects with their clusters, and how firm these are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from acvb_core.engine.result import Result
from acvb_core.models.irm.export import add_degrees
from acvb_core.models.irm.figures.arrangement import Arrangement, Side, cluster_table
from acvb_core.models.irm.figures.summaries import company_figure
from acvb_core.models.irm.scores import count_samples, range_of_clusters
from acvb_core.views.parts import plain_name
from pages.ui.shared import format as say
from pages.ui.shared.charts import name_width, show_figure
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import choose_way
from pages.ui.shared.words import CHAIN_HELP

#: Objects that are named.
_NAMED = 8


def show_clusters(result: Result, arrangement: Arrangement) -> None:
    """Draw the clusters with the objects that have most links; of a network also how densely they are linked."""
    if not arrangement.one:
        _show_sides(arrangement)
        return
    directed = result.prepared.data.network.directed
    inside, best, to_it, number, help = (
        "Link probability inside",
        "The other cluster with the highest link probability.",
        "Link probability to it",
        "percent",
        "Estimated probability that two nodes of this cluster are linked.",
    )
    if "expected" in result.blocks:
        inside, best, to_it, number, help = (
            "Inside: × expected",
            "The other cluster with the highest ratio of the count to the expected one.",
            "To it: × expected",
            "%.3g",
            "Count inside this cluster, divided by the expected count.",
        )
    table = cluster_table(arrangement)
    table["best"] = [
        "" if pd.isna(number) else plain_name(int(number), arrangement.rows.names)
        for number in table["most_linked_to"]
    ]
    st.dataframe(
        table,
        hide_index=True,
        column_order=["cluster", "name", "nodes", "inside", "best", "to_it", "names"],
        key="clusters",
        height=min(460, 38 + 35 * len(table)),
        column_config={
            "cluster": st.column_config.NumberColumn("Cluster", width="small"),
            "name": st.column_config.TextColumn("Name", width=name_width()),
            "nodes": st.column_config.NumberColumn("Nodes", width="small"),
            "inside": st.column_config.NumberColumn(inside, format=number, help=help),
            "best": st.column_config.TextColumn(
                "Links most to" if directed else "Linked most with", help=best
            ),
            "to_it": st.column_config.NumberColumn(to_it, format=number),
            "names": st.column_config.TextColumn("Nodes with most links", width=240),
        },
    )


def _show_sides(arrangement: Arrangement) -> None:
    """Draw the clusters of the rows and those of the columns, each in a table."""
    for title, side in (("Row clusters", arrangement.rows), ("Column clusters", arrangement.columns)):
        names = list_names(side)
        st.dataframe(
            names, hide_index=True, key=f"clusters_{title.split()[0].lower()}", alt=title,
            height=min(230, 38 + 35 * len(names)),
            column_config={
                "Cluster": st.column_config.NumberColumn(title, width=110),
                "Name": st.column_config.TextColumn(width=name_width()),
                "Objects": st.column_config.NumberColumn(width="small"),
                "With most links": st.column_config.TextColumn(width="large"),
            },
        )  # fmt: skip


def list_names(side: Side) -> pd.DataFrame:
    """Return a line for each cluster that has objects: number, name, size, and its objects with most links."""
    lines = []
    for number, size in enumerate(side.sizes.tolist(), start=1):
        first = int(side.borders[number - 1])
        names = side.labels[side.order[first : first + min(_NAMED, size)]]
        if size:
            name = side.names[number - 1] if side.names else ""
            lines.append((number, name, size, ", ".join(map(str, names)) + (", …" if size > _NAMED else "")))
    return pd.DataFrame(lines, columns=["Cluster", "Name", "Objects", "With most links"])


_NAMES = {"rows": "Rows", "cols": "Columns"}
#: Columns of a table of members, as far as there are such: a hub has many links, and that alone is no cluster.
_DEGREES = {
    "links": "Links",
    "links_out": "Links out",
    "links_in": "Links in",
    "weight": "Sum of weights",
    "weight_out": "Weight out",
    "weight_in": "Weight in",
}
#: An object that is with the members of its cluster less often than this has no firm place.
FIRM = 0.5


def write_range(result: Result) -> str:
    """Return how many clusters the samples have, after the number that is shown: " (samples: 9 to 14)"; "" for none."""
    ranges = range_of_clusters(result.posterior)
    if not ranges:
        return ""
    texts = [f"{low:,}" if low == high else f"{low:,} to {high:,}" for low, high in ranges.values()]
    return f" (samples: {' × '.join(texts)})"


def show_certainty(result: Result, arrangement: Arrangement) -> None:
    """Draw how often objects share a cluster over the samples of the run, and say how many have no firm place."""
    st.subheader("How firm are the clusters?", anchor=False)
    _show_chain(result)
    n_samples = count_samples(result.posterior)
    if not n_samples:
        why = (
            "This run has no samples, so every probability and interval on this page takes the clusters as "
            "certain. A run with the start *gibbs* has samples."
        )
        if result.prepared.row.sampled:
            why = (
                "This run keeps the mean of its samples, not each of them. Intervals on this page therefore take the "
                "clusters as certain. A run of another method with the start *gibbs* keeps its samples."
            )
        st.caption(f"{why} Several runs can be compared and combined on Compare.")
        return
    sides = {"rows": (result.rows, arrangement.rows)}
    if not arrangement.one:
        sides["cols"] = (result.columns, arrangement.columns)
    counts = []
    for domain, (table, _) in sides.items():
        what = _NAMES[domain].lower() if len(sides) > 1 else "nodes"
        counts.append(f"{(table['probability'] < FIRM).sum():,} of {len(table):,} {what}")
    loose = say.join_names(counts)
    st.text(
        f"{loose} have no firm place: they share a cluster with its other members in fewer than half of "
        f"{n_samples:,} samples."
    )
    with st.container(key="company"):
        for domain, (_, side) in sides.items():
            alt = "How often two objects share a cluster over the samples, the objects sorted by cluster."
            show_figure(
                partial(company_figure, result.posterior, domain, side), f"blocks_company_{domain}", alt
            )
    st.caption(
        "Colour: how often two objects share a cluster over the samples. Lines: the clusters of this run."
    )


def _show_chain(result: Result) -> None:
    """Draw what the samples of a run are worth: as a warning where their chain has not mixed."""
    if result.chain is None:
        return
    if result.chain.has_mixed is False:
        text = f"{result.chain.describe()} Another seed may give other clusters: run more seeds."
        st.warning(text, icon=":material/warning:")
    else:
        st.caption(result.chain.describe(), help=CHAIN_HELP)


@st.fragment
@contain_failure("table")
def show_members(result: Result) -> None:
    """Draw the table of the objects and their clusters, to be searched."""
    st.subheader("Who belongs where", anchor=False)
    domains = {name: _NAMES[name] for name in result.posterior.n_clusters()}
    one = "object" if result.prepared.data.network is None else "node"
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="member_filters"):
        domain = "rows"
        if len(domains) > 1:
            domain = choose_way("Objects", domains, "member_domain")
        wanted = st.text_input(
            "Search", key="member_search", placeholder="part of a name or label", width=260
        )
        n_clusters = result.posterior.n_clusters()[domain]
        numbers, key = range(1, n_clusters + 1), f"member_clusters_{domain}"
        names = result.names[domain]
        clusters = st.multiselect(
            "Clusters",
            numbers,
            format_func=lambda number: plain_name(number, names),
            key=key,
            placeholder="all",
            width=320,
        )
        table = add_degrees(result, domain)
        known = {}
        if attributes := result.prepared.data.attributes_of(domain):
            known = {f"known_{place}": name for place, name in enumerate(attributes)}
            table = table.assign(**dict(zip(known, attributes.values(), strict=True)))
        sampled = table["probability"].notna().any()
        loose = sampled and st.toggle("Only those without a firm place", key="member_loose")
    shown = table[table["probability"] < FIRM] if loose else table
    if wanted:
        texts = shown[["object", *known]].astype(str).agg(" · ".join, axis=1)
        shown = shown[texts.str.contains(wanted.strip(), case=False, regex=False)]
    if clusters:
        shown = shown[shown["cluster"].isin(clusters)]
    st.dataframe(
        shown,
        hide_index=True,
        column_order=[
            "object",
            "cluster",
            "name",
            *(["probability"] if sampled else []),
            "given_clusters",
            *_DEGREES,
            *known,
        ],
        key="members",
        height=min(420, 38 + 35 * max(len(shown), 1)),
        column_config=_describe_columns(one, known),
    )
    st.caption(f"{len(shown):,} of {say.count(len(table), one)}")


def _describe_columns(one: str, known: Mapping[str, str]) -> dict[str, Any]:
    """Return the columns of the table of members.

    `one`: what an object is called. `known`: the names of the attributes, by the names of their columns.
    """
    return {
        "object": st.column_config.TextColumn(one.capitalize(), width=name_width()),
        "cluster": st.column_config.NumberColumn("Cluster", width="small"),
        "name": st.column_config.TextColumn("Name", width=name_width()),
        "probability": st.column_config.ProgressColumn(
            "With its cluster",
            min_value=0.0,
            max_value=1.0,
            format="percent",
            help=f"How often the {one} shares a cluster with the other members of its cluster, over the samples of "
            "the run. If it is alone: how often it is alone.",
        ),
        "given_clusters": st.column_config.NumberColumn(
            "Given these clusters",
            format="percent",
            help=f"Probability that the {one} is in this cluster and in no other shown, as if these were known. "
            "It is surer than the samples.",
        ),
        **{
            name: st.column_config.NumberColumn(title, format="localized") for name, title in _DEGREES.items()
        },
        **{column: st.column_config.TextColumn(name) for column, name in known.items()},
    }
